package incident

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

func TestADayOfWaitingForDependenciesIsAnIncident(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		waits := func(job domain.ID, since time.Duration) domain.Instance {
			in := w.instance(job, domain.Status{State: domain.Running, Label: domain.WaitingDeps})
			in.CreatedAt, in.RunNo = now().Add(-since), 1
			w.ins[in.ID] = in
			return in
		}
		waits(1, 25*time.Hour)
		waits(1, 30*time.Hour)
		waits(2, 23*time.Hour)
		again := waits(3, 48*time.Hour) // rerun just now
		again.RunNo, again.RunID = 2, w.ids.Next()
		w.ins[again.ID] = again
		w.round()
		w.want("deps_limit pay/job1×1")
		w.round()
		w.want("deps_limit pay/job1×1")
		for id, in := range w.ins {
			if in.JobID == 1 {
				in.Label = domain.Queued
				in.ReadyAt = now()
				w.ins[id] = in
			}
		}
		w.round()
		w.want("deps_limit pay/job1×1→moved")
	})
}

// An orphan whose worker reported after all was settled by nobody.
func TestHowTheLastOrphanEnded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		orphan := func(job domain.ID) domain.Instance {
			in := w.instance(job, domain.Status{State: domain.Running, Label: domain.Executing})
			return w.happen(in, domain.MoveOrphan, domain.Status{State: domain.Running, Label: domain.Orphan}, "silent")
		}
		told, settled, killed := orphan(1), orphan(2), orphan(3)
		w.round()
		w.want("orphan pay/job3×1; orphan pay/job2×1; orphan pay/job1×1")
		told.Status = domain.Status{State: domain.Success} // an ordinary move, of which the history has nothing
		w.ins[told.ID] = told
		w.happen(settled, domain.MoveSettle, domain.Status{State: domain.Success}, "asked the bank")
		w.happen(killed, domain.MoveStop, domain.Status{State: domain.Running, Label: domain.Stopping}, "killed by ana")
		w.round()
		all := w.standing()
		for _, want := range []string{"orphan pay/job1×1→told", "orphan pay/job2×1→settled", "orphan pay/job3×1→killed"} {
			if !strings.Contains(all, want) {
				t.Errorf("%q lacks %q", all, want)
			}
		}
	})
}
