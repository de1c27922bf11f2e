package instance_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
)

// holding makes jobB one that a person decides about, with retries.
func (w *world) holding(idempotent bool) {
	s := shell("b")
	s.OnWorkerLost, s.Idempotent, s.QueueTimeoutSec = domain.LossHold, idempotent, 600
	s.Retry = domain.Retry{Times: 2, BackoffSec: []int{30, 60}}
	w.specs[jobB] = s
}

// orphan makes one, with its lost attempt.
func (w *world) orphan() (domain.Instance, domain.Attempt) {
	w.t.Helper()
	in := w.fire(jobB)
	a := w.run(in.ID)
	w.ok(w.life.Lost(w.t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) has been silent for 10s", time.Time{}))
	return w.is(in.ID, running(domain.Orphan)), w.attempt(a.ID)
}

func (w *world) settle(v instance.Verdict, picks ...instance.Pick) []instance.Settled {
	w.t.Helper()
	ctx := domain.WithPrincipal(w.t.Context(), domain.Principal{Name: "ana", Kind: domain.PrincipalUser})
	out, err := w.requests().Settle(ctx, picks, v, "asked the bank", anyone)
	w.ok(err)
	return out
}

// What a person says of an orphan is its end, told and kept like any other. (J-D16)
func TestSettleAsSuccessAndFailed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		for v, want := range map[instance.Verdict]domain.Status{instance.VerdictSuccess: success, instance.VerdictFailed: failed(domain.WorkerLost)} {
			w.audit, w.heard = nil, nil
			in, a := w.orphan()
			out := w.settle(v, instance.Pick{ID: in.ID, Attempt: a.ID})
			got := w.is(in.ID, want)
			if out[0].Err != nil || out[0].Instance.Status != want || got.Message != "asked the bank" || got.FinishedAt.IsZero() || got.RetriesUsed != 0 || got.RunNo != 1 {
				t.Errorf("%s: answered %+v, stands as %+v", v, out, got)
			}
			es, err := w.st.Events(t.Context(), in.ID)
			w.ok(err)
			last := es[len(es)-1]
			if last.Move != domain.MoveSettle || last.Actor != "ana" || last.Note != "asked the bank" || last.AttemptID != a.ID {
				t.Errorf("%s: the history ends with %+v", v, last)
			}
			if now := w.attempt(a.ID); now.State != domain.AttemptLost || now.Outcome != domain.OutcomeWorkerLost {
				t.Errorf("%s: what is known of the attempt was overwritten: %+v", v, now)
			}
			if len(w.audit) != 1 || !strings.HasPrefix(w.audit[0], string(instance.SettleAction(v))+" instance/"+in.ID.String()) || !strings.Contains(w.audit[0], `reason: "asked the bank"`) {
				t.Errorf("%s: trail %q", v, w.audit)
			}
			f, err := (&instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: w.now}).Explain(t.Context(), got)
			w.ok(err)
			if why := instance.Why(f).English(); !strings.Contains(why, "ana said") || !strings.Contains(why, "asked the bank") || !strings.Contains(why, "w1") {
				t.Errorf("%s: why says %q", v, why)
			}
			w.report(a, domain.OutcomeSuccess, "late") // what a person said stands
			w.is(in.ID, want)
			if now := w.attempt(a.ID); !strings.Contains(now.Late, "superseded") {
				t.Errorf("%s: the late report is not kept: %+v", v, now)
			}
		}
		if instance.SettleAction(instance.VerdictSuccess) != domain.ActOrphanSucceed || instance.SettleAction(instance.VerdictRerun) != domain.ActOrphanSettle || instance.SettleAction(instance.VerdictFailed) != domain.ActOrphanSettle {
			t.Error("the rights of the verdicts are mixed up")
		}
	})
}

func TestSettleAsRerun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		in, a := w.orphan()
		w.settle(instance.VerdictRerun, instance.Pick{ID: in.ID, Attempt: a.ID})
		got := w.is(in.ID, running(domain.Queued))
		if got.RunID != in.RunID || got.RetriesUsed != 0 || got.LostCount != 1 || !got.FinishedAt.IsZero() || !got.WakeAt.Equal(w.now().Add(600e9)) {
			t.Errorf("runs again as %+v", got)
		}
		b := w.run(in.ID)
		if b.Ordinal != a.Ordinal+1 || b.RunID != a.RunID {
			t.Errorf("attempt %d of run %s after %d of %s", b.Ordinal, b.RunID, a.Ordinal, a.RunID)
		}
		w.report(a, domain.OutcomeSuccess, "too late: the other was granted")
		w.is(in.ID, running(domain.Executing))
		w.report(b, domain.OutcomeError, "exit code 1") // its retries are all there
		if got := w.is(in.ID, domain.Status{State: domain.Retrying, Label: domain.Backoff}); got.RetriesUsed != 1 {
			t.Errorf("%d retries used", got.RetriesUsed)
		}

		again, a := w.orphan()
		w.settle(instance.VerdictRerun, instance.Pick{ID: again.ID})
		w.report(a, domain.OutcomeSuccess, "it had run after all") // nothing else was granted yet
		w.is(again.ID, success)
	})
}

// TestSettleInBulk settles what still stands as it was judged, tells of the rest and
// leaves it alone, with one entry of the trail for each project.
func TestSettleInBulk(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		var all []domain.Instance
		for range 5 {
			in, _ := w.orphan()
			all = append(all, in)
		}
		w.audit = nil
		w.report(w.attempt(all[1].AttemptID), domain.OutcomeSuccess, "late but true") // settled by itself
		w.settle(instance.VerdictRerun, instance.Pick{ID: all[2].ID})
		lost := w.run(all[2].ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{lost.ID}, "silent again", time.Time{}))
		w.audit = nil
		foreign := domain.Fail(domain.NotFound, "not yours")
		picks := []instance.Pick{{ID: all[4].ID, Attempt: all[4].AttemptID}, {ID: 99}, {ID: all[1].ID, Attempt: all[1].AttemptID},
			{ID: all[2].ID, Attempt: all[2].AttemptID}, {ID: all[3].ID}, {ID: all[0].ID}, {ID: all[0].ID}}
		out, err := w.requests().Settle(t.Context(), picks, instance.VerdictFailed, "no trace of it", func(in domain.Instance) error {
			if in.ID == all[3].ID {
				return foreign
			}
			return nil
		})
		w.ok(err)
		kinds := make([]domain.Kind, len(out))
		for i, s := range out {
			kinds[i] = domain.KindOf(s.Err)
		}
		if want := []domain.Kind{"", domain.NotFound, domain.Conflict, domain.Conflict, domain.NotFound, ""}; !slices.Equal(kinds, want) {
			t.Fatalf("answered %v, want %v", kinds, want)
		}
		if out[4].Instance.ID != 0 || out[2].Instance.Status != success {
			t.Errorf("told of them: %+v and %+v", out[4].Instance, out[2].Instance)
		}
		w.is(all[4].ID, failed(domain.WorkerLost))
		w.is(all[0].ID, failed(domain.WorkerLost))
		w.is(all[1].ID, success)
		w.is(all[2].ID, running(domain.Orphan))
		w.is(all[3].ID, running(domain.Orphan))
		if len(w.audit) != 1 || !strings.HasPrefix(w.audit[0], "orphan.settle 2 orphans") || !strings.Contains(w.audit[0], all[0].ID.String()) ||
			!strings.Contains(w.audit[0], all[4].ID.String()) || strings.Contains(w.audit[0], all[2].ID.String()) {
			t.Errorf("trail: %q", w.audit)
		}
	})
}

func TestSettleRefuses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		in, _ := w.orphan()
		w.audit = nil
		many := make([]instance.Pick, instance.MaxPicks+1)
		for name, c := range map[string]struct {
			picks  []instance.Pick
			v      instance.Verdict
			reason string
		}{
			"no reason":       {[]instance.Pick{{ID: in.ID}}, instance.VerdictFailed, " \t"},
			"a long reason":   {[]instance.Pick{{ID: in.ID}}, instance.VerdictFailed, strings.Repeat("日", instance.MaxReason+1)},
			"another verdict": {[]instance.Pick{{ID: in.ID}}, "cancelled", "x"},
			"nothing picked":  {nil, instance.VerdictFailed, "x"},
			"too many":        {many, instance.VerdictFailed, "x"},
		} {
			if _, err := w.requests().Settle(t.Context(), c.picks, c.v, c.reason, anyone); !domain.Is(err, domain.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		r := w.requests()
		r.Audit = trail{w, true}
		if _, err := r.Settle(t.Context(), []instance.Pick{{ID: in.ID}}, instance.VerdictFailed, "x", anyone); err == nil {
			t.Error("settled although the trail could not be written")
		}
		w.is(in.ID, running(domain.Orphan))
		running := w.fire(jobA)
		if _, err := w.requests().SettleOne(t.Context(), instance.Pick{ID: running.ID}, instance.VerdictSuccess, "x", anyone); !domain.Is(err, domain.Conflict) {
			t.Errorf("an ordinary instance was settled: %v", err)
		}
		if len(w.audit) != 0 {
			t.Errorf("refusals left %q", w.audit)
		}
	})
}

// TestSettleRaces lets two people and the lost worker's late success settle the same
// orphan at once: one of them does, the others are told.
func TestSettleRaces(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		for range 20 {
			in, a := w.orphan()
			var all sync.WaitGroup
			gate := make(chan struct{})
			said := make([]string, 2)
			for i, v := range []instance.Verdict{instance.VerdictRerun, instance.VerdictFailed} {
				all.Go(func() {
					<-gate
					_, err := w.requests2().SettleOne(context.Background(), instance.Pick{ID: in.ID, Attempt: a.ID}, v, "x", anyone)
					said[i] = string(domain.KindOf(err))
				})
			}
			all.Go(func() {
				<-gate
				w.report(a, domain.OutcomeSuccess, "late but true")
			})
			close(gate)
			all.Wait()
			got := w.get(in.ID)
			settles := 0
			for _, m := range w.events(in.ID) {
				if m == domain.MoveSettle {
					settles++
				}
			}
			won := 0
			for _, kind := range said {
				switch kind {
				case "":
					won++
				case string(domain.Conflict), string(domain.Unavailable):
				default:
					t.Fatalf("told %v", said)
				}
			}
			if settles != won || won > 1 || won == 0 && got.Status != success {
				t.Errorf("%d settled it, %d were told so, it is %s", settles, won, got.Status)
			}
		}
	})
}

// requests2 is for several at once: its trail is kept by nobody.
func (w *world) requests2() *instance.Requests {
	return &instance.Requests{Lifecycle: w.peer(), Audit: deaf{}, Values: values{}}
}

type deaf struct{}

func (deaf) Changed(context.Context, domain.ID, string, string, string, string) error { return nil }

// TestLateReportsSettleOrphans: whoever knows the truth settles it.
func TestLateReportsSettleOrphans(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		for outcome, want := range map[domain.Outcome]domain.Status{domain.OutcomeSuccess: success, domain.OutcomeError: failed(domain.ErrorLabel), domain.OutcomeTimeout: failed(domain.Timeout),
			domain.OutcomeKilled: failed(domain.ErrorLabel), domain.OutcomeRefused: running(domain.Queued), domain.OutcomeWorkerLost: running(domain.Orphan)} {
			in, a := w.orphan()
			w.report(a, outcome, "the worker is back")
			if got := w.is(in.ID, want); got.RetriesUsed != 0 {
				t.Errorf("%s: a retry was spent", outcome)
			}
			if now := w.attempt(a.ID); outcome == domain.OutcomeWorkerLost && !strings.Contains(now.Late, "does not know") {
				t.Errorf("what its worker said is not kept: %+v", now)
			}
			if outcome == domain.OutcomeWorkerLost { // and a person can still say it
				w.settle(instance.VerdictSuccess, instance.Pick{ID: in.ID, Attempt: a.ID})
				w.is(in.ID, success)
			}
		}
	})
}

// TestAWorkerThatKnowsOfItsLoss: one that was restarted says by itself that it does not know
// how the task ended. That makes an orphan too, and what a person says is told as ever.
func TestAWorkerThatKnowsOfItsLoss(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		for v, want := range map[instance.Verdict]domain.Status{instance.VerdictSuccess: success, instance.VerdictFailed: failed(domain.WorkerLost), instance.VerdictRerun: running(domain.Queued)} {
			in := w.fire(jobB)
			a := w.run(in.ID)
			w.report(a, domain.OutcomeWorkerLost, "the worker ended while the task ran")
			w.is(in.ID, running(domain.Orphan))
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "was restarted", time.Time{})) // the broker sees it too
			w.settle(v, instance.Pick{ID: in.ID, Attempt: a.ID})
			got := w.is(in.ID, want)
			f, err := (&instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: w.now}).Explain(t.Context(), got)
			w.ok(err)
			if why := instance.Why(f).English(); v != instance.VerdictRerun && (!strings.Contains(why, "ana said") || !strings.Contains(why, "asked the bank")) {
				t.Errorf("%s: why says %q", v, why)
			}
		}
	})
}

// TestIdempotentIsNoOrphan: such a job runs again by itself although it says hold.
func TestIdempotentIsNoOrphan(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(true)
		in := w.fire(jobB)
		for n := range 3 {
			a := w.run(in.ID)
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
			if got := w.is(in.ID, running(domain.Queued)); got.LostCount != n+1 || got.RetriesUsed != 0 {
				t.Errorf("after loss %d: %+v", n+1, got)
			}
		}
		a := w.run(in.ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
		w.is(in.ID, failed(domain.WorkerLost))
	})
}

// TestSettleMany settles as many as one call may name.
func TestSettleMany(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		picks := make([]instance.Pick, instance.MaxPicks)
		for i := range picks {
			in, _ := w.orphan()
			picks[i] = instance.Pick{ID: in.ID}
		}
		for _, s := range w.settle(instance.VerdictFailed, picks...) {
			if s.Err != nil {
				t.Fatal(s.Err)
			}
		}
		if n := strings.Count(w.audit[len(w.audit)-1], "failed/worker_lost"); n != instance.MaxPicks {
			t.Errorf("the trail names %d", n)
		}
	})
}

// How long a person took to settle an orphan is no time that its run took.
func TestAnOrphanTookAsLongAsItRan(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		ends := map[string]func(domain.Instance, domain.Attempt){
			"success": func(in domain.Instance, a domain.Attempt) {
				w.settle(instance.VerdictSuccess, instance.Pick{ID: in.ID, Attempt: a.ID})
			},
			"failed": func(in domain.Instance, a domain.Attempt) {
				w.settle(instance.VerdictFailed, instance.Pick{ID: in.ID, Attempt: a.ID})
			},
			"killed": func(in domain.Instance, _ domain.Attempt) {
				_, err := w.life.Kill(t.Context(), in.ID, "ana", "")
				w.ok(err)
			},
		}
		for name, end := range ends {
			in := w.fire(jobB)
			a := w.run(in.ID)
			w.pass(90 * time.Second)
			heard := w.now()
			w.pass(10 * time.Second)
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "worker w1 (boot 1) has not been heard since 2026-02-03T04:05:06Z", heard))
			w.pass(5 * time.Hour)
			end(w.is(in.ID, running(domain.Orphan)), a)
			got := w.get(in.ID)
			if took := got.FinishedAt.Sub(got.StartedAt); !got.State.Terminal() || !got.FinishedAt.Equal(heard) || took < 90*time.Second || took > 2*time.Minute {
				t.Errorf("%s: it is %s, took %s and ended at %s, heard of last at %s", name, got.Status, took, got.FinishedAt, heard)
			}
		}
		in, a := w.orphan()
		w.pass(time.Hour)
		w.settle(instance.VerdictRerun, instance.Pick{ID: in.ID, Attempt: a.ID})
		if got := w.get(in.ID); !got.FinishedAt.IsZero() {
			t.Errorf("one that goes on has ended at %s", got.FinishedAt)
		}
	})
}
