package center

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/access/policy"
	accessstore "github.com/axsched/ax/modules/access/store"
	"github.com/axsched/ax/modules/backfill"
	backfillstore "github.com/axsched/ax/modules/backfill/store"
	"github.com/axsched/ax/modules/board"
	boardstore "github.com/axsched/ax/modules/board/store"
	"github.com/axsched/ax/modules/calendar"
	calendarstore "github.com/axsched/ax/modules/calendar/store"
	"github.com/axsched/ax/modules/dag"
	dagstore "github.com/axsched/ax/modules/dag/store"
	"github.com/axsched/ax/modules/domain"
	fleetstore "github.com/axsched/ax/modules/fleet/store"
	"github.com/axsched/ax/modules/incident"
	incidentstore "github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/instance"
	instancestore "github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/job"
	jobstore "github.com/axsched/ax/modules/job/store"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/pool"
	"github.com/axsched/ax/modules/scheduler"
	schedulerstore "github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/modules/secret"
	"github.com/axsched/ax/worker/protocol/crash"
)

// core is the modules over one role's pool. Each role has its own, so that pages
// or workers can never starve the scheduler of connections.
type core struct {
	db        *dbx.DB
	now       func() time.Time // the database's clock
	access    *access.Access
	policy    *policy.Policy
	sessions  *accessstore.Store
	jobs      *job.Definitions
	triggers  *scheduler.Triggers
	calendars *calendar.Calendars
	plans     *scheduler.Plans
	instances *instancestore.Store
	lifecycle *instance.Lifecycle
	graph     *dag.Graph
	workers   *fleetstore.Store
	board     *boardstore.Store
	incidents *incident.Reader
	backfills *backfill.Backfills
	pools     *pool.Pools
	secrets   *secret.Secrets
}

func (l *life) newCore(db *dbx.DB) *core {
	c := &core{db: db, now: l.clock.now, sessions: accessstore.New(db, l.clock.now, sessionIdle), instances: instancestore.New(db),
		workers: fleetstore.New(db), board: boardstore.New(db)}
	c.policy = policy.New(c.sessions, l.clock.now)
	c.access = access.New(access.Options{Store: c.sessions, Rights: c.policy, IDs: l.ids.Next, Now: l.clock.now})
	c.triggers = &scheduler.Triggers{Store: schedulerstore.New(db), IDs: l.ids, Nudge: l.nudger}
	c.calendars = &calendar.Calendars{Store: calendarstore.New(db), Memory: &l.calendars, IDs: l.ids, Now: l.clock.now, Schedules: c.triggers, Projects: projects{c.access}, Audit: audit{c.access}}
	c.triggers.Calendars = c.calendars
	c.jobs = &job.Definitions{Store: jobstore.New(db), IDs: l.ids, Now: l.clock.now, Schedules: scheduler.Times{}, Triggers: jobTriggers{c.triggers},
		Projects: projects{c.access}, Audit: audit{c.access}, DefaultZone: l.o.Config.Timezone, Versions: &l.versions, Calendars: c.calendars}
	c.calendars.Jobs = c.jobs
	c.plans = &scheduler.Plans{Store: c.triggers.Store, Fired: c.instances, Calendars: c.calendars}
	c.lifecycle = &instance.Lifecycle{Store: c.instances, IDs: l.ids, Now: l.clock.now, Specs: c.jobs, Renderer: renderer{c, l.stores},
		Tally: board.Tally{Store: c.board}, Listener: listener{l, c}, Unsure: l.unsure, Memo: &l.memo}
	c.graph = dag.New(dag.Graph{Store: dagstore.New(db), Instances: c.instances, Lifecycle: c.lifecycle, Jobs: c.jobs, Planner: planner{c.plans},
		Calendars: c.jobs, Backfills: backfillstore.New(db), Now: l.clock.now})
	c.jobs.Waiting, c.jobs.Workers, c.jobs.Types = c.instances, c.workers, offers{c.workers}
	c.lifecycle.Deps = c.graph
	c.incidents = &incident.Reader{Store: incidentstore.New(db, l.ids.Next), Projects: projects{c.access}}
	c.pools = l.newPools(c)
	c.jobs.Pools, c.lifecycle.Pools = jobPools{c.pools.Store}, c.pools.Store
	c.secrets = l.newSecrets(c)
	c.jobs.Secrets = jobSecrets{c.secrets.Store}
	c.backfills = l.newBackfills(c)
	return c
}

// The definitions of what is due soon are read before it is.
const (
	warmEach  = 10 * time.Second
	warmAhead = time.Minute
	warmMost  = 20_000
)

// warm reads the definitions of what is due soon.
func (c *core) warm(ctx context.Context) error {
	soon, err := c.triggers.Store.Soon(ctx, c.now().Add(warmAhead), warmMost)
	if err != nil {
		return err
	}
	return c.jobs.Warm(ctx, soon)
}

// sessionIdle is how long a session lives without a request.
const sessionIdle = 12 * time.Hour

// listener hands committed changes to whoever looks after them.
type listener struct {
	l *life
	c *core
}

// Changed hands them on.
func (li listener) Changed(changes []domain.Change) {
	crash.At("commit.heard")
	li.c.graph.Changed(domain.OfInstances(changes))
	li.l.heard(changes)
}

// jobTriggers lets the job module keep triggers.
type jobTriggers struct{ t *scheduler.Triggers }

// Put keeps the job's trigger.
func (j jobTriggers) Put(ctx context.Context, d domain.Job) error {
	return j.t.Put(ctx, d.ProjectID, d.ID, d.Version, d.Spec, d.Enabled)
}

// Remove ends it.
func (j jobTriggers) Remove(ctx context.Context, d domain.Job) error { return j.t.Remove(ctx, d.ID) }

// Next is when the job is due next.
func (j jobTriggers) Next(ctx context.Context, job domain.ID) (time.Time, error) {
	found, err := j.t.NextFires(ctx, []domain.ID{job})
	return found[job], err
}

// projects lets modules find projects by name.
type projects struct{ a *access.Access }

// ByName finds one.
func (p projects) ByName(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.ProjectByName(ctx, name)
	return found.ID, err
}

// Ensure finds one or makes it.
func (p projects) Ensure(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.EnsureProject(ctx, name)
	return found.ID, err
}

// Names lists all.
func (p projects) Names(ctx context.Context) (map[domain.ID]string, error) {
	all, err := p.a.Projects(ctx, domain.ProjectSet{All: true})
	out := make(map[domain.ID]string, len(all))
	for _, one := range all {
		out[one.ID] = one.Name
	}
	return out, err
}

// audit lets modules record changes.
type audit struct{ a *access.Access }

// Changed records one.
func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}
