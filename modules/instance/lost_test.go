package instance_test

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
)

// A lost attempt ran until it was heard of for the last time, at least: neither how long its worker was waited for nor how
// long a person took is a time of its own.
func TestALostAttemptRanUntilItWasLastHeardOf(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		for name, c := range map[string]struct {
			heard func(start time.Time) time.Time
			want  time.Duration // after the start
		}{
			"while it ran":         {func(start time.Time) time.Time { return start.Add(5 * time.Second) }, 5 * time.Second},
			"before it started":    {func(start time.Time) time.Time { return start.Add(-time.Second) }, 0},
			"not known":            {func(time.Time) time.Time { return time.Time{} }, 0},
			"later than it is now": {func(start time.Time) time.Time { return start.Add(time.Hour) }, 40 * time.Second},
		} {
			in := w.fire(jobB)
			a := w.run(in.ID)
			start := w.get(in.ID).StartedAt
			w.pass(40 * time.Second)
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", c.heard(start)))
			lost := w.now()
			if heard, at := w.attempt(a.ID).Lost(); !heard.Equal(start.Add(c.want)) || !at.Equal(lost) {
				t.Errorf("%s: heard of at %s and lost at %s, want %s and %s", name, heard, at, start.Add(c.want), lost)
			}
			if late := w.attempt(a.ID).Unreported(); late != 0 {
				t.Errorf("%s: its report came %s late, and there was none", name, late)
			}
			w.pass(time.Hour)
			w.settle(instance.VerdictFailed, instance.Pick{ID: in.ID})
			if got := w.get(in.ID); got.FinishedAt.Sub(got.StartedAt) != c.want {
				t.Errorf("%s: settled, it took %s", name, got.FinishedAt.Sub(got.StartedAt))
			}
		}
	})
}

// What waits has no start: the attempt that was lost, or ended, keeps its own. What ended by its losses took as long as
// the last of them was heard of.
func TestWhatWaitsAgainHasNotStarted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		for range 3 {
			a := w.run(in.ID)
			start := w.get(in.ID).StartedAt
			w.pass(30 * time.Second)
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", start.Add(2*time.Second)))
			if got := w.is(in.ID, running(domain.Queued)); !got.StartedAt.IsZero() {
				t.Errorf("it waits, and started at %s", got.StartedAt)
			}
			if got := w.attempt(a.ID); !got.StartedAt.Equal(start) {
				t.Errorf("the lost attempt started at %s, not %s", got.StartedAt, start)
			}
		}
		a := w.run(in.ID)
		w.pass(30 * time.Second)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", w.get(in.ID).StartedAt.Add(2*time.Second)))
		if got := w.is(in.ID, failed(domain.WorkerLost)); got.FinishedAt.Sub(got.StartedAt) != 2*time.Second {
			t.Errorf("it took %s", got.FinishedAt.Sub(got.StartedAt))
		}
		killed := w.fire(jobA)
		w.ok(w.life.Lost(t.Context(), []domain.ID{w.run(killed.ID).ID}, "silent", time.Time{}))
		w.pass(time.Minute)
		_, err := w.requests().Kill(t.Context(), killed.ID, "", anyone)
		w.ok(err)
		if got := w.is(killed.ID, cancelled(domain.Killed)); !got.StartedAt.IsZero() {
			t.Errorf("killed while it waited, it started at %s", got.StartedAt)
		}
	})
}

// A success of a lost attempt that arrives after all says itself how long it took.
func TestALateSuccessSaysHowLongItTook(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.run(in.ID)
		start := w.get(in.ID).StartedAt
		w.pass(30 * time.Second)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", start))
		w.report(a, domain.OutcomeSuccess, "")
		got := w.is(in.ID, success)
		if at := w.attempt(a.ID); got.StartedAt.IsZero() || !got.FinishedAt.Equal(at.FinishedAt) || !at.ReportedAt.Equal(w.now()) {
			t.Errorf("it ran %s to %s, its attempt ended at %s", got.StartedAt, got.FinishedAt, at.FinishedAt)
		}
		if heard, lost := w.attempt(a.ID).Lost(); !heard.IsZero() || !lost.IsZero() {
			t.Error("it still counts as lost")
		}
	})
}
