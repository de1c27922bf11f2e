package center

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	incidentstore "github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/instance"
	instancestore "github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler"
	schedulerstore "github.com/axsched/ax/modules/scheduler/store"
)

// newKeeper looks after incidents over the broker's pool, while the broker here is the
// active one.
func (l *life) newKeeper(c *core, redis *redisWatch) *incident.Keeper {
	k := &incident.Keeper{Store: c.incidents.Store, IDs: l.ids.Next, History: c.instances, Instances: troubled{c.instances}, Whys: whys{l.records(c)}, Jobs: blamed{c.jobs}, Workers: c.workers,
		Redis: redis, Process: l.process(), Projects: projects{c.access}, Calendars: c.calendars, PagesURL: l.o.Config.PagesURL()}
	if a := l.o.Config.Alerts; a.WebhookURL != "" {
		k.Hook = incident.NewWebhook(string(a.WebhookURL), string(a.WebhookSecret))
	}
	return incident.NewKeeper(k)
}

// process names this process for people.
func (l *life) process() string { return processOf(l.o) }

func processOf(o Options) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %s pid %d", o.Config.Mode, host, os.Getpid())
}

// newLookout is what this process looks out for, whatever its roles.
func (l *life) newLookout() *incident.Lookout {
	db := l.pools[0].DB
	look := &incident.Lookout{Store: incidentstore.New(db, l.ids.Next), Triggers: schedulerstore.New(db), Database: l.troubles, Process: l.process()}
	if l.sched != nil {
		look.Clock = schedulerClock{l.sched}
	}
	return look
}

// troubled lets the incidents read instances.
type troubled struct{ *instancestore.Store }

// Latest reads the newest of a job.
func (t troubled) Latest(ctx context.Context, job domain.ID, limit int) ([]domain.Instance, error) {
	ins, _, err := t.List(ctx, instancestore.Filter{Job: job, Limit: limit})
	return ins, err
}

// Ready reads what waits in a lane.
func (t troubled) Ready(ctx context.Context, lane domain.Lane, limit int) ([]domain.Instance, error) {
	return t.Store.Ready(ctx, lane, domain.Instance{}, limit)
}

// whys lets the incidents say why an instance waits.
type whys struct{ *instance.Records }

// Why says it without what follows from it: that it is an incident is told by the incident.
func (w whys) Why(ctx context.Context, in domain.Instance) (map[string]string, error) {
	facts, err := w.Explain(ctx, in)
	if err != nil {
		return nil, err
	}
	said := instance.Why(facts)
	said.Then = nil
	out := map[string]string{}
	for _, lang := range i18n.Langs() {
		out[lang] = said.In(i18n.With(ctx, lang))
	}
	return out, nil
}

// blamed lets the incidents read jobs.
type blamed struct{ *job.Definitions }

// Deleted tells which are there no more.
func (b blamed) Deleted(ctx context.Context, jobs []domain.ID) ([]domain.ID, error) {
	var out []domain.ID
	for _, id := range jobs {
		switch _, err := b.Get(ctx, id.String()); {
		case domain.Is(err, domain.NotFound):
			out = append(out, id)
		case err != nil:
			return nil, err
		}
	}
	return out, nil
}

// schedulerClock tells how the scheduler here stands.
type schedulerClock struct{ s *scheduler.Scheduler }

// clockOff is from which difference a scheduler takes nothing.
const clockOff = time.Second

// Skew is what to add to this machine's clock.
func (c schedulerClock) Skew() (time.Duration, bool) {
	offset := c.s.Status().ClockOffset
	return offset, offset.Abs() > clockOff
}

// LockedLong counts due fires that were found locked for too long.
func (c schedulerClock) LockedLong() int64 { return c.s.Status().LockedLong }
