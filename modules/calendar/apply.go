package calendar

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/calendar/store"
	"github.com/axsched/ax/modules/domain"
)

// Request is a file to take.
type Request struct {
	File   string // its name, for problems; decides the format where Format is ""
	Text   string
	Format Format
	// Project and Name say whose calendar it is where the file does not; where both say it,
	// they must agree. Project "" = the default one.
	Project, Name string
	// Base is the version that the caller saw, 0 for a calendar that must not be there yet; nil =
	// whatever is there. An overtaken one is a Conflict.
	Base   *int
	DryRun bool // judge and foresee everything, keep nothing
	// Allow is asked whether the caller may write there; nil = yes. Its answer for
	// EveryProject is only recorded: the caller named a project that is not there.
	Allow func(ctx context.Context, project domain.ID) error
}

// Change is what an apply does.
type Change string

// What an apply can do.
const (
	Created   Change = "created"
	Updated   Change = "updated" // a new version
	Unchanged Change = "unchanged"
)

// Applied is what came of an apply, or would come.
type Applied struct {
	Change   Change
	Calendar *domain.Calendar // as it is now, or would be
	Project  string
	Days     []DayChange // in order
	Users    []domain.JobName
	Moves    []Move // of the jobs whose fires move, by name
}

// Key is [project/]name.
func (a Applied) Key() string {
	return domain.JobKey{Project: a.Project, Name: a.Calendar.Name}.String()
}

// Move is what becomes of one job's fires.
type Move struct {
	Job domain.JobName
	domain.CalendarMove
}

// errNothingKept rolls a dry run back.
var errNothingKept = errors.New("nothing was kept")

// Apply takes a file, whole or not at all: with any problem nothing is changed and the problems are
// returned. Conflict when Base was overtaken, Denied when the caller may not write there.
func (c *Calendars) Apply(ctx context.Context, r Request) (Applied, []Problem, error) {
	sheet, problems := Read(r.File, r.Text, r.Format)
	if len(problems) == 0 {
		problems = sheet.claim(&r)
	}
	if len(problems) > 0 {
		return Applied{}, problems, nil
	}
	var out Applied
	err := c.Store.Tx(ctx, func(ctx context.Context) error {
		var err error
		if out, problems, err = c.apply(ctx, r, sheet); err == nil && (r.DryRun || len(problems) > 0) {
			err = errNothingKept
		}
		return err
	})
	if errors.Is(err, errNothingKept) {
		err = nil
	}
	return out, problems, err
}

// claim settles whose calendar the sheet is.
func (s *Sheet) claim(r *Request) []Problem {
	n := &notes{file: r.File}
	if s.Project != "" && r.Project != "" && s.Project != r.Project {
		n.add(0, 0, "other_project", "file", s.Project, "wanted", r.Project)
	}
	if s.Name != "" && r.Name != "" && s.Name != r.Name {
		n.add(0, 0, "other_name", "file", s.Name, "wanted", r.Name)
	}
	r.Project, r.Name = cmp.Or(s.Project, r.Project, domain.DefaultProject), cmp.Or(s.Name, r.Name)
	switch {
	case r.Name == "":
		n.add(0, 0, "whose")
	case NameFault(r.Name) != "":
		n.add(0, 0, "name", "value", r.Name, "max", itoa(MaxNameRunes))
	}
	s.Name = r.Name
	return n.problems
}

func (c *Calendars) apply(ctx context.Context, r Request, sheet *Sheet) (Applied, []Problem, error) {
	project, err := c.project(ctx, r)
	if err != nil {
		return Applied{}, nil, err
	}
	row, old, err := c.standing(ctx, project, r.Name)
	if err != nil {
		return Applied{}, nil, err
	}
	if r.Base != nil && *r.Base != row.Version {
		return Applied{}, nil, c.overtaken(ctx, r, row)
	}
	days := sheet.Calendar(old)
	if old == nil {
		days.ID, days.ProjectID = c.IDs.Next(), project
	}
	return c.take(ctx, r, row, old, days)
}

// take makes days the newest version of the calendar that stands locked in row, or of a new one.
func (c *Calendars) take(ctx context.Context, r Request, row store.Row, old, days *domain.Calendar) (Applied, []Problem, error) {
	prune(days)
	out := Applied{Change: Updated, Calendar: days, Project: r.Project, Days: changed(old, days)}
	body := Write(out.Calendar, r.Project)
	switch {
	case old == nil:
		out.Change = Created
	case Write(old, r.Project) == body:
		out.Change = Unchanged
	}
	// Years are joined to those that were there, so the whole can be too much where the file is not.
	if _, problems := Read(r.File, body, YAML); len(problems) > 0 {
		for i := range problems {
			problems[i].Line, problems[i].Column, problems[i].Source = 0, 0, ""
		}
		return out, problems, nil
	}
	if old != nil {
		var err error
		if out.Users, err = c.UserNames(ctx, row.ID); err != nil || out.Change == Unchanged {
			return out, nil, err
		}
	}
	out.Calendar.Version = row.Version + 1
	if err := c.foresee(ctx, &out); err != nil || r.DryRun {
		return out, nil, err
	}
	return out, nil, c.keep(ctx, r, row, old, out, body)
}

// standing locks and reads the calendar of the name; a zero row when there is none.
func (c *Calendars) standing(ctx context.Context, project domain.ID, name string) (store.Row, *domain.Calendar, error) {
	row, err := c.Store.ByName(ctx, project, name)
	if err == nil {
		row, err = c.Store.Lock(ctx, row.ID)
	}
	if domain.Is(err, domain.NotFound) || err == nil && !row.DeletedAt.IsZero() {
		return store.Row{}, nil, nil
	}
	if err != nil {
		return row, nil, err
	}
	days, err := c.Version(ctx, row.ID, row.Version)
	return row, days, err
}

// project finds the project, or makes it where the caller may, and asks whether the caller may
// write there.
func (c *Calendars) project(ctx context.Context, r Request) (domain.ID, error) {
	allow := r.Allow
	if allow == nil {
		allow = func(context.Context, domain.ID) error { return nil }
	}
	id, err := c.Projects.Ensure(ctx, r.Project)
	switch {
	case domain.Is(err, domain.NotFound):
		_ = allow(ctx, domain.EveryProject) // for the record of what was refused
		return 0, mayNotSave(r.Project)
	case err != nil:
		return 0, err
	}
	if err := allow(ctx, id); domain.Is(err, domain.NotFound) || domain.Is(err, domain.Denied) {
		return 0, mayNotSave(r.Project)
	} else if err != nil {
		return 0, err
	}
	return id, nil
}

// mayNotSave is the same whether the project exists or not.
func mayNotSave(project string) error {
	return domain.Fail(domain.Denied, "you may not save calendars in project %q", project).At("project").
		WithHint("this needs calendar.write there; a new project is made by an editor of all projects").Coded("error.may_not_save_calendar", "project", project)
}

func (c *Calendars) overtaken(ctx context.Context, r Request, row store.Row) error {
	key := domain.JobKey{Project: r.Project, Name: r.Name}.String()
	switch {
	case row.ID == 0:
		return domain.Fail(domain.Conflict, "calendar %s was deleted meanwhile", key).Coded("error.calendar_deleted", "calendar", key)
	case *r.Base == 0:
		return domain.Fail(domain.Conflict, "there is a calendar %s already", key).WithHint("change it on its own page, or choose another name").
			Coded("error.calendar_exists", "calendar", key)
	}
	v, err := c.Store.Version(ctx, row.ID, row.Version)
	if err != nil {
		return err
	}
	return domain.Fail(domain.Conflict, "%s saved version %d of calendar %s at %s, after version %d that you saw", v.CreatedBy, row.Version, key, v.CreatedAt.Format(time.RFC3339), *r.Base).
		WithHint("look at what is there now and do it again").
		Coded("error.calendar_overtaken", "calendar", key, "by", v.CreatedBy, "version", strconv.Itoa(row.Version), "base", strconv.Itoa(*r.Base))
}

// foresee tells which jobs' fires move.
func (c *Calendars) foresee(ctx context.Context, a *Applied) error {
	if len(a.Users) == 0 {
		return nil
	}
	moves, err := c.Schedules.CalendarMoves(ctx, idsOf(a.Users), a.Calendar)
	if err != nil {
		return err
	}
	of := make(map[domain.ID]domain.CalendarMove, len(moves))
	for _, m := range moves {
		of[m.Job] = m
	}
	for _, u := range a.Users {
		if m, ok := of[u.ID]; ok {
			a.Moves = append(a.Moves, Move{u, m})
		}
	}
	return nil
}

func idsOf(jobs []domain.JobName) []domain.ID {
	out := make([]domain.ID, len(jobs))
	for i, j := range jobs {
		out[i] = j.ID
	}
	return out
}

// keep writes the version and puts it into force.
func (c *Calendars) keep(ctx context.Context, r Request, row store.Row, old *domain.Calendar, a Applied, body string) error {
	now, days := c.Now(), a.Calendar
	v := store.Version{Calendar: days.ID, Version: days.Version, ProjectID: days.ProjectID, Body: body, Note: clip(r.File), CreatedBy: domain.PrincipalOf(ctx).Name, CreatedAt: now}
	before := ""
	if old == nil {
		row = store.Row{ID: days.ID, ProjectID: days.ProjectID, Name: days.Name, Title: days.Title, Version: days.Version, CreatedAt: now, UpdatedAt: now}
		if err := c.Store.Insert(ctx, row); domain.Is(err, domain.Exists) {
			return domain.Fail(domain.Conflict, "there is a calendar %s already", a.Key()).Coded("error.calendar_exists", "calendar", a.Key())
		} else if err != nil {
			return err
		}
	} else {
		before = Write(old, r.Project)
		row.Title, row.Version, row.UpdatedAt = days.Title, days.Version, now
		if err := c.Store.Save(ctx, row); err != nil {
			return err
		}
	}
	if err := c.Store.InsertVersion(ctx, v); err != nil {
		return err
	}
	if len(a.Users) > 0 {
		if err := c.Schedules.CalendarChanged(ctx, idsOf(a.Users), days); err != nil {
			return err
		}
	}
	return c.Audit.Changed(ctx, days.ProjectID, string(domain.ActCalendarWrite), object(a.Project, days.Name), before, body)
}

// object names a calendar in the audit trail.
func object(project, name string) string { return "calendar/" + project + "/" + name }

// Delete takes a calendar away; its versions stay for the past that they explain. Conflict, with their
// names, while jobs live by it, and when base (nil: any) was overtaken.
func (c *Calendars) Delete(ctx context.Context, f Found, base *int) error {
	return c.Store.Tx(ctx, func(ctx context.Context) error {
		row, err := c.Store.Lock(ctx, f.ID)
		if err != nil {
			return err
		}
		if !row.DeletedAt.IsZero() {
			return Missing(f.Key())
		}
		if base != nil && *base != row.Version {
			return c.overtaken(ctx, Request{Project: f.Project, Name: f.Name, Base: base}, row)
		}
		users, err := c.UserNames(ctx, f.ID)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return usedBy(f.Key(), users)
		}
		days, err := c.Version(ctx, row.ID, row.Version)
		if err != nil {
			return err
		}
		row.DeletedAt, row.UpdatedAt = c.Now(), c.Now()
		if err := c.Store.Save(ctx, row); err != nil {
			return err
		}
		return c.Audit.Changed(ctx, row.ProjectID, "calendar.delete", object(f.Project, f.Name), Write(days, f.Project), "")
	})
}

// namedMost is how many jobs a refusal names.
const namedMost = 5

func usedBy(key string, users []domain.JobName) error {
	names := ""
	for i, u := range users[:min(len(users), namedMost)] {
		if i > 0 {
			names += ", "
		}
		names += u.Key.String()
	}
	if len(users) > namedMost {
		names += " …"
	}
	many := strconv.Itoa(len(users)) + " jobs live"
	if len(users) == 1 {
		many = "1 job lives"
	}
	return domain.Fail(domain.Conflict, "calendar %s cannot be deleted: %s by it: %s", key, many, names).
		WithHint("take calendar: out of their files first").Coded("error.calendar_used", "calendar", key, "n", strconv.Itoa(len(users)), "jobs", names)
}

// DayChange is one day of which the versions say different things.
type DayChange struct {
	Date     domain.BizDate
	Was, Is  DayKind
	OldLabel string
	Label    string
}

// DayKind is what a calendar says of a day.
type DayKind string

// The kinds: a make-up working day and a holiday break the weekly rhythm.
const (
	Workday DayKind = "workday"
	Restday DayKind = "restday"
	MakeUp  DayKind = "makeup"
	Holiday DayKind = "holiday"
)

// KindOf is what a calendar says of a day; nil: Monday to Friday are worked.
func KindOf(c *domain.Calendar, d domain.BizDate) DayKind {
	if c != nil {
		if day, special := c.Days[d]; special {
			if day.Work {
				return MakeUp
			}
			return Holiday
		}
	}
	if c.Workday(d) {
		return Workday
	}
	return Restday
}

// SpecialDays lists the days that break the weekly rhythm, in order.
func SpecialDays(c *domain.Calendar) []domain.BizDate {
	return slices.SortedFunc(maps.Keys(c.Days), domain.BizDate.Compare)
}

// changed lists the special days that are new, other or gone. A change of the weekly rhythm is none
// of them.
func changed(old, is *domain.Calendar) []DayChange {
	days := map[domain.BizDate]bool{}
	for _, c := range []*domain.Calendar{old, is} {
		if c != nil {
			for d := range c.Days {
				days[d] = true
			}
		}
	}
	var out []DayChange
	for _, d := range slices.SortedFunc(maps.Keys(days), domain.BizDate.Compare) {
		c := DayChange{d, KindOf(old, d), KindOf(is, d), old.Label(d), is.Label(d)}
		if c.Was != c.Is || c.OldLabel != c.Label {
			out = append(out, c)
		}
	}
	return out
}
