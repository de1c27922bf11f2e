package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

func TestABatchIsTriedUntilItIsCommittedAndRemovedOnlyThen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		attempt := w.ins[id].AttemptID
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w.mu.Lock()
		w.away = errDatabase
		w.mu.Unlock()
		w.write(report("w", attempt, domain.OutcomeSuccess))
		go func() { _ = w.b.readUplink(ctx) }()
		go func() { _ = w.b.book(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.mu.Lock()
		if len(w.removed) > 0 || len(w.posted) > 1 { // the one is the grant's answer
			t.Fatalf("removed %v, posted %v while the database was away", w.removed, w.posted)
		}
		w.away = nil
		w.mu.Unlock()
		time.Sleep(maxPause + time.Second)
		synctest.Wait()
		w.want(id, "success")
		last := w.posted[len(w.posted)-1]
		if len(w.removed) != 1 || !slices.Equal(last.Down.Confirm, []int64{int64(attempt)}) || last.Worker != "w" {
			t.Fatalf("removed %v, last posted %+v", w.removed, last)
		}
	})
}

func TestATermThatEndsLeavesItsBatchToTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		w.away = errDatabase
		w.write(report("w", 1, domain.OutcomeSuccess))
		ended := make(chan struct{})
		booked := make(chan struct{})
		go func() { _ = w.b.readUplink(ctx); close(ended) }()
		go func() { _ = w.b.book(ctx); close(booked) }()
		time.Sleep(time.Second)
		stop()
		<-ended
		<-booked
		if len(w.removed) > 0 {
			t.Fatal("what was not applied was removed")
		}
	})
}

// answers are the grants and denials posted, as "worker nonce: +attempt −attempt".
func answers(out []Outgoing) []string {
	var said []string
	for _, o := range out {
		if o.Down.Answer == nil {
			continue
		}
		s := fmt.Sprintf("%s %s:", o.Worker, o.Down.Answer.Nonce)
		for _, g := range o.Down.Answer.Grants {
			s += fmt.Sprintf(" +%d", g.Attempt)
		}
		for _, d := range o.Down.Answer.Denied {
			if d.Reason == "" {
				s += " (no reason)"
			}
			s += fmt.Sprintf(" -%d", d.Attempt)
		}
		said = append(said, s)
	}
	return said
}

func TestEachClaimIsAnsweredAndATaskGoesToItsTargetAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		a, b := w.ready(job), w.ready(job)
		w.worker("w", 4)
		w.do(w.b.round)
		w.worker("x", 4)
		if err := w.kill(b); err != nil {
			t.Fatal(err)
		}
		one, two := w.ins[a].AttemptID, w.ins[b].AttemptID
		foreign := claim("x", "n3", one)
		older := claim("w", "n4", one)
		older.Boot = 0
		got := answers(w.hear(claim("w", "n1", one, two, 77), foreign, claim("w", "n2", one), older))
		want := []string{fmt.Sprintf("w n1: +%d -%d -77", one, two), fmt.Sprintf("x n3: -%d", one), fmt.Sprintf("w n2: +%d", one), fmt.Sprintf("w n4: -%d", one)}
		if !slices.Equal(got, want) {
			t.Fatalf("answers\n%v, want\n%v", got, want)
		}
		got = answers(w.hear(foreign, claim("w", "n2", one)))
		if want := []string{fmt.Sprintf("x n3: -%d", one), fmt.Sprintf("w n2: +%d", one)}; !slices.Equal(got, want) {
			t.Fatalf("answers\n%v, want\n%v", got, want)
		}
		if got := answers(w.hear(claim("w", "n5", one))); !slices.Equal(got, []string{fmt.Sprintf("w n5: +%d", one)}) {
			t.Fatalf("asked again, the same boot is told %v", got)
		}
	})
}

func TestTwoStrangersWhoClaimTheSameGetNothingTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) { // the memory does not know the attempt
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.do(w.b.round)
		attempt := w.ins[id].AttemptID
		w.b.mem.reset(0)
		got := answers(w.hear(claim("w", "n1", attempt), claim("x", "n2", attempt)))
		if want := []string{fmt.Sprintf("w n1: +%d", attempt), fmt.Sprintf("x n2: -%d", attempt)}; !slices.Equal(got, want) {
			t.Fatalf("answers %v, want %v", got, want)
		}
	})
}

func TestWhatIsHandedBackIsNotGrantedInTheSameBatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.do(w.b.round)
		attempt := w.ins[id].AttemptID
		got := answers(w.hear(claim("w", "n1", attempt),
			protocol.Uplink{Worker: "w", Boot: 1, Refuse: &protocol.Refuse{IDs: []int64{int64(attempt)}, Reason: "draining"}}))
		if want := []string{fmt.Sprintf("w n1: -%d", attempt)}; !slices.Equal(got, want) {
			t.Fatalf("answers %v, want %v", got, want)
		}
		w.want(id, "running/queued")
	})
}

func TestAClaimThatCannotBeDecidedBlocksNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		a, b := w.ready(job), w.ready(job)
		w.worker("w", 4)
		w.do(w.b.round)
		w.poison = w.ins[a].AttemptID
		good := w.ins[b].AttemptID
		got := answers(w.hear(claim("w", "n1", w.poison), claim("w", "n2", good)))
		if want := []string{fmt.Sprintf("w n2: +%d", good)}; !slices.Equal(got, want) {
			t.Fatalf("answers %v, want %v", got, want)
		}
	})
}

// Whoever should stop is told until it has. (J-C4, J-C19, G-C14)
func TestAKillIsToldAgainUntilItIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		w.unheard = true // a page of another process asked for it
		if err := w.kill(id); err != nil {
			t.Fatal(err)
		}
		w.unheard = false
		for range 40 { // ten seconds
			w.do(w.b.tellKills)
			time.Sleep(poll)
		}
		if n := len(kills(w.posted)); n != 5 {
			t.Fatalf("told %d times in ten seconds, want 5", n)
		}
		w.end(id, domain.OutcomeKilled)
		w.want(id, "cancelled/killed")
		w.posted = nil
		time.Sleep(killAgain)
		w.do(w.b.tellKills)
		if len(w.posted) > 0 {
			t.Fatalf("told after its end: %v", w.posted)
		}
	})
}

func TestAKillOfWhatTheMemoryLostIsToldToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		if err := w.kill(id); err != nil {
			t.Fatal(err)
		}
		w.b.mem.reset(0)
		w.posted = nil
		w.do(w.b.tellKills)
		w.do(w.b.tellKills)
		if got := kills(w.posted); !slices.Equal(got, []domain.ID{w.ins[id].AttemptID}) {
			t.Fatalf("told to stop %v", got)
		}
	})
}

// Acks are late only when the registry answered and all was heard meanwhile.
func TestTheClockOfAcksStandsStillWhileNothingIsHeard(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.b.heardAll(time.Now())
		w.do(w.b.round)
		idle := func(d time.Duration, registry, uplink bool) {
			for range d / poll {
				time.Sleep(poll)
				if w.registry = errors.New("away"); registry {
					w.registry = nil
				}
				_ = w.b.inspect(t.Context())
				if uplink {
					w.b.heardAll(time.Now())
				}
				w.do(w.b.sweep)
			}
		}
		idle(3*time.Second, true, true)
		idle(30*time.Second, false, true)
		w.want(id, "running/dispatched")
		idle(3*time.Second, true, true) // begins anew
		w.want(id, "running/dispatched")
		idle(30*time.Second, true, false)
		w.want(id, "running/dispatched")
		idle(4*time.Second, true, true)
		w.want(id, "running/dispatched")
		idle(2*time.Second, true, true)
		w.want(id, "running/queued")
		if a := w.attempts[w.ins[id].AttemptID]; a.Outcome != domain.OutcomeNoAck {
			t.Fatalf("the attempt ended as %s", a.Outcome)
		}
	})
}

// A message whose sending failed is like one that was lost on its way.
func TestWhatCouldNotBeSentIsTakenBackAfterTheAckTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.b.heardAll(time.Now())
		w.sendErr = errors.New("away")
		w.do(w.b.round)
		w.want(id, "running/dispatched")
		w.sendErr = nil
		for range 6 * 4 {
			time.Sleep(poll)
			w.b.heardAll(time.Now())
			w.do(w.b.sweep)
		}
		w.want(id, "running/queued")
		w.do(w.b.round)
		w.want(id, "running/dispatched")
		if len(w.sent) != 1 {
			t.Fatalf("sent %v", w.sent)
		}
	})
}

// One step of a sweep that fails keeps none of the others from being done.
func TestASweepDoesWhatItCan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		a := w.ready(job)
		w.start()
		b := w.ready(job, on("2026-03-09"))
		w.do(w.b.round)
		w.end(a, domain.OutcomeSuccess)
		w.b.Clock = brokenClock{}
		if err := w.b.sweep(t.Context()); err == nil {
			t.Fatal("the failure was not told")
		}
		w.want(b, "running/queued")
	})
}

type brokenClock struct{}

func (brokenClock) Wake(context.Context, int) (int, error) { return 0, errors.New("a row is damaged") }
