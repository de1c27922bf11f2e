package domain

import (
	"strconv"
	"strings"
	"time"
)

// What a dependency wants of the planned fires of its dates: all of them (the default), one
// of them, or the last one.
const (
	RequireAll    = "all"
	RequireAny    = "any"
	RequireLatest = "latest"
)

// What an upstream fire must have come to: success (the default), an end of whatever kind, or
// an end without success.
const (
	CheckSuccess = "success"
	CheckDone    = "done"
	CheckFailed  = "failed"
)

// FailurePolicy says what becomes of an instance that waits for what will not come about.
type FailurePolicy string

// The policies: cancel it (the default), let it wait until the upstream is rerun or a person
// releases it, or let it run once the upstream has ended for good.
const (
	FailureCancel FailurePolicy = "cancel"
	FailureHold   FailurePolicy = "hold"
	FailureRun    FailurePolicy = "run"
)

// Cause is why an instance is cancelled: an upstream instance, in one of its runs, that ended
// otherwise than it is waited for.
type Cause struct {
	Instance, Run ID
	State         State // in which it ended; the cause stands while it is in it
	Name          string
}

// DepState is where a dependency of an instance stands.
type DepState string

// The states of a dependency.
const (
	DepWaiting DepState = "waiting"
	DepMet     DepState = "met"
	DepFailed  DepState = "failed"
	DepVoid    DepState = "void"   // its instance ended without it
	DepPassed  DepState = "passed" // not met, and its instance went on: on_upstream_failure: run
	DepWaived  DepState = "waived" // not met, and a person released its instance
)

// Lets reports whether an instance may go on that stands so with a dependency.
func (s DepState) Lets() bool { return s == DepMet || s == DepPassed || s == DepWaived }

// InstanceDep is one dependency of one instance: an upstream job and the business dates of it
// that are waited for.
type InstanceDep struct {
	InstanceID ID
	No         int // its place in the definition; 0 for those that versions before had made
	ProjectID  ID
	Upstream   ID // below 0: the job is gone
	Name       string
	Rule       DepDates // from which the dates come
	BizDate    BizDate  // the first date of the set
	To         BizDate  // the last date of the set
	Require    string
	Check      string
	OnFailure  FailurePolicy
	State      DepState
	By         ID // the upstream instance that met or failed it
	ChangedAt  time.Time
}

// Several reports whether it is about more than one date.
func (d InstanceDep) Several() bool { return d.BizDate != d.To }

// Covers reports whether the date is one of those that are waited for.
func (d InstanceDep) Covers(day BizDate) bool { return !day.Before(d.BizDate) && !d.To.Before(day) }

// DepOutcome is an instance as far as a dependency on it needs it.
type DepOutcome struct {
	ID, RunID ID
	JobID     ID
	JobName   string
	FireKey   string
	BizDate   BizDate
	RunNo     int
	EndedAt   time.Time // zero: it has not
	Status
	// Again says that it has ended and that a backfill under way will run it once more.
	Again bool
}

// ListedFire is what a backfill under way will still make or run again: it is planned.
type ListedFire struct {
	FireKey string
	BizDate BizDate
	At      time.Time // the planned moment; zero: the job has no schedule
	// Instance is the one that will run again, which stood as Was in its run RunNo; 0: it will be
	// made.
	Instance ID
	RunNo    int
	Was      State
}

// Reopens reports whether the instance, as it stands, is the one that will run again. A success
// that came after the list was made is not.
func (l ListedFire) Reopens(o DepOutcome) bool {
	return l.Instance == o.ID && l.RunNo == o.RunNo && o.State.Terminal() && (o.State != Success || l.Was == Success)
}

// ScheduledAt is the planned moment in the key of a fire that was born of a schedule.
func ScheduledAt(key string) (time.Time, bool) {
	text, ok := strings.CutPrefix(key, "s:")
	ms, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// ByHand reports whether the key is that of a fire made by hand.
func ByHand(key string) bool { return strings.HasPrefix(key, "m:") }

// PlannedFire is a moment at which a schedule asks for an instance.
type PlannedFire struct {
	At      time.Time
	BizDate BizDate
}

// Plan is what a schedule planned for some business dates of a job, past and future, in order.
type Plan struct {
	Fires   []PlannedFire
	TooMany bool // more than can be judged; Fires is empty
}

// FireGap is planned fires, from the first to the last, that made no instance: Skipped ones
// were passed over by policy and count as not planned, others had nobody alive.
type FireGap struct {
	From, To time.Time
	Skipped  bool
}

// DepPartKind is where one planned fire of a dependency stands.
type DepPartKind string

// The kinds of part.
const (
	PartDone    DepPartKind = "done"    // ended as it is waited for
	PartOpen    DepPartKind = "open"    // has not ended
	PartMissing DepPartKind = "missing" // planned, and there is no instance yet
	PartMissed  DepPartKind = "missed"  // planned, and nobody was alive
	PartSpoiled DepPartKind = "spoiled" // ended otherwise
)

// DepPart is one planned fire of the dates of a dependency.
type DepPart struct {
	Kind     DepPartKind
	BizDate  BizDate
	At       time.Time // the planned moment; zero: planned by none
	Instance ID        // 0: there is none
	Status   Status
}

// DepStanding is what the outcomes of an upstream mean to a dependency.
type DepStanding struct {
	State DepState // waiting, met or failed
	// By is the instance that decides: the last success, or the one because of which it can't
	// be met. Zero while it waits.
	By DepOutcome
	// How many of its planned fires stand how.
	Planned, Done, Open, Missing, Missed, Spoiled int
	Parts                                         []DepPart // in order, at most MaxDepParts; those that stand in the way first kept
	// Nothing says that nothing is planned that could ever meet it, TooMany that more is
	// planned than can be judged.
	Nothing, TooMany bool
}

// MaxDepParts bounds DepStanding.Parts.
const MaxDepParts = 62

// Settled reports whether all planned fires have ended.
func (s DepStanding) Settled() bool { return s.Open+s.Missing+s.Missed == 0 }

// StartEdge says that an end of Up starts Down: a job without a schedule of its own.
type StartEdge struct {
	Up, Down ID
	Check    string
}

// StartsLookBack is for how long after an end it is looked whether it started what it was to start.
const StartsLookBack = 7 * 24 * time.Hour

// StartSpan is a time in which ends started a job over an edge; the zero To is in force still.
type StartSpan struct{ From, To time.Time }

// Holds reports whether an end at t started the job.
func (s StartSpan) Holds(t time.Time) bool {
	return t.After(s.From) && (s.To.IsZero() || t.Before(s.To))
}

// StaleMark says that an instance succeeded on what an upstream made before it ran again.
type StaleMark struct {
	Instance  ID
	ProjectID ID
	By, Run   ID // the upstream instance, and its run that succeeded since
	Name      string
	BizDate   BizDate // of the upstream instance
	At        time.Time
}
