package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
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

// dayCall is the body of a change of single days.
type dayCall struct {
	Kind    calendar.Saying `json:"kind"`    // workday, holiday, or rule: the weekly rest days decide again
	Label   string          `json:"label"`   // what is said of it; none with rule
	AddYear bool            `json:"addYear"` // count the year as known from now on, where it is not yet
	Base    *int            `json:"base"`    // the version that was seen; null: whatever is there
	DryRun  bool            `json:"dryRun"`
}

// apiSetDays says something else of a day, or of a stretch first..last.
func (h *Handlers) apiSetDays(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	var in dayCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	set := calendar.DaySet{Say: in.Kind, Label: in.Label, AddYear: in.AddYear, Base: in.Base, DryRun: in.DryRun}
	first, last, stretch := strings.Cut(c.Param("days"), "..")
	if set.First, err = dateOf("date", first); err != nil {
		return err
	}
	if stretch {
		if set.Last, err = dateOf("date", last); err != nil {
			return err
		}
	}
	ctx := c.Request().Context()
	a, problems, err := h.Calendars.SetDays(ctx, f, set)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return refused(ctx, problems)
	}
	return c.JSON(http.StatusOK, appliedOf(a, in.DryRun))
}

func dateOf(field, text string) (domain.BizDate, error) {
	d, err := domain.ParseBizDate(text)
	if err != nil {
		return d, domain.Fail(domain.Invalid, "%v", err).At(field).Coded("calendar.problem.date", "value", text)
	}
	return d, nil
}

// dayForm is the form of a day as it was typed.
type dayForm struct {
	calendars.DayForm
	base    int
	preview bool
}

func readDayForm(c echo.Context) (dayForm, error) {
	q, err := httpx.Form(c)
	if err != nil {
		return dayForm{}, err
	}
	base, err := baseOf(q)
	return dayForm{DayForm: typedDay(q), base: base, preview: q.Get("preview") != ""}, err
}

func typedDay(q url.Values) calendars.DayForm {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return calendars.DayForm{Date: text("date"), Until: text("until"), Kind: text("kind"), Label: text("label"), AddYear: text("add_year") != ""}
}

// set is what the form asks for. A label that was left standing says nothing of a day that
// follows the weekly rhythm.
func (t dayForm) set(dry bool) (calendar.DaySet, error) {
	s := calendar.DaySet{Say: calendar.Saying(t.Kind), Label: t.Label, AddYear: t.AddYear, Base: &t.base, DryRun: dry}
	if s.Say == calendar.SayRule {
		s.Label = ""
	}
	var err error
	if s.First, err = dateOf("date", t.Date); err == nil && t.Until != "" {
		s.Last, err = dateOf("until", t.Until)
	}
	return s, err
}

// dayPage shows what the calendar says of a day, to be changed.
func (h *Handlers) dayPage(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	d, err := dateOf("date", c.QueryParam("date"))
	if err != nil {
		return err
	}
	form := calendars.DayForm{Date: d.String(), Kind: string(calendar.SayRule), Label: f.Days.Label(d)}
	if day, special := f.Days.Days[d]; special {
		if form.Kind = string(calendar.SayHoliday); day.Work {
			form.Kind = string(calendar.SayWorkday)
		}
	}
	return httpx.Render(c, http.StatusOK, calendars.EditDay(h.dayOf(c, f, d, dayForm{DayForm: form, base: f.Version})))
}

// dayOf is the page of a day with a form.
func (h *Handlers) dayOf(c echo.Context, f calendar.Found, d domain.BizDate, t dayForm) calendars.DayPage {
	here := calendarURL(f.ID)
	p := calendars.DayPage{Shell: httpx.Shell(c), Calendar: ui.Ref{ID: f.Key(), Title: f.Title, URL: here}, Base: t.base, Form: t.DayForm, Key: rand.Text(),
		At: d.Start(time.UTC), Kind: string(calendar.KindOf(f.Days, d)), Label: f.Days.Label(d), RuleRest: f.Days.Rest[d.Weekday()], Covered: f.Days.Covers(d),
		SaveURL: here + "/day", CheckURL: here + "/day/check", CancelURL: yearURL(f.ID, d)}
	return p
}

// yearURL leads to a day in its year.
func yearURL(id domain.ID, d domain.BizDate) string {
	return calendarURL(id) + "?year=" + d.String()[:4] + "#d-" + d.String()
}

func (h *Handlers) saveDay(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	t, err := readDayForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	set, err := t.set(t.preview)
	d := set.First
	var a calendar.Applied
	var problems []calendar.Problem
	if err == nil {
		a, problems, err = h.Calendars.SetDays(ctx, f, set)
	}
	if err == nil && len(problems) == 0 && !t.preview {
		return httpx.Redirect(c, yearURL(f.ID, d))
	}
	if d.IsZero() {
		return err // a form of no day is none of ours
	}
	p := h.dayOf(c, f, d, t)
	status := http.StatusOK
	switch {
	case err != nil:
		if status, err = dayFault(c, &p, err); err != nil {
			return err
		}
	case len(problems) > 0:
		status, p.Check = http.StatusUnprocessableEntity, checkOf(ctx, a, problems)
	default:
		p.Check = checkOf(ctx, a, nil)
	}
	return httpx.Render(c, status, calendars.EditDay(p))
}

// dayFault puts what is wrong into the page; what only the edge may answer comes back.
func dayFault(c echo.Context, p *calendars.DayPage, err error) (int, error) {
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return 0, err
	}
	var e *domain.Error
	if errors.As(err, &e) && e.Kind == domain.Invalid && e.Field != "" {
		p.Errors = append(p.Errors, ui.FieldError{Field: e.Field, Message: text})
		return http.StatusUnprocessableEntity, nil
	}
	if p.Conflict = text; e != nil && e.Args["version"] != "" {
		p.Base, p.ConflictURL = newer(e, p.Base), p.Calendar.URL
	}
	return status, nil
}

// checkDay answers the fragment below the form while somebody chooses.
func (h *Handlers) checkDay(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	t, err := readDayForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	var a calendar.Applied
	var problems []calendar.Problem
	set, err := t.set(true)
	if err == nil {
		a, problems, err = h.Calendars.SetDays(ctx, f, set)
	}
	check := calendars.Check{Checked: true}
	if err == nil {
		check = checkOf(ctx, a, problems)
	} else {
		_, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		check.Error = text
	}
	return httpx.Render(c, http.StatusOK, calendars.Checked(httpx.Shell(c), check))
}

// noteOf says a version's note to the reader: the name of its file, or which days were changed by hand.
func noteOf(ctx context.Context, note string) string {
	days, say, label, ok := calendar.DayNote(note)
	if !ok {
		return note
	}
	if label != "" {
		label = " · " + label
	}
	return days + " " + i18n.T(ctx, "calendar.say."+string(say)) + label
}
