package broker

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Between the end of one and the start of the one whose turn it is, a fire of that
// very moment does not slip in.
func TestNobodyOvertakesTheOneWhoseTurnItIs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		a := w.ready(job)
		w.start()
		b := w.ready(job, on("2026-03-09"))
		w.do(w.b.round)
		w.end(a, domain.OutcomeSuccess)
		c := w.ready(job, on("2026-03-10"))
		w.start()
		w.want(c, "running/held_overlap")
		w.want(b, "running/dispatched")
		d := w.ready(job, on("2026-03-11"))
		w.end(b, domain.OutcomeSuccess)
		time.Sleep(time.Second)
		w.do(w.b.sweep) // the turn is given, and d stands before it in the lane
		w.want(c, "running/queued")
		w.do(w.b.round)
		w.want(c, "running/dispatched")
		w.want(d, "running/held_overlap")
	})
}

// The turn was given, and another fire is older in the queue.
func TestATurnThatWasGivenIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		a := w.ready(job)
		w.start()
		b := w.ready(job, on("2026-03-09"))
		w.do(w.b.round)
		w.end(a, domain.OutcomeSuccess)
		c := w.ready(job, on("2026-03-10"))
		time.Sleep(time.Second)
		w.do(w.b.sweep)
		w.do(w.b.round)
		w.want(b, "running/dispatched")
		w.want(c, "running/held_overlap")
	})
}

// Forty of one job that each take a millisecond go one after the other as fast as work
// goes round: the poll would let four a second go.
func TestHeldOnesFollowEachOtherWithoutWaitingForThePoll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		w.b.active.Store(false)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		for i := range 40 {
			w.ready(job, on(date("2026-01-01").AddDays(i).String()))
		}
		w.workers["w"] = domain.Worker{Name: "w", Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, Lanes: map[domain.Lane]int{domain.LaneDefault: 4}}
		ended := make(chan error, 1)
		go func() { ended <- w.b.Term(ctx, 7) }()
		began, handled := time.Now(), 0
		for ; w.finished() < 40; time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("%d of 40 ended", w.finished())
			}
			w.mu.Lock()
			fresh := w.sent[handled:]
			handled = len(w.sent)
			w.mu.Unlock()
			for _, s := range fresh {
				if len(s.m.IDs) != 1 {
					t.Fatalf("%d run at once", len(s.m.IDs))
				}
				w.write(protocol.Uplink{Worker: "w", Boot: 1, Claim: &protocol.Claim{Message: s.m.ID, Nonce: "n", IDs: s.m.IDs}})
				w.write(report("w", domain.ID(s.m.IDs[0]), domain.OutcomeSuccess))
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("forty took %s", took)
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}

// An end costs no question about others of its job: neither where none is held nor
// where the one whose turn it is was heard of.
func TestAnEndAsksForNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		queues, allows := w.job(domain.JobSpec{Overlap: domain.OverlapQueue}), w.job(domain.JobSpec{})
		first, other := w.ready(queues), w.ready(allows)
		w.start()
		next := w.ready(queues, on("2026-03-09"))
		w.do(w.b.round)
		w.want(next, "running/held_overlap")
		w.asked = 0
		w.end(other, domain.OutcomeSuccess)
		w.do(w.b.round)
		w.want(next, "running/held_overlap")
		w.end(first, domain.OutcomeSuccess)
		if err := w.b.giveTurns(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.want(next, "running/queued")
		if w.asked != 0 {
			t.Errorf("%d questions", w.asked)
		}
	})
}

// However many jobs have held ones, a sweep reads a part of what they wait for, and in
// turn all of it.
func TestASweepReadsAPartOfWhatHeldOnesWaitFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var ahead, held []domain.ID
		for range 1000 {
			job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
			ahead = append(ahead, w.ready(job, label(domain.Executing)))
			held = append(held, w.ready(job, label(domain.HeldOverlap), backfill))
		}
		if err := w.b.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.unheard = true
		if err := w.kill(ahead...); err != nil { // they stop
			t.Fatal(err)
		}
		for _, id := range ahead {
			in := w.ins[id]
			in.Status, in.Ver = domain.Status{State: domain.Cancelled, Label: domain.Killed}, in.Ver+1
			w.ins[id] = in
		}
		w.unheard = false
		w.do(w.b.freeHeld)
		if n := w.count("running/queued"); n != pageSize/2 {
			t.Fatalf("%d of %d go after one sweep, want %d", n, len(held), pageSize/2)
		}
		for range 3 {
			w.do(w.b.freeHeld)
		}
		if n := w.count("running/queued"); n != len(held) {
			t.Fatalf("%d of %d go after all sweeps", n, len(held))
		}
	})
}

// A line keeps its order whatever comes and goes.
func TestALineIsInTheOrderOfItsTurns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	l := &line{}
	there := map[domain.ID]waiter{}
	for range 5000 {
		id := domain.ID(1 + rnd.IntN(60))
		if rnd.IntN(3) == 0 {
			l.forget(id)
			delete(there, id)
		} else {
			w := waiter{id: id, expected: time.UnixMilli(rnd.Int64N(20)), backfill: rnd.IntN(2) == 0, patient: rnd.IntN(2) == 0, ver: 1}
			l.hold(w)
			there[id] = w
		}
		want := slices.SortedFunc(maps.Values(there), waiter.compare)
		got, ok := l.head()
		if ok != (len(want) > 0) || ok && got != want[0] || len(l.patient)+len(l.others) != len(there) || !slices.IsSortedFunc(l.patient, waiter.compare) || !slices.IsSortedFunc(l.others, waiter.compare) {
			t.Fatalf("the first is %+v, want %+v", got, want)
		}
	}
}
