package instance_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/worker/protocol"
)

// split makes an instance of jobA and splits it.
func (w *world) split(n int) domain.Instance {
	w.t.Helper()
	in := w.fire(jobA)
	w.ok(w.life.Split(w.t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: n}}))
	return w.is(in.ID, running(domain.Queued))
}

func (w *world) shards(in domain.Instance) []domain.Instance {
	w.t.Helper()
	out, err := w.st.ShardsOf(w.t.Context(), in.JobID, w.get(in.ID).RunID)
	w.ok(err)
	return out
}

func (w *world) gather(in domain.Instance) domain.Instance {
	w.t.Helper()
	w.ok(w.life.Gather(w.t.Context(), []domain.ID{in.ID}))
	return w.get(in.ID)
}

func (w *world) readyIDs() []domain.ID {
	w.t.Helper()
	rows, err := w.st.Ready(w.t.Context(), domain.LaneDefault, domain.Instance{}, 100)
	w.ok(err)
	var out []domain.ID
	for _, in := range rows {
		out = append(out, in.ID)
	}
	return out
}

// A split run is sent as its shards, each once, and is done when all are. Nothing but the
// queue knows of shards.
func TestASplitRunIsDoneWhenAllShardsAre(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := w.specs[jobA]
		in := w.split(3)
		shards := w.shards(in)
		if in.Shards != 3 || !in.IsSplit() || len(shards) != 3 || !in.WakeAt.After(w.now()) {
			t.Fatalf("%+v with %d shards", in, len(shards))
		}
		if got := w.readyIDs(); !slices.Equal(got, []domain.ID{shards[0].ID, shards[1].ID, shards[2].ID}) {
			t.Errorf("ready are %v", got)
		}
		for i, s := range shards {
			if s.PartOf != in.ID || s.Shard != i || s.Shards != 3 || s.RunID != in.RunID || s.TraceID != in.TraceID || !s.ReadyAt.Equal(in.ReadyAt) {
				t.Errorf("shard %d: %+v", i, s)
			}
		}
		var sent []domain.Attempt
		for i, s := range shards {
			a := w.dispatch(s.ID)
			task := w.grant(a)
			if task.Shard != (protocol.Shard{Index: i, Total: 3}) || task.TraceID != in.TraceID || a.Shard != i || a.RunID != in.RunID {
				t.Errorf("shard %d is sent as %+v, attempt %+v", i, task, a)
			}
			sent = append(sent, a)
		}
		if got := w.gather(in); got.Status != running(domain.Dispatched) {
			t.Errorf("sent, it is %s", got.Status)
		}
		w.start(sent[1])
		if got := w.gather(in); got.Status != running(domain.Executing) || got.StartedAt.IsZero() {
			t.Errorf("one runs, it is %s", got.Status)
		}
		w.pass(time.Second)
		for _, i := range []int{1, 0} {
			w.report(sent[i], domain.OutcomeSuccess, "")
			w.report(sent[i], domain.OutcomeError, "again, and otherwise")
		}
		if got := w.gather(in); got.State.Terminal() {
			t.Errorf("one is open, it is %s", got.Status)
		}
		w.report(sent[2], domain.OutcomeSuccess, "")
		got := w.gather(in)
		if got.Status != success || got.FinishedAt.IsZero() || !got.WakeAt.IsZero() || got.Attempts != 0 {
			t.Errorf("all are done: %+v", got)
		}
		w.gather(in) // what has ended stays so
		if now := w.get(in.ID); now.Ver != got.Ver {
			t.Errorf("gathered once more it moved: ver %d, then %d", got.Ver, now.Ver)
		}
		w.onlyTheInstance(in)
		if w.specs[jobA].TimeoutSec != before.TimeoutSec {
			t.Fatal("the world changed")
		}
	})
}

// onlyTheInstance checks that no list, day, dependency or count knows of shards.
func (w *world) onlyTheInstance(in domain.Instance) {
	w.t.Helper()
	ctx := w.t.Context()
	for name, f := range map[string]store.Filter{"all": {}, "by job": {Job: jobA}, "by date": {BizDate: in.BizDate}, "by state": {State: domain.Success},
		"by project": {Projects: []domain.ID{project}}} {
		f.Limit = 50
		found, _, err := w.st.List(ctx, f)
		w.ok(err)
		if len(found) != 1 || found[0].ID != in.ID {
			w.t.Errorf("list %s: %d rows", name, len(found))
		}
	}
	of, err := w.st.OfDates(ctx, jobA, []domain.BizDate{in.BizDate})
	w.ok(err)
	outcomes, err := w.st.Outcomes(ctx, []domain.ID{jobA}, in.BizDate, in.BizDate)
	w.ok(err)
	days, err := w.st.OnDate(ctx, []domain.ID{jobA}, in.BizDate)
	w.ok(err)
	if len(of) != 1 || len(outcomes[jobA]) != 1 || len(days) != 1 || days[0].Instance != in.ID {
		w.t.Errorf("of the date: %d; outcomes %d; days %+v", len(of), len(outcomes[jobA]), days)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	starts := 0
	for _, c := range w.told {
		if c.Move == domain.MoveStart {
			starts++
		}
		if c.Instance.ID != in.ID {
			w.t.Errorf("the tally was told of %s of shard %s", c.Move, c.Instance.ID)
		}
	}
	if starts != 1 {
		w.t.Errorf("the tally was told of %d starts", starts)
	}
}

// A shard is retried by itself. When it fails finally, the others go on to their end, and then
// the instance fails. Run again, only what had not succeeded runs.
func TestAShardIsRetriedByItselfAndFailsTheInstanceLast(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.specs[jobA]
		s.Retry = domain.Retry{Times: 1, BackoffSec: []int{30}}
		w.specs[jobA] = s
		in := w.split(3)
		shards := w.shards(in)
		bad, slow := w.run(shards[1].ID), w.run(shards[2].ID)
		w.report(w.run(shards[0].ID), domain.OutcomeSuccess, "")
		w.report(bad, domain.OutcomeError, "exit code 3")
		retrying := w.is(shards[1].ID, domain.Status{State: domain.Retrying, Label: domain.Backoff})
		if retrying.RetriesUsed != 1 || w.get(shards[2].ID).RetriesUsed != 0 || w.get(in.ID).RetriesUsed != 0 {
			t.Errorf("a retry is spent elsewhere: %+v", retrying)
		}
		w.pass(31 * time.Second)
		_, err := w.life.Wake(t.Context(), 100)
		w.ok(err)
		w.report(w.run(shards[1].ID), domain.OutcomeError, "exit code 4")
		w.is(shards[1].ID, failed(domain.ErrorLabel))
		if got := w.gather(in); got.Status != running(domain.Executing) {
			t.Errorf("one failed and one runs, it is %s", got.Status)
		}
		w.report(slow, domain.OutcomeSuccess, "")
		got := w.gather(in)
		if got.Status != failed(domain.ErrorLabel) || got.Message != "1 of 3 shards failed; shard 1: exit code 4" {
			t.Errorf("it is %s: %s", got.Status, got.Message)
		}

		again, err := w.life.Rerun(t.Context(), in.ID, "ana", "mended")
		w.ok(err)
		if again.IsSplit() || w.get(in.ID).Shards != 0 {
			t.Fatalf("the new run counts as split: %+v", again)
		}
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: 3}}))
		second := w.shards(in)
		for i, want := range []domain.Status{success, running(domain.Queued), success} {
			if second[i].Status != want || second[i].ID == shards[i].ID || want == success && second[i].Message != "kept from run 1" {
				t.Errorf("run 2, shard %d is %s: %s", i, second[i].Status, second[i].Message)
			}
		}
		w.report(w.run(second[1].ID), domain.OutcomeSuccess, "")
		if got := w.gather(in); got.Status != success {
			t.Errorf("it is %s", got.Status)
		}
		w.is(shards[1].ID, failed(domain.ErrorLabel)) // history stays
		_, err = w.life.Rerun(t.Context(), in.ID, "root", "all of it")
		w.ok(err)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: 3}}))
		for _, s := range w.shards(in) {
			if s.Status != running(domain.Queued) {
				t.Errorf("run 3 of a success keeps %s", s.Status)
			}
		}
	})
}

// A kill ends all shards: what waits at once, what runs when its worker says so.
func TestAKillEndsAllShards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.split(4)
		shards := w.shards(in)
		w.report(w.run(shards[0].ID), domain.OutcomeSuccess, "")
		runs := w.run(shards[1].ID)
		sent := w.dispatch(shards[2].ID)
		_, err := w.life.Kill(t.Context(), shards[1].ID, "ana", "")
		if !domain.Is(err, domain.Conflict) {
			t.Errorf("one shard alone was killed: %v", err)
		}
		out, err := w.life.Kill(t.Context(), in.ID, "ana", "wrong month")
		w.ok(err)
		if out.Status != running(domain.Stopping) {
			t.Errorf("killed, it is %s", out.Status)
		}
		w.is(shards[1].ID, running(domain.Stopping))
		w.is(shards[2].ID, cancelled(domain.Killed))
		w.is(shards[3].ID, cancelled(domain.Killed))
		if _, denied, err := w.life.Grant(t.Context(), []domain.Claim{claim(sent)}); err != nil || denied[sent.ID] == "" {
			t.Errorf("a killed shard was granted: %v", err)
		}
		stopping, err := w.st.Stopping(t.Context(), 0, 10)
		w.ok(err)
		if len(stopping) != 1 || stopping[0].ID != shards[1].ID {
			t.Errorf("told to stop are %v", stopping)
		}
		w.report(runs, domain.OutcomeKilled, "")
		if got := w.gather(in); got.Status != cancelled(domain.Killed) || !strings.Contains(got.Message, "1 of 4") {
			t.Errorf("all ended, it is %s: %s", got.Status, got.Message)
		}
		if got := w.readyIDs(); len(got) != 0 {
			t.Errorf("ready are %v", got)
		}

		waits := w.split(2)
		out, err = w.life.Kill(t.Context(), waits.ID, "ana", "")
		w.ok(err)
		if out.Status != cancelled(domain.Killed) || w.get(waits.ID).Status != out.Status {
			t.Errorf("nothing ran, it is %s", out.Status)
		}

		replaced := w.split(2)
		w.run(w.shards(replaced)[1].ID)
		w.ok(w.life.Replace(t.Context(), []domain.ID{replaced.ID}, waits.ID))
		w.is(replaced.ID, running(domain.Stopping))
		w.is(w.shards(replaced)[0].ID, cancelled(domain.Killed))
		w.is(w.shards(replaced)[1].ID, running(domain.Stopping))
		w.pass(3 * time.Minute)
		_, err = w.life.Wake(t.Context(), 100) // its worker never says that it has ended
		w.ok(err)
		w.is(w.shards(replaced)[1].ID, cancelled(domain.Killed))
		if got := w.gather(replaced); got.Status != cancelled(domain.Killed) {
			t.Errorf("replaced, it is %s", got.Status)
		}
	})
}

// Who should have gathered died: the instance looks by itself.
func TestAnInstanceFindsTheEndOfItsShardsByItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.split(2)
		for _, s := range w.shards(in) {
			w.report(w.run(s.ID), domain.OutcomeSuccess, "")
		}
		w.pass(4 * time.Second)
		_, err := w.life.Wake(t.Context(), 100)
		w.ok(err)
		for range 2 {
			w.pass(2 * time.Second)
			_, err = w.life.Wake(t.Context(), 100)
			w.ok(err)
		}
		w.is(in.ID, success)
	})
}

// Time-out, loss and the end of patience are each shard's own.
func TestTimeoutsAndLossesAreEachShards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.holding(false)
		b := w.specs[jobB]
		b.Retry = domain.Retry{}
		w.specs[jobA] = b
		in := w.split(4)
		shards := w.shards(in)
		for _, s := range shards {
			if !s.WakeAt.Equal(in.ReadyAt.Add(600 * time.Second)) {
				t.Errorf("shard %d waits until %s", s.Shard, s.WakeAt)
			}
		}
		orphan := w.run(shards[0].ID)
		w.ok(w.life.Lost(t.Context(), []domain.ID{orphan.ID}, "worker w1 (boot 1) has been silent for 10s", time.Time{}))
		w.is(shards[0].ID, running(domain.Orphan))
		w.report(w.run(shards[1].ID), domain.OutcomeTimeout, "")
		w.report(w.run(shards[2].ID), domain.OutcomeSuccess, "")
		if got := w.gather(in); got.Status != running(domain.Queued) {
			t.Errorf("one waits, it is %s", got.Status)
		}
		w.pass(601 * time.Second)
		_, err := w.life.Wake(t.Context(), 100)
		w.ok(err)
		w.is(shards[3].ID, failed(domain.QueueTimeout))
		if got := w.gather(in); got.Status != running(domain.Orphan) {
			t.Errorf("only the orphan is left, it is %s", got.Status)
		}
		found, _, err := w.st.List(t.Context(), store.Filter{Labels: []domain.Label{domain.Orphan}, Limit: 10})
		w.ok(err)
		if len(found) != 1 || found[0].ID != shards[0].ID {
			t.Errorf("orphans are %+v", found)
		}
		if out := w.settle(instance.VerdictSuccess, instance.Pick{ID: in.ID}); !domain.Is(out[0].Err, domain.Conflict) {
			t.Errorf("the whole was settled: %+v", out)
		}
		if out := w.settle(instance.VerdictSuccess, instance.Pick{ID: shards[0].ID}); out[0].Err != nil {
			t.Errorf("the shard was not settled: %v", out[0].Err)
		}
		if got := w.gather(in); got.Status != failed(domain.Timeout) || !strings.HasPrefix(got.Message, "2 of 4 shards failed; shard 1") {
			t.Errorf("it is %s: %s", got.Status, got.Message)
		}
	})
}

// A broker that decided on what has moved since splits nothing, and nothing twice.
func TestNothingIsSplitTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		was := w.get(in.ID)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: was, Shards: 2}}))
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: was, Shards: 2}, {Instance: w.get(in.ID), Shards: 5}}))
		if got := w.shards(in); len(got) != 2 {
			t.Errorf("%d shards", len(got))
		}
		killed := w.fire(jobA)
		was = w.get(killed.ID)
		_, err := w.life.Kill(t.Context(), killed.ID, "ana", "")
		w.ok(err)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: was, Shards: 2}}))
		if got := w.shards(killed); len(got) != 0 {
			t.Errorf("what was killed has %d shards", len(got))
		}
	})
}

// Why says how many stand how, and of the first that waits why.
func TestWhyOfShards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.fire(jobA)
		w.ok(w.life.Split(t.Context(), []domain.Split{{Instance: w.get(in.ID), Shards: 2, Workers: []string{"w1", "w2"}}}))
		w.workers = []domain.Worker{{Name: "w1", Boot: 1, State: domain.WorkerAvailable, Types: []string{"shell"}, SeenAt: w.now(), Lanes: map[domain.Lane]int{domain.LaneDefault: 1}}}
		shards := w.shards(in)
		if shards[0].Worker != "w1" || shards[1].Worker != "w2" {
			t.Fatalf("%+v", shards)
		}
		w.run(shards[0].ID)
		w.gather(in)
		said := w.why(in.ID)
		for _, want := range []string{"split into 2 shards", "1 × running, executing", "1 × running, queued", "Shard 1: ", "for worker w2 alone"} {
			if !strings.Contains(strings.ToLower(said), strings.ToLower(want)) {
				t.Errorf("%q lacks %q", said, want)
			}
		}
	})
}

func (w *world) why(id domain.ID) string {
	w.t.Helper()
	r := &instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: w.now}
	f, err := r.Explain(context.Background(), w.get(id))
	w.ok(err)
	return instance.Why(f).English()
}
