package instance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/worker/protocol"
)

// A report that comes ten minutes after the end makes nobody believe that the task took
// so long; a worker's clock, off as far as one that works may be, changes it as little.
func TestATaskTookAsLongAsItRanWheneverThatIsReported(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, off := range map[string]time.Duration{"right": 0, "fast": 4900 * time.Millisecond, "slow": -4900 * time.Millisecond} {
			for report, outcome := range map[string]domain.Outcome{"success": domain.OutcomeSuccess, "failure": domain.OutcomeError} {
				in := w.fire(jobA)
				a := w.dispatch(in.ID)
				w.pass(time.Second)
				w.grant(a)
				granted := w.now()
				w.pass(time.Second)
				began := w.now()
				w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Started: []protocol.Started{{Attempt: int64(a.ID), At: began.Add(off).UnixMilli()}}}}))
				if at := w.get(in.ID).StartedAt; at.Before(granted) || at.After(w.now()) {
					t.Errorf("%s: it started at %s, granted at %s", name, at, granted)
				}
				w.pass(10 * time.Minute)
				r := protocol.Report{Attempt: int64(a.ID), Outcome: string(outcome), Started: began.Add(off).UnixMilli(), Finished: began.Add(off + 2*time.Second).UnixMilli()}
				w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{r}}}))
				got, at := w.get(in.ID), w.attempt(a.ID)
				if got.FinishedAt.Sub(got.StartedAt) != 2*time.Second || at.FinishedAt.Sub(at.StartedAt) != 2*time.Second {
					t.Errorf("%s %s: the instance took %s, the attempt %s, want 2s", name, report, got.FinishedAt.Sub(got.StartedAt), at.FinishedAt.Sub(at.StartedAt))
				}
				if late := at.Unreported(); !at.ReportedAt.Equal(w.now()) || (late-10*time.Minute+2*time.Second).Abs() > 5*time.Second {
					t.Errorf("%s %s: reported at %s, %s after its end", name, report, at.ReportedAt, late)
				}
				if name == "right" && report == "success" {
					facts := instance.Facts{Instance: got, Attempt: &at, Now: w.now()}
					if why := instance.Why(facts).English(); !strings.Contains(why, "2 s") {
						t.Errorf("why says %q", why)
					}
				}
			}
		}
	})
}

func TestMomentsOfAReportStayBetweenItsGrantAndItsComing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct{ started, ended, took time.Duration }{ // against the moment of the report, 3 s after the grant
			"at once": {-10 * time.Millisecond, 0, 10 * time.Millisecond}, "in the future": {time.Hour, time.Hour + time.Second, time.Second}, "long ago": {-time.Hour, -time.Hour + time.Second, time.Second},
			"longer than since its grant": {-time.Hour, 0, 3 * time.Second}, "backwards": {0, -time.Second, 0},
		} {
			in := w.fire(jobA)
			a := w.dispatch(in.ID)
			w.grant(a)
			w.pass(3 * time.Second)
			now := w.now()
			r := protocol.Report{Attempt: int64(a.ID), Outcome: protocol.OutcomeSuccess, Started: now.Add(c.started).UnixMilli(), Finished: now.Add(c.ended).UnixMilli()}
			w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: a.Target, Boot: a.Boot, Reports: []protocol.Report{r}}}))
			got := w.is(in.ID, success)
			granted := w.attempt(a.ID).GrantedAt
			if took := got.FinishedAt.Sub(got.StartedAt); took != c.took || got.StartedAt.Before(granted) || got.FinishedAt.After(now) {
				t.Errorf("%s: from %s to %s, granted %s, reported %s; took %s, want %s", name, got.StartedAt, got.FinishedAt, granted, now, took, c.took)
			}
		}
	})
}

func TestAPromptReportIsNotShownApart(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for late, want := range map[time.Duration]time.Duration{0: 0, 5 * time.Second: 0, 5001 * time.Millisecond: 5001 * time.Millisecond, -time.Second: 0} {
		if got := (domain.Attempt{FinishedAt: at, ReportedAt: at.Add(late)}).Unreported(); got != want {
			t.Errorf("%s: %s, want %s", late, got, want)
		}
	}
	if got := (domain.Attempt{FinishedAt: at}).Unreported(); got != 0 {
		t.Errorf("nobody reported it: %s", got)
	}
}
