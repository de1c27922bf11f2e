package cron

import (
	"math/bits"
	"time"
)

// LastOfMonth is the Nth of the month's last such weekday.
const LastOfMonth = lastOfMonth

// Fields is what an expression asks for, each field as ascending values, whatever the
// dialect and the way it was written. Two schedules with equal Fields fire at the same
// instants; an "@every D" schedule has none.
type Fields struct {
	Seconds, Minutes, Hours, Months []int

	Days        []int // numbers of days of the month
	FromLast    []int // days counted back from the month's last, which is 0
	Nearest     []int // days of which the nearest Monday to Friday is meant
	LastWorkday bool  // the month's last Monday to Friday
	Weekdays    []int // 0 is Sunday
	Nth         int   // which one of the month is meant of the one weekday: 1 to 5 or LastOfMonth; 0 = each
	Both        bool  // a day must fit by the month and by the week; else either does

	Years    []int // nil is any
	Interval bool  // as Interval tells
}

// Fields gives the schedule field by field.
func (s *Schedule) Fields() Fields {
	f := Fields{Seconds: values(s.seconds), Minutes: values(s.minutes), Hours: values(s.hours), Months: values(s.months),
		Days: values(s.days.days), FromLast: values(s.days.fromLast), Nearest: values(s.days.nearest), LastWorkday: s.days.lastWorkday,
		Weekdays: values(s.days.weekdays), Nth: s.days.nth, Both: s.days.both, Interval: s.interval}
	if s.years.any() {
		return f
	}
	for year, ok := s.years.next(firstYear); ok; year, ok = s.years.next(year + 1) {
		f.Years = append(f.Years, year)
	}
	return f
}

func values(set uint64) []int {
	var out []int
	for ; set != 0; set &= set - 1 {
		out = append(out, bits.TrailingZeros64(set))
	}
	return out
}

// Change is a move of a zone's clocks that touches a schedule. Readings of the wall clock
// are written as times in UTC.
type Change struct {
	At            time.Time // the first instant after it, in the zone
	Before, After time.Time // the wall clock goes from the one to the other
	Touched       time.Time // the first time of the schedule that was skipped, or that comes again
	MadeUp        bool      // a skipped time fires at At
}

// Changes finds the first skip and the first repetition of times that touch the schedule,
// after one instant and before another, whatever becomes of them by its kind. Zero: none.
func (s *Schedule) Changes(from, until time.Time, loc *time.Location) (skip, repeat Change) {
	base, end := max(from.Unix(), firstInstant), min(until.Unix(), lastInstant)
	if s.every > 0 || base >= end {
		return skip, repeat
	}
	p := periodAt(base, loc)
	last := s.last(base)
	for p.end < end && (skip.At.IsZero() || repeat.At.IsZero()) {
		next := periodAt(p.end, loc)
		low, high := p.end+min(p.offset, next.offset), p.end+max(p.offset, next.offset)
		into := &skip
		if next.offset < p.offset {
			into = &repeat
		}
		if low < high && into.At.IsZero() {
			if fit := s.fit(low, last); fit < high {
				*into = Change{At: time.Unix(p.end, 0).In(loc), Before: wallTime(p.end + p.offset), After: wallTime(p.end + next.offset), Touched: wallTime(fit),
					MadeUp: !s.interval && into == &skip && high-low <= madeUp}
			}
		}
		p = next
	}
	return skip, repeat
}

func wallTime(sec int64) time.Time { return time.Unix(sec, 0).UTC() }
