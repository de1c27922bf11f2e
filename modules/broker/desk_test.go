package broker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// An outcome waits behind claims that keep coming, and for a bounded time only.
func TestOutcomesWaitBehindClaimsForAWhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		job := w.job(domain.JobSpec{})
		first := w.ready(job)
		w.worker("w", 4)
		w.start()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = w.b.readUplink(ctx) }()
		go func() { _ = w.b.book(ctx) }()
		status := func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.ins[first].Status.String()
		}
		claims := func() { w.write(claim("w", "again", w.ins[first].AttemptID)) }
		claims()
		time.Sleep(5 * time.Millisecond)
		w.write(report("w", w.ins[first].AttemptID, domain.OutcomeSuccess))
		for range 20 { // claims for 200 ms
			claims()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if got := status(); got != "running/dispatched" {
			t.Errorf("%s while claims keep coming", got)
		}
		for range 10 {
			claims()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if got := status(); got != "success" {
			t.Errorf("%s after more than %s", got, patience)
		}
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
