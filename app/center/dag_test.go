package center

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/seal"
	"github.com/axsched/ax/worker/protocol"
)

// bench is the modules over one database, without Redis and without loops: a test
// plays broker and worker itself.
type bench struct {
	*core
	t   *testing.T
	ctx context.Context
	n   int
}

func newBench(t *testing.T, url string) *bench { return newBenchAt(t, url, time.Now) }

// newBenchAt is one whose definitions and instances are made at moments that a test chooses.
func newBenchAt(t *testing.T, url string, wall func() time.Time) *bench {
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := seal.Open(seal.MakeKey())
	if err != nil {
		t.Fatal(err)
	}
	l := &life{o: Options{Config: config.Default()}, clock: &clock{wall: wall}, ids: ids, nudger: newNudger(), seal: keeper}
	b := &bench{core: l.newCore(db), t: t}
	b.ctx = domain.WithPrincipal(t.Context(), domain.Principal{Name: "tester", Kind: domain.PrincipalSystem})
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// apply saves noop jobs: "c: a b" depends on a and b.
func (b *bench) apply(lines ...[]string) {
	b.t.Helper()
	text := ""
	for _, l := range lines {
		text += fmt.Sprintf("---\nversion: v1\njob:\n  name: %s\n  exec: {type: noop}\n", l[0])
		if len(l) > 1 {
			text += "  deps:\n"
			for _, d := range l[1:] {
				text += "    - name: " + d + "\n"
			}
		}
	}
	_, problems, err := b.jobs.Apply(b.ctx, []job.File{{Name: "test.yaml", Text: text[4:]}}, false, func(context.Context, domain.ID) error { return nil })
	b.must(err)
	if len(problems.Errors()) > 0 {
		b.t.Fatal(problems)
	}
}

var day = domain.BizDateOf(time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC), time.UTC)

func (b *bench) fire(name string) domain.Instance {
	b.t.Helper()
	j, err := b.jobs.Find(b.ctx, name)
	b.must(err)
	ins, err := b.lifecycle.Create(b.ctx, []domain.NewInstance{{ProjectID: j.ProjectID, JobID: j.ID, JobName: j.Name, Version: j.Version,
		Trigger: domain.TriggerManual, BizDate: day, Expected: b.now()}})
	b.must(err)
	return ins[0]
}

// end plays broker and worker: the instance is dispatched, granted and reported.
func (b *bench) end(id domain.ID, outcome domain.Outcome) domain.Instance {
	b.t.Helper()
	in := b.get(id)
	b.n++
	attempts, err := b.lifecycle.Dispatch(b.ctx, []domain.Assignment{{Instance: in, Attempt: domain.ID(int64(id) + int64(b.n)<<40), Target: "w", Boot: 1, MessageID: "m"}})
	b.must(err)
	if len(attempts) != 1 {
		b.t.Fatalf("%s is %s and was not dispatched", in.JobName, in.Status)
	}
	a := attempts[0].ID
	tasks, denied, err := b.lifecycle.Grant(b.ctx, []domain.Claim{{Attempt: a, Worker: "w", Boot: 1}})
	b.must(err)
	if tasks[a] == nil {
		b.t.Fatal(denied)
	}
	b.must(b.lifecycle.Apply(b.ctx, []protocol.Uplink{{Worker: "w", Reports: []protocol.Report{{Attempt: int64(a), Outcome: string(outcome), Started: b.now().UnixMilli()}}}}))
	return b.get(id)
}

func (b *bench) get(id domain.ID) domain.Instance {
	b.t.Helper()
	in, err := b.instances.Get(b.ctx, id)
	b.must(err)
	return in
}

func (b *bench) want(id domain.ID, status string) domain.Instance {
	b.t.Helper()
	in := b.get(id)
	if in.Status.String() != status {
		b.t.Fatalf("%s is %s, want %s (%s)", in.JobName, in.Status, status, in.Message)
	}
	return in
}

func (b *bench) sweep() {
	b.t.Helper()
	b.must(b.graph.Sweep(b.ctx))
}

func TestJoinIsReleasedOnceAfterTheLast(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b"}, []string{"c", "a", "b"})
		c := b.fire("c")
		b.want(c.ID, "running/waiting_deps")
		a := b.fire("a")
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		if in := b.want(c.ID, "running/waiting_deps"); in.DepsLeft != 1 {
			t.Fatalf("%d dependencies left, want 1", in.DepsLeft)
		}
		up := b.fire("b")
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		in := b.want(c.ID, "running/queued")
		if in.MetAt.IsZero() || in.Attempts != 0 {
			t.Fatalf("met at %s, %d attempts", in.MetAt, in.Attempts)
		}
		b.sweep()
		b.end(c.ID, domain.OutcomeSuccess)
		events, err := b.instances.Events(b.ctx, c.ID)
		b.must(err)
		if len(events) != 0 {
			t.Fatalf("an ordinary life left history: %v", events)
		}
	})
}

// What a failure cancels comes back with the success of its rerun, and only that. (G-D4, G-D14)
func TestFailureCancelsStepByStepAndRerunBringsBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b", "a"}, []string{"c", "b"}, []string{"d", "c"})
		d, c, bb, a := b.fire("d"), b.fire("c"), b.fire("b"), b.fire("a")
		b.end(a.ID, domain.OutcomeError)
		for range 3 {
			b.sweep()
		}
		if in := b.want(bb.ID, "cancelled/upstream_failed"); in.CancelledBy.InstanceID != a.ID {
			t.Fatalf("cancelled by %v, want %s", in.CancelledBy, a.ID)
		}
		b.want(c.ID, "cancelled/upstream_failed")
		b.want(d.ID, "cancelled/upstream_failed")

		_, err := b.lifecycle.Rerun(b.ctx, a.ID, "tester", "mended")
		b.must(err)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		b.sweep()
		if in := b.want(bb.ID, "running/queued"); in.RunNo != 2 || in.TraceID == bb.TraceID {
			t.Fatalf("run %d, trace %s", in.RunNo, in.TraceID)
		}
		b.want(c.ID, "running/waiting_deps")
		b.end(bb.ID, domain.OutcomeSuccess)
		b.sweep()
		b.end(c.ID, domain.OutcomeSuccess)
		b.sweep()
		b.end(d.ID, domain.OutcomeSuccess)
		runs, err := b.instances.Runs(b.ctx, d.ID)
		b.must(err)
		if len(runs) != 2 || runs[0].Label != domain.UpstreamFailed {
			t.Fatalf("runs filed: %+v", runs)
		}
	})
}

func TestALateComerMeetsTheSameFate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b", "a"}, []string{"c", "a"})
		a := b.fire("a")
		b.end(a.ID, domain.OutcomeError)
		late := b.fire("b")
		b.sweep()
		b.want(late.ID, "cancelled/upstream_failed")
		_, err := b.lifecycle.Rerun(b.ctx, a.ID, "tester", "")
		b.must(err)
		b.end(a.ID, domain.OutcomeSuccess)
		later := b.fire("c")
		b.sweep()
		b.sweep() // the first brings back, the second looks
		b.want(later.ID, "running/queued")
		b.want(late.ID, "running/queued") // brought back by the rerun's success
	})
}

func TestARerunOpensAgainWhatItHadMet(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b"}, []string{"c", "a", "b"})
		c, a := b.fire("c"), b.fire("a")
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		_, err := b.lifecycle.Rerun(b.ctx, a.ID, "tester", "again")
		b.must(err)
		if in := b.want(c.ID, "running/waiting_deps"); in.DepsLeft != 2 {
			t.Fatalf("%d dependencies left, want 2: the rerun decides", in.DepsLeft)
		}
		up := b.fire("b")
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(c.ID, "running/waiting_deps")
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		b.want(c.ID, "cancelled/upstream_failed")
	})
}

// Who was cancelled is not brought back by those it waited for. (G-D16)
func TestACancelledOneStaysCancelledWhenItsUpstreamEnds(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b", "a"})
		down, up := b.fire("b"), b.fire("a")
		_, err := b.lifecycle.Kill(b.ctx, down.ID, "tester", "not today")
		b.must(err)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "cancelled/killed")
	})
}

// The downstream is born while its upstream ends, a hundred times at once and
// without the sweeper: whoever commits second sees the other.
func TestBirthAndEndNeverMissEachOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.apply([]string{"a"}, []string{"b", "a"})
		run, stop := context.WithCancel(b.ctx)
		defer stop()
		go func() { _ = b.graph.Run(run) }()
		const rounds = 60
		downs := make([]domain.ID, rounds)
		start := day
		for i := range rounds {
			day = start.AddDays(i)
			up := b.fire("a")
			in := b.get(up.ID)
			attempts, err := b.lifecycle.Dispatch(b.ctx, []domain.Assignment{{Instance: in, Attempt: up.ID + 1<<40, Target: "w", Boot: 1, MessageID: "m"}})
			b.must(err)
			_, _, err = b.lifecycle.Grant(b.ctx, []domain.Claim{{Attempt: attempts[0].ID, Worker: "w", Boot: 1}})
			b.must(err)
			var both sync.WaitGroup
			both.Add(1)
			go func() {
				defer both.Done()
				_ = b.lifecycle.Apply(b.ctx, []protocol.Uplink{{Worker: "w", Reports: []protocol.Report{{Attempt: int64(attempts[0].ID), Outcome: "success"}}}})
			}()
			downs[i] = b.fire("b").ID
			both.Wait()
		}
		day = start
		deadline := time.Now().Add(20 * time.Second)
		for _, id := range downs {
			for b.get(id).Label != domain.Queued {
				if time.Now().After(deadline) {
					t.Fatalf("instance %s is %s: its upstream's end was missed", id, b.get(id).Status)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
}
