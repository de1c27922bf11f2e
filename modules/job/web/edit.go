package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
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

// mostOffered is how many names the list beside the dependencies offers; any other can be typed.
const mostOffered = 1000

// editor is the page with what was typed in it.
func (h *Handlers) editor(c echo.Context, t typed) (jobs.EditPage, error) {
	ctx := c.Request().Context()
	p := jobs.EditPage{Shell: httpx.Shell(c), Mode: t.mode, Text: t.text, CheckURL: "/jobs/check"}
	if t.mode != modeForm {
		return p, nil
	}
	p.Form = jobs.ShortForm{Name: t.form.Name, Title: t.form.Title, Deps: t.form.Deps, Type: cmp.Or(t.form.Type, shellType), Settings: t.form.Settings, Command: t.form.Command, Timeout: t.form.Timeout,
		Timezone: t.form.Timezone, When: whenOf(t.when), DefaultZone: h.Jobs.Zone(), Beyond: t.beyond,
		Calendar: t.form.Calendar, CalendarOn: t.form.CalendarOn, CalendarElse: t.form.CalendarElse, BizDate: t.form.BizDate, BizDates: domain.BizDateRules(),
		Misfire: t.form.Misfire, Overlap: t.form.Overlap, Pool: t.form.Pool}
	names, err := h.Jobs.FirstNames(ctx, httpx.Visible(ctx, domain.ActJobRead), mostOffered)
	for _, n := range names {
		p.JobNames = append(p.JobNames, n.Key.String())
	}
	if err != nil {
		return p, err
	}
	p.Types, err = h.types(ctx, t)
	return p, err
}

func (h *Handlers) newEditor(c echo.Context, t typed) (jobs.EditPage, error) {
	p, err := h.editor(c, t)
	p.ModeURLs = map[string]string{modeForm: "/jobs/new?mode=form", modeYAML: "/jobs/new?mode=yaml"}
	p.SaveURL, p.CancelURL = "/jobs/new", "/jobs"
	return p, err
}

func (h *Handlers) newPage(c echo.Context) error {
	t := typed{mode: modeForm, when: domain.Choice{Kind: domain.ChoiceDaily, Time: "02:00"}}
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
	t := h.readNew(form)
	editor := func() (jobs.EditPage, error) { return h.newEditor(c, t) }
	if form.Get("preview") != "" {
		return h.preview(c, t, nil, editor)
	}
	return h.save(c, t, job.Request{New: true}, editor)
}

func (h *Handlers) oldEditor(c echo.Context, j domain.Job, t typed, base int) (jobs.EditPage, error) {
	p, err := h.editor(c, t)
	here := jobURL(j.ID)
	p.Job, p.BaseVersion, p.SaveURL, p.CancelURL, p.CheckURL = refOf(j), base, here+"/edit", here, "/jobs/check?job="+j.ID.String()
	p.Form.Saved = true
	if job.Patchable(j.Source) {
		p.ModeURLs = map[string]string{modeForm: here + "/edit?mode=form", modeYAML: here + "/edit?mode=yaml"}
	}
	return p, err
}

func (h *Handlers) editPage(c echo.Context) error {
	j, err := h.named(c, "id", domain.ActJobWrite)
	if err != nil {
		return err
	}
	t := h.opened(j, c.QueryParam("mode"))
	p, err := h.oldEditor(c, j, t, j.Version)
	if err != nil {
		return err
	}
	// The text was judged with all others when it was saved, and nothing that it depends on can be deleted since.
	ctx := c.Request().Context()
	parsed, problems := h.Jobs.Read(t.files())
	gates, err := h.Jobs.Foretell(ctx, parsed)
	if err != nil {
		return err
	}
	p.Check, err = h.judged(ctx, parsed, append(problems, gates...), &j)
	if err != nil {
		return err
	}
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
	t := h.readOld(form, j)
	editor := func() (jobs.EditPage, error) { return h.oldEditor(c, j, t, base) }
	if form.Get("preview") != "" {
		return h.preview(c, t, &j, editor)
	}
	return h.save(c, t, job.Request{Base: &job.Base{Job: j.ID, Version: base}}, editor)
}

// preview shows the page again with what the definition comes to, and saves nothing.
func (h *Handlers) preview(c echo.Context, t typed, old *domain.Job, editor func() (jobs.EditPage, error)) error {
	p, err := editor()
	if err != nil {
		return err
	}
	var problems job.Problems
	if p.Check, problems, err = h.checked(c, t, old); err != nil {
		return err
	}
	p.Form.Errors = append(t.wrong(c.Request().Context()), fieldErrors(lookup(c.Request().Context()), problems)...)
	return httpx.Render(c, http.StatusOK, jobs.Edit(p))
}

// save takes what was typed, or shows it again with what is wrong.
func (h *Handlers) save(c echo.Context, t typed, r job.Request, editor func() (jobs.EditPage, error)) error {
	ctx := c.Request().Context()
	if len(t.faults) > 0 {
		return h.unwritten(c, t, editor)
	}
	r.Files, r.Allow, r.MaySecrets, r.Seen = t.files(), allow, maySecrets, httpx.Visible(ctx, domain.ActJobRead)
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
		status, text = http.StatusServiceUnavailable, strings.TrimSpace(text+" "+i18n.T(ctx, "edit.unavailable"))
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

// unwritten shows the form again that could not be written as a file, with everything that is
// wrong with it.
func (h *Handlers) unwritten(c echo.Context, t typed, editor func() (jobs.EditPage, error)) error {
	p, err := editor()
	if err != nil {
		return err
	}
	var problems job.Problems
	if p.Check, problems, err = h.checked(c, t, nil); err != nil {
		return err
	}
	ctx := c.Request().Context()
	p.Form.Errors = append(t.wrong(ctx), fieldErrors(lookup(ctx), problems)...)
	return httpx.Render(c, http.StatusUnprocessableEntity, jobs.Edit(p))
}

// check answers the fragment beside the editor while somebody types.
func (h *Handlers) check(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	old, err := h.checkedJob(c)
	if err != nil {
		return err
	}
	t := h.readNew(form)
	if old != nil {
		t = h.readOld(form, *old)
	}
	result, _, err := h.checked(c, t, old)
	if err != nil {
		return err
	}
	return httpx.Render(c, http.StatusOK, jobs.Check(httpx.Shell(c), result))
}

// checkedJob is the job that is edited; nil for a new one.
func (h *Handlers) checkedJob(c echo.Context) (*domain.Job, error) {
	name := c.QueryParam("job")
	if name == "" {
		return nil, nil
	}
	ctx := c.Request().Context()
	j, err := h.Jobs.Get(ctx, name)
	if err == nil {
		err = httpx.Allow(ctx, j.ProjectID, domain.ActJobRead)
	}
	return &j, err
}

// checked judges what was typed against what is there, and writes nothing.
func (h *Handlers) checked(c echo.Context, t typed, old *domain.Job) (jobs.CheckResult, job.Problems, error) {
	ctx := c.Request().Context()
	parsed, problems, err := h.Jobs.Check(ctx, t.files(), httpx.Visible(ctx, domain.ActJobRead))
	if err != nil {
		return jobs.CheckResult{}, nil, err
	}
	out, err := h.judged(ctx, parsed, problems, old)
	if wrong := t.wrong(ctx); len(wrong) > 0 {
		out.Schedule, out.Next, out.NoNext, out.NextWas = "", nil, "", ""
		for _, w := range wrong {
			out.Problems = append([]jobs.Problem{{Path: w.Field, Message: w.Message}}, out.Problems...)
		}
	}
	return out, problems, err
}

// judged is what a judgement came to; old is the job that is edited, nil for a new one.
func (h *Handlers) judged(ctx context.Context, parsed []job.Parsed, problems job.Problems, old *domain.Job) (jobs.CheckResult, error) {
	out := jobs.CheckResult{Checked: true, Problems: shown(lookup(ctx), problems), Jobs: len(parsed)}
	if len(parsed) == 0 {
		return out, nil
	}
	spec := parsed[0].Spec
	next, err := h.nextFires(ctx, parsed[0], old)
	if err != nil {
		return out, err
	}
	out.Schedule, out.Expr, out.Dialect, out.Zone, out.Next = h.scheduleWords(ctx, spec), writtenExpr(spec.Schedule), spec.Schedule.Dialect, spec.Timezone, shownComing(ctx, next)
	out.NoNext = i18n.T(ctx, noNext(spec))
	if out.NextWas, err = h.nextWas(ctx, spec, next, old); err != nil {
		return out, err
	}
	out.Timeout, out.TimeoutDefault = time.Duration(spec.TimeoutSec)*time.Second, !spec.TimeoutGiven
	return out, nil
}

// nextWas says when the job that is edited would be due next as it is, where that is another moment than
// the edit comes to; "": it is the same, or it is due by itself neither before nor after. A fire that is due at
// this moment is taken as it was planned.
func (h *Handlers) nextWas(ctx context.Context, spec domain.JobSpec, next []domain.Coming, old *domain.Job) (string, error) {
	if old == nil || !old.Enabled {
		return "", nil
	}
	all, err := h.Fires.NextFires(ctx, []domain.ID{old.ID})
	was := all[old.ID]
	if err != nil || !was.After(h.Jobs.Now()) || len(next) > 0 && next[0].At.Equal(was) {
		return "", err
	}
	said := h.moment(ctx, was, old.Spec.Timezone)
	switch {
	case spec.EnabledGiven && !spec.Enabled:
		return i18n.T(ctx, "check.next_pauses", "was", said), nil
	case len(next) == 0:
		return i18n.T(ctx, "check.next_gone", "was", said), nil
	}
	return i18n.T(ctx, "check.next_was", "was", said, "next", h.moment(ctx, next[0].At, spec.Timezone)), nil
}

// moment says an instant by the clock of a zone, and names that.
func (h *Handlers) moment(ctx context.Context, at time.Time, name string) string {
	loc, err := h.Jobs.Schedules.Zone(name)
	if err != nil { // no definition is saved with such a zone
		loc = time.UTC
	}
	return at.In(loc).Format(time.DateTime) + " " + loc.String() + " (" + i18n.Offset(at.In(loc)) + ")"
}

// nextFires are those that a definition promises. Where its schedule is that of the job as it
// is, they are those of the job's trigger: a distance counts from the first save, not from now.
func (h *Handlers) nextFires(ctx context.Context, p job.Parsed, old *domain.Job) ([]domain.Coming, error) {
	if old == nil || !old.Enabled || old.Spec.Schedule != p.Spec.Schedule || old.Spec.Timezone != p.Spec.Timezone ||
		old.Spec.Calendar != p.Spec.Calendar || old.Spec.BizDate != p.Spec.BizDate {
		return p.Coming, nil
	}
	coming, err := h.Fires.Coming(ctx, []domain.ID{old.ID}, shownFires)
	return coming[old.ID], err
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
