package board

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/modules/board/store"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func tallies(t *testing.T, fn func(t *testing.T, tally Tally, db *dbx.DB)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		fn(t, Tally{Store: store.New(db)}, db)
	})
}

var (
	noon  = time.Date(2026, 3, 8, 12, 0, 0, 0, time.UTC)
	march = domain.BizDateOf(noon, time.UTC)
)

// play moves instances through their lives by chance and keeps, beside the changes,
// what a person would count.
type play struct {
	rnd     *rand.Rand
	last    domain.ID
	now     time.Time
	alive   []*actor
	all     []*actor
	changes []domain.Change
}

type actor struct {
	in     domain.Instance
	delays []time.Duration // of starts of the first try
	runs   []time.Duration
}

func (p *play) pick(n int) bool { return p.rnd.IntN(n) == 0 }

func (p *play) move(a *actor, name domain.MoveName, state domain.State, label domain.Label) {
	from := a.in.Status
	a.in.Status = domain.Status{State: state, Label: label}
	if state.Terminal() {
		a.in.FinishedAt = p.now
	}
	p.changes = append(p.changes, domain.Change{Move: name, From: from, Instance: a.in})
}

func (p *play) born() {
	p.last++
	a := &actor{in: domain.Instance{ID: p.last, ProjectID: domain.ID(1 + p.rnd.IntN(2)), JobID: domain.ID(10 + p.rnd.IntN(3)), RunNo: 1,
		BizDate: march.AddDays(p.rnd.IntN(3)), Expected: p.now.Add(-time.Duration(p.rnd.IntN(5000)) * time.Millisecond), CreatedAt: p.now,
		Status: domain.Status{State: domain.Running, Label: domain.Queued}}}
	if p.pick(3) {
		a.in.MetAt = a.in.Expected.Add(time.Duration(p.rnd.IntN(8000)) * time.Millisecond)
	}
	p.all, p.alive = append(p.all, a), append(p.alive, a)
	p.changes = append(p.changes, domain.Change{Instance: a.in})
}

// start notes the start, with what a person would call its delay.
func (p *play) start(a *actor) {
	if a.in.RunNo == 1 && a.in.RetriesUsed == 0 && a.in.LostCount == 0 {
		due := a.in.Expected
		if a.in.MetAt.After(due) {
			due = a.in.MetAt
		}
		a.delays = append(a.delays, max(p.now.Sub(due), 0))
	}
	a.in.StartedAt = p.now
}

func (p *play) finish(a *actor) {
	a.runs = append(a.runs, p.now.Sub(a.in.StartedAt))
	switch p.rnd.IntN(4) {
	case 0:
		p.move(a, domain.MoveFail, domain.Failed, domain.ErrorLabel)
	default:
		p.move(a, domain.MoveSucceed, domain.Success, "")
	}
}

func (p *play) step(a *actor) {
	switch a.in.Label {
	case domain.Queued:
		if p.pick(8) {
			p.move(a, domain.MoveQueueTimeout, domain.Failed, domain.QueueTimeout)
			return
		}
		a.in.Attempts++
		a.in.StartedAt = time.Time{}
		p.move(a, domain.MoveDispatch, domain.Running, domain.Dispatched)
	case domain.Dispatched:
		switch p.rnd.IntN(5) {
		case 0:
			p.move(a, domain.MoveWithdraw, domain.Running, domain.Queued)
		case 1: // start and end in one batch
			p.start(a)
			p.now = p.now.Add(time.Duration(p.rnd.IntN(400)) * time.Millisecond)
			p.finish(a)
		case 2:
			p.move(a, domain.MoveKill, domain.Cancelled, domain.Killed)
		default:
			p.start(a)
			p.move(a, domain.MoveStart, domain.Running, domain.Executing)
		}
	case domain.Executing:
		switch p.rnd.IntN(4) {
		case 0:
			a.in.RetriesUsed++
			p.move(a, domain.MoveRetry, domain.Retrying, domain.Backoff)
		case 1:
			a.in.LostCount++
			p.move(a, domain.MoveRedispatch, domain.Running, domain.Queued)
		default:
			p.finish(a)
		}
	case domain.Backoff:
		if p.pick(4) {
			p.move(a, domain.MoveKill, domain.Cancelled, domain.Killed)
			return
		}
		p.move(a, domain.MoveRequeue, domain.Running, domain.Queued)
	default:
		if a.in.State.Terminal() && p.pick(3) {
			a.in.RunNo++
			a.in.RetriesUsed, a.in.LostCount, a.in.Attempts, a.in.StartedAt, a.in.FinishedAt = 0, 0, 0, time.Time{}, time.Time{}
			p.move(a, domain.MoveRerun, domain.Running, domain.Queued)
		}
	}
}

// batch is what one transaction would carry: each instance moves at most once or twice.
func (p *play) batch() []domain.Change {
	p.changes = nil
	p.now = p.now.Add(time.Duration(p.rnd.IntN(240)) * time.Second)
	for range p.rnd.IntN(6) {
		p.born()
	}
	for range p.rnd.IntN(30) {
		if len(p.alive) > 0 {
			p.now = p.now.Add(time.Duration(p.rnd.IntN(100)) * time.Millisecond)
			p.step(p.alive[p.rnd.IntN(len(p.alive))])
		}
	}
	return p.changes
}

// recount is the figures, counted by hand.
func (p *play) recount() map[store.Key]store.Figure {
	sum := map[store.Key]store.Figure{}
	for _, a := range p.all {
		at := a.in.CreatedAt.Truncate(15 * time.Minute)
		add := func(metric string, job domain.ID, n int64) {
			k := store.Key{Project: a.in.ProjectID, Bucket: at, Metric: metric, Job: job}
			f := sum[k]
			f.Total += n
			sum[k] = f
		}
		add("instances", 0, 1)
		switch a.in.Label {
		case domain.Queued, domain.Dispatched:
			add("queued", 0, 1)
		case domain.Executing:
			add("executing", 0, 1)
		case domain.Backoff:
			add("retrying", 0, 1)
		}
		if a.in.State == domain.Failed {
			add("failed", 0, 1)
			add("failed", a.in.JobID, 1)
		}
		for _, d := range a.delays {
			add("starts", 0, 1)
			add("delay", 0, d.Milliseconds())
		}
		for _, d := range a.runs {
			add("runs", 0, 1)
			add("duration", 0, d.Milliseconds())
			k := store.Key{Project: a.in.ProjectID, Bucket: at, Metric: "runs"}
			f := sum[k]
			f.Peak = max(f.Peak, d.Milliseconds())
			sum[k] = f
		}
	}
	return sum
}

func TestTheSumsAreWhatAPersonWouldCount(t *testing.T) {
	tallies(t, func(t *testing.T, tally Tally, _ *dbx.DB) {
		p := &play{rnd: rand.New(rand.NewPCG(11, 5)), now: noon}
		for range 120 {
			if err := tally.Record(t.Context(), p.batch()); err != nil {
				t.Fatal(err)
			}
		}
		want := p.recount()
		rows := tally.all(t, nil, p.now.Add(time.Hour))
		ran := map[domain.ID]*actor{}
		for _, a := range p.all {
			ran[a.in.ID] = a
		}
		got := map[store.Key]store.Figure{}
		for _, r := range rows {
			if r.PeakInstance != 0 && !slices.ContainsFunc(ran[r.PeakInstance].runs, func(d time.Duration) bool { return max(d.Milliseconds(), 1) == r.Peak }) {
				t.Errorf("%+v: instance %s never ran %d ms", r.Key, r.PeakInstance, r.Peak)
			}
			if r.Total != 0 {
				got[r.Key] = store.Figure{Total: r.Total, Peak: r.Peak}
			}
		}
		for k, f := range want {
			if f.Peak == 0 && k.Metric == "runs" {
				f.Peak = 1
				want[k] = f
			}
			if f.Total == 0 {
				delete(want, k)
			}
		}
		if !maps.Equal(got, want) {
			for k := range want {
				if got[k] != want[k] {
					t.Errorf("%+v: kept %+v, counted %+v", k, got[k], want[k])
				}
			}
			for k := range got {
				if _, ok := want[k]; !ok {
					t.Errorf("%+v: kept %+v, counted nothing", k, got[k])
				}
			}
			t.Fatalf("%d figures kept, %d counted", len(got), len(want))
		}
	})
}

func change(move domain.MoveName, from, to domain.Status, with func(*domain.Instance)) domain.Change {
	in := domain.Instance{ID: 5, ProjectID: 1, JobID: 9, RunNo: 1, Attempts: 1, BizDate: march, Expected: noon, CreatedAt: noon, Status: to}
	if with != nil {
		with(&in)
	}
	return domain.Change{Move: move, From: from, Instance: in}
}

// all reads the counters of whole projects and the failures of each job, from noon on.
func (t Tally) all(tb testing.TB, projects []domain.ID, to time.Time) []store.Counter {
	tb.Helper()
	out, err := t.Store.Whole(tb.Context(), projects, noon, to)
	if err != nil {
		tb.Fatal(err)
	}
	for at := noon; at.Before(to); at = at.Add(Bucket) {
		for project := domain.ID(1); project <= 3; project++ {
			if projects != nil && !slices.Contains(projects, project) {
				continue
			}
			most, err := t.Store.Most(tb.Context(), []domain.ID{project}, MetricFailed, at, at.Add(Bucket), 1000)
			if err != nil {
				tb.Fatal(err)
			}
			for _, m := range most {
				out = append(out, store.Counter{Key: store.Key{Project: project, Bucket: at, Metric: MetricFailed, Job: m.Job}, Figure: store.Figure{Total: m.Total}})
			}
		}
	}
	return out
}

func (t Tally) total(tb testing.TB, metric string, job domain.ID) int64 {
	tb.Helper()
	rows := t.all(tb, []domain.ID{1}, noon.Add(time.Hour))
	var n int64
	for _, r := range rows {
		if r.Metric == metric && r.Job == job {
			n += r.Total
		}
	}
	return n
}

func TestAFailureIsTakenBackByItsRerun(t *testing.T) {
	queued, failed := domain.Status{State: domain.Running, Label: domain.Queued}, domain.Status{State: domain.Failed, Label: domain.ErrorLabel}
	executing := domain.Status{State: domain.Running, Label: domain.Executing}
	tallies(t, func(t *testing.T, tally Tally, _ *dbx.DB) {
		for i, step := range []struct {
			c    domain.Change
			want int64
		}{
			{change(domain.MoveFail, executing, failed, nil), 1},
			{change(domain.MoveRerun, failed, queued, nil), 0},
			{change(domain.MoveFail, executing, failed, nil), 1},
			{change(domain.MoveRerun, failed, queued, nil), 0},
			{change(domain.MoveSucceed, executing, domain.Status{State: domain.Success}, nil), 0},
		} {
			if err := tally.Record(t.Context(), []domain.Change{step.c}); err != nil {
				t.Fatal(err)
			}
			if a, b := tally.total(t, MetricFailed, 0), tally.total(t, MetricFailed, 9); a != step.want || b != step.want {
				t.Fatalf("step %d: the project has %d failures, the job %d, want %d", i, a, b, step.want)
			}
		}
	})
}

func TestDelayCountsFromWhatCameLast(t *testing.T) {
	for _, c := range []struct {
		name             string
		met, start, want time.Duration // after noon, the planned time; met 0 = no dependencies
	}{
		{"no dependencies", 0, 3 * time.Second, 3 * time.Second},
		{"met before its time", -time.Minute, 3 * time.Second, 3 * time.Second},
		{"met after its time", 10 * time.Minute, 10*time.Minute + time.Second, time.Second},
		{"started early by hand", 0, -time.Second, 0},
	} {
		in := domain.Instance{Expected: noon, StartedAt: noon.Add(c.start)}
		if c.met != 0 {
			in.MetAt = noon.Add(c.met)
		}
		if got := Delay(in); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// An attempt that was taken back before its start does not hide the start.
func TestAStartAfterATakenBackAttemptCounts(t *testing.T) {
	c := change(domain.MoveStart, domain.Status{State: domain.Running, Label: domain.Dispatched}, domain.Status{State: domain.Running, Label: domain.Executing},
		func(in *domain.Instance) { in.Attempts, in.StartedAt = 3, noon.Add(2*time.Second) })
	sum := map[store.Key]store.Figure{}
	count(sum, c)
	if f := sum[store.Key{Project: 1, Bucket: noon, Metric: MetricDelay}]; f.Total != 2000 {
		t.Fatalf("delay %d ms, want 2000", f.Total)
	}
}

// Two writers on the same figures and days, new and old: every transaction goes
// through at once, and nothing is lost.
func TestWritersMeetNoDeadlock(t *testing.T) {
	tallies(t, func(t *testing.T, tally Tally, db *dbx.DB) {
		const writers, rounds = 4, 40
		var all sync.WaitGroup
		var tries atomic.Int64
		failures := make(chan error, writers*rounds)
		for w := range writers {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				for r := range rounds {
					var changes []domain.Change
					for i := range 30 {
						changes = append(changes, domain.Change{Instance: domain.Instance{ID: domain.ID(1 + w*rounds*30 + r*30 + i), ProjectID: domain.ID(1 + rnd.IntN(3)),
							JobID: domain.ID(1 + rnd.IntN(5)), BizDate: march.AddDays(rnd.IntN(3)), CreatedAt: noon.Add(time.Duration(r/10) * Bucket),
							Status: domain.Status{State: domain.Failed, Label: domain.ErrorLabel}}})
					}
					failures <- db.Tx(t.Context(), func(ctx context.Context) error {
						tries.Add(1)
						return tally.Record(ctx, changes)
					})
				}
			})
		}
		all.Wait()
		close(failures)
		for err := range failures {
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := tries.Load(); n != writers*rounds {
			t.Errorf("%d transactions were begun for %d: deadlocks", n, writers*rounds)
		}
		rows := tally.all(t, nil, noon.Add(time.Hour))
		sums := map[string]int64{}
		for _, r := range rows {
			sums[fmt.Sprint(r.Metric, r.Job == 0)] += r.Total
		}
		const made = writers * rounds * 30
		if sums["instancestrue"] != made || sums["failedtrue"] != made || sums["failedfalse"] != made {
			t.Fatalf("sums %v, want %d each", sums, made)
		}
	})
}
