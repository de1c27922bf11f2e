package center

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// noop is a job file; more are lines under job:.
func noop(name string, more ...string) string {
	text := "version: v1\njob:\n  name: " + name + "\n  timeout: 60\n  exec: {type: noop}\n"
	for _, m := range more {
		text += "  " + strings.ReplaceAll(m, "\n", "\n  ") + "\n"
	}
	return text
}

func (b *bench) put(texts ...string) []job.Applied {
	b.t.Helper()
	applied, problems, err := b.jobs.Apply(b.ctx, []job.File{{Name: "test.yaml", Text: strings.Join(texts, "---\n")}}, false, nil)
	b.must(err)
	if len(problems.Errors()) > 0 {
		b.t.Fatal(problems)
	}
	return applied
}

// on makes an instance by hand for a date; planned one of a schedule for its planned moment.
func (b *bench) on(name string, date domain.BizDate) domain.Instance {
	return b.made(name, domain.NewInstance{Trigger: domain.TriggerManual, BizDate: date, Expected: b.now()})
}

func (b *bench) planned(name string, at time.Time) domain.Instance {
	return b.made(name, domain.NewInstance{Trigger: domain.TriggerCron, BizDate: domain.BizDateOf(at, time.UTC), Expected: at, FireKey: domain.ScheduleFireKey(at)})
}

func (b *bench) made(name string, n domain.NewInstance) domain.Instance {
	b.t.Helper()
	j, err := b.jobs.Find(b.ctx, name)
	b.must(err)
	n.ProjectID, n.JobID, n.JobName, n.Version = j.ProjectID, j.ID, j.Name, j.Version
	ins, err := b.lifecycle.Create(b.ctx, []domain.NewInstance{n})
	b.must(err)
	return ins[0]
}

func (b *bench) rerun(id domain.ID) {
	b.t.Helper()
	_, err := b.lifecycle.Rerun(b.ctx, id, "tester", "again")
	b.must(err)
}

// why is what is said of an instance.
func (b *bench) why(id domain.ID) string {
	b.t.Helper()
	records := &instance.Records{Store: b.instances, Specs: b.jobs, Deps: depsOf{b.graph}, Workers: b.workers, Now: b.now}
	f, err := records.Explain(b.ctx, b.get(id))
	b.must(err)
	return instance.Why(f).English()
}

func (b *bench) says(id domain.ID, parts ...string) {
	b.t.Helper()
	for _, p := range parts {
		if said := b.why(id); !strings.Contains(said, p) {
			b.t.Errorf("%q lacks %q", said, p)
		}
	}
}

// month is the first day of a month for which all is planned yet to come, and its last.
func month() (first, last domain.BizDate) {
	first = domain.BizDateOf(time.Now(), time.UTC).MonthStart().AddMonths(2)
	return first, first.MonthEnd()
}

// J-D11: a month waits for each of its days, and says which is missing.
func TestAMonthWaitsForEachOfItsDays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		daily := noop("daily", `cron: "0 2 * * *"`)
		b.put(daily, noop("report", "deps: [{name: daily, biz_date: month(current-1m)}]", "on_upstream_failure: hold"),
			noop("strict", "deps: [{name: daily, biz_date: month(current-1m)}]"))
		first, last := month()
		report, strict := b.on("report", last.AddDays(1)), b.on("strict", last.AddDays(1))
		var bad domain.Instance
		days := 0
		for d := first; !last.Before(d); d = d.AddDays(1) {
			days++
			in := b.planned("daily", d.Start(time.UTC).Add(2*time.Hour))
			if d == first.AddDays(16) {
				bad = in
				continue
			}
			b.end(in.ID, domain.OutcomeSuccess)
		}
		b.sweep()
		b.says(report.ID, fmt.Sprintf("%d of %d, missing %s (Running, queued)", days-1, days, bad.BizDate))
		b.end(bad.ID, domain.OutcomeError)
		b.sweep()
		b.want(report.ID, "running/waiting_deps")
		b.says(report.ID, fmt.Sprintf("%d of %d, missing %s (Failed, error)", days-1, days, bad.BizDate), "on_upstream_failure says hold", "rerun daily, or release this by hand")
		if in := b.want(strict.ID, "cancelled/upstream_failed"); in.CancelledBy.InstanceID != bad.ID {
			t.Errorf("cancelled by %v, not by the day that failed", in.CancelledBy)
		}
		b.rerun(bad.ID)
		b.end(bad.ID, domain.OutcomeSuccess)
		b.sweep()
		b.sweep()
		b.want(report.ID, "running/queued")
		b.want(strict.ID, "running/queued")
	})
}

// A day of an hourly job is all of its hours, not the first.
func TestADayIsAllOfItsHours(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("hourly", `cron: "0 */6 * * *"`), noop("all", "deps: [{name: hourly, biz_date: day(current)}]"),
			noop("any", "deps: [{name: hourly, require: any}]"), noop("latest", "deps: [{name: hourly, require: latest}]"),
			noop("next", "deps: [{name: hourly, biz_date: current-1d, check: done}]"))
		first, _ := month()
		all, anyOne, latest, next := b.on("all", first), b.on("any", first), b.on("latest", first), b.on("next", first.AddDays(1))
		other := b.on("all", first.AddDays(1))
		for i, outcome := range []domain.Outcome{domain.OutcomeSuccess, domain.OutcomeSuccess, domain.OutcomeSuccess, domain.OutcomeSuccess} {
			in := b.planned("hourly", first.Start(time.UTC).Add(time.Duration(6*i)*time.Hour))
			b.end(in.ID, outcome)
			b.sweep()
			b.want(anyOne.ID, "running/queued")
			if i < 3 {
				b.want(all.ID, "running/waiting_deps")
				b.want(latest.ID, "running/waiting_deps")
				b.says(all.ID, fmt.Sprintf("%d of 4, missing", i+1))
			}
		}
		b.want(all.ID, "running/queued")
		b.want(latest.ID, "running/queued")
		b.want(next.ID, "running/queued")
		b.want(other.ID, "running/waiting_deps")
	})
}

// J-D18, G-D2: what is not planned is said, and told from what is only late.
func TestWhatIsNeverPlannedIsSaid(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("workdays", `cron: "0 2 * * 1-5"`), noop("down", "deps: [{name: workdays}]", "deps_timeout: 3600"))
		first, _ := month()
		sunday := first.AddDays((7 - int(first.Weekday())) % 7)
		down := b.on("down", sunday)
		b.sweep()
		b.says(down.ID, "no such instance is planned", "deps_timeout")
		late := b.on("down", sunday.AddDays(1))
		b.says(late.ID, "0 of 1, missing "+sunday.AddDays(1).String()+" 02:00:00")
	})
}

func TestAJobThatWaitsForItsOwnYesterday(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		first, _ := month()
		b.put(noop("chain", `cron: "0 2 * * *"`, "deps: [{name: self, biz_date: current-1d, first_date: "+first.String()+"}]"))
		at := first.Start(time.UTC).Add(2 * time.Hour)
		two, one, before := b.planned("chain", at.AddDate(0, 0, 1)), b.planned("chain", at), b.planned("chain", at.AddDate(0, 0, -1))
		b.want(before.ID, "running/queued")
		b.want(one.ID, "running/queued") // first_date waits for nothing
		b.want(two.ID, "running/waiting_deps")
		b.end(one.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(two.ID, "running/queued")
		if err := b.jobs.Delete(b.ctx, two.JobID); err != nil { // J-D5
			t.Errorf("a job that depends on nobody but itself can't be deleted: %v", err)
		}
	})
}

// J-D9: a date is a date, whenever its instance ends.
func TestAnUpstreamThatEndsAfterMidnightMeetsItsOwnDate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("up", `cron: "50 23 * * *"`), noop("down", "deps: [{name: up}]"))
		first, _ := month()
		mine, other := b.on("down", first), b.on("down", first.AddDays(1))
		up := b.planned("up", first.Start(time.UTC).Add(23*time.Hour+50*time.Minute))
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(mine.ID, "running/queued")
		b.want(other.ID, "running/waiting_deps")
	})
}

func TestPrevWorkday(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("up", `cron: "0 2 * * 1-5"`), noop("down", "deps: [{name: up, biz_date: prev_workday}]"))
		first, _ := month()
		monday := first.AddDays((8 - int(first.Weekday())) % 7)
		down := b.on("down", monday)
		up := b.planned("up", monday.AddDays(-3).Start(time.UTC).Add(2*time.Hour))
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "running/queued")
	})
}

// J-D13 with on_upstream_failure: run, and checks of an end that is no success.
func TestRunGoesOnOnceAllHasEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}, {name: b}]", "on_upstream_failure: run"),
			noop("strict", "deps: [{name: a}, {name: b}]"), noop("alarm", "deps: [{name: a, check: failed}]"), noop("calm", "deps: [{name: b, check: failed}]"))
		first, _ := month()
		down, strict, alarm, calm := b.on("down", first), b.on("strict", first), b.on("alarm", first), b.on("calm", first)
		a := b.on("a", first)
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		b.want(strict.ID, "cancelled/upstream_failed")
		b.says(strict.ID, "upstream a of "+first.String(), "Failed, error")
		b.want(alarm.ID, "running/queued")
		b.want(down.ID, "running/waiting_deps")
		up := b.on("b", first)
		b.end(up.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(down.ID, "running/queued")
		b.want(calm.ID, "cancelled/upstream_failed")
		b.says(calm.ID, "waited for a failure of its upstream")
		deps, err := b.graph.Of(b.ctx, down.ID)
		b.must(err)
		if got := fmt.Sprint(deps[0].State, " ", deps[1].State); got != "passed met" {
			t.Errorf("its dependencies are %s", got)
		}
		for range 3 { // what a success has cancelled comes back by no success
			b.sweep()
		}
		if in := b.want(calm.ID, "cancelled/upstream_failed"); in.RunNo != 1 {
			t.Errorf("run %d of what waits for a failure", in.RunNo)
		}
	})
}

func TestHeldOneIsReleasedByHand(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b"), noop("down", "deps: [{name: a}, {name: b}]", "on_upstream_failure: hold"))
		first, _ := month()
		down, a := b.on("down", first), b.on("a", first)
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		b.want(down.ID, "running/waiting_deps")
		requests := &instance.Requests{Lifecycle: b.lifecycle, Audit: audit{b.access}}
		allow := func(domain.Instance) error { return nil }
		if _, err := requests.Release(b.ctx, down.ID, "  ", allow); !domain.Is(err, domain.Invalid) {
			t.Errorf("released without a reason: %v", err)
		}
		if _, err := requests.Release(b.ctx, down.ID, "the sums are right without", allow); err != nil {
			t.Fatal(err)
		}
		in := b.want(down.ID, "running/queued")
		if in.DepsLeft != 0 || in.MetAt.IsZero() {
			t.Errorf("%d left, met at %s", in.DepsLeft, in.MetAt)
		}
		es, err := b.instances.Events(b.ctx, down.ID)
		b.must(err)
		if len(es) != 1 || es[0].Move != domain.MoveWaive || es[0].Actor != "tester" || es[0].Note != "the sums are right without" {
			t.Errorf("history %+v", es)
		}
		if _, err := requests.Release(b.ctx, down.ID, "again", allow); !domain.Is(err, domain.Conflict) {
			t.Errorf("released twice: %v", err)
		}
		b.sweep()
		b.end(down.ID, domain.OutcomeSuccess)
		var trail int
		b.must(b.db.Scan(b.ctx, &trail, "SELECT COUNT(*) FROM audit WHERE action = 'instance.release' AND after_text LIKE '%the sums are right%'"))
		if trail != 1 {
			t.Errorf("%d lines in the audit trail", trail)
		}
	})
}

// A chain of jobs that only their upstreams start: each is made once for a date, by whoever sees
// an end first, and by the sweeper when nobody did. (G-D6)
func TestUpstreamStarts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("a2"), noop("b", "trigger: upstream", "deps: [{name: a}, {name: a2}]"), noop("c", "trigger: upstream", "deps: [{name: b}]"),
			noop("paused", "trigger: upstream", "enabled: false", "deps: [{name: a}]"), noop("sorry", "trigger: upstream", "deps: [{name: a, check: failed}]"),
			noop("clock", "deps: [{name: c}]"))
		first, _ := month()
		clock := b.on("clock", first)
		b.sweep()
		a := b.on("a", first)
		b.says(clock.ID, "0 of 1, missing "+first.String())
		b.end(a.ID, domain.OutcomeSuccess)
		var all sync.WaitGroup
		for range 4 { // several processes look at once
			all.Go(func() { b.sweep() })
		}
		all.Wait()
		in := b.only("b", first)
		if in.Status.String() != "running/waiting_deps" || in.Trigger != domain.TriggerUpstream || in.FireKey != domain.UpstreamFireKey(first) {
			t.Fatalf("b is %+v", in)
		}
		b.says(in.ID, "a2 of "+first.String())
		for _, name := range []string{"paused", "sorry", "c"} {
			if n := len(b.of(name, first)); n != 0 {
				t.Errorf("%d instances of %s", n, name)
			}
		}
		a2 := b.on("a2", first)
		b.end(a2.ID, domain.OutcomeSuccess)
		b.sweep()
		b.end(in.ID, domain.OutcomeSuccess)
		b.sweep()
		c := b.only("c", first)
		b.sweep()
		b.end(c.ID, domain.OutcomeSuccess)
		b.sweep()
		b.want(clock.ID, "running/queued")

		b.rerun(a.ID)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		if n := len(b.of("b", first)); n != 1 {
			t.Errorf("a rerun of its upstream made another: %d", n)
		}
	})
}

// What waits for a job that its failed upstreams will never start is cancelled because of these.
func TestAStartThatNeverComesCancels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"), noop("b", "trigger: upstream", "deps: [{name: a}]"), noop("c", "trigger: upstream", "deps: [{name: b}]"), noop("clock", "deps: [{name: c}]"))
		first, _ := month()
		clock, a := b.on("clock", first), b.on("a", first)
		b.sweep()
		b.want(clock.ID, "running/waiting_deps")
		b.end(a.ID, domain.OutcomeError)
		b.sweep()
		if in := b.want(clock.ID, "cancelled/upstream_failed"); in.CancelledBy.InstanceID != a.ID {
			t.Errorf("cancelled by %v", in.CancelledBy)
		}
		b.rerun(a.ID)
		b.end(a.ID, domain.OutcomeSuccess)
		b.sweep()
		b.sweep()
		b.want(clock.ID, "running/waiting_deps")
		b.only("b", first)
	})
}

// nextMilli waits until the clock, which rows keep by the millisecond, reads another one.
func nextMilli() {
	for at := time.Now().UnixMilli(); time.Now().UnixMilli() <= at; {
		runtime.Gosched()
	}
}

// A job that is put into force, or resumed, is not started by ends of before.
func TestUpstreamStartsNothingOfThePast(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.put(noop("a"))
		first, _ := month()
		a := b.on("a", first)
		b.end(a.ID, domain.OutcomeSuccess)
		nextMilli() // later than the end
		applied := b.put(noop("b", "trigger: upstream", "deps: [{name: a}]"))
		b.sweep()
		if n := len(b.of("b", first)); n != 0 {
			t.Fatalf("an end of before it was there started it %d times", n)
		}
		_, err := b.jobs.SetEnabled(b.ctx, applied[0].Job.ID, false, "")
		b.must(err)
		other := b.on("a", first.AddDays(1))
		b.end(other.ID, domain.OutcomeSuccess)
		b.sweep()
		nextMilli()
		_, err = b.jobs.SetEnabled(b.ctx, applied[0].Job.ID, true, "")
		b.must(err)
		b.sweep()
		if n := len(b.of("b", first.AddDays(1))); n != 0 {
			t.Fatalf("resuming it fired the past %d times", n)
		}
	})
}

// What had to be started when its process died is started by the sweeper, though the job was
// edited, or paused and resumed, in between; what ended in the pause, or before the job depended
// on it, is not.
func TestAnEditLosesNoStart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		applied := b.put(noop("a"), noop("late"), noop("b", "trigger: upstream", "deps: [{name: a}]"))
		down := applied[2].Job.ID
		first, _ := month()
		ended := func(name string, days int) {
			t.Helper()
			nextMilli()
			b.end(b.on(name, first.AddDays(days)).ID, domain.OutcomeSuccess)
			nextMilli()
		}
		enable := func(enabled bool) {
			t.Helper()
			_, err := b.jobs.SetEnabled(b.ctx, down, enabled, "")
			b.must(err)
		}
		ended("late", 0)
		ended("a", 1)
		b.put(noop("b", "title: edited", "trigger: upstream", "deps: [{name: a}, {name: late}]"))
		ended("a", 2)
		enable(false)
		ended("a", 3)
		enable(true)
		ended("late", 4)
		enable(false)
		enable(true)
		b.put(noop("b", "trigger: upstream", "deps: [{name: a}]")) // late starts it no more
		ended("late", 5)
		b.sweep()
		for days, want := range []int{0, 1, 1, 0, 0, 0} {
			if n := len(b.of("b", first.AddDays(days))); n != want {
				t.Errorf("date %d: %d instances, want %d", days, n, want)
			}
		}
		b.put(noop("b", "cron: '0 2 * * *'"))
		var left int
		b.must(b.db.Scan(b.ctx, &left, "SELECT COUNT(*) FROM start_span WHERE to_at = 0"))
		if left != 0 {
			t.Errorf("%d edges start a job of a schedule", left)
		}
	})
}

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
