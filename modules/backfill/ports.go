package backfill

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Jobs knows definitions.
type Jobs interface {
	// Job reads a job as it stands, also a deleted one; NotFound if there is none.
	Job(ctx context.Context, id domain.ID) (domain.Job, error)
	// NamesOf reads the names of jobs, deleted ones too; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
	// Edges reads every edge between two jobs of the projects, in the order of the upstreams
	// and in that of the downstreams. The slices must not be changed.
	Edges(ctx context.Context, seen domain.ProjectSet) (byUp, byDown []domain.JobEdge, err error)
}

// Planner knows what schedules planned.
type Planner interface {
	// Past lists the fires about business dates, in order: what was in force then, and where
	// nothing was, what the definition in force now would have planned. More than the limit are
	// refused as TooLarge.
	Past(ctx context.Context, job domain.Job, q domain.PastQuery) ([]domain.PastFire, error)
}

// Instances reads instances.
type Instances interface {
	OfDates(ctx context.Context, job domain.ID, dates []domain.BizDate) ([]domain.Instance, error)
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	Fired(ctx context.Context, job domain.ID, keys []string) (map[string]domain.ID, error)
	CancelledBecauseOf(ctx context.Context, causes []domain.ID) ([]domain.Instance, error)
	LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error)
}

// Lifecycle makes and moves instances; each joins the transaction of ctx.
type Lifecycle interface {
	Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error)
	// Reopen opens new runs of those that stand as they were seen, and returns these.
	Reopen(ctx context.Context, again []domain.Reopening, actor string) ([]domain.Instance, error)
	Kill(ctx context.Context, id domain.ID, actor, reason string) (domain.Instance, error)
}

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

// Values judges what one run of a job is given: all faults, each with its field.
type Values interface {
	Check(ctx context.Context, project domain.ID, spec domain.JobSpec, own map[string]string) []error
}

// Zones tells in which zone a project reads the time of day.
type Zones interface {
	ZoneOf(ctx context.Context, project domain.ID) (*time.Location, error)
}
