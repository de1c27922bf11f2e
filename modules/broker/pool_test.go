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

// limit makes a pool or changes its limit.
func (w *world) limit(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := domain.PoolKey{Name: name}
	p, there := w.pools[key]
	if !there {
		w.last++
		p = domain.Pool{ID: w.last, Name: name}
	}
	p.Limit = n
	p.Ver++
	w.pools[key] = p
}

func in(pool string) func(*domain.Instance) { return func(in *domain.Instance) { in.Pool = pool } }

func due(at time.Time) func(*domain.Instance) {
	return func(in *domain.Instance) { in.Expected = at }
}

// placed are the instances that have a place in a pool.
func (w *world) placed(pool string) []domain.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []domain.ID
	for _, id := range slices.Sorted(maps.Keys(w.ins)) {
		if in := w.ins[id]; in.Pool == pool && takes(in) {
			ids = append(ids, id)
		}
	}
	return ids
}

// rest lets the broker do what it does by itself, until nothing more comes of it.
func (w *world) rest() {
	w.t.Helper()
	for range 6 {
		w.do(w.b.sweep)
		w.start()
	}
}

func TestPlacesOfAPoolAreGivenByLaneThenByPlannedTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 2)
		now := time.Now()
		var jobs []domain.ID
		for range 3 {
			jobs = append(jobs, w.job(domain.JobSpec{Pool: "db"}))
		}
		first := w.ready(jobs[0], in("db"))
		second := w.ready(jobs[1], in("db"))
		w.rest()
		third := w.ready(jobs[0], in("db"), due(now.Add(-2*time.Hour)))
		last := w.ready(jobs[1], in("db"), backfill, due(now.Add(-5*time.Hour)))
		fourth := w.ready(jobs[2], in("db"), due(now.Add(-time.Hour)))
		low := w.ready(jobs[2], in("db"), lane(domain.LaneLow), due(now.Add(-9*time.Hour)))
		high := w.ready(jobs[1], in("db"), lane(domain.LaneHigh))
		w.rest()
		if got := w.placed("db"); !slices.Equal(got, []domain.ID{first, second}) {
			t.Fatalf("%v have a place", got)
		}
		if n := w.count("running/held_pool"); n != 5 {
			t.Fatalf("%d wait for the pool, want 5", n)
		}
		running := []domain.ID{first, second}
		for _, next := range []domain.ID{high, third, fourth, last, low} {
			w.end(running[0], domain.OutcomeSuccess)
			w.rest()
			running = append(running[1:], next)
			got := w.placed("db")
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(running)); !slices.Equal(got, want) {
				t.Fatalf("%v have a place, want %v", got, want)
			}
		}
	})
}

func TestALimitCountsAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 3)
		job := w.job(domain.JobSpec{Pool: "db"})
		for range 10 {
			w.ready(job, in("db"))
		}
		w.rest()
		for _, step := range []struct{ limit, ends, want int }{{3, 0, 3}, {5, 0, 5}, {2, 0, 5}, {2, 2, 3}, {2, 1, 2}, {0, 0, 2}, {0, 2, 0}, {4, 0, 4}} {
			w.limit("db", step.limit)
			for _, id := range w.placed("db")[:step.ends] {
				w.end(id, domain.OutcomeSuccess)
			}
			w.rest()
			if got := len(w.placed("db")); got != step.want {
				t.Fatalf("limit %d after %d ends: %d run, want %d", step.limit, step.ends, got, step.want)
			}
		}
	})
}

// A change between the decision and its commit undoes it, and nothing is forgotten by that.
func TestWhatWasDecidedByAnOldLimitIsNotSent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 3)
		id := w.ready(w.job(domain.JobSpec{Pool: "db"}), in("db"))
		other := w.ready(w.job(domain.JobSpec{}))
		p, err := w.b.decide(t.Context(), []domain.Instance{w.ins[id], w.ins[other]})
		if err != nil {
			t.Fatal(err)
		}
		w.limit("db", 0)
		if err := w.b.carryOut(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		w.want(id, "running/queued")
		w.want(other, "running/dispatched")
		w.rest()
		w.want(id, "running/held_pool")
		w.limit("db", 1)
		w.rest()
		w.want(id, "running/dispatched")
	})
}

// Those who wait for a place are not read again and again, and nobody else waits for them.
func TestThousandsBehindAFullPoolDelayNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const many = 5000
		w.worker("w", 50)
		w.limit("db", 1)
		job := w.job(domain.JobSpec{Pool: "db"})
		for range many {
			w.ready(job, in("db"))
		}
		other := w.job(domain.JobSpec{})
		stranger := w.ready(other)
		w.start()
		w.want(stranger, "running/dispatched")
		if n := w.count("running/held_pool"); n != many-1 {
			t.Fatalf("%d wait for the pool", n)
		}
		for range 20 {
			w.pages, w.asked = nil, 0
			id := w.ready(other)
			w.do(w.b.sweep)
			w.start()
			w.want(id, "running/dispatched")
			if len(w.pages) > 2*len(domain.Lanes) || w.asked > 3 {
				t.Fatalf("one instance beside a full pool cost %d pages and %d readings", len(w.pages), w.asked)
			}
			w.end(id, domain.OutcomeSuccess)
		}
	})
}

// One that no worker can run keeps no place from others, and takes one when somebody can.
func TestWhoFindsNoTargetIsInNobodysWayInThePool(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 2)
		hour := time.Now().Add(-time.Hour)
		odd := w.job(domain.JobSpec{Pool: "db", Tags: []string{"gpu"}})
		job := w.job(domain.JobSpec{Pool: "db"})
		running := []domain.ID{w.ready(job, in("db")), w.ready(job, in("db"))}
		w.rest()
		var odds, evens []domain.ID
		for i := range 20 {
			odds = append(odds, w.ready(odd, in("db"), due(hour.Add(time.Duration(i)*time.Second))))
			evens = append(evens, w.ready(job, in("db")))
		}
		w.rest()
		for i := range 10 {
			w.end(running[0], domain.OutcomeSuccess)
			w.rest()
			running = append(running[1:], evens[i])
			if got := w.placed("db"); !slices.Equal(slices.Sorted(slices.Values(running)), got) {
				t.Fatalf("round %d: %v run, want %v", i, got, running)
			}
		}
		if n := w.count("running/queued"); n > 4 {
			t.Errorf("%d that nobody can run were made ready", n)
		}
		w.worker("g", 50, func(x *domain.Worker) { x.Tags = []string{"gpu"} })
		for _, id := range running {
			w.end(id, domain.OutcomeSuccess)
		}
		w.rest()
		if got := w.placed("db"); !slices.Contains(got, odds[0]) {
			t.Fatalf("%v run, and not %s, who waited longest", got, odds[0])
		}
		for _, id := range w.placed("db") {
			w.end(id, domain.OutcomeSuccess)
		}
		w.rest()
		if got := w.placed("db"); !slices.Equal(got, odds[1:3]) {
			t.Fatalf("%v run, want those who are the next now: %v", got, odds[1:3])
		}
	})
}

func TestOneThatWaitsForItsPoolIsInTheWayOfOthersOfItsJob(t *testing.T) {
	for policy, want := range map[domain.Overlap]string{domain.OverlapQueue: "running/held_overlap", domain.OverlapSkip: "cancelled/skipped", domain.OverlapReplace: "running/held_pool", domain.OverlapAllow: "running/held_pool"} {
		t.Run(string(policy), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.worker("w", 50)
				w.limit("db", 0)
				job := w.job(domain.JobSpec{Pool: "db", Overlap: policy})
				first := w.ready(job, in("db"))
				w.rest()
				w.want(first, "running/held_pool")
				second := w.ready(job, in("db"), on("2026-03-09"))
				w.do(w.b.round)
				w.want(second, want)
				w.rest()
				w.limit("db", 5)
				w.rest()
				if policy == domain.OverlapReplace {
					w.want(first, "cancelled/killed")
					w.want(second, "running/dispatched")
				} else {
					w.want(first, "running/dispatched")
				}
			})
		})
	}
}

func TestAnOrphanKeepsItsPlaceUntilItIsSettled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		job := w.job(domain.JobSpec{Pool: "db", OnWorkerLost: domain.LossHold})
		first := w.ready(job, in("db"))
		w.rest()
		second := w.ready(job, in("db"))
		w.rest()
		w.lose("w", "silent")
		w.worker("x", 50)
		w.do(w.b.inspect)
		w.rest()
		w.want(first, "running/orphan")
		w.want(second, "running/held_pool")
		w.unheard = true // by another process
		if err := w.commit([]domain.ID{first}, func(in domain.Instance) (domain.Instance, domain.MoveName) {
			return to(in, domain.Failed, domain.WorkerLost), domain.MoveSettle
		}); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		w.rest()
		w.want(second, "running/dispatched")
	})
}

// Each shard takes a place of its own; a run is not split while there is none for it. What a shard of a
// broadcast waits for, its worker, keeps no place from the others.
func TestShardsTakeAPlaceEach(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w0", 50)
		w.worker("w1", 50)
		w.worker("w2", 50)
		w.limit("db", 0)
		whole := w.ready(w.job(domain.JobSpec{Pool: "db", Shards: 7}), in("db"))
		w.rest()
		w.want(whole, "running/held_pool")
		if n := len(w.partsOf(whole)); n != 0 {
			t.Fatalf("split into %d while the pool is paused", n)
		}
		w.limit("db", 2)
		ended := 0
		for range 10 {
			w.rest()
			now := w.placed("db")
			if len(now) > 2 || len(now) == 0 && ended < 7 {
				t.Fatalf("%d shards have a place after %d ended", len(now), ended)
			}
			for _, id := range now {
				w.end(id, domain.OutcomeSuccess)
				ended++
			}
		}
		if ended != 7 {
			t.Fatalf("%d shards ended", ended)
		}
		w.limit("db", 1)
		all := w.ready(w.job(domain.JobSpec{Pool: "db", Broadcast: true}), in("db"))
		w.rest()
		if n := len(w.partsOf(all)); n != 3 {
			t.Fatalf("broadcast to %d", n)
		}
		w.lose("w1", "silent")
		w.do(w.b.inspect)
		for range 2 {
			w.rest()
			now := w.placed("db")
			if len(now) != 1 {
				t.Fatalf("%v have a place", now)
			}
			w.end(now[0], domain.OutcomeSuccess)
		}
		w.rest()
		if got := w.placed("db"); len(got) != 0 {
			t.Fatalf("%v have a place, and their worker is gone", got)
		}
		w.worker("w1", 50, func(x *domain.Worker) { x.Boot = 2 })
		w.rest()
		if got := w.placed("db"); len(got) != 1 || w.ins[got[0]].Worker != "w1" {
			t.Fatalf("%v have a place after it came back", got)
		}
	})
}

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

// Hundreds that waited were ended by another process, unheard: the place goes on to the next that is there at once.
func TestThoseWhoWaitNoMoreAreInNobodysWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		job := w.job(domain.JobSpec{Pool: "db"})
		first := w.ready(job, in("db"))
		w.rest()
		var gone []domain.ID
		for range 300 {
			gone = append(gone, w.ready(job, in("db")))
		}
		last := w.ready(job, in("db"), due(time.Now().Add(time.Hour)))
		w.rest()
		w.unheard = true
		if err := w.kill(gone...); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		w.end(first, domain.OutcomeSuccess)
		w.do(w.b.round)
		w.want(last, "running/dispatched")
	})
}

// A place that could not be given, since the database was away, is given when it is back.
func TestACallThatFailedIsMadeAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 50)
		w.limit("db", 1)
		job := w.job(domain.JobSpec{Pool: "db"})
		first, second := w.ready(job, in("db")), w.ready(job, in("db"))
		w.rest()
		w.end(first, domain.OutcomeSuccess)
		w.mute = true
		if err := w.b.giveTurns(t.Context()); err == nil {
			t.Fatal("the answer was not lost")
		}
		w.do(w.b.round)
		w.want(second, "running/dispatched")
	})
}

// A fresh instance takes no free place before one that waits and comes before it, and does before one that comes after.
func TestWhoIsAdmitted(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	who := func(id domain.ID, minute int) poolWaiter {
		return poolWaiter{id: id, queueKey: queueKey{job: id}, lane: 1, expected: at.Add(time.Duration(minute) * time.Minute)}
	}
	p := newPool()
	p.wait(who(1, 10))
	if p.admits(who(2, 20), 1) || !p.admits(who(2, 5), 1) || p.admits(who(2, 5), 0) {
		t.Error("beside one that waits")
	}
	id, ok := p.callNext()
	if !ok || id != 1 || !p.admits(who(1, 10), 1) || p.admits(who(2, 20), 1) || !p.admits(who(2, 20), 2) || !p.admits(who(2, 5), 1) {
		t.Error("beside one that was called")
	}
	if p.stick(1); !p.admits(who(2, 20), 1) {
		t.Error("beside one that found no target")
	}
	p.taken[3] = true
	if p.admits(who(1, 10), 1) || p.admits(who(2, 5), 1) || !p.admits(who(3, 30), 1) {
		t.Error("with its one place taken")
	}
}
