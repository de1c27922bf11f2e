package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// An outcome waits while something else is not claimed yet, and for a bounded time
// only; when nothing is, it is booked at once.
func TestOutcomesWaitBehindClaimsForAWhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		first, second := w.ready(job), w.ready(job)
		w.worker("w", 4)
		w.start()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = w.b.readUplink(ctx) }()
		go func() { _ = w.b.book(ctx) }()
		say := func(in domain.ID) {
			w.write(report("w", w.ins[in].AttemptID, domain.OutcomeSuccess))
		}
		after := func(d time.Duration, in domain.ID, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			if got := w.ins[in].Status.String(); got != want {
				t.Errorf("after %s: %s, want %s", d, got, want)
			}
		}
		say(first)
		after(3*gatherMost, first, "success")
		w.ready(job)
		w.do(w.b.round) // sent, and not claimed
		say(second)
		after(patience-deskLook, second, "running/dispatched")
		after(3*deskLook, second, "success")
	})
}

// An outcome that waits at the desk when its worker is found gone counts: nothing of
// that worker is lost, and run a second time, before it is booked.
func TestAnOutcomeAtTheDeskIsNotLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		id := w.ready(w.job(domain.JobSpec{}))
		w.worker("w", 4)
		w.start()
		said := Letter{ID: "1", Said: report("w", w.ins[id].AttemptID, domain.OutcomeSuccess)}
		w.b.desk.put(t.Context(), []Letter{said})
		w.lose("w", "was restarted")
		w.do(w.b.inspect)
		w.want(id, "running/dispatched")
		letters := w.b.desk.take() // being booked
		w.do(w.b.inspect)
		w.want(id, "running/dispatched")
		w.do(func(ctx context.Context) error { return w.b.apply(ctx, letters) })
		w.b.desk.done()
		w.do(w.b.inspect)
		w.want(id, "success")
	})
}

// What waits is bounded: the uplink is not read on.
func TestTheDeskIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		full := make([]Letter, deskMost+1)
		full[0].Said = protocol.Uplink{Started: []protocol.Started{{Attempt: 1}}}
		put := make(chan bool)
		go func() { put <- w.b.desk.put(ctx, full) }()
		synctest.Wait()
		select {
		case <-put:
			t.Fatal("more was taken than the desk holds")
		default:
		}
		w.b.desk.take()
		if !<-put {
			t.Error("put said that ctx had ended")
		}
	})
}
