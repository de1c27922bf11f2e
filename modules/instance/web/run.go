package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

// Secrets lists the names of a project's secrets.
type Secrets interface {
	Names(ctx context.Context, project domain.ID) ([]string, error)
}

// runPage is the form that starts a job, by the inputs that it declares.
func (h *Handlers) runPage(c echo.Context) error {
	ctx := c.Request().Context()
	j, err := h.job(ctx, c, domain.ActInstanceTrigger)
	if err != nil {
		return err
	}
	p := jobs.RunPage{}
	if day, err := h.Jobs.BizDateNow(ctx, j.Spec); err == nil { // else the start itself says why
		p.BizDate = day.String()
	}
	given := map[string]string{}
	for _, in := range j.Spec.Inputs {
		if !in.Type.Templated() || !strings.Contains(in.Default, "{{") {
			given[in.Name] = in.Default
		}
	}
	return h.showRun(c, j, p, given, http.StatusOK)
}

func (h *Handlers) showRun(c echo.Context, j domain.Job, p jobs.RunPage, given map[string]string, status int) error {
	ctx := c.Request().Context()
	here := "/jobs/" + j.ID.String()
	p.Shell, p.Job, p.Paused, p.Save, p.Key = httpx.Shell(c), ui.Ref{ID: j.Spec.Key().String(), Title: j.Title, URL: here}, !j.Enabled, ui.Action{URL: here + "/run"}, rand.Text()
	for _, in := range j.Spec.Inputs {
		f, err := h.runField(ctx, j, in, given[in.Name])
		if err != nil {
			return err
		}
		p.Fields = append(p.Fields, f)
	}
	return httpx.Render(c, status, jobs.Run(p))
}

func (h *Handlers) runField(ctx context.Context, j domain.Job, in domain.Input, value string) (jobs.RunField, error) {
	f := jobs.RunField{Name: in.Name, Label: cmp.Or(in.Title, in.Name), Kind: "text", Value: value, Required: !in.Fed(), Help: runHelp(ctx, in)}
	choices := in.Choices
	switch in.Type {
	case domain.InputNumber, domain.InputFile:
		f.Kind = string(in.Type)
	case domain.InputDate, domain.InputBizDate:
		f.Kind = "date"
	case domain.InputChoice, domain.InputChoices:
		f.Kind = "choice"
	case domain.InputSecret:
		f.Kind = "choice"
		if len(choices) == 0 && h.Secrets != nil {
			var err error
			if choices, err = h.Secrets.Names(ctx, j.ProjectID); err != nil {
				return f, err
			}
		}
	}
	if in.Type == domain.InputChoices && value != "" {
		f.Values = strings.Split(value, ",")
	}
	f.Several = in.Type == domain.InputChoices
	for _, one := range choices {
		f.Options = append(f.Options, ui.Option{Value: one, Text: one})
	}
	return f, nil
}

// runHelp says what an input takes, and what stands where none is given.
func runHelp(ctx context.Context, in domain.Input) string {
	help := i18n.T(ctx, "input.help."+string(in.Type), "name", in.Name)
	switch {
	case in.Pattern != "":
		help += " " + i18n.T(ctx, "input.help_pattern", "pattern", in.Pattern)
	case in.Default != "":
		help += " " + i18n.T(ctx, "input.help_default", "value", in.Default)
	}
	return help
}

func (h *Handlers) runForm(c echo.Context) error {
	ctx := c.Request().Context()
	j, err := h.job(ctx, c, domain.ActInstanceTrigger)
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	given := readInputs(j.Spec.Inputs, form)
	p := jobs.RunPage{BizDate: strings.TrimSpace(form.Get("biz_date")), Reason: strings.TrimSpace(form.Get("reason"))}
	o := instance.TriggerOptions{Reason: p.Reason, Params: given}
	faults := h.Requests.Values.Check(ctx, j.ProjectID, j.Spec, given)
	if o.BizDate, err = domain.ParseBizDate(p.BizDate); err != nil {
		faults = append(faults, domain.Fail(domain.Invalid, "%v", err).At("biz_date"))
	}
	if len(faults) == 0 {
		err := httpx.OnceForm(c, func(ctx context.Context) (string, error) {
			in, err := h.Requests.Trigger(ctx, j, o)
			return instanceURL(in.ID), err
		})
		if err == nil {
			return nil
		}
		faults = []error{err}
	}
	status := http.StatusBadRequest
	for _, fault := range faults {
		if status, err = faultOf(c, &p, fault); err != nil {
			return err
		}
	}
	return h.showRun(c, j, p, given, status)
}

// faultOf puts what is wrong into the page; what only the edge may answer comes back.
func faultOf(c echo.Context, p *jobs.RunPage, err error) (int, error) {
	var own *domain.Error
	if !errors.As(err, &own) || own.Kind != domain.Invalid && own.Kind != domain.TooLarge {
		return 0, err
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return 0, err
	}
	if own.Field == "" || own.Field == "params" {
		p.Error = text
	} else {
		p.Errors = append(p.Errors, ui.FieldError{Field: own.Field, Message: text})
	}
	return status, nil
}

// readInputs reads what was given; browsers send the ends of lines as CR LF.
func readInputs(inputs []domain.Input, form url.Values) map[string]string {
	var out map[string]string
	for _, in := range inputs {
		values := form["param."+in.Name]
		text := strings.ReplaceAll(strings.Join(values, ","), "\r\n", "\n")
		if in.Type != domain.InputText {
			text = strings.TrimSpace(text)
		}
		if text == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[in.Name] = text
	}
	return out
}
