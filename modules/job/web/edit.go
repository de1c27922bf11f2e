package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

// starter is the text that a new job file begins with.
const starter = `version: v1
job:
  name: my_job
  cron: "0 2 * * *"
  exec:
    type: shell
    command: echo {{biz_date}}
  timeout: 60
`

// The two ways to write a definition.
const (
	modeForm = "form"
	modeYAML = "yaml"
)

// typed is what somebody typed: a text, or a form that means one.
type typed struct {
	mode string
	text string
	form job.Form
}

func readTyped(form url.Values) typed {
	t := typed{mode: form.Get("mode"), text: form.Get("text")}
	if t.mode != modeForm {
		t.mode = modeYAML
		return t
	}
	t.form = job.Form{Name: form.Get("name"), Title: form.Get("title"), Cron: form.Get("cron"), Deps: form.Get("deps"), Command: form.Get("command"), Timeout: form.Get("timeout")}
	t.text = t.form.YAML()
	return t
}

func (t typed) files() []job.File { return []job.File{{Text: t.text}} }

// mostOffered is how many names the list beside the dependencies offers; any other can be typed.
const mostOffered = 1000

// editor is the page with what was typed in it.
func (h *Handlers) editor(c echo.Context, t typed) (jobs.EditPage, error) {
	ctx := c.Request().Context()
	p := jobs.EditPage{Shell: httpx.Shell(c), Mode: t.mode, Text: t.text, CheckURL: "/jobs/check",
		Form: jobs.ShortForm{Name: t.form.Name, Title: t.form.Title, Cron: t.form.Cron, Deps: t.form.Deps, Type: "shell", Command: t.form.Command, Timeout: t.form.Timeout}}
	if t.mode != modeForm {
		return p, nil
	}
	names, err := h.Jobs.FirstNames(ctx, httpx.Visible(ctx, domain.ActJobRead), mostOffered)
	for _, n := range names {
		p.JobNames = append(p.JobNames, n.Key.String())
	}
	return p, err
}

func (h *Handlers) newEditor(c echo.Context, t typed) (jobs.EditPage, error) {
	p, err := h.editor(c, t)
	p.ModeURLs = map[string]string{modeForm: "/jobs/new?mode=form", modeYAML: "/jobs/new?mode=yaml"}
	p.SaveURL, p.CancelURL = "/jobs/new", "/jobs"
	return p, err
}

func (h *Handlers) newPage(c echo.Context) error {
	t := typed{mode: modeForm}
	if c.QueryParam("mode") == modeYAML {
		t = typed{mode: modeYAML, text: starter}
	}
	p, err := h.newEditor(c, t)
	if err != nil {
		return err
	}
	return httpx.Render(c, http.StatusOK, jobs.Edit(p))
}

func (h *Handlers) saveNew(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	t := readTyped(form)
	return h.save(c, t, job.Request{New: true}, func() (jobs.EditPage, error) { return h.newEditor(c, t) })
}

func (h *Handlers) oldEditor(c echo.Context, j domain.Job, t typed, base int) (jobs.EditPage, error) {
	p, err := h.editor(c, t)
	p.Job, p.BaseVersion, p.SaveURL, p.CancelURL = refOf(j), base, jobURL(j.ID)+"/edit", jobURL(j.ID)
	return p, err
}

func (h *Handlers) editPage(c echo.Context) error {
	j, err := h.named(c, "id", domain.ActJobWrite)
	if err != nil {
		return err
	}
	t := typed{mode: modeYAML, text: j.Source}
	p, err := h.oldEditor(c, j, t, j.Version)
	if err != nil {
		return err
	}
	// The text was judged with all others when it was saved, and nothing that it depends on can be deleted since.
	parsed, problems := h.Jobs.Read(t.files())
	p.Check = judged(c.Request().Context(), parsed, problems)
	return httpx.Render(c, http.StatusOK, jobs.Edit(p))
}

func (h *Handlers) saveEdit(c echo.Context) error {
	j, err := h.named(c, "id", domain.ActJobWrite)
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	base, err := strconv.Atoi(form.Get("base_version"))
	if err != nil || base < 1 {
		return domain.Fail(domain.Invalid, "the form does not say which version it began from").At("base_version").WithHint("load the page again")
	}
	t := readTyped(form)
	return h.save(c, t, job.Request{Base: &job.Base{Job: j.ID, Version: base}}, func() (jobs.EditPage, error) { return h.oldEditor(c, j, t, base) })
}

// save takes what was typed, or shows it again with what is wrong.
func (h *Handlers) save(c echo.Context, t typed, r job.Request, editor func() (jobs.EditPage, error)) error {
	ctx := c.Request().Context()
	r.Files, r.Allow, r.Seen = t.files(), allow, httpx.Visible(ctx, domain.ActJobRead)
	applied, problems, failure := h.Jobs.Submit(ctx, r)
	if failure == nil && len(problems.Errors()) == 0 {
		if len(applied) == 1 {
			return httpx.Redirect(c, jobURL(applied[0].Job.ID))
		}
		return httpx.Redirect(c, "/jobs")
	}
	p, err := editor()
	if err != nil {
		return errors.Join(failure, err)
	}
	say := lookup(ctx)
	if failure == nil {
		p.Check = jobs.CheckResult{Checked: true, Problems: shown(say, problems)}
		p.Form.Errors = fieldErrors(say, problems)
		return httpx.Render(c, http.StatusUnprocessableEntity, jobs.Edit(p))
	}
	status, text, ok := httpx.Explain(c, failure)
	switch {
	case domain.Is(failure, domain.Unavailable):
		status, text = http.StatusServiceUnavailable, i18n.T(ctx, "edit.unavailable")
	case !ok:
		return failure
	case domain.Is(failure, domain.Conflict) && r.Base != nil:
		text = h.overtaken(ctx, &p, r.Base.Job, failure, text)
	}
	p.Conflict = text
	if field := job.FieldAt(httpx.FieldOf(failure)); t.mode == modeForm && field != "" {
		p.Form.Errors = []ui.FieldError{{Field: field, Message: text}}
	}
	return httpx.Render(c, status, jobs.Edit(p))
}

// overtaken says who was faster, and makes the next save one that knows of it.
func (h *Handlers) overtaken(ctx context.Context, p *jobs.EditPage, id domain.ID, failure error, text string) string {
	var e *domain.Error
	if !errors.As(failure, &e) || e.Args["version"] == "" {
		return text
	}
	now, err := strconv.Atoi(e.Args["version"])
	if err != nil {
		return text
	}
	p.BaseVersion, p.ConflictURL = now, jobURL(id)+"?tab=yaml&version="+e.Args["version"]
	if at, err := time.Parse(time.RFC3339, e.Args["at"]); err == nil {
		return i18n.T(ctx, "error.overtaken", "by", e.Args["by"], "version", e.Args["version"], "base", e.Args["base"], "at", i18n.DateTime(ctx, at)+" "+i18n.ZoneName(ctx, at))
	}
	return text
}

// check answers the fragment beside the editor while somebody types.
func (h *Handlers) check(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	result, err := h.checked(c, readTyped(form))
	if err != nil {
		return err
	}
	return httpx.Render(c, http.StatusOK, jobs.Check(httpx.Shell(c), result))
}

// checked judges what was typed against what is there, and writes nothing.
func (h *Handlers) checked(c echo.Context, t typed) (jobs.CheckResult, error) {
	ctx := c.Request().Context()
	parsed, problems, err := h.Jobs.Check(ctx, t.files(), httpx.Visible(ctx, domain.ActJobRead))
	if err != nil {
		return jobs.CheckResult{}, err
	}
	return judged(ctx, parsed, problems), nil
}

// judged is what a judgement came to.
func judged(ctx context.Context, parsed []job.Parsed, problems job.Problems) jobs.CheckResult {
	out := jobs.CheckResult{Checked: true, Problems: shown(lookup(ctx), problems), Jobs: len(parsed)}
	if len(parsed) == 0 {
		return out
	}
	first := parsed[0]
	out.Schedule, out.Zone, out.Next = scheduleWords(ctx, first.Spec), first.Spec.Timezone, shownAs(first.Next)
	out.NoNext = i18n.T(ctx, noNext(first.Spec))
	out.Timeout, out.TimeoutDefault = time.Duration(first.Spec.TimeoutSec)*time.Second, !first.Spec.TimeoutGiven
	return out
}

func shown(say job.Lookup, ps job.Problems) []jobs.Problem {
	out := make([]jobs.Problem, len(ps))
	for i, p := range ps {
		out[i] = jobs.Problem{Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message(say), Hint: p.HintText(say), Excerpt: p.Excerpt(), Warning: p.Warning}
	}
	return out
}

// fieldErrors puts errors beside the fields of the form that they are about, one each.
func fieldErrors(say job.Lookup, ps job.Problems) []ui.FieldError {
	var out []ui.FieldError
	for _, p := range ps.Errors() {
		field := job.FieldAt(p.Path)
		if field == "" || ui.ErrorOf(out, field) != "" {
			continue
		}
		text := p.Message(say)
		if hint := p.HintText(say); hint != "" {
			text += " (" + hint + ")"
		}
		out = append(out, ui.FieldError{Field: field, Message: text})
	}
	return out
}
