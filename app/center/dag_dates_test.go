package center

import (
	"fmt"
	"strings"
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
