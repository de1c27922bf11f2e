package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/calendar/store"
	"github.com/axsched/ax/modules/domain"
)

// Calendars has the use cases. All fields must be set, but Schedules, Jobs and Audit where only Use,
// Named and Version are asked. Safe for concurrent use.
type Calendars struct {
	Store     *store.Store
	Memory    *Memory
	IDs       *domain.IDs
	Now       func() time.Time
	Schedules Schedules
	Jobs      Jobs
	Projects  Projects
	Audit     Audit
}

// Use notes, in the transaction of ctx, that the job lives by the named calendar of the project and no
// other ("": by none), and gives the version in force, which stays so until that transaction ends.
// Invalid if there is no such calendar.
func (c *Calendars) Use(ctx context.Context, project, job domain.ID, name string) (*domain.Calendar, error) {
	if name == "" {
		return nil, c.Store.Use(ctx, project, job, 0)
	}
	row, err := c.Store.ByName(ctx, project, name)
	if err == nil {
		row, err = c.Store.LockShared(ctx, row.ID)
	}
	switch {
	case domain.Is(err, domain.NotFound), err == nil && !row.DeletedAt.IsZero():
		return nil, domain.Fail(domain.Invalid, "there is no calendar %s in this project", name).At("calendar")
	case err != nil:
		return nil, err
	}
	if err := c.Store.Use(ctx, project, job, row.ID); err != nil {
		return nil, err
	}
	return c.Version(ctx, row.ID, row.Version)
}

// Named reads the version in force of a project's calendar; NotFound if there is none.
func (c *Calendars) Named(ctx context.Context, project, name string) (*domain.Calendar, error) {
	row, err := c.row(ctx, project, name)
	if err != nil {
		return nil, err
	}
	return c.Version(ctx, row.ID, row.Version)
}

func (c *Calendars) row(ctx context.Context, project, name string) (store.Row, error) {
	id, err := c.Projects.ByName(ctx, project)
	if err != nil {
		return store.Row{}, err
	}
	return c.Store.ByName(ctx, id, name)
}

// Version reads one version, also of a deleted calendar; NotFound if there is none.
func (c *Calendars) Version(ctx context.Context, calendar domain.ID, version int) (*domain.Calendar, error) {
	if known := c.Memory.get(calendar, version); known != nil {
		return known, nil
	}
	v, err := c.Store.Version(ctx, calendar, version)
	if err != nil {
		return nil, err
	}
	sheet, problems := Read("", v.Body, YAML)
	if len(problems) > 0 {
		p := problems[0]
		return nil, fmt.Errorf("version %d of calendar %s is damaged: %s at line %d, column %d", version, calendar, p.ID, p.Line, p.Column)
	}
	out := sheet.Calendar(nil)
	out.ID, out.ProjectID, out.Version = calendar, v.ProjectID, version
	c.Memory.put(out)
	return out, nil
}

// EndsWithin is how many days before its end a calendar is said to end.
const EndsWithin = 30

// Ends tells whether a calendar that knows the special days up to a date (zero: not even today's) ends
// within EndsWithin days.
func Ends(coveredTo, today domain.BizDate) bool {
	return coveredTo.IsZero() || !today.AddDays(EndsWithin).Before(coveredTo)
}

// Listed is a calendar as it stands, for lists.
type Listed struct {
	store.Row
	Project string
	Years   []int
	Special int // days that break the weekly rhythm
	Jobs    int // that live by it
	// CoveredTo is the last day, from today on, of which the special days are known; zero: not
	// even today's year is.
	CoveredTo domain.BizDate
}

// Key is [project/]name.
func (l Listed) Key() string { return domain.JobKey{Project: l.Project, Name: l.Name}.String() }

// List reads the calendars of the projects, by project and name; today is the reader's.
func (c *Calendars) List(ctx context.Context, seen domain.ProjectSet, today domain.BizDate) ([]Listed, error) {
	var in []domain.ID
	if !seen.All {
		if in = seen.IDs; len(in) == 0 {
			return nil, nil
		}
	}
	rows, err := c.Store.List(ctx, in)
	if err != nil {
		return nil, err
	}
	ids := make([]domain.ID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	users, err := c.Store.UserCounts(ctx, ids)
	if err != nil {
		return nil, err
	}
	names, err := c.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Listed, len(rows))
	for i, r := range rows {
		days, err := c.Version(ctx, r.ID, r.Version)
		if err != nil {
			return nil, err
		}
		out[i] = Listed{r, names[r.ProjectID], days.Years, len(days.Days), users[r.ID], days.CoveredTo(today)}
	}
	slices.SortStableFunc(out, func(a, b Listed) int { return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// Ending lists the calendars that jobs live by and that end within EndsWithin days of a day, or have.
func (c *Calendars) Ending(ctx context.Context, today domain.BizDate) ([]domain.CalendarEnd, error) {
	all, err := c.List(ctx, domain.ProjectSet{All: true}, today)
	if err != nil {
		return nil, err
	}
	var out []domain.CalendarEnd
	for _, l := range all {
		if l.Jobs == 0 || !Ends(l.CoveredTo, today) {
			continue
		}
		e := domain.CalendarEnd{ID: l.ID, ProjectID: l.ProjectID, Key: l.Key(), LastDay: l.CoveredTo, Jobs: l.Jobs}
		if e.Year, _, _ = today.Date(); !e.LastDay.IsZero() {
			e.Year, _, _ = e.LastDay.AddDays(1).Date()
		}
		out = append(out, e)
	}
	return out, nil
}

// Found is one calendar with its days in force.
type Found struct {
	store.Row
	Project string
	Days    *domain.Calendar
}

// Key is [project/]name.
func (f Found) Key() string { return domain.JobKey{Project: f.Project, Name: f.Name}.String() }

// Text is the calendar as YAML.
func (f Found) Text() string { return Write(f.Days, f.Project) }

// Find reads a calendar that is there by [project/]name or by its id; NotFound if there is none.
func (c *Calendars) Find(ctx context.Context, name string) (Found, error) {
	key := domain.ParseJobKey(name)
	row, err := c.row(ctx, key.Project, key.Name)
	if domain.Is(err, domain.NotFound) {
		if id, bad := domain.ParseID(name); bad == nil {
			row, err = c.Store.ByID(ctx, id)
		}
	}
	if domain.Is(err, domain.NotFound) || err == nil && !row.DeletedAt.IsZero() {
		return Found{}, Missing(name)
	}
	if err != nil {
		return Found{}, err
	}
	names, err := c.Projects.Names(ctx)
	if err != nil {
		return Found{}, err
	}
	days, err := c.Version(ctx, row.ID, row.Version)
	return Found{row, names[row.ProjectID], days}, err
}

// Missing says that there is no such calendar, or none that the caller may know of.
func Missing(name string) error {
	return domain.Fail(domain.NotFound, "there is no calendar %q", name).Coded("error.no_calendar", "calendar", name)
}

// UserNames names the jobs that live by a calendar, in order.
func (c *Calendars) UserNames(ctx context.Context, calendar domain.ID) ([]domain.JobName, error) {
	ids, err := c.Store.Users(ctx, calendar)
	if err != nil {
		return nil, err
	}
	names, err := c.Jobs.NamesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]domain.JobName, 0, len(ids))
	for _, id := range ids {
		if n, ok := names[id]; ok {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b domain.JobName) int { return a.Key.Compare(b.Key) })
	return out, nil
}
