package dag

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Instances reads instances and locks them by primary key in order.
type Instances interface {
	Lock(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// Outcomes reads all instances of jobs about the dates from the first to the last, by job
	// and in order of ids.
	Outcomes(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID][]domain.DepOutcome, error)
	Restorable(ctx context.Context, since domain.ID, limit int) ([]domain.Instance, error)
	// FiredOf tells which of the jobs have an instance with which of the fire keys.
	FiredOf(ctx context.Context, jobs []domain.ID, keys []string) (map[domain.ID][]string, error)
	// RecentDays reads the dates of jobs whose latest instance was made since the id.
	RecentDays(ctx context.Context, jobs []domain.ID, since domain.ID, limit int) ([]domain.JobDay, error)
	// Reran reads instances that succeeded in a run that is not their first, by the ids of these
	// runs strictly after the one given.
	Reran(ctx context.Context, after domain.ID, limit int) ([]domain.Instance, error)
}

// Lifecycle moves instances; each joins the transaction of ctx.
type Lifecycle interface {
	Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error)
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
	// Starts reads the edges of the definitions in force over which an upstream starts a job,
	// in order of Down and Up. The slice may be shared: it must not be changed.
	Starts(ctx context.Context) ([]domain.StartEdge, error)
	// StartSpans reads when ends started these jobs, by the edge.
	StartSpans(ctx context.Context, downs []domain.ID) (map[domain.StartEdge][]domain.StartSpan, error)
	// InForce reads those of the jobs that are there and enabled.
	InForce(ctx context.Context, jobs []domain.ID) ([]domain.Job, error)
}

// Planner knows what schedules planned.
type Planner interface {
	// Planned expands the schedules of jobs over the dates from the first to the last.
	Planned(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID]domain.Plan, error)
	// Gaps reads the planned fires of jobs that made no instance and touch [from, to).
	Gaps(ctx context.Context, jobs []domain.ID, from, to time.Time) (map[domain.ID][]domain.FireGap, error)
}

// Backfills knows what backfills under way will still run.
type Backfills interface {
	// Listed reads the fires of jobs about the dates from the first to the last whose turn in a
	// backfill, running or paused, has not come.
	Listed(ctx context.Context, jobs []domain.ID, from, to domain.BizDate) (map[domain.ID][]domain.ListedFire, error)
}

// Calendars knows the calendars of projects.
type Calendars interface {
	// CalendarOf reads the one that a definition names, as it now stands; nil where it names none:
	// Monday to Friday are worked.
	CalendarOf(ctx context.Context, spec domain.JobSpec) (*domain.Calendar, error)
}
