package domain

import "time"

// IncidentKind says what sort of thing is wrong.
type IncidentKind string

// The kinds, each with what its subject is.
const (
	IncidentJobFailed    IncidentKind = "job_failed"      // a job: an instance failed finally
	IncidentOrphan       IncidentKind = "orphan"          // a job: its worker is lost and a person must decide
	IncidentWorkerLost   IncidentKind = "worker_lost"     // a worker
	IncidentClock        IncidentKind = "clock"           // a process or a worker whose clock is off
	IncidentDisk         IncidentKind = "disk"            // a worker whose disk takes no writes, so that it refuses work
	IncidentNotTaken     IncidentKind = "fires_not_taken" // the schedule: due fires that nobody takes
	IncidentFiresLocked  IncidentKind = "fires_locked"    // the schedule: due fires that somebody holds locked
	IncidentNoTarget     IncidentKind = "no_target"       // a job: no worker would run it
	IncidentQueueLimit   IncidentKind = "queue_limit"     // a job: ready for longer than the limit of the queue
	IncidentDepsLimit    IncidentKind = "deps_limit"      // a job: waiting for its dependencies for longer than their limit
	IncidentCalendarEnds IncidentKind = "calendar_ends"   // a calendar that jobs live by: it soon knows no special days

	// Of these the subject is a Redis: transport, registry, or both where they are one.
	IncidentRedisAway    IncidentKind = "redis_away"    // it does not answer
	IncidentRedisRefuses IncidentKind = "redis_refuses" // it answers and takes no writes
	IncidentRedisUnfit   IncidentKind = "redis_unfit"   // it may throw away what is written, or is too old

	// Of these the subject is the database; they are told once they are over.
	IncidentDatabaseAway    IncidentKind = "database_away"    // it did not answer
	IncidentDatabaseRefuses IncidentKind = "database_refuses" // it answered and took no writes
	IncidentDatabaseLocked  IncidentKind = "database_locked"  // it held what AX asked for locked by others
)

// IncidentKinds lists the kinds in the order in which pages offer them.
var IncidentKinds = []IncidentKind{IncidentJobFailed, IncidentOrphan, IncidentWorkerLost, IncidentClock, IncidentDisk, IncidentNotTaken, IncidentFiresLocked,
	IncidentNoTarget, IncidentQueueLimit, IncidentDepsLimit, IncidentCalendarEnds, IncidentRedisAway, IncidentRedisRefuses, IncidentRedisUnfit,
	IncidentDatabaseAway, IncidentDatabaseRefuses, IncidentDatabaseLocked}

// Recovery says why an incident is over.
type Recovery string

// The recoveries.
const (
	RecoveredSuccess  Recovery = "success"  // the job succeeded
	RecoveredSettled  Recovery = "settled"  // no instance is an orphan any more, on a person's word
	RecoveredKilled   Recovery = "killed"   // no instance is an orphan any more: the last was killed
	RecoveredTold     Recovery = "told"     // no instance is an orphan any more: its worker reported after all
	RecoveredBack     Recovery = "back"     // the worker is back
	RecoveredRight    Recovery = "right"    // the clock is right, or its process has ended
	RecoveredWritable Recovery = "writable" // the disk takes writes again, or the worker is gone
	RecoveredTaken    Recovery = "taken"    // fires are taken again
	RecoveredMoved    Recovery = "moved"    // what waited has gone on
	RecoveredUsable   Recovery = "usable"   // the Redis can be relied on again
	RecoveredAnswers  Recovery = "answers"  // the database answers and takes writes again
	RecoveredUnlocked Recovery = "unlocked" // nothing is waited for in vain in the database any more
	RecoveredCovered  Recovery = "covered"  // the calendar goes on, or no job lives by it any more
	RecoveredDeleted  Recovery = "deleted"  // the job was deleted
	RecoveredAged     Recovery = "aged"     // a worker that did not come back for a week
	RecoveredByHand   Recovery = "by_hand"  // a person closed it
)

// Incident is one thing that is wrong, or was: a kind and a subject. While it is open
// a repetition raises Count and makes no second one.
type Incident struct {
	ID        ID
	ProjectID ID // EveryProject: it is about the system
	Kind      IncidentKind
	Subject   string // with Kind its identity: the id of a job, the name of a worker or a process; "" = the schedule
	Name      string // the subject for people: [project/]job, the name of a worker or a process; "" = the schedule
	OpenedAt  time.Time
	LastAt    time.Time // when it was last seen
	Count     int64     // how often it happened; 1 for what lasts
	Example   ID        // the instance that showed it last; 0 = none
	// Detail is an entry of the catalog with its placeholders in pairs; empty: none.
	Detail []string
	// Message is what a task or the history said last, as it was said.
	Message    string
	ResolvedAt time.Time // zero: open
	Recovery   Recovery  // "" while open
	NoticedAt  time.Time // when a notice of it was last written; zero: none was
	EndedBy    string    // who closed it by hand; "" = nobody
	EndedWhy   string    // the reason given for it
}

// Open reports whether it is not over.
func (i Incident) Open() bool { return i.ResolvedAt.IsZero() }
