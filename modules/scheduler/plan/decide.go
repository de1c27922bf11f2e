package plan

import (
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

const (
	// Late is the delay from which on a fire counts as a misfire.
	Late = 60 * time.Second
	// MaxAge is the age from which on a missed fire is never made up.
	MaxAge = 7 * 24 * time.Hour
)

// The reasons of gaps.
const (
	ReasonOld    = "older than 7 days"
	ReasonPolicy = "misfire: skip"
	ReasonPaused = "the job was paused, or its schedule taken away, before this fire was taken"
)

// Budget bounds one transaction's work. Decide lowers it as it goes and begins no
// further business date once either is used up.
type Budget struct {
	Fires int // instances to make
	Scan  int // planned fires to look at
}

func (b *Budget) spent() bool { return b.Fires <= 0 || b.Scan <= 0 }

// Decision is what becomes of a trigger's due fires.
type Decision struct {
	Fires []Fire // to become instances, in order
	Gaps  []Gap  // without id
	Next  time.Time
	// More says that the budget ended before now: Next is due already.
	More bool
}

// Decide settles a trigger's fires from its Next to now, in order, as far as the
// budget allows. The spans are the job's, in order of their beginning, at least all
// that end after Next. A fire of a span that was ended by a pause is skipped; one
// older than MaxAge is missed; one over Late falls to the misfire policy; the rest
// fire. An error means that a schedule can't be read.
func Decide(t Trigger, spans []Span, now time.Time, budget *Budget) (Decision, error) {
	d := decider{trigger: t, now: now, budget: budget, cursor: t.Next}
	for i := range spans {
		s := &spans[i]
		paused := !s.Open() && (i+1 == len(spans) || !spans[i+1].From.Equal(s.To))
		done, err := d.settle(s, paused)
		if err != nil {
			return Decision{}, err
		}
		if !done {
			d.out.Next, d.out.More = d.cursor, true
			return d.out, nil
		}
	}
	if len(spans) > 0 && t.Enabled {
		if last := &spans[len(spans)-1]; last.Open() {
			next, err := last.Next(now)
			if err != nil {
				return Decision{}, err
			}
			d.out.Next = next
		}
	}
	return d.out, nil
}

// Next is the span's first fire strictly after both its beginning and an instant; zero: never.
func (s *Span) Next(after time.Time) (time.Time, error) {
	times, err := s.compiled()
	if err != nil {
		return time.Time{}, err
	}
	if s.From.After(after) {
		after = s.From
	}
	at, ok := times.Next(after)
	if !ok {
		return time.Time{}, nil
	}
	return at, nil
}

type decider struct {
	trigger Trigger
	now     time.Time
	budget  *Budget
	cursor  time.Time // the oldest fire not settled
	out     Decision
}

// part is a stretch of time, up to and with until, whose fires share a fate.
type part struct {
	until time.Time
	carry func(*decider, *Span, *Times, time.Time) bool
}

// settle goes through one span; false: the budget ended, the cursor says where.
func (d *decider) settle(s *Span, paused bool) (bool, error) {
	after, end := s.window(d.cursor, d.now.Add(time.Millisecond))
	if !after.Before(end) {
		return true, nil
	}
	times, err := s.compiled()
	if err != nil {
		return false, err
	}
	for _, p := range d.parts(paused) {
		until := p.until
		if end.Before(until) {
			until = end
		}
		for {
			first, ok := times.Next(after)
			if !ok || first.After(until) {
				break
			}
			d.cursor = first
			if d.budget.spent() {
				return false, nil
			}
			if !p.carry(d, s, times, until) {
				return false, nil
			}
			after = d.cursor
		}
	}
	return true, nil
}

func (d *decider) parts(paused bool) []part {
	if paused {
		return []part{{d.now, gap(Skipped, ReasonPaused)}}
	}
	old := part{d.now.Add(-MaxAge - time.Millisecond), gap(Missed, ReasonOld)}
	missed := part{d.now.Add(-Late - time.Millisecond), nil}
	switch d.trigger.Misfire {
	case domain.MisfireSkip:
		missed.carry = gap(Skipped, ReasonPolicy)
	case domain.MisfireAll:
		missed.carry = (*decider).each
	default:
		missed.carry = (*decider).latest
	}
	return []part{old, missed, {d.now, (*decider).each}}
}

// gap notes the cursor's business date, up to until and the end of the day, and leaves the
// cursor at its last fire.
func gap(kind GapKind, reason string) func(*decider, *Span, *Times, time.Time) bool {
	return func(d *decider, s *Span, times *Times, until time.Time) bool {
		if end := times.dayEnd(d.cursor); end.Before(until) {
			until = end
		}
		st, _ := times.stretch(d.cursor.Add(-1), until)
		d.note(s, st, kind, reason)
		d.cursor = st.last
		return true
	}
}

func (d *decider) note(s *Span, st stretch, kind GapKind, reason string) {
	d.budget.Scan -= st.fires
	d.out.Gaps = append(d.out.Gaps, Gap{ProjectID: s.ProjectID, JobID: s.JobID, Kind: kind, Reason: reason, BizDate: st.date,
		From: st.first, To: st.last, Fires: st.fires, CreatedAt: d.now})
}

// latest fires the last of the cursor's business date and notes the others as missed.
func (d *decider) latest(s *Span, times *Times, until time.Time) bool {
	st, _ := times.stretch(d.cursor.Add(-1), until)
	if st.fires > 1 {
		others := st
		others.last, others.fires = st.second2last, st.fires-1
		d.note(s, others, Missed, fmt.Sprintf("misfire: fire_once took %s of that day", times.Clock(st.last)))
	}
	d.fire(s, times, st.last)
	d.cursor = st.last
	return true
}

// each fires one after the other; false when the budget ends, the cursor at the next.
func (d *decider) each(s *Span, times *Times, until time.Time) bool {
	for {
		d.fire(s, times, d.cursor)
		next, ok := times.Next(d.cursor)
		if !ok || next.After(until) {
			return true
		}
		d.cursor = next
		if d.budget.spent() {
			return false
		}
	}
}

func (d *decider) fire(s *Span, times *Times, at time.Time) {
	d.budget.Fires--
	d.budget.Scan--
	f := s.fire(times, at)
	if s.Open() {
		f.Version = d.trigger.Version
	}
	d.out.Fires = append(d.out.Fires, f)
}
