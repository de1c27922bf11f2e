package domain

import "time"

// JobThen is which version of a job was in force at a moment in the past, and which is now.
type JobThen struct {
	Job  ID
	Then int // 0: it was not there
	Now  int // 0: it has been deleted since
}

// JobShape is what one version of a job says of its place in the graph.
type JobShape struct {
	Job     ID
	Title   string
	Started bool      // an end of one of its upstreams starts it
	Ups     []JobEdge // from what it depends on, without itself; by the names that meant a job at the moment asked for
}

// AbsenceKind is why a job has no instance on a business date.
type AbsenceKind string

// The kinds of absence. The zero value: nothing is known of it.
const (
	AbsentUnplanned AbsenceKind = "unplanned" // nothing was planned
	AbsentUpstream  AbsenceKind = "upstream"  // an end of an upstream would have started it, and none has
	AbsentSkipped   AbsenceKind = "skipped"   // a policy or the calendar said no
	AbsentMissed    AbsenceKind = "missed"    // nobody was alive
	AbsentPending   AbsenceKind = "pending"   // its time has not come
	AbsentDue       AbsenceKind = "due"       // its time has come, and it is not there yet
)

// Absence is why a job has no instance on a business date.
type Absence struct {
	Kind   AbsenceKind
	Reason string    // of what was skipped or missed, as it was written down
	Fires  int       // how many planned ones are so
	At     time.Time // the first of them; zero: none was planned
}
