package scheduler

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Status is how a scheduler stands, for readiness and metrics.
type Status struct {
	// Fault says why this node takes nothing at the moment; "" = it takes.
	Fault       string
	Wheel       int           // triggers that wait in memory
	ClockOffset time.Duration // what to add to this node's clock to get the database's
	LastLoad    time.Time     // when the coming window was last read; own clock
	LastTake    time.Time     // when a transaction of taking last committed; own clock

	Takes      int64 // transactions of taking that committed
	Fires      int64 // instances made
	Gaps       int64 // planned fires noted as skipped or missed
	FastLost   int64 // fires for which another node was first to look
	FastFailed int64 // calls of the fast path that failed or came too late
	Locked     int64 // looks at a due row that another transaction held
	LockedLong int64 // due rows found locked for over 2 s
	Failures   int64 // transactions of taking that failed

	// Poisoned are triggers that can't be taken, at most 20, the oldest first.
	Poisoned []Poisoned
}

// Poisoned is a trigger that fails on its own; the others go on without it.
type Poisoned struct {
	Trigger domain.ID
	Reason  string
	Since   time.Time // own clock
	Until   time.Time // when it is tried again; own clock
	Tries   int
}
