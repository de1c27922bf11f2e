package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/worker/protocol/crash"
)

// round is one transaction of taking: lock, judge, decide, write.
type round struct {
	*taker
	asked   []plan.Due
	careful bool // ask first which fires have an instance

	now    time.Time // the database's, read inside the transaction
	absent []plan.Due
	early  []plan.Due // not due yet: their keys are given back
	next   []plan.Due // due, and left for the next round
	looks  []look
	fault  map[domain.ID]error // triggers left as they are, with the reason

	news    []domain.NewInstance
	notes   []plan.Gap
	moved   []plan.Trigger
	known   []known // as they stand when this is committed
	gone    []domain.ID
	settled []domain.ID
	fires   int
	gaps    int
}

func (r *round) run(ctx context.Context) error {
	due, err := r.lock(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	n := len(due)
	r.news, r.moved, r.settled = make([]domain.NewInstance, 0, n), make([]plan.Trigger, 0, n), slices.Grow(r.settled, n)
	r.known, r.looks = slices.Grow(r.known, n), slices.Grow(r.looks, n)
	budget := &plan.Budget{Fires: batchFires, Scan: batchScan}
	for _, k := range due {
		if err := r.decide(ctx, k, budget); err != nil {
			return err
		}
	}
	return r.write(ctx)
}

// lock locks the rows and gives those that are due by the database's clock, the least
// late first, so that a long catch-up does not hold up what is on time.
func (r *round) lock(ctx context.Context) ([]known, error) {
	vers, err := r.store.LockSkipping(ctx, idsOf(r.asked))
	if err != nil {
		return nil, err
	}
	if r.now, err = r.clock.read(ctx); err != nil {
		return nil, err
	}
	if f := r.clock.fault(); f != "" {
		return nil, domain.Fail(domain.Unavailable, "%s", f)
	}
	rows, err := r.stand(ctx, vers)
	if err != nil {
		return nil, err
	}
	var due []known
	for _, d := range r.asked {
		k, ok := rows[d.ID]
		_, locked := vers[d.ID]
		switch {
		case r.fault[d.ID] != nil:
		case !locked || !ok:
			r.absent = append(r.absent, d)
		case k.Next.IsZero() || k.Next.After(r.now):
			if k.Next.Equal(d.Next) {
				r.early = append(r.early, d)
			}
			r.settled = append(r.settled, d.ID)
			r.looks = append(r.looks, look{due: dueOf(k.Trigger)})
			r.known = append(r.known, k)
		default:
			due = append(due, k)
		}
	}
	slices.SortFunc(due, func(a, b known) int { return cmp.Or(b.Next.Compare(a.Next), cmp.Compare(a.ID, b.ID)) })
	return due, nil
}

// stand is how the locked rows stand: as remembered where the ver is the same, else as
// read now. One that can't be read is a fault of its own.
func (r *round) stand(ctx context.Context, vers map[domain.ID]int64) (map[domain.ID]known, error) {
	rows := r.memo.take(idsOf(r.asked))
	var strangers []domain.ID
	for id, ver := range vers {
		if rows[id].Ver != ver {
			strangers = append(strangers, id)
		}
	}
	if len(strangers) == 0 {
		return rows, nil
	}
	slices.Sort(strangers)
	read, broken, err := r.read(ctx, strangers)
	if err != nil {
		return nil, err
	}
	maps.Copy(rows, read)
	maps.Copy(r.fault, broken)
	return rows, nil
}

func dueOf(t plan.Trigger) plan.Due { return plan.Due{ID: t.ID, Next: t.Next, Ver: t.Ver} }

// decide settles one trigger in memory. A fault that is the trigger's own is noted and
// leaves it as it is; an error is the transaction's.
func (r *round) decide(ctx context.Context, k known, budget *plan.Budget) error {
	t := k.Trigger
	d, err := plan.Decide(t, k.spans, r.now, budget)
	if err != nil {
		r.fault[t.ID] = err
		return nil
	}
	if d.More && d.Next.Equal(t.Next) { // the others used the budget up
		r.next = append(r.next, dueOf(t))
		r.known = append(r.known, k)
		r.looks = append(r.looks, look{due: dueOf(t)})
		r.settled = append(r.settled, t.ID)
		return nil
	}
	fires, err := r.unfired(ctx, t, d.Fires)
	if err != nil {
		return err
	}
	news, err := r.instances(ctx, t, fires)
	if err != nil {
		if domain.Is(err, domain.Unavailable) {
			return err
		}
		r.fault[t.ID] = err
		return nil
	}
	r.news = append(r.news, news...)
	for _, g := range d.Gaps {
		g.ID = r.ids.Next()
		r.notes = append(r.notes, g)
		r.gaps += g.Fires
	}
	r.fires += len(news)
	if n := len(d.Fires); n > 0 {
		t.Last = d.Fires[n-1].Expected
	}
	t.Next = d.Next
	if t.Schedule.Kind == domain.ScheduleNone && t.Next.IsZero() {
		r.gone = append(r.gone, t.ID)
	} else {
		r.moved = append(r.moved, t)
		r.known = append(r.known, k.later(t, t.Next))
	}
	r.settled = append(r.settled, t.ID)
	t.Ver++
	r.looks = append(r.looks, look{due: dueOf(t)})
	return nil
}

// unfired passes over fires that have an instance. On the ordinary way that is left to
// the unique key; fires that are made up may well have been backfilled meanwhile.
func (r *round) unfired(ctx context.Context, t plan.Trigger, fires []plan.Fire) ([]plan.Fire, error) {
	if len(fires) == 0 || !r.careful && r.now.Sub(fires[0].Expected) <= plan.Late {
		return fires, nil
	}
	keys := make([]string, len(fires))
	for i, f := range fires {
		keys[i] = f.Key()
	}
	have, err := r.fired.Fired(ctx, t.JobID, keys)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(fires), func(f plan.Fire) bool { _, ok := have[f.Key()]; return ok }), nil
}

func (r *round) instances(ctx context.Context, t plan.Trigger, fires []plan.Fire) ([]domain.NewInstance, error) {
	var name string // of version; nearly always there is one
	version := -1
	news := make([]domain.NewInstance, len(fires))
	for i, f := range fires {
		if f.Version != version {
			spec, err := r.specs.Spec(ctx, t.JobID, f.Version)
			if err != nil {
				return nil, fmt.Errorf("reading version %d of job %s: %w", f.Version, t.JobID, err)
			}
			name, version = spec.Name, f.Version
		}
		news[i] = domain.NewInstance{ProjectID: t.ProjectID, JobID: t.JobID, JobName: name, Version: f.Version,
			FireKey: f.Key(), Trigger: f.Kind, BizDate: f.BizDate, Expected: f.Expected}
		if !f.From.IsZero() {
			news[i].Reason = fmt.Sprintf("moved from %s by its calendar", f.From)
		}
		if late := r.now.Sub(f.Expected); late > plan.Late {
			news[i].Reason = strings.TrimPrefix(news[i].Reason+fmt.Sprintf("; misfire: taken %s late", late.Round(time.Second)), "; ")
		}
	}
	return news, nil
}

func (r *round) write(ctx context.Context) error {
	if len(r.news) > 0 {
		if _, err := r.maker.Create(ctx, r.news); err != nil {
			return err
		}
	}
	if err := r.store.InsertGaps(ctx, r.notes); err != nil {
		return err
	}
	if err := r.store.Delete(ctx, r.gone); err != nil {
		return err
	}
	crash.At("take.inserted")
	return r.store.Advance(ctx, r.moved, r.now)
}
