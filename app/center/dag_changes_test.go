package center

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// G-D17: what ran on a result that its upstream has made anew since is stale until it runs again.
func TestAnUpstreamsRerunMakesStale(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b", "deps: [{name: a}]"), noop("c", "deps: [{name: b}]"))
		first, _ := month()
		c, bb, a := b.on("c", first), b.on("b", first), b.on("a", first)
		for _, id := range []domain.ID{a.ID, bb.ID, c.ID} {
			b.end(id, domain.OutcomeSuccess)
			b.sweep()
		}
		stale := func() string {
			marks, err := b.graph.Stale(b.ctx, []domain.ID{a.ID, bb.ID, c.ID})
			b.must(err)
			out := ""
			for _, in := range []domain.Instance{a, bb, c} {
				if m, ok := marks[in.ID]; ok {
					out += in.JobName + " by " + m.Name + " "
				}
			}
			return strings.TrimSpace(out)
		}
		if got := stale(); got != "" {
			t.Fatalf("an ordinary life is stale: %s", got)
		}
		nextMilli() // the rerun ends later than they began
		b.rerun(a.ID)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		if got := stale(); got != "b by a" {
			t.Fatalf("stale: %q, want b by a", got)
		}
		nextMilli()
		b.rerun(bb.ID)
		if got := stale(); got != "" {
			t.Fatalf("stale while it runs again: %q", got)
		}
		b.end(bb.ID, domain.OutcomeSuccess)
		b.sweep()
		if got := stale(); got != "c by b" {
			t.Fatalf("stale: %q, want c by b", got)
		}
	})
}

// J-D17 for a set: the rerun of any of its fires opens it again while the instance waits.
func TestARerunOfAnyFireOfASetOpensItAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("up", `cron: "0 */12 * * *"`), noop("other"), noop("down", "deps: [{name: up}, {name: other}]"))
		first, _ := month()
		down := b.on("down", first)
		one, two := b.planned("up", first.Start(time.UTC)), b.planned("up", first.Start(time.UTC).Add(12*time.Hour))
		b.end(two.ID, domain.OutcomeSuccess)
		b.end(one.ID, domain.OutcomeSuccess)
		b.sweep()
		if in := b.get(down.ID); in.DepsLeft != 1 {
			t.Fatalf("%d left", in.DepsLeft)
		}
		b.rerun(one.ID)
		if in := b.get(down.ID); in.DepsLeft != 2 {
			t.Fatalf("%d left after the rerun of the fire that was not the last to be made", in.DepsLeft)
		}
		b.sweep()
		b.end(one.ID, domain.OutcomeSuccess)
		b.sweep()
		if in := b.get(down.ID); in.DepsLeft != 1 {
			t.Fatalf("%d left", in.DepsLeft)
		}
	})
}

// A change of the definition leaves what waits as it is, and says how many. (G-D9)
func TestAChangeLeavesWhatWaitsAsItIs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}]"))
		first, _ := month()
		down := b.on("down", first)
		file := []job.File{{Name: "f", Text: noop("down", "deps: [{name: b}]")}}
		_, problems, err := b.jobs.Check(b.ctx, file, domain.ProjectSet{All: true})
		b.must(err)
		applied, _, err := b.jobs.Apply(b.ctx, file, false, nil)
		b.must(err)
		for what, ps := range map[string]job.Problems{"the preview": problems, "the answer": applied[0].Warnings} {
			if len(ps) != 1 || ps[0].ID != "dep.kept" || ps[0].Args["n"] != "1" || !ps[0].Warning {
				t.Errorf("%s says %+v", what, ps)
			}
		}
		same, _, err := b.jobs.Apply(b.ctx, []job.File{{Name: "f", Text: noop("down", "deps: [{name: b}]", "title: other")}}, false, nil)
		b.must(err)
		if len(same[0].Warnings) != 0 {
			t.Errorf("a change of the title says %+v", same[0].Warnings)
		}
		up := b.on("a", first)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "running/queued")
	})
}

// The dependency that nothing planned could meet is foreseen at the save.
func TestWhatIsNeverPlannedIsForeseen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("workdays", `cron: "0 2 * * 1-5"`), noop("hand"))
		warned := func(more ...string) string {
			applied := b.put(noop("down", more...))
			out := ""
			for _, w := range applied[0].Warnings {
				out += w.ID + " " + w.Args["on"] + " "
			}
			return strings.TrimSpace(out)
		}
		for want, more := range map[string][]string{
			"dep.never workdays": {`cron: "0 3 * * *"`, "deps: [{name: workdays}]"},
		} {
			if got := warned(more...); got != want {
				t.Errorf("%v: %q, want %q", more, got, want)
			}
		}
		for _, more := range [][]string{
			{`cron: "0 3 * * 1-5"`, "deps: [{name: workdays}]"}, {`cron: "0 3 * * *"`, "deps: [{name: workdays, biz_date: prev_workday}]"},
			{`cron: "0 3 1 * *"`, "deps: [{name: workdays, biz_date: month(current-1m)}]"}, {`cron: "0 3 * * *"`, "deps: [{name: hand}]"}, {"deps: [{name: workdays}]"},
		} {
			if got := warned(more...); got != "" {
				t.Errorf("%v: %q", more, got)
			}
		}
	})
}

// What is foreseen knows how far it looked, whatever dates the two jobs are about, and speaks of
// runs to come only.
func TestForesightEndsWhereItsLookDid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBenchAt(t, url, func() time.Time { return time.Date(2026, 12, 5, 11, 0, 0, 0, time.UTC) }) // a Saturday
		for _, c := range [][2]string{{"T-1", "T"}, {"T-2", "T-1"}, {"T-7", "T"}, {"T", "T-1"}, {"T+3", "T"}, {"prev_month_end", "prev_month_end"}, {"prev_workday", "prev_workday"}} {
			applied := b.put(noop("up", `cron: "30 0 * * *"`, "biz_date: "+c[0]), noop("down", `cron: "0 3 * * *"`, "biz_date: "+c[1], "deps: [{name: up}]"))
			for _, a := range applied {
				for _, w := range a.Warnings {
					if w.ID == "dep.never" {
						t.Errorf("%s on %s: %v", c[1], c[0], w.Args)
					}
				}
			}
		}
		b.put(noop("workdays", `cron: "0 2 * * 1-5"`))
		for _, w := range b.put(noop("late", `cron: "0 3 * * *"`, "deps: [{name: workdays}]"))[0].Warnings {
			if w.ID == "dep.never" && w.Args["date"] != "2026-12-06" {
				t.Errorf("the run of %s is past, or is not the first", w.Args["date"])
			}
		}
	})
}

// Rows of a join lie over several pages of the sweeper: each is looked after.
func TestTheSweeperSeesEachRowOfAWideJoin(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		const wide = 1200
		texts, deps := make([]string, 0, wide+1), ""
		for i := range wide {
			texts = append(texts, noop(fmt.Sprintf("up%04d", i)))
			deps += fmt.Sprintf("\n  - name: up%04d", i)
		}
		b.put(append(texts, noop("join", "deps:"+deps))...)
		first, _ := month()
		join := b.on("join", first)
		last := b.on("up1199", first)
		b.end(last.ID, domain.OutcomeSuccess)
		b.sweep()
		if in := b.get(join.ID); in.DepsLeft != wide-1 {
			t.Fatalf("%d left, want %d: the last row was not looked at", in.DepsLeft, wide-1)
		}
	})
}

// of are the instances of a job about a date; only is the one that there must be.
func (b *bench) of(name string, date domain.BizDate) []domain.Instance {
	b.t.Helper()
	j, err := b.jobs.Find(b.ctx, name)
	b.must(err)
	ins, err := b.instances.OfDates(b.ctx, j.ID, []domain.BizDate{date})
	b.must(err)
	return ins
}

func (b *bench) only(name string, date domain.BizDate) domain.Instance {
	b.t.Helper()
	ins := b.of(name, date)
	if len(ins) != 1 {
		b.t.Fatalf("%d instances of %s about %s", len(ins), name, date)
	}
	return ins[0]
}

// A dependency on a job of another project takes the right to see it.
func TestAJobOfAnotherProjectMustBeSeen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("up", "project: theirs"), noop("mine"))
		mine, err := b.jobs.Find(b.ctx, "mine")
		b.must(err)
		r := job.Request{Files: []job.File{{Name: "f", Text: noop("down", "deps: [{name: theirs/up}]")}}, Seen: domain.ProjectSet{IDs: []domain.ID{mine.ProjectID}}}
		_, problems, err := b.jobs.Submit(b.ctx, r)
		b.must(err)
		if errs := problems.Errors(); len(errs) != 1 || errs[0].ID != "dep.missing" {
			t.Fatalf("a job that may not be seen: %+v", problems)
		}
		r.Seen = domain.ProjectSet{All: true}
		applied, problems, err := b.jobs.Submit(b.ctx, r)
		b.must(err)
		if len(applied) != 1 {
			t.Fatal(problems)
		}
		first, _ := month()
		down, up := b.on("down", first), b.on("theirs/up", first)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "running/queued")
	})
}

// Rows that the version before wrote, before and after its tables were changed, are met and released.
func TestRowsOfTheVersionBefore(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}, {name: b}]"))
		first, _ := month()
		down := b.on("down", first)
		_, err := b.db.Exec(b.ctx, "UPDATE dep SET no = 0, rule = '', biz_date_to = '', on_failure = '' WHERE instance_id = ?", down.ID)
		b.must(err)
		for _, name := range []string{"a", "b"} {
			up := b.on(name, first)
			b.end(up.ID, domain.OutcomeSuccess)
			b.sweep()
		}
		b.want(down.ID, "running/queued")
	})
}
