package broker

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Whatever a loss waits for, it tells when its worker was heard for the last time.
func TestALossTellsWhenItsWorkerWasHeardLast(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		heard := time.Now()
		w.worker("w", 4, func(x *domain.Worker) { x.SeenAt = heard })
		at := map[string]domain.ID{}
		for name, policy := range map[string]domain.LossPolicy{"at once": domain.LossRetry, "after the grace": domain.LossWait} {
			at[name] = w.ready(w.job(domain.JobSpec{OnWorkerLost: policy}))
		}
		w.start()
		attempts := map[string]domain.ID{}
		for name, id := range at {
			attempts[name] = w.ins[id].AttemptID
		}
		w.lose("w", "has not been heard since then")
		for range 40 {
			w.do(w.b.inspect)
			time.Sleep(time.Second)
		}
		for name, id := range attempts {
			if got, told := w.heardLast[id]; !told || !got.Equal(heard) {
				t.Errorf("%s: heard last at %s (told: %t), want %s", name, got, told, heard)
			}
		}
	})
}

// Of what a worker that lives knows nothing any more, the last that was heard is the heartbeat that named it.
func TestAnAttemptThatIsForgottenWasHeardOfWhileItWasNamed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.ready(w.job(domain.JobSpec{OnWorkerLost: domain.LossRetry}))
		w.worker("w", 4)
		w.start()
		attempt := w.ins[a].AttemptID
		var named time.Time
		for range 5 {
			time.Sleep(time.Second)
			named = time.Now()
			w.beat("w", attempt)
		}
		for range 4 {
			time.Sleep(time.Second)
			w.beat("w")
		}
		w.want(a, "running/queued")
		if got := w.heardLast[attempt]; !got.Equal(named) {
			t.Errorf("heard of last at %s, want %s", got, named)
		}
	})
}
