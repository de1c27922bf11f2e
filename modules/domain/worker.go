package domain

import "time"

// Worker is a process that runs tasks, as its last heartbeat and the center's
// judgement have it.
type Worker struct {
	Name    string
	Boot    int64
	State   WorkerState
	Host    string
	IP      string
	Version string
	Types   []string
	// Catalog is the word for what it tells of its types; "" = nothing. Not stored here.
	Catalog string
	// Threadless are those of the types whose tasks take no thread of a lane; not
	// stored.
	Threadless []string
	Tags       []string
	Lanes      map[Lane]int // threads
	Cores      int
	Running    int
	Mean       time.Duration // five-minute mean duration; 0 = nothing ran
	Skew       time.Duration // its clock minus the database's
	Seq        int64         // of the heartbeat; raised by each
	Held       []ID          // attempts that it knows
	Drain      bool          // a person asked it to take no more
	Started    time.Time
	SeenAt     time.Time
	LostAt     time.Time // zero: not lost
	RefusingAt time.Time // since when it refuses all work, for its clock or its disk; zero: it does not
	// Disk is why its journal cannot be written, in the worker's words; it takes no work then. "" = it can. Of a lost
	// worker it is what it said last.
	Disk string
}

// MaxSkew is how far a worker's clock may be off before it refuses all work.
const MaxSkew = 5 * time.Second

// Refuses reports whether it takes no work, whatever it is asked: its clock is too far off,
// or its disk takes no writes.
func (w Worker) Refuses() bool { return w.Skew.Abs() > MaxSkew || w.Disk != "" }

// Standing is where the worker stands for people: one that is alive and refuses work is not
// available.
func (w Worker) Standing() WorkerState {
	if w.State == WorkerAvailable && w.Refuses() {
		return WorkerRefusing
	}
	return w.State
}

// SilentFrom is the age of a worker's last heartbeat from which on its silence is told: the rows of one that lives are
// renewed each 3 s, with a heartbeat up to 2 s old.
const SilentFrom = 6 * time.Second

// StandingAt is Standing at the moment, where what a heartbeat said holds only as long as heartbeats come. deaf says
// that none of any worker can be heard now.
func (w Worker) StandingAt(now time.Time, deaf bool) WorkerState {
	if w.State != WorkerGone && (deaf || now.Sub(w.SeenAt) >= SilentFrom) {
		return WorkerSilent
	}
	return w.Standing()
}

// WorkerState is where a worker stands.
type WorkerState string

// The states of a worker.
const (
	WorkerAvailable WorkerState = "available"
	WorkerDraining  WorkerState = "draining"
	WorkerGone      WorkerState = "lost"
	// WorkerRefusing is only what people are shown, see Worker.Standing; no worker reports it.
	WorkerRefusing WorkerState = "refusing"
	// WorkerSilent is only what people are shown, see Worker.StandingAt: it counts as lost if it stays so, and nothing
	// is known of what it does now.
	WorkerSilent WorkerState = "silent"
)

// Boot is one life of a worker; Reason says why it counts as over, and Heard when it was heard for the last time, zero
// where that is not known.
type Boot struct {
	Name   string
	Boot   int64
	Reason string
	Heard  time.Time
}

// FleetView is what one look at the registry found.
type FleetView struct {
	Workers []Worker // alive, draining ones too
	Gone    []Boot   // lives that ended since the look before
	// Emptied says that the registry lost what was last written to it: what was on its
	// way to workers is very likely lost too.
	Emptied bool
	// Partial says that a life is expected, or stands in the registry, of which it is not
	// known yet whether it lives: Workers may lack somebody who is there.
	Partial bool
}

// Assignment gives one ready instance to a target. Instance is as the broker read
// it, Attempt the id of the attempt to be, MessageID the message that carries it.
type Assignment struct {
	Instance  Instance
	Attempt   ID
	Target    string
	Boot      int64
	MessageID string
	// Pool is the instance's pool as it stood; a change of it since undoes the assignment.
	Pool PoolSeen
}

// Claim asks for the right to run one attempt, for one boot of a worker.
type Claim struct {
	Attempt ID
	Worker  string
	Boot    int64
}
