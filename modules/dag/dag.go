package dag

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/axsched/ax/modules/dag/store"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Graph looks after dependencies. All exported fields must be set; make it with
// New. Safe for concurrent use.
type Graph struct {
	Store     *store.Store
	Instances Instances
	Lifecycle Lifecycle
	Jobs      Jobs
	Planner   Planner
	Now       func() time.Time

	changes chan []domain.Change
}

// New makes room for the changes that Run follows.
func New(g Graph) *Graph {
	g.changes = make(chan []domain.Change, 4096)
	return &g
}

// Attach writes the dependency rows of instances, or sets those that are there
// back to waiting, in the transaction of ctx; it returns how many each has.
func (g *Graph) Attach(ctx context.Context, ins []domain.Instance) (map[domain.ID]int, error) {
	out := map[domain.ID]int{}
	var rows []domain.InstanceDep
	for _, in := range ins {
		spec, err := g.Jobs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return nil, err
		}
		if len(spec.Deps) == 0 {
			continue
		}
		keys := make([]domain.JobKey, len(spec.Deps))
		for i, d := range spec.Deps {
			keys[i] = d.Key()
		}
		found, err := g.Jobs.Resolve(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, d := range spec.Deps {
			rows = append(rows, domain.InstanceDep{InstanceID: in.ID, ProjectID: in.ProjectID, Upstream: upstream(found, keys[i], i), Name: keys[i].String(),
				BizDate: in.BizDate, Require: d.Require, Check: d.Check, State: domain.DepWaiting, ChangedAt: g.Now()})
		}
		out[in.ID] = len(spec.Deps)
	}
	return out, g.Store.Put(ctx, rows)
}

// upstream is the job's id; one that is gone gets a number that no job has, so
// that the row stands and says so.
func upstream(found map[domain.JobKey]domain.ID, key domain.JobKey, i int) domain.ID {
	if id, ok := found[key]; ok {
		return id
	}
	return domain.ID(-1 - i)
}

// Reopened opens again, in the transaction of ctx, what instances had met that
// now run once more, for those that still wait.
func (g *Graph) Reopened(ctx context.Context, ins []domain.Instance) error {
	for _, in := range ins {
		rows, err := g.Store.MetBy(ctx, in.JobID, in.BizDate, in.ID)
		if err != nil || len(rows) == 0 {
			return err
		}
		ids := make([]domain.ID, len(rows))
		for i, r := range rows {
			ids[i] = r.InstanceID
		}
		waiting, err := g.Instances.Lock(ctx, ids)
		if err != nil {
			return err
		}
		unmet := map[domain.ID]int{}
		var again []domain.InstanceDep
		for _, r := range rows {
			if waiting[r.InstanceID].Label == domain.WaitingDeps {
				unmet[r.InstanceID]++
				again = append(again, r)
			}
		}
		if err := g.Store.Set(ctx, again, domain.DepWaiting, 0, g.Now()); err != nil {
			return err
		}
		if err := g.Lifecycle.Unmet(ctx, unmet); err != nil {
			return err
		}
	}
	return nil
}

// Changed hears of committed changes. When it is overrun the sweeper does the rest.
func (g *Graph) Changed(changes []domain.Change) {
	select {
	case g.changes <- changes:
	default:
	}
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

// date is one job on one business date.
type date struct {
	job domain.ID
	day domain.BizDate
}

// after is the look after a commit, of both sides.
func (g *Graph) after(ctx context.Context, changes []domain.Change) error {
	var dates []date
	var born []domain.ID
	var restore []domain.Instance
	for _, c := range changes {
		switch {
		case c.Instance.State.Terminal():
			dates = append(dates, date{c.Instance.JobID, c.Instance.BizDate})
			if c.Instance.State == domain.Success && c.Instance.RunNo > 1 {
				restore = append(restore, c.Instance)
			}
		case c.Instance.Label == domain.WaitingDeps:
			born = append(born, c.Instance.ID)
		}
	}
	for _, in := range restore {
		if err := g.Lifecycle.Restore(ctx, in); err != nil {
			return err
		}
	}
	waiting, err := g.Store.WaitingFor(ctx, pairs(dates))
	if err != nil {
		return err
	}
	own, err := g.Store.WaitingOf(ctx, born)
	if err != nil {
		return err
	}
	return g.settle(ctx, append(waiting, own...))
}

func pairs(dates []date) [][2]any {
	slices.SortFunc(dates, func(a, b date) int {
		if a.job != b.job {
			return int(min(max(a.job-b.job, -1), 1))
		}
		return a.day.Compare(b.day)
	})
	dates = slices.Compact(dates)
	out := make([][2]any, len(dates))
	for i, d := range dates {
		out[i] = [2]any{int64(d.job), d.day.String()}
	}
	return out
}

// settle decides the rows, date by date of their upstreams, and acts.
func (g *Graph) settle(ctx context.Context, rows []domain.InstanceDep) error {
	byDate := map[date][]domain.InstanceDep{}
	var order []date
	for _, r := range rows {
		k := date{r.Upstream, r.BizDate}
		if byDate[k] == nil {
			order = append(order, k)
		}
		if !slices.ContainsFunc(byDate[k], func(o domain.InstanceDep) bool { return o.InstanceID == r.InstanceID }) {
			byDate[k] = append(byDate[k], r)
		}
	}
	for _, k := range order {
		v, err := g.judge(ctx, k.job, k.day)
		if err != nil {
			return err
		}
		switch v.State {
		case domain.DepMet:
			err = g.meet(ctx, byDate[k], v)
		case domain.DepFailed:
			err = g.fail(ctx, byDate[k], v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) judge(ctx context.Context, job domain.ID, day domain.BizDate) (verdict, error) {
	ins, err := g.Instances.OfDates(ctx, job, []domain.BizDate{day})
	if err != nil {
		return verdict{}, err
	}
	plan, err := g.Planner.PlanOf(ctx, job, day)
	if err != nil {
		return verdict{}, err
	}
	return decideAll(plan, ins), nil
}

// batchRows bounds how many waiting instances one transaction moves.
const batchRows = 200

// meet flips the rows and lowers the in-degrees in one transaction, under the
// locks of the waiting instances and of the successes, which must still stand.
func (g *Graph) meet(ctx context.Context, rows []domain.InstanceDep, v verdict) error {
	for part := range slices.Chunk(rows, batchRows) {
		err := g.Store.Tx(ctx, func(ctx context.Context) error {
			locked, err := g.Instances.Lock(ctx, append(owners(part), v.Proof...))
			if err != nil {
				return err
			}
			for _, id := range v.Proof {
				if locked[id].State != domain.Success {
					return nil // it runs again; its next end looks again
				}
			}
			flip, void, err := g.stillWaiting(ctx, part, locked)
			if err != nil {
				return err
			}
			met := map[domain.ID]int{}
			for _, r := range flip {
				met[r.InstanceID]++
			}
			if err := g.Store.Set(ctx, flip, domain.DepMet, v.By.ID, g.Now()); err != nil {
				return err
			}
			if err := g.Store.Set(ctx, void, domain.DepVoid, 0, g.Now()); err != nil {
				return err
			}
			crash.At("release.written")
			return g.Lifecycle.Met(ctx, met)
		})
		if err != nil {
			return err
		}
		crash.At("release.committed")
	}
	return nil
}

// fail cancels, step by step, what waits for an upstream that ended without
// success. The next step follows when this one's change is heard or swept.
func (g *Graph) fail(ctx context.Context, rows []domain.InstanceDep, v verdict) error {
	for part := range slices.Chunk(rows, batchRows) {
		err := g.Store.Tx(ctx, func(ctx context.Context) error {
			locked, err := g.Instances.Lock(ctx, append(owners(part), v.By.ID))
			if err != nil {
				return err
			}
			flip, void, err := g.stillWaiting(ctx, part, locked)
			if err != nil {
				return err
			}
			causes := map[domain.ID]domain.Cause{}
			for _, r := range flip {
				causes[r.InstanceID] = domain.Cause{Instance: v.By.ID, Run: v.By.RunID, Name: v.By.JobName}
			}
			done, err := g.Lifecycle.CancelUpstream(ctx, causes)
			if err != nil {
				return err
			}
			crash.At("cancel.written")
			flip = slices.DeleteFunc(flip, func(r domain.InstanceDep) bool {
				return !slices.ContainsFunc(done, func(in domain.Instance) bool { return in.ID == r.InstanceID })
			})
			if err := g.Store.Set(ctx, flip, domain.DepFailed, v.By.ID, g.Now()); err != nil {
				return err
			}
			return g.Store.Set(ctx, void, domain.DepVoid, 0, g.Now())
		})
		if err != nil {
			return err
		}
		crash.At("cancel.committed")
	}
	return nil
}

// stillWaiting reads the rows again under the locks of their instances: those to
// flip, and those whose instance waits no more.
func (g *Graph) stillWaiting(ctx context.Context, rows []domain.InstanceDep, locked map[domain.ID]domain.Instance) (flip, void []domain.InstanceDep, err error) {
	now, err := g.Store.WaitingOf(ctx, owners(rows))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range now {
		same := slices.ContainsFunc(rows, func(o domain.InstanceDep) bool { return o.InstanceID == r.InstanceID && o.Upstream == r.Upstream })
		switch in, ok := locked[r.InstanceID]; {
		case !same:
		case ok && in.Label == domain.WaitingDeps:
			flip = append(flip, r)
		default:
			void = append(void, r)
		}
	}
	return flip, void, nil
}

func owners(rows []domain.InstanceDep) []domain.ID {
	out := make([]domain.ID, len(rows))
	for i, r := range rows {
		out[i] = r.InstanceID
	}
	return out
}

// Sweep repeats the looks of both sides for everything that waits, page by page,
// and brings back what a rerun's success should have. It is one round.
func (g *Graph) Sweep(ctx context.Context) error {
	var after domain.ID
	for {
		rows, err := g.Store.Waiting(ctx, after, sweepPage)
		if err != nil {
			return err
		}
		if err := g.settle(ctx, rows); err != nil {
			return err
		}
		if len(rows) < sweepPage {
			break
		}
		// The last instance may have more rows: it opens the next page.
		if last := rows[len(rows)-1].InstanceID; last-1 > after {
			after = last - 1
		} else {
			after = last
		}
	}
	since := domain.IDAt(g.Now().Add(-restoreWindow))
	causes, err := g.Instances.Restorable(ctx, since, sweepPage)
	if err != nil {
		return err
	}
	for _, c := range causes {
		if c.RunNo > 1 {
			if err := g.Lifecycle.Restore(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	sweepPage     = 500
	restoreWindow = 7 * 24 * time.Hour
)

// Dependency is one dependency of an instance with what is said of it.
type Dependency struct {
	domain.InstanceDep
	Said string // for one that waits: what is missing
}

// Of lists what an instance depends on, and what each row waits for.
func (g *Graph) Of(ctx context.Context, instance domain.ID) ([]Dependency, error) {
	rows, err := g.Store.Of(ctx, instance)
	if err != nil {
		return nil, err
	}
	out := make([]Dependency, len(rows))
	for i, r := range rows {
		out[i] = Dependency{InstanceDep: r}
		switch {
		case r.Upstream < 0:
			out[i].Said = "the job is gone"
		case r.State == domain.DepWaiting:
			v, err := g.judge(ctx, r.Upstream, r.BizDate)
			if err != nil {
				return nil, err
			}
			out[i].Said = v.Said.String()
		}
	}
	return out, nil
}

// Waiters lists the dependency rows that name a job on a business date, whatever
// their state.
func (g *Graph) Waiters(ctx context.Context, job domain.ID, day domain.BizDate) ([]domain.InstanceDep, error) {
	return g.Store.For(ctx, job, day, sweepPage)
}
