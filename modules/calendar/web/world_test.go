package web_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/calendar/store"
	"github.com/axsched/ax/modules/calendar/web"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
)

// world is the calendars behind a real edge. Jobs and schedules are played.
type world struct {
	*edge.World
	calendars *calendar.Calendars
	played    *played
}

// played stands in for jobs and their schedules.
type played struct {
	names map[domain.ID]domain.JobName
	moves []domain.CalendarMove
	put   []int // versions that were put into force
	fails error // of the putting
}

func (p *played) NamesOf(_ context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error) {
	out := map[domain.ID]domain.JobName{}
	for _, id := range jobs {
		out[id] = p.names[id]
	}
	return out, nil
}

func (p *played) CalendarChanged(_ context.Context, _ []domain.ID, newest *domain.Calendar) error {
	p.put = append(p.put, newest.Version)
	return p.fails
}

func (p *played) CalendarMoves(context.Context, []domain.ID, *domain.Calendar) ([]domain.CalendarMove, error) {
	return p.moves, nil
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := &world{played: &played{names: map[domain.ID]domain.JobName{}}}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			w.calendars = &calendar.Calendars{Store: store.New(e.DB), Memory: &calendar.Memory{}, IDs: e.IDs, Now: now, Schedules: w.played, Jobs: w.played,
				Projects: projects{e.Access}, Audit: audit{e.Access}}
			return (&web.Handlers{Calendars: w.calendars, Zone: time.UTC}).Routes()
		})
		fn(t, w)
	})
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

type projects struct{ a *access.Access }

func (p projects) ByName(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.ProjectByName(ctx, name)
	return found.ID, err
}

func (p projects) Ensure(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.EnsureProject(ctx, name)
	return found.ID, err
}

func (p projects) Names(ctx context.Context) (map[domain.ID]string, error) {
	all, err := p.a.Projects(ctx, domain.ProjectSet{All: true})
	out := map[domain.ID]string{}
	for _, one := range all {
		out[one.ID] = one.Name
	}
	return out, err
}

type audit struct{ a *access.Access }

func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}

// use makes a played job live by the calendar.
func (w *world) use(name string, c domain.ID, project domain.ID) domain.ID {
	w.T.Helper()
	id := w.IDs.Next()
	w.played.names[id] = domain.JobName{ID: id, ProjectID: project, Key: domain.JobKey{Project: domain.DefaultProject, Name: name}}
	if err := w.calendars.Store.Use(w.T.Context(), project, id, c); err != nil {
		w.T.Fatal(err)
	}
	return id
}

// tables are what a refused change must leave as it was.
func (w *world) tables() string {
	w.T.Helper()
	return w.Dump("project", "calendar", "calendar_version", "calendar_use")
}

func body(t *testing.T, fields map[string]any) string {
	t.Helper()
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
