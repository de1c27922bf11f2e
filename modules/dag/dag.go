package dag

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/axsched/ax/modules/dag/store"
	"github.com/axsched/ax/modules/domain"
)

// Graph looks after dependencies. All exported fields must be set; make it with
// New. Safe for concurrent use.
type Graph struct {
	Store     *store.Store
	Instances Instances
	Lifecycle Lifecycle
	Jobs      Jobs
	Planner   Planner
	Calendars Calendars
	Backfills Backfills
	Now       func() time.Time

	changes chan []domain.Change
	walk    *walk
}

// New makes room for the changes that Run follows.
func New(g Graph) *Graph {
	g.changes = make(chan []domain.Change, 4096)
	g.walk = &walk{}
	return &g
}

// Attach writes the dependency rows of instances, or sets those that are there
// back to waiting, in the transaction of ctx; it returns how many each waits for. Rows
// are made from the version of the instance and never change with later ones.
func (g *Graph) Attach(ctx context.Context, ins []domain.Instance) (map[domain.ID]int, error) {
	specs := make([]domain.JobSpec, len(ins))
	var keys []domain.JobKey
	for i, in := range ins {
		spec, err := g.Jobs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return nil, err
		}
		specs[i] = spec
		for _, d := range spec.Deps {
			keys = append(keys, d.Key())
		}
	}
	if len(keys) == 0 {
		return map[domain.ID]int{}, nil
	}
	slices.SortFunc(keys, domain.JobKey.Compare)
	found, err := g.Jobs.Resolve(ctx, slices.Compact(keys))
	if err != nil {
		return nil, err
	}
	out := map[domain.ID]int{}
	var all []domain.InstanceDep
	for i, in := range ins {
		rows, err := g.rows(ctx, in, specs[i], found)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			out[in.ID] = len(rows)
			all = append(all, rows...)
		}
	}
	return out, g.Store.Put(ctx, all)
}

// rows are what an instance waits for.
func (g *Graph) rows(ctx context.Context, in domain.Instance, spec domain.JobSpec, found map[domain.JobKey]domain.ID) ([]domain.InstanceDep, error) {
	var rows []domain.InstanceDep
	var calendar *domain.Calendar
	for i, d := range spec.Deps {
		if !d.FirstDate.IsZero() && !d.FirstDate.Before(in.BizDate) {
			continue // nothing came before
		}
		if d.BizDate == domain.DepPrevWorkday && calendar == nil {
			var err error
			if calendar, err = g.Calendars.CalendarOf(ctx, spec); err != nil {
				return nil, err
			}
		}
		first, last := d.BizDate.Of(in.BizDate, calendar)
		if !first.Writable() || !last.Writable() {
			return nil, domain.Fail(domain.Invalid, "%s of %s for %s leads out of the years 0001 to 9999", d.BizDate, in.BizDate, d.Key()).At("bizDate")
		}
		rows = append(rows, domain.InstanceDep{InstanceID: in.ID, No: i, ProjectID: in.ProjectID, Upstream: upstream(found, d.Key(), i), Name: d.Key().String(),
			Rule: d.BizDate, BizDate: first, To: last, Require: d.Require, Check: d.Check, OnFailure: spec.FailurePolicy(), State: domain.DepWaiting, ChangedAt: g.Now()})
	}
	return rows, nil
}

// upstream is the job's id; one that is gone gets a number that no job has, so
// that the row stands and says so.
func upstream(found map[domain.JobKey]domain.ID, key domain.JobKey, i int) domain.ID {
	if id, ok := found[key]; ok {
		return id
	}
	return domain.ID(-1 - i)
}

// Reopened opens again, in the transaction of ctx, what instances had decided that
// now run once more, for those that still wait; and they are stale no more.
func (g *Graph) Reopened(ctx context.Context, ins []domain.Instance) error {
	dates := make([]store.Date, len(ins))
	ids := make([]domain.ID, len(ins))
	for i, in := range ins {
		dates[i], ids[i] = store.Date{Job: in.JobID, Day: in.BizDate}, in.ID
	}
	if err := g.Store.ClearStale(ctx, ids); err != nil {
		return err
	}
	rows, err := g.Store.Covering(ctx, dates, domain.DepMet, domain.DepPassed)
	if err != nil || len(rows) == 0 {
		return err
	}
	// Most were decided long ago: only those that still wait are locked.
	seen, err := g.Instances.ByIDs(ctx, owners(rows))
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r domain.InstanceDep) bool { return seen[r.InstanceID].Label != domain.WaitingDeps })
	if len(rows) == 0 {
		return nil
	}
	locked, err := g.Instances.Lock(ctx, owners(rows))
	if err != nil {
		return err
	}
	unmet := map[domain.ID]int{}
	var again []domain.InstanceDep
	for _, r := range rows {
		if locked[r.InstanceID].Label == domain.WaitingDeps {
			unmet[r.InstanceID]++
			r.State, r.By = domain.DepWaiting, 0
			again = append(again, r)
		}
	}
	if err := g.Store.Set(ctx, again, g.Now()); err != nil {
		return err
	}
	return g.Lifecycle.Unmet(ctx, unmet)
}

// Waiting reads, in the transaction of ctx, what an instance still waits for.
func (g *Graph) Waiting(ctx context.Context, instance domain.ID) ([]domain.InstanceDep, error) {
	return g.Store.WaitingOf(ctx, []domain.ID{instance})
}

// Waive marks, in the transaction of ctx and under the lock of the instance, what it still
// waits for as waived: a person releases it.
func (g *Graph) Waive(ctx context.Context, instance domain.ID) error {
	rows, err := g.Store.WaitingOf(ctx, []domain.ID{instance})
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].State = domain.DepWaived
	}
	return g.Store.Set(ctx, rows, g.Now())
}

func owners(rows []domain.InstanceDep) []domain.ID {
	out := make([]domain.ID, 0, len(rows))
	for _, r := range rows {
		if n := len(out); n == 0 || out[n-1] != r.InstanceID {
			out = append(out, r.InstanceID)
		}
	}
	return out
}

// Changed hears of committed changes. When it is overrun the sweeper does the rest.
func (g *Graph) Changed(changes []domain.Change) {
	if !slices.ContainsFunc(changes, matters) {
		return
	}
	select {
	case g.changes <- changes:
	default:
	}
}

// matters reports whether a dependency may be met, missed or waited for by the change.
func matters(c domain.Change) bool {
	return c.Instance.State.Terminal() || c.Instance.Label == domain.WaitingDeps
}

// Run looks after each commit of this process until ctx ends.
func (g *Graph) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case changes := <-g.changes:
			for more := true; more && len(changes) < 2000; {
				select {
				case next := <-g.changes:
					changes = append(changes, next...)
				default:
					more = false
				}
			}
			if err := g.after(ctx, changes); err != nil && ctx.Err() == nil {
				slog.Warn("a look after dependencies failed; the sweeper repeats it", "error", err)
			}
		}
	}
}
