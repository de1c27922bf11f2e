package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/backfill/store"
	"github.com/axsched/ax/modules/domain"
)

// Backfills has the use cases. All exported fields must be set. Safe for concurrent use.
type Backfills struct {
	Store     *store.Store
	IDs       *domain.IDs
	Now       func() time.Time
	Jobs      Jobs
	Planner   Planner
	Instances Instances
	Lifecycle Lifecycle
	Audit     Audit
	Values    Values
	Zones     Zones
	// Nudge tells the pump of this process that rows were committed; it must not block. nil:
	// the pump finds them by looking.
	Nudge func()
}

// historyDays is how many business dates of a job its mean is taken of.
const historyDays = 20

// datesAtOnce bounds how many business dates one statement names.
const datesAtOnce = 500

// Preview says what the request would do, and changes nothing. NotFound for a job that is
// not there, TooLarge for more than plan.MaxItems items.
func (b *Backfills) Preview(ctx context.Context, r plan.Request) (plan.Plan, error) {
	dates, err := r.Read()
	if err != nil {
		return plan.Plan{}, err
	}
	root, err := b.Jobs.Job(ctx, r.Job)
	if err != nil {
		return plan.Plan{}, err
	}
	if !root.DeletedAt.IsZero() {
		return plan.Plan{}, domain.Fail(domain.NotFound, "job %s was deleted", root.Spec.Key()).Coded("error.job_deleted", "job", root.Spec.Key().String())
	}
	p := plan.Plan{Request: r, Project: root.ProjectID}
	if p.Zone, err = b.Zones.ZoneOf(ctx, root.ProjectID); err != nil {
		return p, err
	}
	set, err := b.reach(ctx, r, root)
	if err != nil {
		return p, err
	}
	f, err := b.read(ctx, r, set, dates)
	if err != nil {
		return p, err
	}
	p.JobName = f.Names[root.ID]
	if err := b.judge(ctx, r, f); err != nil {
		return p, err
	}
	p.Items = plan.Items(r, f)
	if len(p.Items) > plan.MaxItems {
		return p, plan.TooMany()
	}
	if a, ok := plan.Ahead(r, f, p.Items); ok {
		return p, domain.Fail(domain.Invalid, "%s for %s waits for %s of %s, whose turn comes later in this list", a.Item.JobName, a.Item.BizDate, a.For.JobName, a.For.BizDate).
			WithHint("backfill "+a.For.JobName+" first, and then the rest").At("from").
			Coded("backfill.ahead", "job", a.Item.JobName, "date", a.Item.BizDate.String(), "other", a.For.JobName, "later", a.For.BizDate.String())
	}
	count(&p)
	p.Estimate = plan.Estimate(r, f, p.Items)
	if err := b.surroundings(ctx, &p, f, set); err != nil {
		return p, err
	}
	p.Hash = plan.HashOf(p)
	return p, nil
}

// judge refuses what fits no definition.
func (b *Backfills) judge(ctx context.Context, r plan.Request, f plan.Facts) error {
	for _, j := range f.Jobs {
		if err := b.checkParams(ctx, j, r.Params); err != nil {
			return err
		}
		if !r.NewestFirst || len(f.Dates) < 2 {
			continue
		}
		for _, d := range j.Spec.Deps {
			if f.IDOf(d.Key()) != 0 && d.BizDate != domain.DepCurrent {
				return domain.Fail(domain.Invalid, "job %s depends on other business dates of %s, so the oldest must come first", j.Spec.Key(), d.Key()).
					At("order").Coded("backfill.newest_deps", "job", j.Spec.Key().String(), "other", d.Key().String())
			}
		}
	}
	return nil
}

// checkParams judges what each run of a job would be given.
func (b *Backfills) checkParams(ctx context.Context, j domain.Job, own map[string]string) error {
	faults := b.Values.Check(ctx, j.ProjectID, j.Spec, own)
	if len(faults) == 0 {
		return nil
	}
	var said *domain.Error
	if !errors.As(faults[0], &said) {
		return faults[0]
	}
	e := *said
	e.Msg = fmt.Sprintf("job %s: %s", j.Spec.Key(), e.Msg)
	return &e
}

// read gathers what the plan follows from.
func (b *Backfills) read(ctx context.Context, r plan.Request, set reached, dates []domain.BizDate) (plan.Facts, error) {
	f := plan.Facts{Now: b.Now(), Names: set.names, Ups: set.ups, Dates: dates, Fires: map[domain.ID][]domain.PastFire{}, There: map[domain.ID][]domain.Instance{}}
	left := plan.MaxItems
	for _, id := range set.order {
		j, err := b.Jobs.Job(ctx, id)
		if err != nil {
			return f, err
		}
		f.Jobs = append(f.Jobs, j)
		switch {
		case plan.Scheduled(j.Spec):
			if f.Fires[id], err = b.Planner.Past(ctx, j, r.Past(dates)); err != nil {
				if domain.Is(err, domain.TooLarge) {
					err = plan.TooMany()
				}
				return f, err
			}
			left -= len(f.Fires[id])
		default:
			left -= len(dates)
		}
		if left < 0 && len(r.Fires) == 0 {
			return f, plan.TooMany()
		}
		if f.There[id], err = b.there(ctx, id, dates); err != nil {
			return f, err
		}
	}
	var err error
	f.Mean, err = b.means(ctx, set.order)
	return f, err
}

func (b *Backfills) there(ctx context.Context, job domain.ID, dates []domain.BizDate) ([]domain.Instance, error) {
	var out []domain.Instance
	for part := range slices.Chunk(dates, datesAtOnce) {
		ins, err := b.Instances.OfDates(ctx, job, part)
		if err != nil {
			return nil, err
		}
		out = append(out, ins...)
	}
	return out, nil
}

// means is how long the last successes of each job took on average; jobs without one are absent.
func (b *Backfills) means(ctx context.Context, jobs []domain.ID) (map[domain.ID]time.Duration, error) {
	days, err := b.Instances.LatestDays(ctx, jobs, historyDays)
	if err != nil {
		return nil, err
	}
	out := map[domain.ID]time.Duration{}
	for job, of := range days {
		var sum time.Duration
		n := 0
		for _, d := range of {
			if d.State == domain.Success && !d.Started.IsZero() {
				sum, n = sum+d.Took(), n+1
			}
		}
		if n > 0 {
			out[job] = sum / time.Duration(n)
		}
	}
	return out, nil
}

// count sums the items up.
func count(p *plan.Plan) {
	dates := map[domain.BizDate]bool{}
	for _, it := range p.Items {
		switch it.Act {
		case plan.Make:
			p.Make++
		case plan.Again:
			p.Again++
			if it.Was.State == domain.Success {
				p.Forced++
			}
		default:
			p.Leave++
			continue
		}
		dates[it.BizDate] = true
		p.Steps = max(p.Steps, it.Step)
	}
	p.Dates = len(dates)
}

// reached is the jobs of a plan.
type reached struct {
	order  []domain.ID // upstreams first
	names  map[domain.ID]string
	ups    map[domain.ID][]domain.ID
	downs  map[domain.ID][]domain.ID // of the jobs, outside of the plan
	others map[domain.ID][]domain.ID // what jobs depend on outside of the plan
	unseen int                       // jobs that are reached and may not be seen
}

// reach finds the jobs that a request is about.
func (b *Backfills) reach(ctx context.Context, r plan.Request, root domain.Job) (reached, error) {
	byUp, _, err := b.Jobs.Edges(ctx, domain.ProjectSet{All: true})
	if err != nil {
		return reached{}, err
	}
	ups, downs := map[domain.ID][]domain.ID{}, map[domain.ID][]domain.ID{}
	for _, e := range byUp {
		ups[e.Down] = append(ups[e.Down], e.Up)
		downs[e.Up] = append(downs[e.Up], e.Down)
	}
	set := map[domain.ID]bool{root.ID: true}
	next := map[plan.Reach]map[domain.ID][]domain.ID{plan.Downstream: downs, plan.Upstream: ups}[r.Reach]
	for todo := []domain.ID{root.ID}; len(todo) > 0; {
		id := todo[0]
		todo = todo[1:]
		for _, to := range next[id] {
			if !set[to] {
				set[to] = true
				todo = append(todo, to)
			}
		}
	}
	if len(set) > plan.MaxItems {
		return reached{}, plan.TooMany()
	}
	out := reached{names: map[domain.ID]string{}, ups: map[domain.ID][]domain.ID{}, downs: map[domain.ID][]domain.ID{}, others: map[domain.ID][]domain.ID{}}
	return out, b.sight(ctx, &out, r, set, ups, downs)
}

// sight leaves out what may not be seen, and names and orders the rest.
func (b *Backfills) sight(ctx context.Context, out *reached, r plan.Request, set map[domain.ID]bool, ups, downs map[domain.ID][]domain.ID) error {
	var ids []domain.ID
	for id := range set {
		ids = append(ids, id)
	}
	names, err := b.Jobs.NamesOf(ctx, ids)
	if err != nil {
		return err
	}
	ids = nil
	for id := range set {
		n, ok := names[id]
		switch {
		case ok && r.Seen.Has(n.ProjectID):
			out.names[id] = n.Key.String()
			ids = append(ids, id)
		default:
			out.unseen++
			delete(set, id)
		}
	}
	if len(ids) == 0 {
		return domain.Fail(domain.NotFound, "there is no such job, or it is in a project that you have no role in").Coded("http.not_found")
	}
	slices.Sort(ids)
	split := func(all []domain.ID) (in, outside []domain.ID) {
		for _, id := range all {
			if set[id] {
				in = append(in, id)
			} else {
				outside = append(outside, id)
			}
		}
		return in, outside
	}
	for _, id := range ids {
		out.ups[id], out.others[id] = split(ups[id])
		_, out.downs[id] = split(downs[id])
	}
	out.order = plan.InOrder(ids, out.ups, out.names)
	return nil
}

// object names a backfill in the audit trail.
func object(id domain.ID) string { return fmt.Sprintf("backfill/%s", id) }
