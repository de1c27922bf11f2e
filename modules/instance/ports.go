package instance

import (
	"context"
	"encoding/json"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Specs reads definitions, also those of old versions and deleted jobs.
type Specs interface {
	Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error)
}

// Rendered is what an attempt is given: the exec object of its type, the
// environment, the job's and the run's params together, and the values in all of it
// that nobody must see.
type Rendered struct {
	Exec   json.RawMessage
	Env    map[string]string
	Params map[string]string
	// Net is where the attempt may connect to; nil: its type needs none.
	Net     *protocol.Net
	Secrets []string
}

// Renderer fills a definition's templates in for one attempt.
type Renderer interface {
	Render(ctx context.Context, spec domain.JobSpec, in domain.Instance, a domain.Attempt) (Rendered, error)
}

// Calendars finds the calendar that a definition lives by; nil for none.
type Calendars interface {
	CalendarOf(ctx context.Context, spec domain.JobSpec) (*domain.Calendar, error)
}

// Pools guards what was decided by pools.
type Pools interface {
	// Changed locks pools in the transaction of ctx, so that none of them changes before its
	// end, and returns those that do not stand as they were seen.
	Changed(ctx context.Context, seen []domain.PoolSeen) (map[domain.ID]bool, error)
}

// Deps keeps the dependency rows of instances.
type Deps interface {
	// Attach writes, in the transaction of ctx, the dependency rows of instances
	// about to be born or brought back (old rows are reset), and returns how many
	// each waits for; absent = none.
	Attach(ctx context.Context, ins []domain.Instance) (map[domain.ID]int, error)
	// Reopened tells, in the transaction of ctx, that instances which had ended
	// run again: rows that they had decided and whose instance still waits are open again, and
	// they are stale no more.
	Reopened(ctx context.Context, ins []domain.Instance) error
	// Waiting reads, in the transaction of ctx, what the instance still waits for.
	Waiting(ctx context.Context, instance domain.ID) ([]domain.InstanceDep, error)
	// Waive marks, in the transaction of ctx, what the instance still waits for as waived.
	Waive(ctx context.Context, instance domain.ID) error
}

// Tally keeps figures as things change, in the transaction of ctx.
type Tally interface {
	Record(ctx context.Context, changes []domain.Change) error
}

// Listener hears of committed changes. It must not block; whatever it misses, its
// owner finds again by looking.
type Listener interface {
	Changed(changes []domain.Change)
}

// Dependency is one dependency of an instance with how its upstream stands; Standing is zero
// where that is not known.
type Dependency struct {
	domain.InstanceDep
	Standing domain.DepStanding
}

// Early gives instances a target while they are being made.
type Early interface {
	// Assign gives those of the instances, which are ready, a target that nothing holds
	// up, in their order and in the transaction of ctx; specs are their definitions. settle, nil if there are
	// none, is to be called once, when the transaction has ended: with the attempts that it
	// committed, and whether that is known.
	Assign(ctx context.Context, ready []domain.Instance, specs []domain.JobSpec) (as []domain.Assignment, settle func(committed []domain.Attempt, known bool), err error)
}

// DepsOf reads the dependencies of instances.
type DepsOf interface {
	Of(ctx context.Context, instance domain.ID) ([]Dependency, error)
	// Waiters lists the rows that name a job on a business date, whatever their state.
	Waiters(ctx context.Context, job domain.ID, day domain.BizDate) ([]domain.InstanceDep, error)
	// Stale reads which of the instances began on what an upstream has made anew since.
	Stale(ctx context.Context, instances []domain.ID) (map[domain.ID]domain.StaleMark, error)
}

// PoolsOf reads pools; those that are not there are absent.
type PoolsOf interface {
	ByKeys(ctx context.Context, keys []domain.PoolKey) (map[domain.PoolKey]domain.Pool, error)
}

// Workers lists the workers as they were last seen, lost ones too.
type Workers interface {
	List(ctx context.Context) ([]domain.Worker, error)
}

// Presence tells whether a broker is active anywhere.
type Presence interface {
	Present(ctx context.Context) (bool, error)
}

// Outages tells what keeps all of AX from going on, as far as this process knows.
type Outages interface {
	Outage(ctx context.Context) (Outage, error)
}

// Audit records a change in the transaction of ctx.
type Audit interface {
	Changed(ctx context.Context, project domain.ID, action, object, before, after string) error
}

// Values judges what one run of a job is given.
type Values interface {
	// Check judges the run's own params by what the job declares, and with its own and its environment together: names,
	// NUL, size. All faults, each with its field; none where nothing is wrong.
	Check(ctx context.Context, project domain.ID, spec domain.JobSpec, own map[string]string) []error
}
