package broker

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Queue is the ready instances and the attempts made for them.
type Queue interface {
	// Ready pages the instances of a lane that wait for a target, most urgent first.
	Ready(ctx context.Context, lane domain.Lane, after domain.Instance, limit int) ([]domain.Instance, error)
	// Dispatch commits attempts for those that still stand as given; it returns these.
	Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error)
	// Withdraw takes attempts back that were not granted; it returns those taken.
	Withdraw(ctx context.Context, ids []domain.ID, outcome domain.Outcome, note string) ([]domain.ID, error)
}

// Judge decides claims and outcomes.
type Judge interface {
	Grant(ctx context.Context, claims []domain.Claim) (tasks map[domain.ID]*protocol.Task, denied map[domain.ID]string, err error)
	Apply(ctx context.Context, said []protocol.Uplink) error
	// Lost settles what a worker that is gone had; heard is the last that was heard of it, zero where nothing is known.
	Lost(ctx context.Context, ids []domain.ID, note string, heard time.Time) error
	// Standing reads instances as they stand once nobody is writing them.
	Standing(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	// Forget drops what is remembered of rows that another broker may have changed.
	Forget()
}

// Overlaps carries out what the overlap policy and the pools decided.
type Overlaps interface {
	Hold(ctx context.Context, ids []domain.ID, note string) error
	Unhold(ctx context.Context, ids []domain.ID, note string) error
	Skip(ctx context.Context, ids []domain.ID, note string) error
	Replace(ctx context.Context, ids []domain.ID, by domain.ID) error
	// HoldPool sets ready instances aside whose pool has no place for them.
	HoldPool(ctx context.Context, ids []domain.ID) error
	// UnholdPool makes those ready again that still wait for their pool; it returns these.
	UnholdPool(ctx context.Context, ids []domain.ID) ([]domain.ID, error)
}

// Pools reads pools; those that are not there limit nothing and are absent.
type Pools interface {
	ByKeys(ctx context.Context, keys []domain.PoolKey) (map[domain.PoolKey]domain.Pool, error)
}

// Shards splits runs and lets what was split stand as its shards do.
type Shards interface {
	Split(ctx context.Context, splits []domain.Split) error
	Gather(ctx context.Context, ids []domain.ID) error
}

// Clock moves instances whose wake time has come; it returns how many it looked at.
type Clock interface {
	Wake(ctx context.Context, limit int) (int, error)
}

// Rows reads instances and attempts as they stand.
type Rows interface {
	// Unfinished pages, by id, what is running or retrying and has begun or is held.
	Unfinished(ctx context.Context, state domain.State, after domain.ID, limit int) ([]domain.Instance, error)
	// Stopping pages, by id, what a target must be told to stop.
	Stopping(ctx context.Context, after domain.ID, limit int) ([]domain.Instance, error)
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
	Attempts(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Attempt, error)
}

// Specs reads definitions.
type Specs interface {
	Spec(ctx context.Context, job domain.ID, version int) (domain.JobSpec, error)
}

// Letter is one uplink entry with the name under which it is removed. At is when it
// was written, zero if that is unknown.
type Letter struct {
	ID   string
	At   time.Time
	Said protocol.Uplink
}

// Mail is the streams between the workers and the active broker.
type Mail interface {
	// Read waits at most a short while for entries, less than a second; damaged ones it
	// has dropped. Fewer than limit means that there were no more. Entries read and not
	// removed come again to the broker that follows.
	Read(ctx context.Context, limit int) ([]Letter, error)
	Remove(ctx context.Context, ids []string) error
	// Post puts entries into inboxes.
	Post(ctx context.Context, out []Outgoing) error
}

// Outgoing is one entry for one boot of a worker.
type Outgoing struct {
	Worker string
	Boot   int64
	Down   protocol.Downlink
}

// Sender carries a message of attempt ids to a lane of a worker.
type Sender interface {
	Send(ctx context.Context, worker string, boot int64, lane string, m protocol.Message) error
}

// Fleet is the registry of workers.
type Fleet interface {
	// Look reads the heartbeats. An error means that the registry is away and nothing
	// else: nobody is declared lost for it, and the clocks of loss begin anew at its
	// return. A life is told as gone once.
	Look(ctx context.Context) (domain.FleetView, error)
	// Expect names lives that hold attempts, so that one never seen is missed too.
	Expect(boots []domain.Boot)
	// Bury removes the queues and the inbox of a life that is over.
	Bury(ctx context.Context, b domain.Boot) error
}

// Clockwork is a source of time: of the broker's own waits a monotonic reading.
type Clockwork func() time.Time
