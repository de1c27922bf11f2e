package center

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
)

func date(text string) domain.BizDate {
	d, err := domain.ParseBizDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

// becomes waits until just these are stale; the loop must run.
func (b *bench) becomes(want string, ins ...domain.Instance) {
	b.t.Helper()
	got := b.stale(ins...)
	for deadline := time.Now().Add(20 * time.Second); got != want; got = b.stale(ins...) {
		if time.Now().After(deadline) {
			b.t.Fatalf("stale: %q, want %q", got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stale tells which of the instances are stale, by name.
func (b *bench) stale(ins ...domain.Instance) string {
	b.t.Helper()
	out := ""
	for _, in := range ins {
		marks, err := b.graph.Stale(b.ctx, []domain.ID{in.ID})
		b.must(err)
		if len(marks) > 0 {
			out += in.JobName + " "
		}
	}
	return out
}

// What a backfill under way will still run counts as planned: the first of 24 hourly runs is no
// day, on dates too for which no schedule had planned anything.
func TestADownstreamWaitsForAllThatABackfillLists(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(hourly, "  name: all\n  deps: [{name: hourly, biz_date: day(current)}]\n  exec: {type: noop}\n",
			"  name: latest\n  deps: [{name: hourly, require: latest}]\n  exec: {type: noop}\n",
			"  name: one\n  deps: [{name: hourly, require: any}]\n  exec: {type: noop}\n",
			"  name: started\n  trigger: upstream\n  deps: [{name: hourly}]\n  exec: {type: noop}\n",
			"  name: then\n  deps: [{name: started}]\n  exec: {type: noop}\n")
		day := date("2026-03-04")
		all, latest, one, then := p.on("all", day), p.on("latest", day), p.on("one", day), p.on("then", day)
		p.sweep()
		f := p.start(p.ask("hourly", "2026-03-04", "2026-03-04"))
		p.sweep()
		p.says(all.ID, "0 of 24")
		for n := range 24 {
			p.turn()
			ins := p.ready(f.ID)
			if len(ins) != 1 {
				t.Fatalf("%d run", len(ins))
			}
			p.want(all.ID, "running/waiting_deps")
			p.want(latest.ID, "running/waiting_deps")
			p.want(then.ID, "running/waiting_deps")
			p.end(ins[0].ID, domain.OutcomeSuccess)
			p.sweep()
			p.want(one.ID, "running/queued")
			if n == 11 { // paused it still is what will run
				_, err := p.backfills.Pause(p.ctx, f.ID, "", func(plan.Backfill) error { return nil })
				p.must(err)
				p.turn()
				p.want(all.ID, "running/waiting_deps")
				p.says(all.ID, "12 of 24")
				_, err = p.backfills.Resume(p.ctx, f.ID, "", func(plan.Backfill) error { return nil })
				p.must(err)
			}
			if n > 0 && n < 23 {
				p.want(p.only("started", day).ID, "running/waiting_deps")
			}
		}
		p.turn()
		p.want(all.ID, "running/queued")
		p.want(latest.ID, "running/queued")
		if started := p.want(p.only("started", day).ID, "running/queued"); started.FireKey != domain.UpstreamFireKey(day) {
			t.Error(started.FireKey)
		}
	})
}

// What runs again in a backfill has not ended for those that wait for it.
func TestADownstreamWaitsForWhatABackfillRunsAgain(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(hourly, "  name: all\n  deps: [{name: hourly}]\n  exec: {type: noop}\n")
		first := p.start(p.ask("hourly", "2026-03-04", "2026-03-04", goesOn))
		p.run(first.ID, func(in domain.Instance) domain.Outcome {
			if in.Expected.Hour() > 20 {
				return domain.OutcomeError
			}
			return domain.OutcomeSuccess
		})
		again := p.start(p.ask("hourly", "2026-03-04", "2026-03-04"))
		all := p.on("all", date("2026-03-04"))
		for n := range 3 {
			p.turn()
			p.want(all.ID, "running/waiting_deps")
			p.says(all.ID, fmt.Sprintf("%d of 24", 21+n))
			p.end(p.ready(again.ID)[0].ID, domain.OutcomeSuccess)
		}
		p.turn()
		p.want(all.ID, "running/queued")
	})
}

// What joins a date after its downstream ran makes that stale; not where one, or the last, was
// enough and still is.
func TestWhatABackfillAddsMakesStale(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(hourly, "  name: all\n  deps: [{name: hourly}]\n  exec: {type: noop}\n", "  name: one\n  deps: [{name: hourly, require: any}]\n  exec: {type: noop}\n",
			"  name: latest\n  deps: [{name: hourly, require: latest}]\n  exec: {type: noop}\n")
		day := date("2026-03-04")
		ins := []domain.Instance{p.on("all", day), p.on("one", day), p.on("latest", day)}
		hours := func(from, to int) func(*plan.Request) {
			return func(r *plan.Request) {
				r.Since, r.Until = day.Start(time.UTC).Add(time.Duration(from)*time.Hour), day.Start(time.UTC).Add(time.Duration(to)*time.Hour)
			}
		}
		p.run(p.start(p.ask("hourly", "2026-03-04", "2026-03-04", hours(3, 4))).ID, nil)
		for _, in := range ins {
			p.end(in.ID, domain.OutcomeSuccess)
		}
		run, stop := context.WithCancel(p.ctx)
		defer stop()
		go func() { _ = p.graph.Run(run) }()
		for _, step := range []struct {
			from, to int
			stale    string
		}{{0, 1, "all "}, {8, 8, "all latest "}} {
			nextMilli() // what is added ends later than they began
			p.run(p.start(p.ask("hourly", "2026-03-04", "2026-03-04", hours(step.from, step.to))).ID, nil)
			p.becomes(step.stale, ins...)
		}
	})
}

// A run again waits for those of other dates in the list too, whatever the degree: nothing of it
// runs on the data of before, and nothing is stale after it.
func TestASeriesRunsAgainOneOnTheOther(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files("  name: series\n  cron: \"0 3 * * *\"\n  overlap: allow\n  exec: {type: noop}\n  deps: [{name: self, biz_date: current-1d, first_date: 2026-03-01}]\n")
		p.run(p.start(p.ask("series", "2026-03-01", "2026-03-03")).ID, nil)
		f := p.start(p.ask("series", "2026-03-01", "2026-03-03", all, degree(3)))
		p.turn()
		if ins := p.ready(f.ID); len(ins) != 1 || ins[0].BizDate != date("2026-03-01") {
			t.Fatalf("%v run at once", ins)
		}
		if got, want := fmt.Sprint(p.run(f.ID, nil)), "[series 2026-03-01 series 2026-03-02 series 2026-03-03]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		p.counts(f.ID, plan.Counts{Success: 3}, plan.Done)
		if got := p.stale(p.only("series", date("2026-03-02")), p.only("series", date("2026-03-03"))); got != "" {
			t.Errorf("stale: %s", got)
		}
	})
}

// A list in which an item waits for one whose turn comes later would stand still: it is refused.
func TestAListThatWouldStandStillIsRefused(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, "  name: weekly\n  cron: \"0 3 * * *\"\n  exec: {type: noop}\n  deps: [{name: daily, biz_date: week(current)}]\n",
			"  name: sundays\n  cron: \"0 3 * * 0\"\n  exec: {type: noop}\n  deps: [{name: daily, biz_date: week(current)}]\n")
		ask := func(root string, edit ...func(*plan.Request)) error { // Monday to Sunday
			_, err := p.backfills.Preview(p.ctx, p.ask(root, "2026-03-02", "2026-03-08", append(edit, func(r *plan.Request) { r.Reach = plan.Upstream })...))
			return err
		}
		if err := ask("weekly"); !domain.Is(err, domain.Invalid) || !strings.Contains(err.Error(), "weekly for 2026-03-02 waits for daily of 2026-03-03") {
			t.Errorf("each day waits for the whole week: %v", err)
		}
		if err := ask("weekly", degree(7)); err != nil {
			t.Errorf("all days at once: %v", err)
		}
		if err := ask("sundays"); err != nil {
			t.Errorf("the last day waits for the week: %v", err)
		}
	})
}

// What went on without its upstream is stale once that has succeeded.
func TestWhatRanWithoutItsUpstreamIsStaleOnceThatSucceeds(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.put(noop("up"), noop("down", "deps: [{name: up}]", "on_upstream_failure: run"))
		day := date("2026-03-04")
		up, down := p.on("up", day), p.on("down", day)
		p.end(up.ID, domain.OutcomeError)
		p.sweep()
		p.end(down.ID, domain.OutcomeSuccess)
		p.sweep()
		if got := p.stale(down); got != "" {
			t.Fatalf("stale: %q before its upstream succeeded", got)
		}
		nextMilli()
		p.rerun(up.ID)
		p.end(up.ID, domain.OutcomeSuccess)
		p.sweep()
		if got := p.stale(down); got != "down " {
			t.Fatalf("stale: %q, want down", got)
		}
	})
}
