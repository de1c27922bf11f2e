package scheduler

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
)

// Plans answers which fires were, are and will be planned, from the spans of the
// schedules that were in force, and balances them against what became of them. It
// only reads. Safe for concurrent use; the fields must be set.
type Plans struct {
	Store *store.Store
	Fired Fired

	Calendars Calendars // nil: no job lives by one

	now func(ctx context.Context) (time.Time, error) // tests set it; nil = the database's clock
}

// Planned lists the job's planned fires at or after from and before to, in order: what
// was in force, and for the future what is in force now. More than plan.MaxFires are
// refused as TooLarge.
func (p *Plans) Planned(ctx context.Context, job domain.ID, from, to time.Time) ([]plan.Fire, error) {
	spans, err := p.spans(ctx, job, from)
	if err != nil {
		return nil, err
	}
	return plan.Between(spans, from, to)
}

// PlannedOn lists the job's planned fires about a business date, in order.
func (p *Plans) PlannedOn(ctx context.Context, job domain.ID, date domain.BizDate) ([]plan.Fire, error) {
	spans, err := p.spans(ctx, job, date.AddDays(-plan.Reach).Start(time.UTC))
	if err != nil {
		return nil, err
	}
	return plan.On(spans, date)
}

// Gaps lists the job's planned fires that made no instance, as ranges that touch [from, to).
func (p *Plans) Gaps(ctx context.Context, job domain.ID, from, to time.Time) ([]plan.Gap, error) {
	return p.Store.Gaps(ctx, job, from, to)
}

func (p *Plans) spans(ctx context.Context, job domain.ID, since time.Time) ([]plan.Span, error) {
	spans, broken, err := readSpans(ctx, p.Store, p.Calendars, []domain.ID{job}, since)
	if err == nil {
		err = broken[job]
	}
	return spans[job], err
}

func (p *Plans) clock(ctx context.Context) (time.Time, error) {
	if p.now != nil {
		return p.now(ctx)
	}
	return p.Store.Now(ctx)
}
