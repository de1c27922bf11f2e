package broker

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
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
