package dag

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Instances reads instances and locks them by primary key in order.
type Instances interface {
	Lock(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	OfDates(ctx context.Context, job domain.ID, dates []domain.BizDate) ([]domain.Instance, error)
	Restorable(ctx context.Context, since domain.ID, limit int) ([]domain.Instance, error)
}

// Lifecycle moves instances; each joins the transaction of ctx.
type Lifecycle interface {
	Met(ctx context.Context, met map[domain.ID]int) error
	Unmet(ctx context.Context, unmet map[domain.ID]int) error
	CancelUpstream(ctx context.Context, causes map[domain.ID]domain.Cause) ([]domain.Instance, error)
	Restore(ctx context.Context, cause domain.Instance) error
}

// Jobs knows definitions.
type Jobs interface {
	Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error)
	// Resolve finds jobs by name; those that are not there are absent.
	Resolve(ctx context.Context, keys []domain.JobKey) (map[domain.JobKey]domain.ID, error)
}

// Planner knows what schedules planned.
type Planner interface {
	PlanOf(ctx context.Context, job domain.ID, date domain.BizDate) (domain.Plan, error)
}
