package center

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// past is a bench with the pump of backfills, which a test turns by hand.
type past struct {
	*bench
	pump *backfill.Pump
}

func eachPast(t *testing.T, fn func(t *testing.T, p *past)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		fn(t, &past{b, backfill.NewPump(b.backfills)})
	})
}

// files saves job files.
func (p *past) files(texts ...string) {
	p.t.Helper()
	var files []job.File
	for i, text := range texts {
		files = append(files, job.File{Name: fmt.Sprintf("%d.yaml", i), Text: "version: v1\njob:\n" + text})
	}
	_, problems, err := p.jobs.Apply(p.ctx, files, false, func(context.Context, domain.ID) error { return nil })
	p.must(err)
	if len(problems.Errors()) > 0 {
		p.t.Fatal(problems)
	}
}

func (p *past) job(name string) domain.Job {
	p.t.Helper()
	j, err := p.jobs.Find(p.ctx, name)
	p.must(err)
	return j
}

func (p *past) ask(name, from, to string, edit ...func(*plan.Request)) plan.Request {
	p.t.Helper()
	first, err := domain.ParseBizDate(from)
	p.must(err)
	last, err := domain.ParseBizDate(to)
	p.must(err)
	r := plan.Request{Job: p.job(name).ID, From: first, To: last, Seen: domain.ProjectSet{All: true}}
	for _, e := range edit {
		e(&r)
	}
	return r
}

func (p *past) preview(r plan.Request) plan.Plan {
	p.t.Helper()
	got, err := p.backfills.Preview(p.ctx, r)
	p.must(err)
	return got
}

func (p *past) start(r plan.Request) plan.Backfill {
	p.t.Helper()
	got, err := p.backfills.Start(p.ctx, r, p.preview(r).Hash, func(plan.Plan) error { return nil })
	p.must(err)
	return got
}

// turn lets the pump look once, and the dependencies after it.
func (p *past) turn() {
	p.t.Helper()
	p.must(p.pump.Round(p.ctx))
	p.sweep()
}

func (p *past) backfill(id domain.ID) plan.Backfill {
	p.t.Helper()
	b, err := p.backfills.Store.Get(p.ctx, id)
	p.must(err)
	return b
}

func (p *past) items(id domain.ID) []plan.Item {
	p.t.Helper()
	all, err := p.backfills.Store.Items(p.ctx, id, "", 0, 0)
	p.must(err)
	return all
}

// ready are the instances of items that run and are ready for a target.
func (p *past) ready(id domain.ID) []domain.Instance {
	p.t.Helper()
	var out []domain.Instance
	for _, it := range p.items(id) {
		if it.State == plan.ItemRunning {
			if in := p.get(it.Instance); in.Label == domain.Queued {
				out = append(out, in)
			}
		}
	}
	return out
}

// run works a backfill off, ending each instance as the test says (nil: success); it
// returns "job date" of each in the order in which they ran.
func (p *past) run(id domain.ID, outcome func(domain.Instance) domain.Outcome) []string {
	p.t.Helper()
	var ran []string
	for range 10_000 {
		p.turn()
		ins := p.ready(id)
		if len(ins) == 0 { // what the sweep ended is seen by the next look
			p.turn()
			if ins = p.ready(id); len(ins) == 0 {
				return ran
			}
		}
		for _, in := range ins {
			with := domain.OutcomeSuccess
			if outcome != nil {
				with = outcome(in)
			}
			ran = append(ran, in.JobName+" "+in.BizDate.String())
			p.end(in.ID, with)
		}
	}
	p.t.Fatal("it never ends")
	return nil
}

func (p *past) counts(id domain.ID, want plan.Counts, state plan.State) {
	p.t.Helper()
	b := p.backfill(id)
	if b.Counts != want || b.State != state {
		p.t.Fatalf("it is %s %+v (%s %s), want %s %+v", b.State, b.Counts, b.Pause, b.PauseBy, state, want)
	}
	var got plan.Counts
	for _, it := range p.items(id) {
		got.Add(it.State)
	}
	if got != want {
		p.t.Fatalf("the items stand %+v, the backfill says %+v", got, want)
	}
}

const (
	daily  = "  name: daily\n  cron: \"0 2 * * *\"\n  exec: {type: noop}\n"
	hourly = "  name: hourly\n  cron: \"0 * * * *\"\n  exec: {type: noop}\n"
)

func all(r *plan.Request)    { r.Wanted = plan.All }
func failed(r *plan.Request) { r.Wanted = plan.Failed }

func downstream(r *plan.Request) { r.Reach = plan.Downstream }
func goesOn(r *plan.Request)     { r.GoesOn = true }
func degree(n int) func(*plan.Request) {
	return func(r *plan.Request) { r.Degree = n }
}

// G-E1: both ends count. J-E3: one after the other, in order.
func TestBackfillOfARange(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		v := p.preview(p.ask("daily", "2026-03-01", "2026-03-03"))
		if v.Make != 3 || v.Works() != 3 || v.Dates != 3 || v.Items[0].Why != plan.Present || v.Items[0].Expected.IsZero() {
			t.Fatalf("%+v", v)
		}
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-07"))
		for n := range 7 {
			p.turn()
			ins := p.ready(b.ID)
			if len(ins) != 1 || ins[0].BizDate.String() != fmt.Sprintf("2026-03-0%d", n+1) || ins[0].Trigger != domain.TriggerBackfill {
				t.Fatalf("at turn %d there are %v", n, ins)
			}
			p.turn()
			p.counts(b.ID, plan.Counts{Waiting: 6 - n, Running: 1, Success: n}, plan.Running)
			p.end(ins[0].ID, domain.OutcomeSuccess)
		}
		p.turn()
		p.counts(b.ID, plan.Counts{Success: 7}, plan.Done)
		// The fire key is that of the schedule: a second backfill finds nothing to do.
		if again := p.preview(p.ask("daily", "2026-03-01", "2026-03-07")); again.Works() != 0 || again.Leave != 7 || again.Items[0].Why != plan.Succeeded {
			t.Errorf("%+v", again)
		}
		_, err := p.backfills.Start(p.ctx, p.ask("daily", "2026-03-01", "2026-03-07"), p.preview(p.ask("daily", "2026-03-01", "2026-03-07")).Hash, func(plan.Plan) error { return nil })
		if !domain.Is(err, domain.Invalid) {
			t.Errorf("nothing to do was started: %v", err)
		}
	})
}

// J-E1: the last hour too. J-E4: 60 dates, degree 8, 60 distinct dates.
func TestBackfillMissesNothing(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, hourly)
		v := p.preview(p.ask("hourly", "2026-05-01", "2026-05-01"))
		if v.Make != 24 || v.Dates != 1 {
			t.Fatalf("%+v", v)
		}
		var four []time.Time
		for _, it := range v.Items[:4] {
			four = append(four, it.Expected)
		}
		v = p.preview(p.ask("hourly", "2026-05-01", "2026-05-01", func(r *plan.Request) { r.Fires = four }))
		if v.Make != 4 || v.Items[3].Expected.Hour()-v.Items[0].Expected.Hour() != 3 {
			t.Fatalf("%+v", v)
		}
		b := p.start(p.ask("daily", "2026-01-01", "2026-03-01", degree(8)))
		p.turn()
		if n := len(p.ready(b.ID)); n != 8 {
			t.Errorf("%d are under way, the degree is 8", n)
		}
		ran := p.run(b.ID, nil)
		p.counts(b.ID, plan.Counts{Success: 60}, plan.Done)
		if !slices.IsSorted(ran) || len(slices.Compact(ran)) != 60 {
			t.Errorf("%d ran: %v", len(ran), ran)
		}
	})
}

// G-E3 and J-E8: what succeeded is left alone, a rerun of one date is that date alone.
func TestOnlyWhatIsMissing(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		b := p.start(p.ask("daily", "2026-03-02", "2026-03-02"))
		p.run(b.ID, nil)
		v := p.preview(p.ask("daily", "2026-03-01", "2026-03-03"))
		if v.Make != 2 || v.Leave != 1 || v.Items[1].Act != plan.Leave {
			t.Fatalf("%+v", v.Items)
		}
		b = p.start(p.ask("daily", "2026-03-01", "2026-03-03"))
		if ran := p.run(b.ID, nil); !slices.Equal(ran, []string{"daily 2026-03-01", "daily 2026-03-03"}) {
			t.Fatal(ran)
		}
		p.counts(b.ID, plan.Counts{Success: 2, Left: 1}, plan.Done)
		again := p.start(p.ask("daily", "2026-03-03", "2026-03-03", all))
		if ran := p.run(again.ID, nil); !slices.Equal(ran, []string{"daily 2026-03-03"}) {
			t.Fatal(ran)
		}
		in := p.get(p.items(again.ID)[0].Instance)
		if in.RunNo != 2 || in.Trigger != domain.TriggerBackfill {
			t.Errorf("the rerun of a success is %+v", in)
		}
	})
}

// J-E10: of a date's jobs only what failed runs again, and what was cancelled because of it.
// G-D14: it is listed.
func TestRerunOfWhatFailed(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.apply([]string{"root"}, []string{"good", "root"}, []string{"bad", "root"}, []string{"end", "good", "bad"})
		day := "2026-03-08"
		b := p.start(p.ask("root", day, day, downstream, goesOn))
		v := p.items(b.ID)
		if len(v) != 4 || v[0].JobName != "root" || v[3].JobName != "end" || v[0].Step != 1 || v[3].Step != 1 {
			t.Fatalf("%+v", v)
		}
		ran := p.run(b.ID, func(in domain.Instance) domain.Outcome {
			if in.JobName == "bad" {
				return domain.OutcomeError
			}
			return domain.OutcomeSuccess
		})
		if len(ran) != 3 {
			t.Fatal(ran)
		}
		p.counts(b.ID, plan.Counts{Success: 2, Failed: 2}, plan.Done)
		one := p.preview(p.ask("bad", day, day))
		if one.Again != 1 || len(one.Effects) != 1 || one.Effects[0].Kind != plan.BringsBack || one.Effects[0].JobName != "end" {
			t.Errorf("the rerun of the cause alone: %+v", one)
		}
		again := p.preview(p.ask("root", day, day, downstream, failed))
		if again.Again != 2 || again.Leave != 2 || again.Make != 0 || len(again.Effects) != 0 {
			t.Fatalf("%+v", again)
		}
		b = p.start(p.ask("root", day, day, downstream, failed))
		if ran := p.run(b.ID, nil); !slices.Equal(ran, []string{"bad " + day, "end " + day}) {
			t.Fatal(ran)
		}
		p.counts(b.ID, plan.Counts{Success: 2, Left: 2}, plan.Done)
	})
}

// A job that its upstream starts has one instance of a date, whoever comes first: the list or the end of the upstream.
func TestBackfillOfWhatUpstreamStarts(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, "  name: after\n  trigger: upstream\n  exec: {type: noop}\n  deps:\n    - name: daily\n")
		v := p.preview(p.ask("daily", "2026-03-01", "2026-03-02", downstream))
		if v.Make != 4 || v.Items[1].FireKey != domain.UpstreamFireKey(v.Items[1].BizDate) {
			t.Fatalf("%+v", v.Items)
		}
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-02", downstream))
		if ran := p.run(b.ID, nil); !slices.Equal(ran, []string{"daily 2026-03-01", "after 2026-03-01", "daily 2026-03-02", "after 2026-03-02"}) {
			t.Error(ran)
		}
		p.counts(b.ID, plan.Counts{Success: 4}, plan.Done)
		p.sweep()
		var n int
		p.must(p.db.Scan(p.ctx, &n, "SELECT COUNT(*) FROM instance"))
		if n != 4 {
			t.Errorf("there are %d instances", n)
		}
	})
}

// A job that depends on other dates of its upstream waits for these, also when they are in the same list; the newest can't
// come first.
func TestBackfillOverDates(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, "  name: next\n  cron: \"0 3 * * *\"\n  exec: {type: noop}\n  deps:\n    - name: daily\n      biz_date: current-1d\n")
		_, err := p.backfills.Preview(p.ctx, p.ask("daily", "2026-03-01", "2026-03-03", downstream, func(r *plan.Request) { r.NewestFirst = true }))
		if !domain.Is(err, domain.Invalid) {
			t.Errorf("the newest first: %v", err)
		}
		p.files("  name: series\n  cron: \"0 3 * * *\"\n  exec: {type: noop}\n  deps: [{name: self, biz_date: current-1d, first_date: 2026-03-01}]\n")
		if _, err = p.backfills.Preview(p.ctx, p.ask("series", "2026-03-01", "2026-03-03", func(r *plan.Request) { r.NewestFirst = true })); !domain.Is(err, domain.Invalid) {
			t.Errorf("the newest first of one that waits for itself: %v", err)
		}
		p.run(p.start(p.ask("daily", "2026-02-28", "2026-02-28")).ID, nil)
		v := p.preview(p.ask("daily", "2026-03-01", "2026-03-03", downstream, degree(3)))
		if !slices.ContainsFunc(v.Warnings, func(w plan.Warning) bool { return w.Kind == plan.WarnOtherDates && w.Job == "next" }) {
			t.Errorf("%+v", v.Warnings)
		}
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-03", downstream, degree(3)))
		ran := p.run(b.ID, nil)
		for _, pair := range [][2]string{{"daily 2026-03-01", "next 2026-03-02"}, {"daily 2026-03-02", "next 2026-03-03"}} {
			if slices.Index(ran, pair[0]) > slices.Index(ran, pair[1]) {
				t.Errorf("%s ran before %s: %v", pair[1], pair[0], ran)
			}
		}
		p.counts(b.ID, plan.Counts{Success: 6}, plan.Done)
	})
}

// J-E14: a rerun over three levels runs what the preview shows, in order, each once.
func TestForcedRerunOfADate(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.apply([]string{"a"}, []string{"b", "a"}, []string{"c", "b"}, []string{"beside", "b"})
		day := "2026-03-08"
		p.run(p.start(p.ask("a", day, day, downstream)).ID, nil)
		if v := p.preview(p.ask("b", day, day, all)); v.Forced != 1 || len(v.Effects) != 2 || v.Effects[0].Kind != plan.MakesStale {
			t.Errorf("what gets stale: %+v", v.Effects)
		}
		r := p.ask("a", day, day, downstream, all)
		v := p.preview(r)
		if v.Again != 4 || v.Forced != 4 || r.Action() != domain.ActInstanceRerunDone {
			t.Fatalf("%+v", v)
		}
		b := p.start(r)
		ran := p.run(b.ID, nil)
		if len(ran) != v.Works() || ran[0] != "a "+day || ran[1] != "b "+day {
			t.Fatal(ran)
		}
		for _, it := range p.items(b.ID) {
			if in := p.get(it.Instance); in.RunNo != 2 || in.State != domain.Success {
				t.Errorf("%s stands in run %d as %s", it.JobName, in.RunNo, in.Status)
			}
		}
	})
}
