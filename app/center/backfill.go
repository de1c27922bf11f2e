package center

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/backfill"
	backfillstore "github.com/axsched/ax/modules/backfill/store"
	backfillweb "github.com/axsched/ax/modules/backfill/web"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/modules/scheduler"
)

// newBackfills joins backfills to the modules that they are made of.
func (l *life) newBackfills(c *core) *backfill.Backfills {
	return &backfill.Backfills{Store: backfillstore.New(c.db), IDs: l.ids, Now: l.clock.now, Jobs: backfillJobs{c.jobs}, Planner: c.plans,
		Instances: c.instances, Lifecycle: c.lifecycle, Audit: audit{c.access}, Values: values{c.secrets}, Zones: zones{c.access, l.o.Config.Timezone},
		Nudge: func() {
			if l.pump != nil {
				l.pump.Ring()
			}
		}}
}

// backfillJobs lets backfills read definitions.
type backfillJobs struct{ *job.Definitions }

// Job reads one.
func (j backfillJobs) Job(ctx context.Context, id domain.ID) (domain.Job, error) {
	return j.Store.ByID(ctx, id)
}

// zones tells in which zone a project reads the time of day.
type zones struct {
	a           *access.Access
	defaultZone string
}

// ZoneOf is the project's own, or the default one.
func (z zones) ZoneOf(ctx context.Context, project domain.ID) (*time.Location, error) {
	p, err := z.a.ProjectByID(ctx, project)
	if err != nil {
		return nil, err
	}
	if p.Timezone == "" {
		p.Timezone = z.defaultZone
	}
	return zone.Load(p.Timezone)
}

// pastFires lets pages of backfills read the books of the schedules.
type pastFires struct{ *scheduler.Plans }

// Missed lists planned fires that made no instance.
func (p pastFires) Missed(ctx context.Context, q backfillweb.Missed) ([]domain.MissedDay, domain.MissedDay, error) {
	return p.Plans.Missed(ctx, scheduler.MissedQuery(q))
}
