package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// shownAbsent is how many absent fires an account lists.
const shownAbsent = 100

// Account balances one job's planned fires of a stretch of time:
// Planned = Fired + Skipped + Missed + Pending + Absent.
type Account struct {
	Job     domain.ID
	Planned int
	Fired   int // have an instance
	Skipped int // policy said no, or the instance was cancelled as skipped
	Missed  int // nobody was alive
	Pending int // not due yet, or for less than a minute and not settled
	Absent  int // due, and neither an instance nor a reason: must be 0
	// Unplanned instances were born of a schedule that was not in force, as backfills
	// from before it are. They do not count in the balance.
	Unplanned   int
	Reasons     []Reason    // of the skipped and missed, the most frequent first
	AbsentFires []time.Time // the first 100
}

// Reason counts fires that made no instance for the same reason.
type Reason struct {
	Kind   plan.GapKind
	Reason string
	Fires  int
}

// Balanced tells whether every planned fire is accounted for.
func (a Account) Balanced() bool { return a.Absent == 0 }

// Ledger is the accounts of several jobs.
type Ledger struct {
	From, To time.Time // [From, To)
	Now      time.Time // the database's clock, as of which pending was judged
	Jobs     []Account
	Balanced bool
}

// Ledger balances the fires of [from, to): of one job, or with job 0 of all jobs of the
// projects that had a schedule in force then (nil = all projects). More than
// plan.MaxFires planned for a job are refused as TooLarge.
func (p *Plans) Ledger(ctx context.Context, projects []domain.ID, job domain.ID, from, to time.Time) (Ledger, error) {
	out := Ledger{From: from, To: to, Balanced: true}
	if !from.Before(to) {
		return out, domain.Fail(domain.Invalid, "the ledger's time ends at %s, before it begins", to.Format(time.RFC3339)).At("to")
	}
	now, err := p.clock(ctx)
	if err != nil {
		return out, err
	}
	out.Now = now
	jobs := []domain.ID{job}
	if job == 0 {
		if jobs, err = p.Store.Jobs(ctx, projects, from, to); err != nil {
			return out, err
		}
	}
	for _, j := range jobs {
		a, err := p.account(ctx, j, from, to, now)
		if err == nil && !a.Balanced() {
			a, err = p.account(ctx, j, from, to, now) // it may have been settled between two of the readings
		}
		if err != nil {
			return out, fmt.Errorf("the ledger of job %s: %w", j, err)
		}
		out.Jobs = append(out.Jobs, a)
		out.Balanced = out.Balanced && a.Balanced()
	}
	return out, nil
}

func (p *Plans) account(ctx context.Context, job domain.ID, from, to, now time.Time) (Account, error) {
	planned, err := p.Planned(ctx, job, from, to)
	if err != nil {
		return Account{}, err
	}
	instances, err := p.Fired.Planned(ctx, job, from, to)
	if err != nil {
		return Account{}, err
	}
	gaps, err := p.Gaps(ctx, job, from, to)
	if err != nil {
		return Account{}, err
	}
	a := balance(planned, instances, gaps, now)
	a.Job = job
	return a, nil
}

// balance says what became of each planned fire. An instance goes before a gap, since
// a missed fire may have been backfilled; a gap before pending.
func balance(planned []plan.Fire, instances []domain.Instance, gaps []plan.Gap, now time.Time) Account {
	a := Account{Planned: len(planned)}
	have := make(map[string]domain.Instance, len(instances))
	for _, in := range instances {
		have[in.FireKey] = in
	}
	reasons := map[Reason]int{}
	first := 0 // gaps before it end before the fire
	for _, f := range planned {
		in, fired := have[f.Key()]
		delete(have, f.Key())
		for first < len(gaps) && gaps[first].To.Before(f.Expected) {
			first++
		}
		switch g, inGap := gapOf(gaps[first:], f.Expected); {
		case fired && in.State == domain.Cancelled && in.Label == domain.Skipped:
			a.Skipped++
			reasons[Reason{Kind: plan.Skipped, Reason: in.Message}]++
		case fired:
			a.Fired++
		case inGap && g.Kind == plan.Skipped:
			a.Skipped++
			reasons[Reason{Kind: g.Kind, Reason: g.Reason}]++
		case inGap:
			a.Missed++
			reasons[Reason{Kind: g.Kind, Reason: g.Reason}]++
		case f.Expected.After(now.Add(-plan.Late)):
			a.Pending++
		default:
			a.Absent++
			if len(a.AbsentFires) < shownAbsent {
				a.AbsentFires = append(a.AbsentFires, f.Expected)
			}
		}
	}
	a.Unplanned = len(have)
	for r, n := range reasons {
		r.Fires = n
		a.Reasons = append(a.Reasons, r)
	}
	slices.SortFunc(a.Reasons, func(x, y Reason) int { return cmp.Or(cmp.Compare(y.Fires, x.Fires), cmp.Compare(x.Reason, y.Reason)) })
	return a
}

// gapOf finds the gap that holds an instant among gaps in order of their beginning.
func gapOf(gaps []plan.Gap, at time.Time) (plan.Gap, bool) {
	for _, g := range gaps {
		if g.From.After(at) {
			break
		}
		if !g.To.Before(at) {
			return g, true
		}
	}
	return plan.Gap{}, false
}
