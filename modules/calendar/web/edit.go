package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/calendars"
	"github.com/axsched/ax/views/ui"
)

// typed is what stands in the form.
type typed struct {
	id                        string // of the calendar that is changed; "" = a new one
	base                      int
	project, name, text, file string
}

func baseOf(form url.Values) (int, error) {
	n, err := strconv.Atoi(form.Get("base_version"))
	if err != nil || n < 0 {
		return 0, domain.Fail(domain.Invalid, "the form does not say which version it began from").At("base_version").WithHint("load the page again")
	}
	return n, nil
}

func readForm(c echo.Context) (typed, bool, error) {
	form, err := httpx.Form(c)
	if err != nil {
		return typed{}, false, err
	}
	base, err := baseOf(form)
	return typed{base: base, project: strings.TrimSpace(form.Get("project")), name: strings.TrimSpace(form.Get("name")), text: form.Get("text"), file: form.Get("file")},
		form.Get("preview") != "", err
}

// request is the apply that the form asks for. What is in the text tells the format before the name of
// the file that was read into it, for it may have been changed since.
func (t typed) request(dry bool) calendar.Request {
	r := calendar.Request{File: t.file, Text: t.text, Project: t.project, Name: t.name, Base: &t.base, DryRun: dry, Allow: allow}
	if r.Format = calendar.FormatOf("", t.text); r.Format == calendar.YAML && !strings.Contains(t.text, "calendar:") && t.file != "" {
		r.Format = calendar.FormatOf(t.file, t.text)
	}
	return r
}

func (h *Handlers) newPage(c echo.Context) error {
	return h.show(c, typed{}, calendars.Check{}, http.StatusOK, nil)
}

func (h *Handlers) editPage(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	return h.show(c, typed{id: f.ID.String(), base: f.Version, text: f.Text()}, calendars.Check{}, http.StatusOK, &f)
}

// show draws the editor.
func (h *Handlers) show(c echo.Context, t typed, check calendars.Check, status int, f *calendar.Found) error {
	p, err := h.editor(c, t, f)
	if err != nil {
		return err
	}
	p.Check = check
	return httpx.Render(c, status, calendars.Edit(p))
}

func (h *Handlers) editor(c echo.Context, t typed, f *calendar.Found) (calendars.EditPage, error) {
	p := calendars.EditPage{Shell: httpx.Shell(c), Base: t.base, Project: t.project, Name: t.name, Text: t.text, File: t.file, MaxKB: calendar.MaxBytes >> 10, Key: rand.Text(),
		CheckURL: "/calendars/check", SaveURL: "/calendars/new", CancelURL: "/calendars"}
	if f != nil {
		here := calendarURL(f.ID)
		p.Calendar, p.CheckURL, p.SaveURL, p.CancelURL = ui.Ref{ID: f.Key(), Title: f.Title, URL: here}, "/calendars/check?calendar="+f.ID.String(), here+"/edit", here
		return p, nil
	}
	ctx := c.Request().Context()
	names, err := h.Calendars.Projects.Names(ctx)
	seen := httpx.Visible(ctx, domain.ActCalendarWrite)
	for id, name := range names {
		if seen.Has(id) {
			p.Projects = append(p.Projects, name)
		}
	}
	return p, err
}

func (h *Handlers) saveNew(c echo.Context) error {
	t, preview, err := readForm(c)
	if err != nil {
		return err
	}
	return h.save(c, t, preview, nil)
}

func (h *Handlers) saveEdit(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	t, preview, err := readForm(c)
	if err != nil {
		return err
	}
	t.id, t.project, t.name = f.ID.String(), f.Project, f.Name
	return h.save(c, t, preview, &f)
}

// save takes what was typed, or shows it again with what is wrong or would change.
func (h *Handlers) save(c echo.Context, t typed, preview bool, f *calendar.Found) error {
	ctx := c.Request().Context()
	a, problems, err := h.Calendars.Apply(ctx, t.request(preview))
	if err == nil && len(problems) == 0 && !preview {
		return httpx.Redirect(c, calendarURL(a.Calendar.ID))
	}
	if err == nil {
		status := http.StatusOK
		if len(problems) > 0 && !preview {
			status = http.StatusUnprocessableEntity
		}
		return h.show(c, t, checkOf(ctx, a, problems), status, f)
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	p, editorErr := h.editor(c, t, f)
	if editorErr != nil {
		return errors.Join(err, editorErr)
	}
	p.Conflict = text
	h.overtaken(&p, err)
	return httpx.Render(c, status, calendars.Edit(p))
}

// overtaken makes the next save one that knows of the version that was faster.
func (h *Handlers) overtaken(p *calendars.EditPage, err error) {
	var e *domain.Error
	if !errors.As(err, &e) || e.Args["version"] == "" {
		return
	}
	p.Base, p.ConflictURL = newer(e, p.Base), p.Calendar.URL
}

// newer is the version that was faster, by what the conflict says; base where it says none.
func newer(e *domain.Error, base int) int {
	if now, err := strconv.Atoi(e.Args["version"]); err == nil {
		return now
	}
	return base
}

// check answers the fragment beside the text while somebody types.
func (h *Handlers) check(c echo.Context) error {
	t, _, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if id := c.QueryParam("calendar"); id != "" {
		f, err := h.find(ctx, id, domain.ActCalendarWrite)
		if err != nil {
			return err
		}
		t.project, t.name = f.Project, f.Name
	}
	a, problems, err := h.Calendars.Apply(ctx, t.request(true))
	check := checkOf(ctx, a, problems)
	if err != nil {
		_, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		check = calendars.Check{Checked: true, Error: text}
	}
	return httpx.Render(c, http.StatusOK, calendars.Checked(httpx.Shell(c), check))
}

// How much of what would change a page shows.
const (
	shownDays  = 60
	shownMoves = 20
	shownFires = 5
)

// checkOf is what a text would do, as the page shows it.
func checkOf(ctx context.Context, a calendar.Applied, problems []calendar.Problem) calendars.Check {
	out := calendars.Check{Checked: true}
	for _, p := range problems {
		out.Problems = append(out.Problems, calendars.Problem{Line: p.Line, Column: p.Column, Message: p.Message(say(ctx)), Excerpt: p.Excerpt()})
	}
	if len(problems) > 0 {
		return out
	}
	out.Change, out.Version, out.Jobs = string(a.Change), a.Calendar.Version, len(a.Users)
	days := joinedDays(a.Days)
	out.Days, out.MoreDays = days[:min(len(days), shownDays)], max(0, len(days)-shownDays)
	for _, m := range a.Moves[:min(len(a.Moves), shownMoves)] {
		out.Moves = append(out.Moves, calendars.Move{Job: refOf(m.Job), Gone: shownOf(ctx, m.Gone), Added: shownOf(ctx, m.Added), GoneCount: m.GoneCount, AddedCount: m.AddedCount, More: m.More})
	}
	out.MoreJobs = len(a.Moves) - len(out.Moves)
	return out
}

// joinedDays puts neighbours that change alike together.
func joinedDays(all []calendar.DayChange) []calendars.DayChange {
	var out []calendars.DayChange
	for i := 0; i < len(all); {
		first, last := all[i], all[i]
		for i++; i < len(all) && all[i].Date == last.Date.AddDays(1) && all[i].Was == first.Was && all[i].Is == first.Is && all[i].Label == first.Label; i++ {
			last = all[i]
		}
		d := calendars.DayChange{Days: first.Date.String(), Was: string(first.Was), Is: string(first.Is), Label: first.Label}
		if last.Date != first.Date {
			d.Days += " – " + last.Date.String()[5:]
		}
		out = append(out, d)
	}
	return out
}

func shownOf(ctx context.Context, fires []domain.Coming) []ui.Fire {
	out := make([]ui.Fire, 0, shownFires)
	for _, f := range fires[:min(len(fires), shownFires)] {
		one := ui.Fire{At: f.At, BizDate: f.BizDate.String()}
		if !f.From.IsZero() {
			one.Note = i18n.T(ctx, "fire.moved", "date", f.From.String(), "weekday", i18n.Weekday(ctx, f.From.Start(time.UTC)))
		}
		out = append(out, one)
	}
	return out
}
