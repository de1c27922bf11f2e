package scheduler

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// Absences tells why each of the jobs has no instance about a business date, as if none of them had: what was planned then, and
// for a date to come what is in force now. A job whose schedule can't be read, or plans more than plan.MaxFires, is absent.
func (p *Plans) Absences(ctx context.Context, jobs []domain.ID, date domain.BizDate) (map[domain.ID]domain.Absence, error) {
	now, err := p.clock(ctx)
	if err != nil {
		return nil, err
	}
	from, to := date.AddDays(-plan.Reach).Start(time.UTC), date.AddDays(plan.Reach).Start(time.UTC)
	spans, broken, err := readSpans(ctx, p.Store, p.Calendars, jobs, from)
	if err != nil {
		return nil, err
	}
	gaps, err := p.Store.GapsOf(ctx, jobs, from, to)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]domain.Absence, len(jobs))
	for _, job := range jobs {
		if broken[job] != nil {
			continue
		}
		if a, err := absence(books{spans[job], gaps[job]}, date, now); err == nil { // else it is this job's schedule alone
			out[job] = a
		}
	}
	return out, nil
}

// gravest first: of fires that fared otherwise the first of these is told.
var gravest = []struct {
	state FireState
	kind  domain.AbsenceKind
}{{FireMissed, domain.AbsentMissed}, {FireAbsent, domain.AbsentDue}, {FirePending, domain.AbsentPending}, {FireSkipped, domain.AbsentSkipped}}

// absence is what became of the fires about a date of which none made an instance.
func absence(b books, date domain.BizDate, now time.Time) (domain.Absence, error) {
	fires, err := plan.On(b.spans, date)
	if err != nil {
		return domain.Absence{}, err
	}
	if len(fires) == 0 {
		return held(b.spans, date)
	}
	found := map[FireState]domain.Absence{}
	settle(fires, nil, b.gaps, now, func(f FireRow) {
		a := found[f.State]
		if a.Fires++; a.Fires == 1 {
			a.Reason, a.At = f.Reason, f.Expected
		}
		found[f.State] = a
	})
	for _, g := range gravest {
		if a, ok := found[g.state]; ok {
			a.Kind = g.kind
			return a, nil
		}
	}
	return domain.Absence{Kind: domain.AbsentUnplanned}, nil
}

// held is a date on which nothing was planned: maybe because a calendar said no.
func held(spans []plan.Span, date domain.BizDate) (domain.Absence, error) {
	fires, err := plan.HeldOn(spans, date)
	if err != nil {
		return domain.Absence{}, err
	}
	for _, f := range fires {
		if f.Refused != "" {
			return domain.Absence{Kind: domain.AbsentSkipped, Reason: f.Refused, Fires: 1, At: f.Expected}, nil
		}
	}
	return domain.Absence{Kind: domain.AbsentUnplanned}, nil
}
