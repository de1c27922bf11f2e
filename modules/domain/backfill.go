package domain

import "time"

// PastFire is a fire about a business date of the past, as a backfill would make it.
type PastFire struct {
	At      time.Time
	BizDate BizDate
	// Present says that no schedule was in force at that moment, so that the definition in
	// force now tells when the fire would have been due.
	Present bool
	// Held says that the calendar let no fire about the date happen: At is the first that the
	// schedule asked for, and it is none.
	Held CalendarHold
}

// CalendarHold is what a calendar made of fires that did not happen on their day; "": they happened.
type CalendarHold string

// The holds.
const (
	HeldSkipped CalendarHold = "skipped"
	HeldMoved   CalendarHold = "moved" // to another day, and so perhaps to another business date
)

// PastQuery asks for a job's fires about business dates, which are in order.
type PastQuery struct {
	Dates []BizDate
	// Since and Until narrow to moments from the one to the other, both counted; zero: no bound.
	Since, Until time.Time
	Limit        int // more fires are refused
}

// Holds reports whether a moment lies within the bounds.
func (q PastQuery) Holds(at time.Time) bool {
	return !at.Before(q.Since) && (q.Until.IsZero() || !at.After(q.Until))
}

// Reopening asks for a new run of an instance that has ended.
type Reopening struct {
	Instance ID
	RunNo    int // the run that has ended; another one in force is left alone
	// Params are the new run's own; nil: those of the run before.
	Params map[string]string
	// Waits says that the new run waits for its dependencies again. What never ran because of
	// its upstream does in any case.
	Waits   bool
	Trigger TriggerKind // what makes the new run due; "" leaves what made the instance due
	Reason  string
}

// Pause is the time since a job's schedule was paused, and what it would have planned.
type Pause struct {
	Since, Until time.Time // zero: it is not paused, or nothing of it was ever in force
	Begin        time.Time // from where its fires are counted: behind Since, or the first of Untaken
	Fires        int
	Untaken      int     // of them: due before Since, and taken by nobody until then
	More         bool    // there are more than could be counted
	First, Last  BizDate // of the fires
}

// MissedDay is planned fires of one job and business date that made no instance.
type MissedDay struct {
	Gap          ID
	Project, Job ID
	BizDate      BizDate
	From, To     time.Time // the first and the last of them
	Fires        int       // as they were noted
	Open         int       // of them, without an instance by now
	Skipped      bool      // policy said no; else nobody was alive
	Reason       string
	NotedAt      time.Time
}
