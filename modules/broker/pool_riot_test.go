package broker

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Whatever happens, in whatever order, no place is given beyond the limit of that moment, and
// when all is well again everybody gets one.
func TestNoPlaceIsGivenTwiceAndNoneIsLost(t *testing.T) {
	for seed := range 60 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) { newRiot(w, uint64(seed)).run() })
		})
	}
}

// riot lets everything happen that ends, moves or disturbs instances of two pools.
type riot struct {
	*world
	r    *rand.Rand
	jobs []domain.ID
}

func newRiot(w *world, seed uint64) *riot {
	q := &riot{world: w, r: rand.New(rand.NewPCG(seed, 7))}
	w.limit("a", 2)
	w.limit("b", 1)
	w.worker("w", 6)
	w.worker("v", 6)
	for i := range 8 {
		spec := domain.JobSpec{Overlap: []domain.Overlap{domain.OverlapAllow, domain.OverlapQueue, domain.OverlapAllow, domain.OverlapReplace}[i%4]}
		if i%3 == 0 {
			spec.OnWorkerLost = domain.LossHold
		}
		if i == 2 {
			spec.Shards = 3
		}
		q.jobs = append(q.jobs, w.job(spec))
	}
	return q
}

func (q *riot) run() {
	for range 150 {
		before := map[string][]domain.ID{"a": q.placed("a"), "b": q.placed("b")}
		q.disturb()
		q.try(q.b.sweep)
		q.try(q.b.round)
		for name, was := range before {
			q.check(name, was)
		}
	}
	q.calm()
}

// check: who has a place and had none before has it within the limit.
func (q *riot) check(name string, was []domain.ID) {
	now, limit := q.placed(name), q.pools[domain.PoolKey{Name: name}].Limit
	gained := slices.DeleteFunc(slices.Clone(now), func(id domain.ID) bool { return slices.Contains(was, id) })
	if len(gained) > 0 && len(now) > limit {
		q.t.Fatalf("pool %s: %v got a place, and %d of %d are taken", name, gained, len(now), limit)
	}
}

// try lets a round fail as it may.
func (q *riot) try(round func(context.Context) error) { _ = round(q.t.Context()) }

// somebody is one of those that stand so; 0: nobody does.
func (q *riot) somebody(want func(domain.Instance) bool) domain.ID {
	var ids []domain.ID
	for _, id := range slices.Sorted(maps.Keys(q.ins)) {
		if want(q.ins[id]) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0
	}
	return ids[q.r.IntN(len(ids))]
}

func (q *riot) disturb() {
	q.gather()
	alive := func(in domain.Instance) bool { return !in.State.Terminal() && !in.IsSplit() }
	sent := func(in domain.Instance) bool { return takes(in) && in.Label != domain.Orphan }
	switch q.r.IntN(13) {
	case 0, 1, 2:
		for range 1 + q.r.IntN(4) {
			q.ready(q.jobs[q.r.IntN(len(q.jobs))], in([]string{"a", "b", "a", ""}[q.r.IntN(4)]), lane(domain.Lanes[q.r.IntN(3)]), on(fmt.Sprintf("2026-03-%02d", 1+q.r.IntN(28))))
		}
	case 3, 4, 5:
		if id := q.somebody(sent); id != 0 {
			a := q.attempts[q.ins[id].AttemptID]
			q.claims(a)
			q.says(report(a.Target, a.ID, []domain.Outcome{domain.OutcomeSuccess, domain.OutcomeError, domain.OutcomeTimeout, domain.OutcomeRefused}[q.r.IntN(4)]))
		}
	case 6:
		q.unheard = q.r.IntN(2) == 0 // by another process
		if id := q.somebody(alive); id != 0 {
			_ = q.kill(id)
		}
		q.unheard = false
	case 7:
		q.limit([]string{"a", "b"}[q.r.IntN(2)], q.r.IntN(4))
	case 8:
		q.mute = true // the answer to the next commit is lost
	case 9: // a broker dies, and another takes over
		q.b = q.broker()
		q.b.active.Store(true)
		if err := q.b.load(q.t.Context()); err != nil {
			q.t.Fatal(err)
		}
		q.do(q.b.inspect)
	case 10:
		name := []string{"w", "v"}[q.r.IntN(2)]
		q.lose(name, "silent")
		q.try(q.b.inspect)
		q.worker(name, 6, func(x *domain.Worker) { x.Boot = int64(q.last) })
	case 11:
		if id := q.somebody(func(in domain.Instance) bool { return in.Label == domain.Orphan }); id != 0 {
			q.settle(id, q.r.IntN(2) == 0)
		}
	case 12:
		time.Sleep(time.Duration(q.r.IntN(8)) * time.Second) // of the bubble's clock: acks do not come
	}
}

func (q *riot) claims(a domain.Attempt) {
	c := claim(a.Target, "n", a.ID)
	c.Boot = a.Boot
	q.says(c)
}

func (q *riot) says(u protocol.Uplink) {
	a := q.attempts[domain.ID(first(u))]
	u.Boot = a.Boot
	letters := []Letter{{ID: "x", Said: u}}
	q.try(func(ctx context.Context) error { return q.b.answer(ctx, letters) })
	q.try(func(ctx context.Context) error { return q.b.apply(ctx, letters) })
}

func first(u protocol.Uplink) int64 {
	if u.Claim != nil {
		return u.Claim.IDs[0]
	}
	return u.Reports[0].Attempt
}

func (q *riot) settle(id domain.ID, again bool) {
	q.unheard = q.r.IntN(2) == 0
	_ = q.commit([]domain.ID{id}, func(in domain.Instance) (domain.Instance, domain.MoveName) {
		if again {
			return to(in, domain.Running, domain.Queued), domain.MoveSettle
		}
		return to(in, domain.Failed, domain.WorkerLost), domain.MoveSettle
	})
	q.unheard = false
}

// gather ends what was split when its shards have ended.
func (q *riot) gather() {
	for _, id := range slices.Sorted(maps.Keys(q.ins)) {
		open := slices.ContainsFunc(q.partsOf(id), func(s domain.Instance) bool { return !s.State.Terminal() })
		if in := q.ins[id]; in.IsSplit() && !in.State.Terminal() && !open {
			_ = q.commit([]domain.ID{id}, func(in domain.Instance) (domain.Instance, domain.MoveName) {
				return to(in, domain.Success, ""), domain.MoveSucceed
			})
		}
	}
}

// calm lets all that is left run to its end: nothing waits for a place that nobody has.
func (q *riot) calm() {
	q.mute = false
	q.limit("a", 2)
	q.limit("b", 2)
	for range 400 {
		q.rest()
		for _, id := range slices.Sorted(maps.Keys(q.ins)) {
			switch in := q.ins[id]; {
			case in.Label == domain.Orphan:
				q.settle(id, false)
			case takes(in):
				a := q.attempts[in.AttemptID]
				q.claims(a)
				q.says(report(a.Target, a.ID, domain.OutcomeSuccess))
			}
		}
		q.gather()
		time.Sleep(time.Second)
		if q.somebody(func(in domain.Instance) bool { return !in.State.Terminal() }) == 0 {
			q.nothingIsLeft()
			return
		}
	}
	for _, in := range q.ins {
		if !in.State.Terminal() {
			q.t.Errorf("instance %s of pool %q is %s for ever", in.ID, in.Pool, in.Status)
		}
	}
}

func (q *riot) nothingIsLeft() {
	q.do(q.b.sweep)
	for key, p := range q.b.mem.pools {
		if len(p.waits) > 0 || len(p.heads) > 0 {
			q.t.Errorf("pool %s: somebody waits who is not there: %v", key.Name, p.waits)
		}
	}
}
