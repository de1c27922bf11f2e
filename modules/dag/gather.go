package dag

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// maxChain is how many jobs that start one another are followed upwards.
const maxChain = 64

// span is the dates of a question.
type span struct{ from, to domain.BizDate }

// gather reads the facts of all questions, in few statements for each span of dates.
func (g *Graph) gather(ctx context.Context, asked map[question]bool, chain int) (map[question]facts, error) {
	bySpan := map[span][]domain.ID{}
	for q := range asked {
		s := span{q.from, q.to}
		bySpan[s] = append(bySpan[s], q.job)
	}
	out := make(map[question]facts, len(asked))
	for s, jobs := range bySpan {
		// Before the instances: what leaves the list in between is seen as one of these.
		listed, err := g.Backfills.Listed(ctx, jobs, s.from, s.to)
		if err != nil {
			return nil, err
		}
		outcomes, err := g.Instances.Outcomes(ctx, jobs, s.from, s.to)
		if err != nil {
			return nil, err
		}
		plans, err := g.Planner.Planned(ctx, jobs, s.from, s.to)
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			out[question{job, s.from, s.to}] = facts{from: s.from, to: s.to, plan: plans[job], listed: listed[job], outcomes: again(outcomes[job], listed[job])}
		}
	}
	if err := g.gaps(ctx, out); err != nil {
		return nil, err
	}
	return out, g.starts(ctx, out, chain)
}

// again marks those that a backfill will run once more.
func again(outcomes []domain.DepOutcome, listed []domain.ListedFire) []domain.DepOutcome {
	byInstance := map[domain.ID]domain.ListedFire{}
	for _, l := range listed {
		if l.Instance != 0 {
			byInstance[l.Instance] = l
		}
	}
	for i, o := range outcomes {
		if l, ok := byInstance[o.ID]; ok {
			outcomes[i].Again = l.Reopens(o)
		}
	}
	return outcomes
}

// gaps reads why planned fires of the past have no instance, where there are such.
func (g *Graph) gaps(ctx context.Context, all map[question]facts) error {
	now := g.Now()
	type window struct{ from, to time.Time }
	open := map[window][]domain.ID{}
	of := map[question]window{}
	for q, f := range all {
		first, last, ok := f.absent(now)
		if !ok {
			continue
		}
		w := window{first, last.Add(time.Millisecond)}
		open[w], of[q] = append(open[w], q.job), w
	}
	found := map[window]map[domain.ID][]domain.FireGap{}
	for w, jobs := range open {
		gaps, err := g.Planner.Gaps(ctx, jobs, w.from, w.to)
		if err != nil {
			return err
		}
		found[w] = gaps
	}
	for q, w := range of {
		f := all[q]
		f.gaps = found[w][q.job]
		all[q] = f
	}
	return nil
}

// absent are the first and the last planned fire up to now that have no instance.
func (f facts) absent(now time.Time) (first, last time.Time, ok bool) {
	there := make(map[string]bool, len(f.outcomes))
	for _, o := range f.outcomes {
		there[o.FireKey] = true
	}
	for _, p := range f.plan.Fires {
		if p.At.After(now) {
			break
		}
		if there[domain.ScheduleFireKey(p.At)] {
			continue
		}
		if !ok {
			first = p.At
		}
		last, ok = p.At, true
	}
	return first, last, ok
}

// starts adds to jobs that their upstreams start what is to start them, date by date: a fire
// is planned where one of these upstreams has one planned, and it will never come once all
// of them have ended otherwise.
func (g *Graph) starts(ctx context.Context, all map[question]facts, chain int) error {
	edges, err := g.Jobs.Starts(ctx)
	if err != nil || len(edges) == 0 || chain == 0 {
		return err
	}
	ups := map[domain.ID][]domain.StartEdge{}
	for _, e := range edges {
		ups[e.Down] = append(ups[e.Down], e)
	}
	above := map[question]bool{}
	for q, f := range all {
		for _, date := range f.unborn(ups[q.job]) {
			for _, e := range ups[q.job] {
				above[question{e.Up, date, date}] = true
			}
		}
	}
	if len(above) == 0 {
		return nil
	}
	known, err := g.gather(ctx, above, chain-1)
	if err != nil {
		return err
	}
	for q, f := range all {
		for _, date := range f.unborn(ups[q.job]) {
			if f.starts == nil {
				f.starts = map[domain.BizDate]start{}
			}
			f.starts[date] = startOf(ups[q.job], known, date)
		}
		all[q] = f
	}
	return nil
}

// unborn are the dates on which an upstream has not started the job yet.
func (f facts) unborn(ups []domain.StartEdge) []domain.BizDate {
	if len(ups) == 0 {
		return nil
	}
	born := map[domain.BizDate]bool{}
	for _, o := range f.outcomes {
		if o.FireKey == domain.UpstreamFireKey(o.BizDate) {
			born[o.BizDate] = true
		}
	}
	var out []domain.BizDate
	for date := f.from; !f.to.Before(date); date = date.AddDays(1) {
		if !born[date] {
			out = append(out, date)
		}
	}
	return out
}

// startOf is what the upstreams of a job came to on a date.
func startOf(ups []domain.StartEdge, known map[question]facts, date domain.BizDate) start {
	var s start
	var dead domain.DepOutcome
	alive := false
	for _, e := range ups {
		v := decide(known[question{e.Up, date, date}], want{domain.RequireAny, e.Check})
		switch {
		case v.Planned == 0:
			continue
		case v.State == domain.DepFailed:
			dead = v.By
		default:
			alive = true
		}
		s.planned = true
	}
	if !alive {
		s.dead = dead
	}
	return s
}
