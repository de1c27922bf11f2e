package center

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// planner tells the dag what schedules planned.
type planner struct{ p *scheduler.Plans }

// Planned expands the schedules of jobs over business dates.
func (p planner) Planned(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID]domain.Plan, error) {
	fires, tooMany, err := p.p.PlannedOver(ctx, jobs, from, to)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]domain.Plan, len(jobs))
	for _, job := range jobs {
		one := domain.Plan{TooMany: tooMany[job]}
		if !one.TooMany {
			for _, f := range fires[job] {
				one.Fires = append(one.Fires, domain.PlannedFire{At: f.Expected, BizDate: f.BizDate})
			}
		}
		out[job] = one
	}
	return out, nil
}

// Gaps reads what was settled without an instance: skipped by policy, or missed.
func (p planner) Gaps(ctx context.Context, jobs []domain.ID, from, to time.Time) (map[domain.ID][]domain.FireGap, error) {
	found, err := p.p.GapsOf(ctx, jobs, from, to)
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID][]domain.FireGap, len(found))
	for job, gaps := range found {
		for _, g := range gaps {
			out[job] = append(out[job], domain.FireGap{From: g.From, To: g.To, Skipped: g.Kind == plan.Skipped})
		}
	}
	return out, nil
}
