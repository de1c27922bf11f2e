package broker

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// What was assigned by a commit whose answer was lost is in force: it is taken back when no ack comes, and until the rows
// have said how they stand nothing else of its job begins.
func TestALostAnswerToACommitIsMadeGood(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w1", 4)
		job := w.job(domain.JobSpec{Overlap: domain.OverlapQueue})
		first := w.ready(job)
		w.mute = true
		if err := w.b.round(t.Context()); err == nil {
			t.Fatal("the commit was answered")
		}
		w.want(first, "running/dispatched")
		if len(w.sent) != 0 {
			t.Fatal("it was sent although nobody knows of its commit")
		}
		second := w.ready(job)
		w.away = errDatabase
		if err := w.b.round(t.Context()); err == nil {
			t.Error("a round went on although the rows could not be read")
		}
		w.away = nil
		w.do(w.b.round)
		w.want(second, "running/held_overlap")
		if s := w.b.Stats(); s.InFlight != 1 || s.Unacked != 1 {
			t.Errorf("in flight %d, unacked %d: the attempt is not waited for", s.InFlight, s.Unacked)
		}
		for waited := time.Duration(0); waited <= w.b.AckWithin+time.Second; waited += time.Second {
			w.b.heardAll(time.Now())
			time.Sleep(time.Second)
		}
		w.b.heardAll(time.Now())
		w.do(w.b.sweep)
		w.want(first, "running/queued")
		w.do(w.b.round)
		if len(w.sent) != 1 {
			t.Errorf("sent %d times, want once", len(w.sent))
		}
	})
}

// An outcome whose commit was not answered is applied again, moves nothing then, and still gives its room back.
func TestALostAnswerToAnOutcomeGivesTheRoomBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.worker("w1", 1)
		id := w.ready(w.job(domain.JobSpec{}))
		w.start()
		a := w.attempts[w.ins[id].AttemptID]
		w.mute = true
		letters := []Letter{{ID: "1", Said: report("w1", a.ID, domain.OutcomeSuccess)}}
		if err := w.b.apply(t.Context(), letters); err == nil {
			t.Fatal("the commit was answered")
		}
		if err := w.b.apply(t.Context(), letters); err != nil {
			t.Fatal(err)
		}
		w.want(id, "success")
		w.do(w.b.round)
		if n := w.b.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight after the end", n)
		}
	})
}
