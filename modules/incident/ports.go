package incident

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// History reads the moves of instances that are not ordinary ones.
type History interface {
	// EventsAfter reads them in the order of their ids.
	EventsAfter(ctx context.Context, after domain.ID, limit int) ([]domain.Event, error)
}

// Instances reads instances as they stand.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// Latest reads the newest instances of a job.
	Latest(ctx context.Context, job domain.ID, limit int) ([]domain.Instance, error)
	// Ready reads what waits for a target in a lane, the longest waiting first.
	Ready(ctx context.Context, lane domain.Lane, limit int) ([]domain.Instance, error)
	// Held reads what was ready by a moment and is held by its job's overlap policy or its pool, the
	// oldest first.
	Held(ctx context.Context, ready time.Time, limit int) ([]domain.Instance, error)
	// WaitingDeps reads instances made before a moment that wait for their dependencies,
	// the oldest first.
	WaitingDeps(ctx context.Context, made time.Time, limit int) ([]domain.Instance, error)
	// Events reads the history of an instance, oldest first.
	Events(ctx context.Context, instance domain.ID) ([]domain.Event, error)
}

// Whys says why an instance stands where it does.
type Whys interface {
	// Why says it as the page of the instance does, in each language, with times in UTC.
	Why(ctx context.Context, in domain.Instance) (map[string]string, error)
}

// Jobs reads definitions.
type Jobs interface {
	Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error)
	// NamesOf reads names, of deleted jobs too.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
	// Deleted tells which of the jobs are there no more.
	Deleted(ctx context.Context, jobs []domain.ID) ([]domain.ID, error)
}

// Workers lists the workers as they were last seen, lost ones too.
type Workers interface {
	List(ctx context.Context) ([]domain.Worker, error)
}

// Triggers reads the schedule.
type Triggers interface {
	// Untaken counts the triggers that were due before an instant and have not moved
	// since, up to most, and gives the time of the one due first.
	Untaken(ctx context.Context, before time.Time, most int) (n int, first time.Time, err error)
}

// Redis tells how each Redis stands.
type Redis interface {
	// Standings must ask nobody: notices of a Redis that is away leave without it.
	Standings() []Standing
}

// Database tells what this process saw of a database in trouble.
type Database interface {
	// Past lists what is over and was not told yet, the oldest first.
	Past() []Trouble
	// Told drops what was told.
	Told(t Trouble)
}

// Calendars knows the calendars of working days.
type Calendars interface {
	// Ending lists those that jobs live by and that soon know the special days no more.
	Ending(ctx context.Context, today domain.BizDate) ([]domain.CalendarEnd, error)
}

// Projects names the projects.
type Projects interface {
	Names(ctx context.Context) (map[domain.ID]string, error)
}

// Clock is how this process' scheduler stands.
type Clock interface {
	// Skew is what to add to this process' clock to get the database's, and whether
	// that keeps it from taking fires.
	Skew() (time.Duration, bool)
	// LockedLong counts due fires that were found locked for too long; it never falls.
	LockedLong() int64
}
