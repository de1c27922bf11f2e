package center

import (
	"errors"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
)

// What was previewed is what runs: a list that has changed since is refused, with what it is now.
func TestAStartIsOfThePreview(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		r := p.ask("daily", "2026-03-01", "2026-03-03")
		hash := p.preview(r).Hash
		p.run(p.start(p.ask("daily", "2026-03-02", "2026-03-02")).ID, nil)
		_, err := p.backfills.Start(p.ctx, r, hash, func(plan.Plan) error { return nil })
		var changed *backfill.Changed
		if !errors.As(err, &changed) || !domain.Is(err, domain.Conflict) || changed.Plan.Works() != 2 {
			t.Fatalf("%v", err)
		}
		denied := errors.New("no")
		if _, err := p.backfills.Start(p.ctx, r, changed.Plan.Hash, func(plan.Plan) error { return denied }); !errors.Is(err, denied) {
			t.Errorf("%v", err)
		}
		if _, err := p.backfills.Start(p.ctx, r, "", func(plan.Plan) error { return nil }); !domain.Is(err, domain.Invalid) {
			t.Errorf("without a preview: %v", err)
		}
		list, err := p.backfills.Store.Active(p.ctx)
		p.must(err)
		if len(list) != 0 {
			t.Errorf("refused ones are there: %v", list)
		}
	})
}

// A failure pauses; what was put right by hand counts when it is resumed.
func TestBackfillPausesForAFailure(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-04"))
		p.run(b.ID, func(in domain.Instance) domain.Outcome {
			if in.BizDate.String() == "2026-03-02" {
				return domain.OutcomeError
			}
			return domain.OutcomeSuccess
		})
		p.counts(b.ID, plan.Counts{Waiting: 2, Success: 1, Failed: 1}, plan.Paused)
		if got := p.backfill(b.ID); got.Pause != plan.ByFailure || got.PauseBy != "daily 2026-03-02" {
			t.Errorf("%+v", got)
		}
		allow := func(plan.Backfill) error { return nil }
		bad := p.items(b.ID)[1].Instance
		_, err := p.lifecycle.Rerun(p.ctx, bad, "ann", "")
		p.must(err)
		p.end(bad, domain.OutcomeSuccess)
		_, err = p.backfills.Resume(p.ctx, b.ID, "", allow)
		p.must(err)
		p.counts(b.ID, plan.Counts{Waiting: 2, Success: 2}, plan.Running)
		p.turn()
		_, err = p.backfills.Pause(p.ctx, b.ID, "", allow)
		p.must(err)
		p.end(p.ready(b.ID)[0].ID, domain.OutcomeSuccess)
		p.turn()
		p.counts(b.ID, plan.Counts{Waiting: 1, Success: 3}, plan.Paused)
		if _, err := p.backfills.Pause(p.ctx, b.ID, "", allow); !domain.Is(err, domain.Conflict) {
			t.Errorf("paused twice: %v", err)
		}
		_, err = p.backfills.Stop(p.ctx, b.ID, false, "", allow)
		p.must(err)
		p.counts(b.ID, plan.Counts{Dropped: 1, Success: 3}, plan.Stopped)
		if _, err := p.backfills.Resume(p.ctx, b.ID, "", allow); !domain.Is(err, domain.Conflict) {
			t.Errorf("resumed after its stop: %v", err)
		}
	})
}

// A stop lets what runs go on, or ends it.
func TestBackfillIsStopped(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, hourly)
		allow := func(plan.Backfill) error { return nil }
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-06", degree(2)))
		p.turn()
		_, err := p.backfills.Stop(p.ctx, b.ID, false, "", allow)
		p.must(err)
		p.counts(b.ID, plan.Counts{Dropped: 4, Running: 2}, plan.Stopping)
		p.run(b.ID, nil)
		p.counts(b.ID, plan.Counts{Dropped: 4, Success: 2}, plan.Stopped)

		b = p.start(p.ask("hourly", "2026-03-01", "2026-03-01", degree(3)))
		p.turn()
		_, err = p.backfills.Stop(p.ctx, b.ID, true, "", allow)
		p.must(err)
		p.turn()
		p.turn()
		p.counts(b.ID, plan.Counts{Dropped: 21, Killed: 3}, plan.Stopped)
		for _, it := range p.items(b.ID)[:3] {
			p.want(it.Instance, "cancelled/killed")
		}
	})
}

// Where a fire or a person was first, there is one instance and one run.
func TestWhatCameFirstStandsForTheItem(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		p.run(p.start(p.ask("daily", "2026-03-03", "2026-03-03", goesOn)).ID, func(domain.Instance) domain.Outcome { return domain.OutcomeError })
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-03", degree(3)))
		var first, third plan.Item
		for _, it := range p.items(b.ID) {
			switch it.BizDate.String() {
			case "2026-03-01":
				first = it
			case "2026-03-03":
				third = it
			}
		}
		j := p.job("daily")
		made, err := p.lifecycle.Create(p.ctx, []domain.NewInstance{{ProjectID: j.ProjectID, JobID: j.ID, JobName: j.Name, Version: 1, FireKey: first.FireKey,
			Trigger: domain.TriggerCron, BizDate: first.BizDate, Expected: first.Expected}})
		p.must(err)
		_, err = p.lifecycle.Rerun(p.ctx, third.Instance, "ann", "")
		p.must(err)
		if ran := p.run(b.ID, nil); len(ran) != 3 {
			t.Fatal(ran)
		}
		p.counts(b.ID, plan.Counts{Success: 3}, plan.Done)
		if got := p.items(b.ID)[0]; got.Instance != made[0].ID || p.get(made[0].ID).RunNo != 1 {
			t.Errorf("the first is %+v", got)
		}
		if in := p.get(third.Instance); in.RunNo != 2 {
			t.Errorf("the third has %d runs", in.RunNo)
		}
	})
}

// Nothing begins in the hours that are kept free, and nothing of a job that was deleted.
func TestBackfillRespectsHoursAndDeletion(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily, hourly)
		now := p.now().UTC()
		b := p.start(p.ask("daily", "2026-03-01", "2026-03-02", func(r *plan.Request) {
			m := now.Hour()*60 + now.Minute()
			r.Not = plan.Window{From: (m + 1400) % 1440, To: (m + 40) % 1440}
		}))
		p.turn()
		p.counts(b.ID, plan.Counts{Waiting: 2}, plan.Running)
		b = p.start(p.ask("hourly", "2026-03-01", "2026-03-01"))
		p.must(p.jobs.Delete(p.ctx, p.job("hourly").ID))
		p.turn()
		p.counts(b.ID, plan.Counts{Waiting: 24}, plan.Paused)
		if got := p.backfill(b.ID); got.Pause != plan.ByDeletion || !strings.Contains(got.PauseBy, "hourly") {
			t.Errorf("%+v", got)
		}
	})
}

// Too much is refused with a number.
func TestBackfillIsBounded(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(hourly)
		_, err := p.backfills.Preview(p.ctx, p.ask("hourly", "2024-01-01", "2026-01-01"))
		if !domain.Is(err, domain.TooLarge) || !strings.Contains(err.Error(), "10000") {
			t.Errorf("%v", err)
		}
		_, err = p.backfills.Preview(p.ctx, p.ask("hourly", "1990-01-01", "2026-01-01"))
		if !domain.Is(err, domain.TooLarge) {
			t.Errorf("%v", err)
		}
		if v := p.preview(p.ask("hourly", "2099-01-01", "2099-01-01")); v.Works() != 0 || v.Items[0].Why != plan.NotDue {
			t.Errorf("the future: %+v", v)
		}
	})
}

// G-E12: what is over is never looked at again, whatever becomes of its instances.
func TestABackfillThatIsOverStaysOver(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		b := p.start(p.ask("daily", "2026-01-01", "2026-04-10", degree(100)))
		p.run(b.ID, nil)
		p.counts(b.ID, plan.Counts{Success: 100}, plan.Done)
		for _, table := range []string{"instance", "job_day", "attempt"} {
			_, err := p.db.Exec(p.ctx, "DELETE FROM "+table)
			p.must(err)
		}
		p.pump = backfill.NewPump(p.backfills)
		p.turn()
		var n int
		p.must(p.db.Scan(p.ctx, &n, "SELECT COUNT(*) FROM instance"))
		p.counts(b.ID, plan.Counts{Success: 100}, plan.Done)
		if n != 0 {
			t.Errorf("%d instances came back", n)
		}
	})
}
