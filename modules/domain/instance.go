package domain

import (
	"encoding/json"
	"fmt"
	"time"
)

// Lane is a priority lane, with its own queue and its own threads on each worker.
type Lane string

// The three lanes, most urgent first.
const (
	LaneHigh    Lane = "high"
	LaneDefault Lane = "default"
	LaneLow     Lane = "low"
)

// Lanes lists the lanes, most urgent first; a lane's index is its order in the queue.
var Lanes = []Lane{LaneHigh, LaneDefault, LaneLow}

// TriggerKind says what made a job due.
type TriggerKind string

// What can make a job due.
const (
	TriggerCron     TriggerKind = "cron"
	TriggerEvery    TriggerKind = "every"
	TriggerAt       TriggerKind = "at"
	TriggerUpstream TriggerKind = "upstream"
	TriggerManual   TriggerKind = "manual"
	TriggerBackfill TriggerKind = "backfill"
)

// ScheduleFireKey is the key of every fire born of a schedule, whatever the road
// (fire, catch-up, backfill): its expected time in Unix milliseconds.
func ScheduleFireKey(expected time.Time) string { return fmt.Sprintf("s:%d", expected.UnixMilli()) }

// UpstreamFireKey is the key of a fire born of upstream alone.
func UpstreamFireKey(d BizDate) string { return "u:" + d.String() }

// ManualFireKey is the key of a manual fire: its instance's own id.
func ManualFireKey(id ID) string { return "m:" + id.String() }

// ShardFireKey is the key of a shard's row: there is one for each part of a run. The keys of
// a run sort as its parts do.
func ShardFireKey(run ID, shard int) string {
	return fmt.Sprintf("%s%04d", ShardFirePrefix(run), shard)
}

// ShardFirePrefix is what the keys of all shards of a run begin with.
func ShardFirePrefix(run ID) string { return "p:" + run.String() + ":" }

// Instance is one job for one fire. The run in force stands in it; a rerun files
// the old round away as a Run. Times are UTC; the zero time means "not yet".
type Instance struct {
	ID        ID
	ProjectID ID
	JobID     ID
	JobName   string // as it was when the instance was made
	FireKey   string
	Trigger   TriggerKind
	BizDate   BizDate
	Expected  time.Time
	Status
	Ver int64 // raised by every move

	// The run in force.
	RunID       ID
	RunNo       int // 1 for the first
	TraceID     string
	Version     int
	Params      map[string]string // the run's own, over those of its version; frozen, and text: braces mean nothing
	RetriesUsed int
	LostCount   int // how often this run lost its worker
	Attempts    int // attempts made for this run
	RequestedBy string
	Reason      string

	Lane       Lane
	Pool       string    // the pool of the project that limits this run; "" = none
	DepsLeft   int       // dependencies not yet met
	MetAt      time.Time // when its last dependency was met; zero: it had none, or waits
	ReadyAt    time.Time // when it was last ready for a target
	WakeAt     time.Time // when something must be looked at: back-off, limit, deadline
	CreatedAt  time.Time
	StartedAt  time.Time // of the attempt that counts
	FinishedAt time.Time
	AttemptID  ID // the attempt in force or the one that ended the run; 0 before the first
	Message    string
	CancelledBy
	Sharding
}

// Delay is start − max(expected time, dependencies met) of a first start; false where
// there was none, or it was made due otherwise: a rerun by a person, a retry by a
// back-off, a date of the past by a backfill.
func (in Instance) Delay() (time.Duration, bool) {
	if in.StartedAt.IsZero() || in.RunNo > 1 || in.Trigger == TriggerBackfill || in.RetriesUsed > 0 || in.LostCount > 0 {
		return 0, false
	}
	due := in.Expected
	if in.MetAt.After(due) {
		due = in.MetAt
	}
	return max(in.StartedAt.Sub(due), 0), true
}

// CancelledBy names the instance and run whose end cancelled this one.
type CancelledBy struct {
	InstanceID ID
	RunID      ID
}

// Run is a round of an instance that is over and was followed by a rerun.
type Run struct {
	ID         ID
	InstanceID ID
	No         int
	TraceID    string
	Version    int
	Params     map[string]string
	Status
	RequestedBy string
	Reason      string
	CreatedAt   time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
	Message     string
}

// AttemptState is where one sending stands.
type AttemptState string

// The states of an attempt.
const (
	AttemptSent      AttemptState = "sent"      // committed, on its way, not granted
	AttemptGranted   AttemptState = "granted"   // the right to run was given
	AttemptEnded     AttemptState = "ended"     // an outcome is in the database
	AttemptWithdrawn AttemptState = "withdrawn" // taken back before any grant
	AttemptLost      AttemptState = "lost"      // granted, and its worker was lost
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeSuccess    Outcome = "success"
	OutcomeError      Outcome = "error"
	OutcomeTimeout    Outcome = "timeout"
	OutcomeKilled     Outcome = "killed"
	OutcomeWorkerLost Outcome = "worker_lost"
	OutcomeRefused    Outcome = "refused" // clock, draining, type not loaded: no retry is spent
	OutcomeNoAck      Outcome = "no_ack"  // not acknowledged in time
)

// Attempt is one sending of a shard to one target. Its id is the fencing token;
// Ordinal is for people.
type Attempt struct {
	ID           ID
	ProjectID    ID
	InstanceID   ID
	RunID        ID
	Shard        int
	Ordinal      int
	State        AttemptState
	Target       string // worker name
	Boot         int64  // the worker's boot number
	Lane         Lane
	MessageID    string
	DispatchedAt time.Time
	AckedAt      time.Time // the claim arrived
	GrantedAt    time.Time
	StartedAt    time.Time
	FinishedAt   time.Time     // when the task had ended, where a worker said so; of a lost one see Lost
	ReportedAt   time.Time     // when its outcome was in the database; zero: no worker reported it; of a lost one see Lost
	Deadline     time.Duration // time-out of the attempt, counted from its start
	KillAt       time.Time     // a kill was asked for; zero = none
	ExitCode     *int          // nil when there is none
	Outcome      Outcome
	Message      string
	Result       json.RawMessage
	Late         string // a report that came late, kept, never counted
	LogLines     int64  // lines of output in all, as reported at its end
}

// Lost is when a lost attempt was heard of for the last time, so that it ran until then at least, and when it came to
// count as lost. heard is zero where that was not written down. Both are zero for one that is not lost.
func (a Attempt) Lost() (heard, at time.Time) {
	switch {
	case a.State != AttemptLost:
		return time.Time{}, time.Time{}
	case a.ReportedAt.IsZero():
		return time.Time{}, a.FinishedAt
	}
	return a.FinishedAt, a.ReportedAt
}

// ReportedLate is after which time a report that comes in is late enough to be shown apart.
const ReportedLate = 5 * time.Second

// Unreported is for how long the task had ended before its outcome was in the database;
// 0 when that is not worth telling.
func (a Attempt) Unreported() time.Duration {
	late := a.ReportedAt.Sub(a.FinishedAt)
	if a.State == AttemptLost || a.ReportedAt.IsZero() || a.FinishedAt.IsZero() || late <= ReportedLate {
		return 0
	}
	return late
}

// FireOutcome is the instance that a planned fire made, as far as the ledger needs it.
type FireOutcome struct {
	FireKey  string
	Instance ID
	Status   Status
	Message  string // of one skipped
}

// NewInstance is what a trigger asks to be created.
type NewInstance struct {
	ProjectID   ID
	JobID       ID
	JobName     string
	Version     int
	FireKey     string
	Trigger     TriggerKind
	BizDate     BizDate
	Expected    time.Time
	Params      map[string]string
	RequestedBy string
	Reason      string
	Skip        string // non-empty: born cancelled/skipped for this reason
}

// Event is a row of history: a move that is not an ordinary one.
type Event struct {
	ID         ID
	ProjectID  ID
	InstanceID ID
	RunID      ID
	AttemptID  ID
	Move       MoveName
	From, To   string // statuses as text
	Actor      string // who or what did it
	Note       string
	At         time.Time
}

// Change is a move that was made: the instance as it stands after it.
type Change struct {
	Move     MoveName // "" at the birth
	From     Status
	Instance Instance
}
