package plan

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Trigger is the one row that makes a job due. Next is the oldest planned fire that
// is not settled yet, that is: neither an instance nor noted as skipped or missed;
// zero = none is to come.
type Trigger struct {
	ID        domain.ID
	ProjectID domain.ID
	JobID     domain.ID
	Version   int
	Timing
	Misfire domain.Misfire
	Enabled bool
	Next    time.Time
	Last    time.Time // the newest fire that made an instance; zero = none yet
	Ver     int64     // raised by every write
}

// Due is the part of a trigger that waiting needs.
type Due struct {
	ID   domain.ID
	Next time.Time
	Ver  int64
}

// Span is a stretch of time in which a timing was in force: its fires are those
// strictly after From and not after To. To zero = still in force. Asking it for fires
// remembers what its timing compiles to, so one span is not for concurrent use.
type Span struct {
	ID        domain.ID
	ProjectID domain.ID
	JobID     domain.ID
	Version   int // the newest version under it
	Timing
	From, To time.Time
	// Calendar is the version that the gate names; it must be set before the span is asked.
	Calendar *domain.Calendar
	// Carried is what Carry said at its beginning; "" = nothing.
	Carried string

	times *Times // nil = not compiled yet
}

// Prepare compiles the timing ahead of the first question. A fault is told by that.
func (s *Span) Prepare() { _, _ = s.compiled() }

func (s *Span) compiled() (*Times, error) {
	if s.times == nil {
		carry, err := parseCarried(s.Carried)
		if err != nil {
			return nil, err
		}
		times, err := compile(s.Timing, s.Calendar, carry)
		if err != nil {
			return nil, err
		}
		s.times = times
	}
	return s.times, nil
}

// Open tells whether the span is in force.
func (s Span) Open() bool { return s.To.IsZero() }

// GapKind says why a planned fire made no instance.
type GapKind string

// The kinds of gap.
const (
	Skipped GapKind = "skipped" // policy said no
	Missed  GapKind = "missed"  // nobody was alive
)

// Gap is planned fires of one business date that made no instance when they were
// settled: those from From to To, both included. One that has an instance after all
// (a backfill) counts as fired.
type Gap struct {
	ID        domain.ID
	ProjectID domain.ID
	JobID     domain.ID
	Kind      GapKind
	Reason    string
	BizDate   domain.BizDate
	From, To  time.Time
	Fires     int
	CreatedAt time.Time
}

// Fire is one planned fire.
type Fire struct {
	Expected time.Time
	BizDate  domain.BizDate
	Version  int
	Kind     domain.TriggerKind
	From     domain.BizDate // the day that a calendar moved it from; zero: none did
	Refused  string         // why a calendar let it not happen; then it is no planned fire
}

// Key is the fire key of its instance.
func (f Fire) Key() string { return domain.ScheduleFireKey(f.Expected) }
