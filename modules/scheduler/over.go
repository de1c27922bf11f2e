package scheduler

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// PlannedOver lists the planned fires of jobs about the dates from the first to the last, in
// order. Jobs of which more than plan.MaxFires are planned are in tooMany instead.
func (p *Plans) PlannedOver(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (fires map[domain.ID][]plan.Fire, tooMany map[domain.ID]bool, err error) {
	spans, broken, err := readSpans(ctx, p.Store, p.Calendars, jobs, from.AddDays(-plan.Reach).Start(time.UTC))
	if err != nil {
		return nil, nil, err
	}
	fires, tooMany = make(map[domain.ID][]plan.Fire, len(jobs)), map[domain.ID]bool{}
	for _, job := range jobs {
		if broken[job] != nil {
			return nil, nil, broken[job]
		}
		for date := from; !to.Before(date) && !tooMany[job]; date = date.AddDays(1) {
			found, err := plan.On(spans[job], date)
			switch {
			case domain.Is(err, domain.TooLarge), len(fires[job])+len(found) > plan.MaxFires:
				tooMany[job] = true
			case err != nil:
				return nil, nil, err
			}
			fires[job] = append(fires[job], found...)
		}
	}
	return fires, tooMany, nil
}

// GapsOf lists the planned fires of jobs that made no instance, as ranges that touch [from, to).
func (p *Plans) GapsOf(ctx context.Context, jobs []domain.ID, from, to time.Time) (map[domain.ID][]plan.Gap, error) {
	return p.Store.GapsOf(ctx, jobs, from, to)
}
