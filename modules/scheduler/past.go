package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
)

// Past lists a job's fires about business dates, in order: what was in force then, and for
// moments at which nothing was, what the definition in force now would have planned.
// More than the limit are refused as TooLarge.
func (p *Plans) Past(ctx context.Context, job domain.Job, q domain.PastQuery) ([]domain.PastFire, error) {
	if len(q.Dates) == 0 {
		return nil, nil
	}
	spans, err := p.spans(ctx, job.ID, time.Time{})
	if err != nil {
		return nil, err
	}
	present, err := p.present(ctx, job.ID, q.Dates[0].AddDays(-2).Start(time.UTC))
	if err != nil {
		return nil, err
	}
	var out []domain.PastFire
	for _, date := range q.Dates {
		of, err := pastOn(spans, present, date)
		if err != nil {
			return nil, err
		}
		of = slices.DeleteFunc(of, func(f domain.PastFire) bool { return !q.Holds(f.At) })
		if len(of) == 0 {
			if of, err = heldOn(spans, present, date); err != nil {
				return nil, err
			}
			of = slices.DeleteFunc(of, func(f domain.PastFire) bool { return !q.Holds(f.At) })
		}
		if out = append(out, of...); len(out) > q.Limit {
			return nil, domain.Fail(domain.TooLarge, "job %s has more than %d fires on these business dates", job.Spec.Key(), q.Limit).WithHint("take fewer dates")
		}
	}
	return out, nil
}

// pastOn is the fires about one date, in order.
func pastOn(spans, present []plan.Span, date domain.BizDate) ([]domain.PastFire, error) {
	planned, err := plan.On(spans, date)
	if err != nil {
		return nil, err
	}
	now, err := plan.On(present, date)
	if err != nil {
		return nil, err
	}
	var out []domain.PastFire
	for len(planned) > 0 || len(now) > 0 {
		if len(now) == 0 || len(planned) > 0 && !now[0].Expected.Before(planned[0].Expected) {
			out = append(out, domain.PastFire{At: planned[0].Expected, BizDate: date})
			planned = planned[1:]
			continue
		}
		if !inForce(spans, now[0].Expected) {
			out = append(out, domain.PastFire{At: now[0].Expected, BizDate: date, Present: true})
		}
		now = now[1:]
	}
	return out, nil
}

// heldOn is the first fire about a date that a calendar let not happen on its day, if there is one.
func heldOn(spans, present []plan.Span, date domain.BizDate) ([]domain.PastFire, error) {
	held, err := plan.HeldOn(spans, date)
	if err != nil {
		return nil, err
	}
	now, err := plan.HeldOn(present, date)
	if err != nil {
		return nil, err
	}
	now = slices.DeleteFunc(now, func(f plan.Fire) bool { return inForce(spans, f.Expected) })
	held = append(held, now...)
	if len(held) == 0 {
		return nil, nil
	}
	out := domain.PastFire{At: held[0].Expected, BizDate: date, Held: domain.HeldMoved}
	if held[0].Refused != "" {
		out.Held = domain.HeldSkipped
	}
	return []domain.PastFire{out}, nil
}

// inForce reports whether a schedule was in force at a moment.
func inForce(spans []plan.Span, at time.Time) bool {
	for _, s := range spans {
		if at.After(s.From) && (s.Open() || !at.After(s.To)) {
			return true
		}
	}
	return false
}

// present is the definition in force now as one span over all time, reaching back to an
// instant; empty when the job has no schedule.
func (p *Plans) present(ctx context.Context, job domain.ID, back time.Time) ([]plan.Span, error) {
	t, ok, err := p.Store.TriggerOf(ctx, job)
	if err != nil || !ok || t.Schedule.Kind == domain.ScheduleNone {
		return nil, err
	}
	span := plan.Span{ProjectID: t.ProjectID, JobID: t.JobID, Version: t.Version, Timing: t.Timing.ReachingBack(back)}
	if g := t.Gate; g.Calendar != 0 {
		if p.Calendars == nil {
			return nil, domain.Fail(domain.Invalid, "there are no calendars here").At("calendar")
		}
		if span.Calendar, err = p.Calendars.Version(ctx, g.Calendar, g.Version); err != nil {
			return nil, err
		}
	}
	return []plan.Span{span}, nil
}

// Asleep tells how long a paused job has been paused, and what its schedule would have
// planned since.
func (p *Plans) Asleep(ctx context.Context, job domain.ID) (domain.Pause, error) {
	t, ok, err := p.Store.TriggerOf(ctx, job)
	if err != nil || !ok || t.Enabled || t.Schedule.Kind == domain.ScheduleNone {
		return domain.Pause{}, err
	}
	spans, err := p.spans(ctx, job, time.Time{})
	if err != nil {
		return domain.Pause{}, err
	}
	var out domain.Pause
	for _, s := range spans {
		if s.To.After(out.Since) {
			out.Since = s.To
		}
	}
	if out.Since.IsZero() {
		return out, nil
	}
	now, err := p.clock(ctx)
	if err != nil {
		return out, err
	}
	present, err := p.present(ctx, job, out.Since)
	if err != nil {
		return out, err
	}
	out.Begin = out.Since.Add(time.Millisecond)
	fires, err := plan.Between(present, out.Begin, now)
	if domain.Is(err, domain.TooLarge) {
		out.Fires, out.More = plan.MaxFires, true
		out.First, out.Last = domain.BizDateOf(out.Since, time.UTC), domain.BizDateOf(now, time.UTC)
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("the schedule of job %s: %w", job, err)
	}
	out.Until, out.Fires = now, len(fires)
	for _, f := range fires {
		within(&out, f.BizDate)
	}
	return out, p.untaken(ctx, job, &out)
}

// within widens the dates of a pause.
func within(p *domain.Pause, date domain.BizDate) {
	if p.First.IsZero() || date.Before(p.First) {
		p.First = date
	}
	if p.Last.Before(date) {
		p.Last = date
	}
}

// untaken adds to a pause what was due before it and had not been taken when it began.
func (p *Plans) untaken(ctx context.Context, job domain.ID, out *domain.Pause) error {
	gaps, err := p.Store.Gaps(ctx, job, out.Since.Add(-plan.MaxAge), out.Begin)
	if err != nil {
		return err
	}
	for _, g := range gaps {
		if g.Reason != plan.ReasonPaused || g.CreatedAt.Before(out.Since.Add(-maxSkew)) { // of this pause, not of one before
			continue
		}
		out.Fires, out.Untaken = out.Fires+g.Fires, out.Untaken+g.Fires
		if g.From.Before(out.Begin) {
			out.Begin = g.From
		}
		within(out, g.BizDate)
	}
	return nil
}

// MissedQuery asks for planned fires that made no instance, a job's business date at a time.
type MissedQuery struct {
	Projects []domain.ID      // nil: all
	Job      domain.ID        // 0: all
	From, To domain.BizDate   // both counted; zero: no bound
	Skipped  bool             // those that policy passed over, instead of those that were missed
	Before   domain.MissedDay // the last of the page before; only From and Gap count
	Limit    int
}

// looksEach is how many gaps are looked at for each row of a page, before a page that is not
// full is given out.
const looksEach = 4

// Missed lists them, the newest first, without those that have instances by now. next is
// where the list goes on; its Gap is 0 at the end.
func (p *Plans) Missed(ctx context.Context, q MissedQuery) (days []domain.MissedDay, next domain.MissedDay, err error) {
	f := store.GapFilter{Projects: q.Projects, Job: q.Job, Kind: plan.Missed, From: q.From, To: q.To, Before: q.Before.From, BeforeID: q.Before.Gap, Limit: q.Limit}
	if q.Skipped {
		f.Kind = plan.Skipped
	}
	for range looksEach {
		gaps, err := p.Store.GapsIn(ctx, f)
		if err != nil {
			return nil, next, err
		}
		for _, g := range gaps {
			d := domain.MissedDay{Gap: g.ID, Project: g.ProjectID, Job: g.JobID, BizDate: g.BizDate, From: g.From, To: g.To, Fires: g.Fires,
				Skipped: q.Skipped, Reason: g.Reason, NotedAt: g.CreatedAt}
			made, err := p.Fired.Planned(ctx, g.JobID, g.From, g.To.Add(time.Millisecond))
			if err != nil {
				return nil, next, err
			}
			f.Before, f.BeforeID = g.From, g.ID
			if d.Open = g.Fires - len(made); d.Open > 0 {
				days = append(days, d)
			}
			if len(days) == q.Limit {
				return days, d, nil
			}
		}
		if len(gaps) < f.Limit {
			return days, domain.MissedDay{}, nil
		}
	}
	return days, domain.MissedDay{Gap: f.BeforeID, From: f.Before}, nil
}
