package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/calendar/store"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

// apiCalendar is a calendar as a list shows it.
type apiCalendar struct {
	ID      domain.ID `json:"id"`
	Name    string    `json:"name"` // [project/]name
	Project string    `json:"project"`
	Title   string    `json:"title"`
	Version int       `json:"version"`
	Years   []int     `json:"years"`   // of which the special days are known
	Special int       `json:"special"` // how many there are
	Jobs    int       `json:"jobs"`    // that live by it
	// CoveredTo is the last day, from today on, of which the special days are known; "" = not even
	// today's year is.
	CoveredTo string    `json:"coveredTo"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// apiCalendars is all that the caller may see.
type apiCalendars struct {
	Calendars []apiCalendar `json:"calendars"`
}

// apiDay is one special day.
type apiDay struct {
	Date  string `json:"date"`
	Kind  string `json:"kind"` // holiday, or makeup: a working day against the week's rhythm
	Label string `json:"label"`
}

// apiVersion is one version of a calendar.
type apiVersion struct {
	Version   int       `json:"version"`
	File      string    `json:"file"` // from which it came
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
}

// apiWhole is one calendar.
type apiWhole struct {
	apiCalendar
	Rest     []string     `json:"rest"` // weekdays that are not worked
	Days     []apiDay     `json:"days"`
	Users    []string     `json:"users"`    // jobs that live by it
	Versions []apiVersion `json:"versions"` // newest first
	Text     string       `json:"text"`     // the whole as YAML, which apply takes
}

// applyCall is the body of an apply.
type applyCall struct {
	File    string          `json:"file"` // its name; the ending tells the format
	Text    string          `json:"text"`
	Format  calendar.Format `json:"format"`  // yaml, csv or ics; empty: by name and text
	Project string          `json:"project"` // where the file does not say
	Name    string          `json:"name"`    // where the file does not say
	Base    *int            `json:"base"`    // the version that was seen, 0 for none; null: whatever is there
	DryRun  bool            `json:"dryRun"`
}

// apiApplied is what came of it.
type apiApplied struct {
	Calendar string          `json:"calendar"` // [project/]name
	ID       domain.ID       `json:"id"`       // empty for one that a dry run would make
	Change   calendar.Change `json:"change"`
	Version  int             `json:"version"`
	Years    []int           `json:"years"`
	Days     []apiDayChange  `json:"days"`  // that are other than before
	Jobs     int             `json:"jobs"`  // that live by it
	Moves    []apiMove       `json:"moves"` // those of them whose fires move
	DryRun   bool            `json:"dryRun"`
}

// apiDayChange is one day of which the calendar says something else now. The kinds are workday, restday,
// holiday and makeup.
type apiDayChange struct {
	Date  string           `json:"date"`
	Was   calendar.DayKind `json:"was"`
	Is    calendar.DayKind `json:"is"`
	Label string           `json:"label"`
}

// apiMove is what becomes of the fires of one job: the first of those that happen no more and of those
// that happen only now, and how many there are within 400 days.
type apiMove struct {
	Job        string    `json:"job"`
	Gone       []apiFire `json:"gone"`
	Added      []apiFire `json:"added"`
	GoneCount  int       `json:"goneCount"`
	AddedCount int       `json:"addedCount"`
	More       bool      `json:"more"` // not all were looked at
}

// apiFire is one of them.
type apiFire struct {
	At        time.Time `json:"at"`
	BizDate   string    `json:"bizDate"`
	MovedFrom string    `json:"movedFrom"`
}

// apiProblem is one thing wrong with a file. Line and column count from 1; 0 is about no place.
type apiProblem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	ID       string `json:"id"`
	Message  string `json:"message"`
	Excerpt  string `json:"excerpt"`
	Severity string `json:"severity"` // always error
}

func (h *Handlers) apiList(c echo.Context) error {
	ctx := c.Request().Context()
	found, err := h.Calendars.List(ctx, httpx.Visible(ctx, domain.ActJobRead), h.today())
	if err != nil {
		return err
	}
	out := apiCalendars{Calendars: []apiCalendar{}}
	for _, l := range found {
		if p := c.QueryParam("project"); p == "" || p == l.Project {
			out.Calendars = append(out.Calendars, listed(l))
		}
	}
	return c.JSON(http.StatusOK, out)
}

func listed(l calendar.Listed) apiCalendar {
	return apiCalendar{ID: l.ID, Name: l.Key(), Project: l.Project, Title: l.Title, Version: l.Version, Years: l.Years, Special: l.Special, Jobs: l.Jobs,
		CoveredTo: l.CoveredTo.String(), UpdatedAt: l.UpdatedAt}
}

func (h *Handlers) apiShow(c echo.Context) error {
	f, err := h.named(c, domain.ActJobRead)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	users, err := h.Calendars.UserNames(ctx, f.ID)
	if err != nil {
		return err
	}
	versions, err := h.Calendars.Store.Versions(ctx, f.ID, shownVersions)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, h.whole(f, users, versions))
}

func (h *Handlers) whole(f calendar.Found, users []domain.JobName, versions []store.Version) apiWhole {
	l := calendar.Listed{Row: f.Row, Project: f.Project, Years: f.Days.Years, Special: len(f.Days.Days), Jobs: len(users), CoveredTo: f.Days.CoveredTo(h.today())}
	out := apiWhole{apiCalendar: listed(l), Rest: []string{}, Days: []apiDay{}, Users: []string{}, Versions: []apiVersion{}, Text: f.Text()}
	for d, off := range f.Days.Rest {
		if off {
			out.Rest = append(out.Rest, time.Weekday(d).String())
		}
	}
	for _, d := range calendar.SpecialDays(f.Days) {
		out.Days = append(out.Days, apiDay{d.String(), string(calendar.KindOf(f.Days, d)), f.Days.Label(d)})
	}
	for _, u := range users {
		out.Users = append(out.Users, u.Key.String())
	}
	for _, v := range versions {
		out.Versions = append(out.Versions, apiVersion{v.Version, v.Note, v.CreatedBy, v.CreatedAt})
	}
	return out
}

func (h *Handlers) apiApply(c echo.Context) error {
	var in applyCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if in.Text == "" {
		return domain.Fail(domain.Invalid, "there is no text").At("text").WithHint(`send {"file": "cn.yaml", "text": "…"}`)
	}
	ctx := c.Request().Context()
	a, problems, err := h.Calendars.Apply(ctx, calendar.Request{File: in.File, Text: in.Text, Format: in.Format, Project: in.Project, Name: in.Name,
		Base: in.Base, DryRun: in.DryRun, Allow: allow})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return refused(ctx, problems)
	}
	return c.JSON(http.StatusOK, appliedOf(a, in.DryRun))
}

// refused is the error of a file with problems.
func refused(ctx context.Context, problems []calendar.Problem) error {
	list := make([]apiProblem, len(problems))
	for i, p := range problems {
		list[i] = apiProblem{p.File, p.Line, p.Column, p.ID, p.Message(say(ctx)), p.Excerpt(), "error"}
	}
	said := domain.Fail(domain.Invalid, "nothing was changed: %s", list[0].Message)
	if len(list) > 1 {
		said = domain.Fail(domain.Invalid, "nothing was changed: %d problems, the first is: %s", len(list), list[0].Message)
	}
	return httpx.WithProblems(said, list)
}

// say says catalog keys in the reader's language.
func say(ctx context.Context) func(key string, args map[string]string) string {
	return func(key string, args map[string]string) string {
		pairs := make([]any, 0, 2*len(args))
		for k, v := range args {
			pairs = append(pairs, k, v)
		}
		return i18n.T(ctx, key, pairs...)
	}
}

func appliedOf(a calendar.Applied, dry bool) apiApplied {
	out := apiApplied{Calendar: a.Key(), ID: a.Calendar.ID, Change: a.Change, Version: a.Calendar.Version, Years: a.Calendar.Years, Days: []apiDayChange{}, Jobs: len(a.Users),
		Moves: []apiMove{}, DryRun: dry}
	if dry && a.Change == calendar.Created {
		out.ID = 0
	}
	for _, d := range a.Days {
		out.Days = append(out.Days, apiDayChange{d.Date.String(), d.Was, d.Is, d.Label})
	}
	for _, m := range a.Moves {
		out.Moves = append(out.Moves, apiMove{Job: m.Job.Key.String(), Gone: firesOf(m.Gone), Added: firesOf(m.Added), GoneCount: m.GoneCount, AddedCount: m.AddedCount, More: m.More})
	}
	return out
}

func firesOf(all []domain.Coming) []apiFire {
	out := make([]apiFire, len(all))
	for i, f := range all {
		out[i] = apiFire{f.At, f.BizDate.String(), f.From.String()}
	}
	return out
}

func (h *Handlers) apiDelete(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	var base *int
	if text := c.QueryParam("base"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return domain.Fail(domain.Invalid, "%q is no version", text).At("base")
		}
		base = &n
	}
	if err := h.Calendars.Delete(c.Request().Context(), f, base); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
