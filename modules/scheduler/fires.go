package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// FireRow is one planned fire and what became of it.
type FireRow struct {
	Expected time.Time
	BizDate  domain.BizDate
	State    FireState
	Reason   string    // of one skipped or missed
	Instance domain.ID // 0: it made none
	// From is the day that a calendar moved it from; zero: none did.
	From domain.BizDate
}

// FiresQuery asks for a job's planned fires of [From, To), one by one and in order.
type FiresQuery struct {
	Job      domain.ID
	From, To time.Time
	States   []FireState // nil: all
	After    time.Time   // those expected later only; zero: from the beginning
	Limit    int
}

// Fires lists what became of a job's planned fires. More tells whether there are more
// than Limit. More than plan.MaxFires planned ones are refused as TooLarge.
func (p *Plans) Fires(ctx context.Context, q FiresQuery) (rows []FireRow, more bool, err error) {
	if !q.After.IsZero() && !q.After.Before(q.From) {
		q.From = q.After.Add(time.Millisecond)
	}
	now, err := p.clock(ctx)
	if err != nil {
		return nil, false, err
	}
	b, err := p.read(ctx, q.Job, q.From, q.To)
	if err != nil {
		return nil, false, err
	}
	planned, err := plan.Asked(b.spans, q.From, q.To)
	if err != nil {
		return nil, false, err
	}
	made, err := p.Fired.Planned(ctx, q.Job, q.From, q.To)
	if err != nil {
		return nil, false, err
	}
	settle(planned, made, b.gaps, now, func(f FireRow) {
		switch {
		case q.States != nil && !slices.Contains(q.States, f.State):
		case len(rows) == q.Limit:
			more = true
		default:
			rows = append(rows, f)
		}
	})
	return rows, more, nil
}

// settle tells what became of each planned fire, in order. An instance goes before a gap,
// since a missed fire may have been backfilled; a gap before pending. It returns how many
// instances no planned fire asked for.
func settle(planned []plan.Fire, made []domain.FireOutcome, gaps []plan.Gap, now time.Time, tell func(FireRow)) (unplanned int) {
	have := make(map[string]domain.FireOutcome, len(made))
	for _, m := range made {
		have[m.FireKey] = m
	}
	first := 0 // gaps before it end before the fire
	for _, f := range planned {
		m, fired := have[f.Key()]
		delete(have, f.Key())
		for first < len(gaps) && gaps[first].To.Before(f.Expected) {
			first++
		}
		row := FireRow{Expected: f.Expected, BizDate: f.BizDate, Instance: m.Instance, From: f.From}
		switch g, inGap := gapOf(gaps[first:], f.Expected); {
		case fired && m.Status.Label == domain.Skipped:
			row.State, row.Reason = FireSkipped, m.Message
		case fired:
			row.State = FireFired
		case f.Refused != "":
			row.State, row.Reason = FireSkipped, f.Refused
		case inGap:
			row.State, row.Reason = FireState(g.Kind), g.Reason
		case f.Expected.After(now.Add(-plan.Late)):
			row.State = FirePending
		default:
			row.State = FireAbsent
		}
		tell(row)
	}
	return len(have)
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
