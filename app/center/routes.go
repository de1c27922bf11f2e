package center

import (
	"context"
	"strings"
	"time"

	accessweb "github.com/axsched/ax/modules/access/web"
	backfillweb "github.com/axsched/ax/modules/backfill/web"
	"github.com/axsched/ax/modules/board"
	boardweb "github.com/axsched/ax/modules/board/web"
	calendarweb "github.com/axsched/ax/modules/calendar/web"
	"github.com/axsched/ax/modules/dag"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet"
	fleetweb "github.com/axsched/ax/modules/fleet/web"
	"github.com/axsched/ax/modules/incident"
	incidentweb "github.com/axsched/ax/modules/incident/web"
	"github.com/axsched/ax/modules/instance"
	instanceweb "github.com/axsched/ax/modules/instance/web"
	"github.com/axsched/ax/modules/job"
	jobweb "github.com/axsched/ax/modules/job/web"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/lease"
	poolweb "github.com/axsched/ax/modules/pool/web"
	schedulerweb "github.com/axsched/ax/modules/scheduler/web"
	"github.com/axsched/ax/modules/scheduler/words"
	secretweb "github.com/axsched/ax/modules/secret/web"
)

// workerCommand starts a worker for this center; the page of workers shows it
// where there is none.
const workerCommand = "AX_REDIS_URL=redis://HOST:6379/0 ax --mode=worker --data ./worker-data --listen 127.0.0.1:8081"

// routes is the table of every page and call.
func (l *life) routes(c *core, zone *time.Location) []httpx.Route {
	records := l.records(c)
	requests := &instance.Requests{Lifecycle: c.lifecycle, Audit: audit{c.access}, Values: values{c.secrets}, Calendars: c.jobs}
	routes := []httpx.Route{httpx.Assets()}
	for _, module := range []interface{ Routes() []httpx.Route }{
		&accessweb.Handlers{Access: c.access},
		&jobweb.Handlers{Jobs: c.jobs, Pauses: c.plans, Fires: c.triggers, Days: c.instances, Instances: c.instances, Words: words.Wording{}},
		&instanceweb.Handlers{Records: records, Requests: requests, Jobs: c.jobs, Projects: projects{c.access}, Secrets: jobSecrets{c.secrets.Store}},
		&fleetweb.Handlers{Drains: fleet.Drains{Store: c.workers, Audit: audit{c.access}}, Start: workerCommand, Deaf: outages{l, c}.deaf, Now: c.now, Offers: c.workers.Offers},
		&boardweb.Handlers{Reader: &board.Reader{Store: c.board, Instances: c.instances, Jobs: c.jobs, Deps: c.graph, Plans: c.plans, Zone: zone},
			Search: &board.Search{Jobs: finder{c.jobs}, Instances: c.instances, Workers: c.workers}, Stale: c.graph, Now: c.now, NoWrites: l.noWrites,
			Unreached: outages{l, c}.unreached, Workers: c.workers, Broker: presence{c.db}, Untaken: untaken{c}.first},
		&incidentweb.Handlers{Reader: c.incidents, Closer: &incident.Closer{Store: c.incidents.Store, Audit: audit{c.access}}},
		&backfillweb.Handlers{Backfills: c.backfills, Jobs: c.jobs, Past: pastFires{c.plans}, Instances: c.instances},
		&calendarweb.Handlers{Calendars: c.calendars, Zone: zone},
		&poolweb.Handlers{Pools: c.pools, Instances: c.instances},
		&secretweb.Handlers{Secrets: c.secrets},
		&schedulerweb.Handlers{Books: c.plans, Jobs: c.jobs},
	} {
		routes = append(routes, module.Routes()...)
	}
	return routes
}

// records explain instances by the rows of the pool.
func (l *life) records(c *core) *instance.Records {
	return &instance.Records{Store: c.instances, Specs: c.jobs, Deps: depsOf{c.graph}, Workers: c.workers, Broker: presence{c.db}, Pools: c.pools.Store, Outages: outages{l, c},
		LostAfter: l.o.Config.Worker.LostAfter, Now: c.now}
}

// depsOf lets pages of instances show dependencies.
type depsOf struct{ g *dag.Graph }

// Of lists what an instance depends on.
func (d depsOf) Of(ctx context.Context, id domain.ID) ([]instance.Dependency, error) {
	rows, err := d.g.Of(ctx, id)
	out := make([]instance.Dependency, len(rows))
	for i, r := range rows {
		out[i] = instance.Dependency{InstanceDep: r.InstanceDep, Standing: r.Standing}
	}
	return out, err
}

// Waiters lists who waits for a job on a date.
func (d depsOf) Waiters(ctx context.Context, job domain.ID, day domain.BizDate) ([]domain.InstanceDep, error) {
	return d.g.Waiters(ctx, job, day)
}

// Stale tells which of the instances are stale.
func (d depsOf) Stale(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.StaleMark, error) {
	return d.g.Stale(ctx, ids)
}

// finder lets the search find jobs.
type finder struct{ jobs *job.Definitions }

// Named finds one by name or id.
func (f finder) Named(ctx context.Context, text string) (domain.JobName, error) {
	j, err := f.jobs.Get(ctx, text)
	return domain.JobName{ID: j.ID, ProjectID: j.ProjectID, Key: j.Spec.Key(), Title: j.Title}, err
}

// Alike lists jobs in which the text stands.
func (f finder) Alike(ctx context.Context, text string, seen domain.ProjectSet, limit int) ([]domain.JobName, error) {
	q := job.Query{Seen: seen, Text: text, Limit: limit}
	if project, name, ok := strings.Cut(text, "/"); ok {
		q.Project, q.Text = project, name
	}
	found, err := f.jobs.List(ctx, q)
	if domain.Is(err, domain.NotFound) { // no such project in sight
		return nil, nil
	}
	out := make([]domain.JobName, len(found))
	for i, j := range found {
		out[i] = domain.JobName{ID: j.ID, ProjectID: j.ProjectID, Key: j.Spec.Key(), Title: j.Title}
	}
	return out, err
}

// presence tells whether a broker is active.
type presence struct{ db *dbx.DB }

// Present asks the office.
func (p presence) Present(ctx context.Context) (bool, error) {
	return lease.Present(ctx, p.db, lease.Broker)
}

// untaken lets the overview say that nobody fires.
type untaken struct{ c *core }

// untakenFor is how long a fire may be due before it counts as not taken.
const untakenFor = time.Minute

// first is since when a fire is due that nobody takes; zero: there is none.
func (u untaken) first(ctx context.Context) (time.Time, error) {
	_, first, err := u.c.triggers.Store.Untaken(ctx, u.c.now().Add(-untakenFor), 1)
	return first, err
}
