package scheduler

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Specs reads definitions, also those of old versions and deleted jobs.
type Specs interface {
	Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error)
}

// Calendars keeps calendars of working days.
type Calendars interface {
	// Use notes, in the transaction of ctx, that the job lives by the named calendar of the project
	// and no other ("": by none), and gives the version in force, which stays in force until that
	// transaction ends. Invalid if there is no such calendar.
	Use(ctx context.Context, project, job domain.ID, name string) (*domain.Calendar, error)
	// Version reads one version; a version never changes.
	Version(ctx context.Context, calendar domain.ID, version int) (*domain.Calendar, error)
}

// Maker makes instances.
type Maker interface {
	// Create makes them in the transaction that ctx carries; Exists if a fire key is
	// there already.
	Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error)
}

// Fired reads which fires have an instance.
type Fired interface {
	// Fired tells which of the job's fire keys have an instance, in the transaction that ctx carries.
	Fired(ctx context.Context, job domain.ID, keys []string) (map[string]domain.ID, error)
	// Planned reads what became of the job's fires born of a schedule with an expected time in [from, to).
	Planned(ctx context.Context, job domain.ID, from, to time.Time) ([]domain.FireOutcome, error)
}

// FastPath spares the database a look by all nodes at once. It decides nothing: a
// fire is taken in the database or not at all, whatever is said here.
type FastPath interface {
	// Win sets those keys that nobody has set, for KeyTTL, and tells which it set.
	Win(ctx context.Context, keys []string) (won []bool, err error)
	// GiveBack removes keys that were won and not used.
	GiveBack(ctx context.Context, keys []string)
}

// KeyTTL is how long a won key stands, and with it how late a fire is whose taker died.
const KeyTTL = time.Second

// Nudger tells all schedulers, this process' too, that rows were committed. It must
// not block; whoever misses it looks again within a few seconds.
type Nudger interface {
	Nudge(n protocol.Nudge)
}
