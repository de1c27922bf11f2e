package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// TestKillAtEachLabel kills an instance wherever it may stand. (J-F9, G-E4)
func TestKillAtEachLabel(t *testing.T) {
	cases := []struct {
		name string
		to   func(w *world) (domain.ID, domain.Attempt)
		want domain.Status
	}{
		{"waiting_deps", func(w *world) (domain.ID, domain.Attempt) {
			w.deps[jobA] = 2
			return w.fire(jobA).ID, domain.Attempt{}
		}, cancelled(domain.Killed)},
		{"queued", func(w *world) (domain.ID, domain.Attempt) { return w.fire(jobA).ID, domain.Attempt{} }, cancelled(domain.Killed)},
		{"held_overlap", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobA).ID
			w.ok(w.life.Hold(w.t.Context(), []domain.ID{id}, "another"))
			return id, domain.Attempt{}
		}, cancelled(domain.Killed)},
		{"dispatched, not granted", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobA).ID
			return id, w.dispatch(id)
		}, cancelled(domain.Killed)},
		{"dispatched, granted", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobA).ID
			a := w.dispatch(id)
			w.grant(a)
			return id, a
		}, running(domain.Stopping)},
		{"executing", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobA).ID
			return id, w.run(id)
		}, running(domain.Stopping)},
		{"backoff", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobB).ID
			w.report(w.run(id), domain.OutcomeError, "")
			return id, domain.Attempt{}
		}, cancelled(domain.Killed)},
		{"orphan", func(w *world) (domain.ID, domain.Attempt) {
			id := w.fire(jobB).ID
			a := w.run(id)
			w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
			return id, domain.Attempt{}
		}, cancelled(domain.Killed)},
	}
	each(t, func(t *testing.T, w *world) {
		s := shell("b")
		s.Retry, s.OnWorkerLost = domain.Retry{Times: 1, BackoffSec: []int{30}}, domain.LossHold
		w.specs[jobB] = s
		for _, c := range cases {
			w.deps = map[domain.ID]int{}
			id, a := c.to(w)
			if !strings.HasPrefix(c.name, string(w.get(id).Label)) {
				t.Fatalf("%s: stands as %s", c.name, w.get(id).Status)
			}
			out, err := w.life.Kill(t.Context(), id, "ana", "wrong date")
			w.ok(err)
			if out.Status != c.want || w.get(id).Status != c.want {
				t.Errorf("%s: answered %s, stands as %s, want %s", c.name, out.Status, w.get(id).Status, c.want)
			}
			if c.want.Label == domain.Stopping {
				if w.attempt(a.ID).KillAt.IsZero() {
					t.Errorf("%s: nobody is told to stop it", c.name)
				}
				if again, err := w.life.Kill(t.Context(), id, "ben", ""); err != nil || again.Status != c.want {
					t.Errorf("%s: a second kill: %s, %v", c.name, again.Status, err)
				}
				w.report(a, domain.OutcomeKilled, "")
			}
			got := w.is(id, cancelled(domain.Killed))
			if got.FinishedAt.IsZero() || !got.WakeAt.IsZero() {
				t.Errorf("%s: ended as %+v", c.name, got)
			}
			if _, err := w.life.Kill(t.Context(), id, "ana", ""); !domain.Is(err, domain.Conflict) {
				t.Errorf("%s: killing what has ended: %v, want a conflict", c.name, err)
			}
			w.wake(0) // nothing brings it back
		}
	})
}

// TestKilledNeverRetries ends as killed whatever the worker says of its end. (J-C4, G-C10)
func TestKilledNeverRetries(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := shell("a")
		s.Retry = domain.Retry{Times: 3, BackoffSec: []int{1, 1, 1}}
		w.specs[jobA] = s
		for _, o := range []domain.Outcome{domain.OutcomeKilled, domain.OutcomeError, domain.OutcomeTimeout, domain.OutcomeRefused, domain.OutcomeWorkerLost} {
			id := w.fire(jobA).ID
			a := w.run(id)
			_, err := w.life.Kill(t.Context(), id, "ana", "")
			w.ok(err)
			w.report(a, o, "")
			w.is(id, cancelled(domain.Killed))
		}
		id := w.fire(jobA).ID
		a := w.run(id)
		_, err := w.life.Kill(t.Context(), id, "ana", "")
		w.ok(err)
		w.report(a, domain.OutcomeSuccess, "was faster")
		w.is(id, success)
	})
}

func TestReplace(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old, young := w.fire(jobA), w.fire(jobA)
		a := w.run(old.ID)
		w.ok(w.life.Replace(t.Context(), []domain.ID{old.ID, young.ID + 1000}, young.ID))
		w.is(old.ID, running(domain.Stopping))
		w.ok(w.life.Replace(t.Context(), []domain.ID{old.ID}, young.ID))
		w.report(a, domain.OutcomeKilled, "")
		w.is(old.ID, cancelled(domain.Killed))
		w.ok(w.life.Hold(t.Context(), []domain.ID{young.ID, old.ID}, "waits"))
		w.is(young.ID, running(domain.HeldOverlap))
		w.ok(w.life.Unhold(t.Context(), []domain.ID{young.ID}, "free"))
		w.is(young.ID, running(domain.Queued))
		w.ok(w.life.Skip(t.Context(), []domain.ID{young.ID}, "overlap: skip"))
		if got := w.is(young.ID, cancelled(domain.Skipped)); got.Message != "overlap: skip" {
			t.Errorf("skipped because %q", got.Message)
		}
	})
}
