package job

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Schedules judges time rules. The code that fires answers, so that what a file was told at
// save is what happens. Implementations are safe for concurrent use.
type Schedules interface {
	// Check judges a schedule of any kind but none, in the zone, which Zone has accepted. It
	// gives the dialect understood ("" unless the kind is cron) and at most n fires strictly
	// after from. No fire and no error means valid and never due again. An error says why the
	// expression is refused; one that is Positioned also says where.
	Check(s domain.Schedule, zone *time.Location, from time.Time, n int) (dialect string, next []time.Time, err error)
	// Cautions lists what people may not expect of a schedule that Check has accepted, such as
	// the months it passes over and the next clock changes of the zone that touch it.
	Cautions(s domain.Schedule, zone *time.Location, from time.Time) []domain.Caution
	// Zone gives the IANA zone of that name, from the embedded data only.
	Zone(name string) (*time.Location, error)
	// Coming gives the first n fires of a definition strictly after from, by a version of its calendar
	// (nil: it has none).
	Coming(spec domain.JobSpec, calendar *domain.Calendar, from time.Time, n int) ([]domain.Coming, error)
}

// Positioned is an error about a place in an expression.
type Positioned interface {
	error
	// Offset is the byte in the expression at which the fault begins, from 0.
	Offset() int
}

// Sayable is an error that can be said in the words of a catalog. Its Error is English.
type Sayable interface {
	error
	Say(say func(key string, args map[string]string) string) string
}

// Triggers keeps the one trigger of each job, in the transaction of ctx.
type Triggers interface {
	// Put makes the job's trigger and spans what its definition and Enabled say.
	Put(ctx context.Context, j domain.Job) error
	// Remove ends them.
	Remove(ctx context.Context, j domain.Job) error
	// Next is when the job is due next; zero: not by itself, or it is paused.
	Next(ctx context.Context, job domain.ID) (time.Time, error)
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

// Pools finds pools.
type Pools interface {
	// Share tells whether a project has a pool, and lets nobody delete it before the
	// transaction of ctx, if there is one, has ended.
	Share(ctx context.Context, key domain.PoolKey) (bool, error)
	// Names lists the pools of a project.
	Names(ctx context.Context, project domain.ID) ([]string, error)
}

// Secrets finds secrets; it opens none.
type Secrets interface {
	// Share tells whether a project has a secret, and lets nobody delete it before the
	// transaction of ctx, if there is one, has ended.
	Share(ctx context.Context, key domain.SecretKey) (bool, error)
	// Names lists the secrets of a project.
	Names(ctx context.Context, project domain.ID) ([]string, error)
}

// Waiting counts what waits under the definitions as they are.
type Waiting interface {
	// CountWaiting counts the instances of a job that wait for their dependencies.
	CountWaiting(ctx context.Context, job domain.ID) (int, error)
}

// Workers lists those that run tasks.
type Workers interface {
	// List gives all workers, those that are gone among them.
	List(ctx context.Context) ([]domain.Worker, error)
}

// Types tells what can be run.
type Types interface {
	// Offered gives the types that targets which are up announce to the jobs of a project, by their word; none where no
	// target is up at all.
	Offered(ctx context.Context, project string) (map[string]domain.TypeOffer, error)
}
