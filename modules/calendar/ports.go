package calendar

import (
	"context"

	"github.com/axsched/ax/modules/domain"
)

// Schedules are the fires that live by calendars.
type Schedules interface {
	// CalendarChanged puts a newer version of a calendar into force, in the transaction of ctx.
	CalendarChanged(ctx context.Context, jobs []domain.ID, newest *domain.Calendar) error
	// CalendarMoves tells what that would do to the fires to come; jobs whose fires stay are absent.
	CalendarMoves(ctx context.Context, jobs []domain.ID, newest *domain.Calendar) ([]domain.CalendarMove, error)
}

// Jobs tells the names of jobs; unknown ids are absent.
type Jobs interface {
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
}

// Projects finds projects by name.
type Projects interface {
	ByName(ctx context.Context, name string) (domain.ID, error)
	// Ensure finds a project or makes it, where the caller may.
	Ensure(ctx context.Context, name string) (domain.ID, error)
	Names(ctx context.Context) (map[domain.ID]string, error)
}

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}
