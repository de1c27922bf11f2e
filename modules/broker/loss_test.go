package broker

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Nothing stays with a worker that is lost, claimed or not. (G-C2)
func TestWhatALostWorkerHeldGoesElsewhere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{OnWorkerLost: domain.LossRetry})
		w.worker("w", 4)
		a := w.ready(job)
		w.start()
		b := w.ready(job)
		w.do(w.b.round) // sent, not claimed
		old := []domain.ID{w.ins[a].AttemptID, w.ins[b].AttemptID}
		w.lose("w", "has been silent for 10s")
		w.do(w.b.inspect)
		w.want(a, "running/queued")
		w.want(b, "running/queued")
		if w.attempts[old[0]].State != domain.AttemptLost || w.attempts[old[1]].State != domain.AttemptWithdrawn {
			t.Fatalf("the attempts are %s and %s", w.attempts[old[0]].State, w.attempts[old[1]].State)
		}
		if want := []domain.Boot{{Name: "w", Boot: 1}}; !slices.Equal(w.buried, want) {
			t.Fatalf("buried %v", w.buried)
		}
		w.worker("x", 4)
		w.do(w.b.round)
		for _, id := range []domain.ID{a, b} {
			if at := w.attempts[w.ins[id].AttemptID]; at.Target != "x" {
				t.Fatalf("it went to %s", at.Target)
			}
		}
	})
}

// A life is told as gone once; a database that is away then must not lose that.
func TestALossIsSettledAlthoughTheDatabaseWasAway(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		w.lose("w", "was restarted")
		w.workers["w"] = domain.Worker{Name: "w", Boot: 2, State: domain.WorkerAvailable, Types: []string{"shell"}}
		w.away = errDatabase
		for range 3 {
			if err := w.b.inspect(t.Context()); err == nil {
				t.Fatal("nothing was told")
			}
			time.Sleep(time.Second)
		}
		w.away = nil
		w.buryErr = errors.New("the transport is away")
		_ = w.b.inspect(t.Context())
		w.want(a, "running/queued")
		if len(w.buried) > 0 {
			t.Fatal("buried although that failed")
		}
		w.buryErr = nil
		w.do(w.b.inspect)
		w.do(w.b.inspect)
		if len(w.buried) != 1 {
			t.Fatalf("buried %v", w.buried)
		}
		time.Sleep(2 * overFor)
		w.do(w.b.inspect)
		if len(w.b.mem.over) > 0 {
			t.Fatal("lives that are over are remembered for ever")
		}
	})
}

// What was committed for a life in the moment of its end is settled too. (G-C2)
func TestWhatWasOnItsWayToALifeThatEndedIsSettled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		page, _ := w.Ready(t.Context(), domain.LaneDefault, domain.Instance{}, 10)
		p, err := w.b.decide(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		w.lose("w", "was restarted")
		w.do(w.b.inspect)
		if err := w.b.carryOut(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		w.hear(claim("w", "n", w.ins[a].AttemptID)) // it claimed with its last breath
		w.do(w.b.inspect)
		w.want(a, "running/queued")
	})
}

func TestLateRatherThanTwiceWaitsForTheGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{OnWorkerLost: domain.LossWait})
		w.worker("w", 4)
		a := w.ready(job)
		w.start()
		b := w.ready(job)
		w.do(w.b.round) // not claimed: nothing can run
		w.lose("w", "has been silent")
		for range 34 {
			w.do(w.b.inspect)
			time.Sleep(time.Second)
		}
		w.want(a, "running/dispatched")
		w.want(b, "running/queued")
		if len(w.buried) > 0 {
			t.Fatal("its inbox is gone while it may come back")
		}
		time.Sleep(time.Second)
		w.do(w.b.inspect)
		w.want(a, "running/queued")
		w.do(w.b.inspect)
		if len(w.buried) != 1 {
			t.Fatalf("buried %v", w.buried)
		}
	})
}

func TestAWorkerThatComesBackInTimeKeepsWhatWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{OnWorkerLost: domain.LossWait}))
		w.worker("w", 4)
		w.start()
		back := w.workers["w"]
		w.lose("w", "has been silent")
		w.do(w.b.inspect)
		time.Sleep(20 * time.Second)
		w.workers["w"] = back
		w.beat("w", w.ins[a].AttemptID)
		for range 60 {
			time.Sleep(time.Second)
			w.beat("w", w.ins[a].AttemptID)
		}
		w.want(a, "running/dispatched")
		w.end(a, domain.OutcomeSuccess)
		w.want(a, "success")
	})
}

func TestAWorkerThatComesBackIsGivenWorkAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		back := w.workers["w"]
		w.lose("w", "has been silent")
		w.do(w.b.inspect)
		w.workers["w"] = back
		w.beat("w")
		a := w.ready(w.job(domain.JobSpec{}))
		w.start()
		for range 10 {
			time.Sleep(time.Second)
			w.beat("w", w.ins[a].AttemptID)
		}
		w.want(a, "running/dispatched")
	})
}

func TestAGrantUnnamedInTwoHeartbeatsIsSettled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		w.worker("w", 4)
		a, b := w.ready(job), w.ready(job)
		w.start()
		known := w.ins[b].AttemptID
		w.beat("w", known) // too early to expect it
		w.beat("w", known)
		w.beat("w", known)
		w.want(a, "running/dispatched")
		time.Sleep(3 * time.Second)
		w.beat("w", known)
		for range 5 {
			w.do(w.b.inspect) // the same heartbeat again
		}
		w.want(a, "running/dispatched")
		w.beat("w", known)
		w.want(a, "running/queued")
		w.want(b, "running/dispatched")
	})
}

func TestANamedGrantIsNotSettledByOneThatMissesIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		time.Sleep(3 * time.Second)
		for range 5 {
			w.beat("w")
			w.beat("w", w.ins[a].AttemptID)
		}
		w.want(a, "running/dispatched")
	})
}

func TestAWorkerThatReturnsIsToldToStopWhatWasReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		old := w.ins[a].AttemptID
		back := w.workers["w"]
		w.lose("w", "has been silent")
		w.do(w.b.inspect)
		w.worker("x", 4)
		w.start()
		w.posted = nil
		w.workers["w"] = back
		w.beat("w", old)
		if got := kills(w.posted); !slices.Equal(got, []domain.ID{old}) || w.posted[0].Worker != "w" {
			t.Fatalf("told %v", w.posted)
		}
		if at := w.attempts[w.ins[a].AttemptID]; at.Target != "x" || at.State != domain.AttemptGranted {
			t.Fatalf("the attempt in force is %+v", at)
		}
	})
}

func TestAnOrphanThatIsStillThereGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{OnWorkerLost: domain.LossHold}))
		w.worker("w", 4)
		w.start()
		old := w.ins[a].AttemptID
		back := w.workers["w"]
		w.lose("w", "has been silent")
		w.do(w.b.inspect)
		w.want(a, "running/orphan")
		w.posted = nil
		w.workers["w"] = back
		w.beat("w", old)
		if len(kills(w.posted)) > 0 {
			t.Fatal("an orphan was killed that nothing has replaced")
		}
		if n := w.b.Stats().InFlight; n != 0 {
			t.Fatalf("%d in flight: held by a person is not in flight", n)
		}
		if err := w.kill(a); err != nil {
			t.Fatal(err)
		}
		w.beat("w", old)
		if got := kills(w.posted); !slices.Equal(got, []domain.ID{old}) {
			t.Fatalf("told to stop %v", got)
		}
	})
}

// The memory missed an attempt that the rows have in force: it is taken in, and so
// missed when its worker is lost.
func TestWhatAWorkerHoldsInForceIsTakenIntoTheMemory(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		w.b.mem.reset(0)
		w.beat("w", w.ins[a].AttemptID)
		w.beat("w", w.ins[a].AttemptID)
		w.lose("w", "has been silent")
		w.do(w.b.inspect)
		w.want(a, "running/queued")
	})
}

func TestAnOutageOfTheRegistryAssignsNothingAndLosesNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		a := w.ready(job)
		w.worker("w", 4)
		w.start()
		w.registry = errors.New("connection refused")
		b := w.ready(job)
		for range 60 {
			if err := w.b.inspect(t.Context()); err == nil {
				t.Fatal("nothing was told")
			}
			w.do(w.b.round)
			time.Sleep(time.Second)
		}
		w.want(a, "running/dispatched")
		w.want(b, "running/queued")
		if w.b.mem.deaf != "connection refused" {
			t.Errorf("why nothing is assigned: %q", w.b.mem.deaf)
		}
		w.registry = nil
		w.beat("w", w.ins[a].AttemptID)
		if w.b.mem.deaf != "" {
			t.Errorf("after its return: %q", w.b.mem.deaf)
		}
		w.do(w.b.round)
		w.want(b, "running/dispatched")
	})
}

func TestADrainIsToldUntilTheHeartbeatSaysSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4, func(x *domain.Worker) { x.Drain = true })
		if len(w.posted) != 1 || w.posted[0].Down.Drain == nil || !*w.posted[0].Down.Drain {
			t.Fatalf("told %+v", w.posted)
		}
		w.do(w.b.round)
		w.want(id, "running/queued")
		x := w.workers["w"]
		x.State = domain.WorkerDraining
		w.workers["w"] = x
		w.beat("w")
		if len(w.posted) != 1 {
			t.Fatalf("told again: %+v", w.posted)
		}
	})
}
