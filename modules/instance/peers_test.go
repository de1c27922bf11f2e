package instance_test

import (
	"testing"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/worker/protocol"
)

// peer is the lifecycle of another process over the same rows.
func (w *world) peer() *instance.Lifecycle {
	return &instance.Lifecycle{Store: w.st, IDs: w.life.IDs, Now: w.now, Specs: w, Renderer: w, Deps: w, Tally: w, Listener: w, Memo: &instance.Memo{}}
}

func (w *world) claim(life *instance.Lifecycle, a domain.Attempt) (*protocol.Task, string) {
	w.t.Helper()
	tasks, denied, err := life.Grant(w.t.Context(), []domain.Claim{{Attempt: a.ID, Worker: a.Target, Boot: a.Boot}})
	w.ok(err)
	return tasks[a.ID], denied[a.ID]
}

// What a process remembers of an attempt never outweighs what another has committed.
func TestAnotherProcessMoves(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.dispatch(w.fire(jobA).ID)
		_, err := w.peer().Kill(t.Context(), a.InstanceID, "ann", "")
		w.ok(err)
		if task, why := w.claim(w.life, a); task != nil || why == "" {
			t.Errorf("a killed attempt was granted: %v %q", task, why)
		}

		b := w.run(w.fire(jobA).ID)
		_, err = w.peer().Kill(t.Context(), b.InstanceID, "ann", "too slow")
		w.ok(err)
		w.report(b, domain.OutcomeKilled, "")
		w.is(b.InstanceID, domain.Status{State: domain.Cancelled, Label: domain.Killed})
		if got := w.attempt(b.ID); got.KillAt.IsZero() {
			t.Error("the report wiped out when the kill was asked for")
		}
	})
}

func TestAnotherBrokersTerm(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := w.dispatch(w.fire(jobA).ID)
		other := w.peer()
		if task, why := w.claim(other, a); task == nil {
			t.Fatalf("denied: %s", why)
		}
		w.life.Forget() // its next term begins
		w.report(a, domain.OutcomeSuccess, "")
		w.is(a.InstanceID, domain.Status{State: domain.Success})
		if got := w.attempt(a.ID); got.GrantedAt.IsZero() || got.AckedAt.IsZero() {
			t.Errorf("the grant of the other broker was overwritten: %+v", got)
		}
	})
}
