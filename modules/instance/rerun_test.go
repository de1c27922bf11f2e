package instance_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// A rerun opens a new run on the same instance, once the one before is over. (J-E12)
func TestRerunFilesTheRunBefore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		if _, err := w.life.Rerun(t.Context(), in.ID, "ana", ""); !domain.Is(err, domain.Conflict) {
			t.Fatalf("rerun of what has not ended: %v, want a conflict", err)
		}
		a := w.run(in.ID)
		w.report(a, domain.OutcomeError, "first end")
		first := w.get(in.ID)
		for n := 2; n <= 3; n++ {
			again, err := w.life.Rerun(t.Context(), in.ID, "ana", "data mended")
			w.ok(err)
			if again.RunNo != n || again.Status != running(domain.Queued) || again.TraceID == first.TraceID || again.RequestedBy != "ana" {
				t.Fatalf("run %d: %+v", n, again)
			}
			w.report(a, domain.OutcomeSuccess, "of the run before") // moves nothing
			w.is(in.ID, running(domain.Queued))
			a = w.run(in.ID)
			if a.Ordinal != 1 {
				t.Errorf("the new run begins with attempt %d", a.Ordinal)
			}
			w.report(a, domain.OutcomeError, "later end")
		}
		runs, err := w.st.Runs(t.Context(), in.ID)
		w.ok(err)
		if len(runs) != 3 || runs[0].Message != "first end" || runs[0].Status != failed(domain.ErrorLabel) || runs[1].Message != "later end" || runs[0].TraceID != first.TraceID {
			t.Errorf("filed runs: %+v", runs)
		}
		for _, r := range runs {
			if id, err := w.st.ByTrace(t.Context(), r.TraceID); err != nil || id != in.ID {
				t.Errorf("trace %s of run %d leads to %s, %v", r.TraceID, r.No, id, err)
			}
		}
		for _, trace := range []string{"", "nonsense", "a1b2c3d4-e5f6-7890-abcd-ef1234567890", domain.NewTraceID(in.ID)} {
			if id, err := w.st.ByTrace(t.Context(), trace); err != nil || id != 0 {
				t.Errorf("trace %q leads to %s, %v", trace, id, err)
			}
		}
	})
}

// A rerun is of what was run: the version and the params of the instance, though the definition has changed. (G-E14)
func TestRerunKeepsVersionAndParams(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		n := w.newOf(jobA, w.now())
		n.Version, n.Params = 3, map[string]string{"date": "2026-01-31", "source": "old"}
		ins, err := w.life.Create(t.Context(), []domain.NewInstance{n})
		w.ok(err)
		first := ins[0]
		w.report(w.run(first.ID), domain.OutcomeError, "")
		s := shell("a")
		s.Params = map[string]string{"date": "2026-02-28", "source": "new"}
		w.specs[jobA] = s
		again, err := w.life.Rerun(t.Context(), first.ID, "ana", "")
		w.ok(err)
		if again.Version != 3 || !maps.Equal(again.Params, n.Params) {
			t.Errorf("the rerun has version %d and params %v", again.Version, again.Params)
		}
		w.report(w.run(first.ID), domain.OutcomeSuccess, "")
		runs, err := w.st.Runs(t.Context(), first.ID)
		w.ok(err)
		for _, r := range runs {
			if r.Version != 3 || !maps.Equal(r.Params, n.Params) {
				t.Errorf("run %d is filed with version %d and params %v", r.No, r.Version, r.Params)
			}
		}
	})
}

// TestUpstream releases, cancels step by step and brings back.
func TestUpstream(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.deps[jobB] = 2
		up := w.fire(jobA)
		down, further := w.fire(jobB), w.fire(jobB)
		w.ok(w.life.Met(t.Context(), map[domain.ID]int{down.ID: 1}))
		if got := w.is(down.ID, running(domain.WaitingDeps)); got.DepsLeft != 1 {
			t.Fatalf("%d dependencies are left", got.DepsLeft)
		}
		w.ok(w.life.Unmet(t.Context(), map[domain.ID]int{down.ID: 1}))
		w.ok(w.life.Met(t.Context(), map[domain.ID]int{further.ID: 2}))
		if got := w.is(further.ID, running(domain.Queued)); got.MetAt != w.now() {
			t.Errorf("met at %s", got.MetAt)
		}

		cause := domain.Cause{Instance: up.ID, Run: up.RunID, State: domain.Failed, Name: "a"}
		done, err := w.life.CancelUpstream(t.Context(), map[domain.ID]domain.Cause{down.ID: cause})
		w.ok(err)
		if len(done) != 0 {
			t.Fatal("cancelled because of an upstream that still runs")
		}
		w.report(w.run(up.ID), domain.OutcomeError, "")
		done, err = w.life.CancelUpstream(t.Context(), map[domain.ID]domain.Cause{down.ID: cause, further.ID: cause})
		w.ok(err)
		if len(done) != 1 || done[0].ID != down.ID {
			t.Fatalf("cancelled %v", done)
		}
		w.is(further.ID, running(domain.Queued)) // it waits no more
		got := w.is(down.ID, cancelled(domain.UpstreamFailed))
		if got.CancelledBy.InstanceID != up.ID || got.CancelledBy.RunID != up.RunID {
			t.Errorf("cancelled by %+v", got.CancelledBy)
		}
		w.ok(w.life.Met(t.Context(), map[domain.ID]int{down.ID: 2}))
		w.is(down.ID, cancelled(domain.UpstreamFailed))

		again, err := w.life.Rerun(t.Context(), up.ID, "ana", "")
		w.ok(err)
		if done, err := w.life.CancelUpstream(t.Context(), map[domain.ID]domain.Cause{w.fire(jobB).ID: cause}); err != nil || len(done) != 0 {
			t.Errorf("cancelled because of a run that was replaced: %v, %v", done, err)
		}
		w.report(w.run(up.ID), domain.OutcomeSuccess, "")
		w.ok(w.life.Restore(t.Context(), w.get(up.ID)))
		back := w.is(down.ID, running(domain.WaitingDeps))
		if back.RunNo != 2 || back.DepsLeft != 2 || back.CancelledBy.InstanceID != 0 || again.RunNo != 2 {
			t.Errorf("brought back as %+v", back)
		}
		w.ok(w.life.Restore(t.Context(), w.get(up.ID)))
		if w.get(down.ID).RunNo != 2 {
			t.Error("brought back twice")
		}
		want := []domain.MoveName{domain.MoveCancelUpstream, domain.MoveRestore}
		if es := w.events(down.ID); !slices.Equal(es, want) {
			t.Errorf("history %v, want %v", es, want)
		}
	})
}

// Two people press at once: one of them runs it again, the other is told that it has not ended. (J-E12)
func TestTwoRerunsAtOnceAreOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		w.report(w.run(in.ID), domain.OutcomeError, "")
		const presses = 4
		var wait sync.WaitGroup
		errs := make([]error, presses)
		for i := range presses {
			wait.Go(func() { _, errs[i] = w.life.Rerun(t.Context(), in.ID, "ana", "") })
		}
		wait.Wait()
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !domain.Is(err, domain.Conflict):
				t.Errorf("a second press: %v, want a conflict", err)
			}
		}
		if got := w.is(in.ID, running(domain.Queued)); taken != 1 || got.RunNo != 2 {
			t.Errorf("%d of %d presses were taken, run %d", taken, presses, got.RunNo)
		}
	})
}
