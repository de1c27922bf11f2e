package instance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol"
)

func TestOrdinaryLife(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		if in.Status != running(domain.Queued) || in.ReadyAt != w.now() || in.TraceID == "" || len(in.Params) != 0 {
			t.Fatalf("born as %+v", in)
		}
		w.pass(time.Second)
		a := w.dispatch(in.ID)
		if got := w.is(in.ID, running(domain.Dispatched)); got.AttemptID != a.ID || got.Attempts != 1 {
			t.Fatalf("dispatched: %+v", got)
		}
		task := w.grant(a)
		if task.TaskID != "task_20260203120507" || task.Timeout != 60_000 || task.Ordinal != 1 || task.TraceID != in.TraceID {
			t.Errorf("task: %+v", task)
		}
		if again := w.grant(a); again.Attempt != task.Attempt {
			t.Error("the same boot did not get the same answer again")
		}
		w.is(in.ID, running(domain.Dispatched)) // granted, waiting for a thread
		w.pass(time.Second)
		w.start(a)
		began := w.is(in.ID, running(domain.Executing)).StartedAt
		w.pass(time.Minute)
		w.report(a, domain.OutcomeSuccess, "done")
		got := w.is(in.ID, success)
		if got.Message != "done" || got.FinishedAt != w.now() || got.StartedAt.IsZero() || began.IsZero() || !got.WakeAt.IsZero() {
			t.Errorf("ended as %+v", got)
		}
		if a := w.attempt(a.ID); a.State != domain.AttemptEnded || a.Outcome != domain.OutcomeSuccess || a.StartedAt.IsZero() || a.GrantedAt.IsZero() {
			t.Errorf("attempt %+v", a)
		}
		if es := w.events(in.ID); len(es) != 0 {
			t.Errorf("an ordinary life left history: %v", es)
		}
		want := []domain.MoveName{"", domain.MoveDispatch, domain.MoveStart, domain.MoveSucceed}
		if got := w.moves(in.ID); !slices.Equal(got, want) {
			t.Errorf("heard %v, want %v", got, want)
		}
	})
}

// TestRowWrites counts the rows that an ordinary instance writes, on a pool of one
// connection whose counter SQLite keeps.
func TestRowWrites(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		w := newWorld(t, dbtest.SQLite(t), dbx.Options{Pool: 1})
		writes := func() (n int) {
			w.ok(w.db.Scan(t.Context(), &n, "SELECT total_changes()"))
			return n
		}
		before := writes()
		const n = 20
		for range n {
			in := w.fire(jobA)
			a := w.run(in.ID)
			w.report(a, domain.OutcomeSuccess, "")
		}
		if per := float64(writes()-before) / n; per > 8 { // 7, and the pointer of the day, which a batch writes once
			t.Errorf("%.1f rows are written for an ordinary instance, the budget is 8", per)
		}
	})
}

func TestRetriesThenFailure(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := shell("a")
		s.Retry = domain.Retry{Times: 2, BackoffSec: []int{30, 60}}
		w.specs[jobA] = s
		in := w.fire(jobA)
		for i, wait := range []time.Duration{30 * time.Second, 60 * time.Second} {
			a := w.run(in.ID)
			w.report(a, []domain.Outcome{domain.OutcomeError, domain.OutcomeTimeout}[i], "broken")
			got := w.is(in.ID, domain.Status{State: domain.Retrying, Label: domain.Backoff})
			if got.RetriesUsed != i+1 || got.WakeAt != w.now().Add(wait) {
				t.Fatalf("retry %d: used %d, wakes at %s, want %s", i+1, got.RetriesUsed, got.WakeAt, w.now().Add(wait))
			}
			w.pass(wait - time.Millisecond)
			w.wake(0)
			w.is(in.ID, domain.Status{State: domain.Retrying, Label: domain.Backoff})
			w.pass(time.Millisecond)
			w.wake(1)
			w.is(in.ID, running(domain.Queued))
		}
		a := w.run(in.ID)
		w.report(a, domain.OutcomeError, "broken for good")
		got := w.is(in.ID, failed(domain.ErrorLabel))
		if got.Message != "broken for good" || got.Attempts != 3 || a.Ordinal != 3 {
			t.Errorf("ended as %+v after attempt %d", got, a.Ordinal)
		}
		want := []domain.MoveName{domain.MoveRetry, domain.MoveRequeue, domain.MoveRetry, domain.MoveRequeue, domain.MoveFail}
		if es := w.events(in.ID); !slices.Equal(es, want) {
			t.Errorf("history %v, want %v", es, want)
		}
		w.report(a, domain.OutcomeSuccess, "repeated")
		w.is(in.ID, failed(domain.ErrorLabel))
	})
}

func (w *world) wake(want int) {
	w.t.Helper()
	n, err := w.life.Wake(w.t.Context(), 100)
	w.ok(err)
	if n != want {
		w.t.Fatalf("looked at %d instances, want %d", n, want)
	}
}

func TestFailureWithoutAStartHasItsTimes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.dispatch(in.ID)
		w.grant(a)
		w.report(a, domain.OutcomeError, "at once") // start and end in one batch
		if got := w.is(in.ID, failed(domain.ErrorLabel)); got.StartedAt.IsZero() {
			t.Error("a task that failed at once has no start")
		}
	})
}

// A wait ends at the limit that the job gives it. (J-B10)
func TestLimitsOfWaiting(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := shell("a")
		s.QueueTimeoutSec, s.DepsTimeoutSec = 5, 10
		w.specs[jobA] = s
		queued := w.fire(jobA)
		w.deps[jobA] = 1
		waiting := w.fire(jobA)
		w.is(waiting.ID, running(domain.WaitingDeps))
		w.pass(5 * time.Second)
		w.wake(1)
		w.is(queued.ID, failed(domain.QueueTimeout))
		w.is(waiting.ID, running(domain.WaitingDeps))
		w.pass(5 * time.Second)
		w.wake(1)
		if in, want := w.is(waiting.ID, failed(domain.DepsTimeout)), "waited for its dependencies longer than its deps_timeout of 10 s; not met: up0 (2026-02-03)"; in.Message != want {
			t.Errorf("it says %q, want %q", in.Message, want)
		}
	})
}

func TestWithdrawnGoesElsewhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.dispatch(in.ID)
		taken, err := w.life.Withdraw(t.Context(), []domain.ID{a.ID}, domain.OutcomeNoAck, "no ack in 5 s")
		w.ok(err)
		if !slices.Equal(taken, []domain.ID{a.ID}) {
			t.Fatalf("took back %v", taken)
		}
		got := w.is(in.ID, running(domain.Queued))
		if got.RetriesUsed != 0 {
			t.Error("a retry was spent")
		}
		if _, denied, err := w.life.Grant(t.Context(), []domain.Claim{claim(a)}); err != nil || denied[a.ID] == "" {
			t.Errorf("a withdrawn attempt was granted: %v, %v", denied, err)
		}
		b := w.run(in.ID)
		if taken, err := w.life.Withdraw(t.Context(), []domain.ID{a.ID, b.ID}, domain.OutcomeNoAck, "again"); err != nil || len(taken) != 0 {
			t.Errorf("took back %v, %v", taken, err)
		}
		w.report(b, domain.OutcomeRefused, "draining")
		if got := w.is(in.ID, running(domain.Queued)); got.RetriesUsed != 0 || got.Attempts != 2 {
			t.Errorf("after a refusal: %+v", got)
		}
	})
}

func TestClaimsOfOthersAreDenied(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.dispatch(in.ID)
		other := claim(a)
		other.Boot++
		tasks, denied, err := w.life.Grant(t.Context(), []domain.Claim{other, {Attempt: 99, Worker: "w1", Boot: 1}})
		w.ok(err)
		if len(tasks) != 0 || denied[a.ID] == "" || denied[99] == "" {
			t.Errorf("tasks %v, denied %v", tasks, denied)
		}
		w.bad = true
		_, denied, err = w.life.Grant(t.Context(), []domain.Claim{claim(a)})
		w.ok(err)
		if !strings.Contains(denied[a.ID], "no such template") {
			t.Errorf("denied %v", denied)
		}
		w.is(in.ID, failed(domain.ErrorLabel))
	})
}

func TestStaleReadMovesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		stale := w.get(in.ID)
		a := w.dispatch(in.ID)
		as, err := w.life.Dispatch(t.Context(), []domain.Assignment{{Instance: stale, Attempt: w.life.IDs.Next(), Target: "w2", Boot: 1, MessageID: "m2"}})
		w.ok(err)
		if len(as) != 0 {
			t.Error("an instance that had moved was dispatched a second time")
		}
		if got := w.is(in.ID, running(domain.Dispatched)); got.AttemptID != a.ID {
			t.Errorf("the attempt in force is %s, want %s", got.AttemptID, a.ID)
		}
		was := stale
		stale.Message = "overwritten"
		if err := w.st.Save(t.Context(), []store.Moved[domain.Instance]{{Was: &was, Is: &stale}}); !domain.Is(err, domain.Conflict) {
			t.Errorf("saving what was read before the last move: %v, want a conflict", err)
		}
	})
}

func TestLosses(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		lose := func(a domain.Attempt) {
			t.Helper()
			w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "w1 has been silent for 10s", time.Time{}))
		}
		in := w.fire(jobA)
		for range 3 {
			a := w.run(in.ID)
			lose(a)
			if got := w.is(in.ID, running(domain.Queued)); got.RetriesUsed != 0 {
				t.Fatal("a loss spent a retry")
			}
			if a := w.attempt(a.ID); a.State != domain.AttemptLost || a.StartedAt.IsZero() {
				t.Fatalf("lost attempt %+v", a)
			}
		}
		lose(w.run(in.ID))
		w.is(in.ID, failed(domain.WorkerLost))

		sent := w.fire(jobA)
		a := w.dispatch(sent.ID)
		lose(a)
		if got := w.is(sent.ID, running(domain.Queued)); got.LostCount != 0 {
			t.Error("a loss was counted of an attempt that was never granted")
		}

		s := shell("b")
		s.OnWorkerLost = domain.LossHold
		w.specs[jobB] = s
		held := w.fire(jobB)
		lose(w.run(held.ID))
		w.is(held.ID, running(domain.Orphan))
		s.Idempotent = true
		w.specs[jobB] = s
		safe := w.fire(jobB)
		lose(w.run(safe.ID))
		w.is(safe.ID, running(domain.Queued))

		stopped := w.fire(jobA)
		a = w.run(stopped.ID)
		_, err := w.life.Kill(t.Context(), stopped.ID, "ana", "")
		w.ok(err)
		lose(a)
		w.is(stopped.ID, cancelled(domain.Killed))
	})
}

// TestLateSuccess ends a run by the true success of an attempt that counted as
// lost, while no later one was granted. (J-C1, J-C3, G-C11)
func TestLateSuccess(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.run(in.ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
		b := w.dispatch(in.ID)
		w.report(a, domain.OutcomeSuccess, "late but true")
		if got := w.is(in.ID, success); got.AttemptID != a.ID {
			t.Errorf("ended by attempt %s, want %s", got.AttemptID, a.ID)
		}
		if b := w.attempt(b.ID); b.State != domain.AttemptWithdrawn {
			t.Errorf("the later attempt is %s", b.State)
		}
		if _, denied, err := w.life.Grant(t.Context(), []domain.Claim{claim(b)}); err != nil || denied[b.ID] == "" {
			t.Error("a successful run was granted again")
		}

		in = w.fire(jobA)
		a = w.run(in.ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{a.ID}, "silent", time.Time{}))
		b = w.dispatch(in.ID)
		w.grant(b)
		w.report(a, domain.OutcomeSuccess, "too late")
		w.is(in.ID, running(domain.Dispatched))
		if a := w.attempt(a.ID); !strings.Contains(a.Late, "a later attempt has been granted") {
			t.Errorf("kept of the late report: %q", a.Late)
		}
		w.report(b, domain.OutcomeSuccess, "")
		w.is(in.ID, success)
	})
}

func TestForeignAndUnknownReports(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		a := w.run(in.ID)
		w.ok(w.life.Apply(t.Context(), []protocol.Uplink{{Worker: "w2", Reports: []protocol.Report{reportOf(a, domain.OutcomeSuccess, "", w.now()), {Attempt: 99, Outcome: "success"}}}}))
		w.is(in.ID, running(domain.Executing))
	})
}

func TestSecondFireOfTheSameMoment(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		_, err := w.life.Create(t.Context(), []domain.NewInstance{w.newOf(jobA, in.Expected)})
		if !domain.Is(err, domain.Exists) {
			t.Errorf("one fire was made into two instances: %v", err)
		}
	})
}
