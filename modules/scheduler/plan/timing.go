package plan

import (
	"fmt"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// Timing is when a job is due and how its business date follows from that.
type Timing struct {
	Schedule domain.Schedule
	Zone     string // IANA name
	Rule     domain.BizDateRule
	// Anchor is the origin of the grid of every: and @every, the moment of the first
	// save; zero for all others.
	Anchor time.Time
}

// Anchored tells whether the schedule is a grid that needs an anchor.
func (t Timing) Anchored() bool {
	_, ok := t.interval()
	return ok
}

func (t Timing) interval() (time.Duration, bool) {
	switch t.Schedule.Kind {
	case domain.ScheduleEvery:
		return time.Duration(t.Schedule.EveryMs) * time.Millisecond, true
	case domain.ScheduleCron:
		if s, err := cron.Parse(t.Schedule.Expr, cron.Dialect(t.Schedule.Dialect)); err == nil {
			return s.Every()
		}
	}
	return 0, false
}

// SameGrid tells whether o is a grid of the same interval, so that the anchor is kept.
func (t Timing) SameGrid(o Timing) bool {
	a, ok := t.interval()
	b, also := o.interval()
	return ok && also && a == b
}

// Expr is the schedule in one text, as it is stored: a cron expression, or the
// milliseconds of every: and at:.
func (t Timing) Expr() string {
	switch t.Schedule.Kind {
	case domain.ScheduleEvery:
		return strconv.FormatInt(t.Schedule.EveryMs, 10)
	case domain.ScheduleAt:
		return strconv.FormatInt(t.Schedule.AtMs, 10)
	}
	return t.Schedule.Expr
}

// ParseSchedule reads what Expr wrote.
func ParseSchedule(kind domain.ScheduleKind, expr, dialect string) (domain.Schedule, error) {
	s := domain.Schedule{Kind: kind}
	var err error
	switch kind {
	case domain.ScheduleCron:
		s.Expr, s.Dialect = expr, dialect
	case domain.ScheduleEvery:
		s.EveryMs, err = strconv.ParseInt(expr, 10, 64)
	case domain.ScheduleAt:
		s.AtMs, err = strconv.ParseInt(expr, 10, 64)
	case domain.ScheduleNone:
	default:
		err = fmt.Errorf("there is no kind of schedule %q", kind)
	}
	return s, err
}

// Times is a Timing made ready for asking. Safe for concurrent use.
type Times struct {
	next func(after time.Time) (time.Time, bool)
	grid *cron.Grid
	loc  *time.Location
	rule domain.BizDateRule
}

// Compile judges a timing. The error says what is wrong with the expression, the
// interval, the zone or the rule; a cron error is a *cron.Error.
func Compile(t Timing) (*Times, error) {
	loc, err := zone.Load(t.Zone)
	if err != nil {
		return nil, err
	}
	if t.Rule != domain.BizDateT && t.Rule != domain.BizDateTMinus1 {
		return nil, fmt.Errorf("there is no rule %q for business dates", t.Rule)
	}
	out := &Times{loc: loc, rule: t.Rule}
	switch t.Schedule.Kind {
	case domain.ScheduleCron:
		s, err := cron.Parse(t.Schedule.Expr, cron.Dialect(t.Schedule.Dialect))
		if err != nil {
			return nil, err
		}
		if d, ok := s.Every(); ok {
			out.onGrid(cron.Grid{Anchor: t.Anchor, Every: d})
		} else {
			out.next = func(after time.Time) (time.Time, bool) { return s.Next(after, loc) }
		}
	case domain.ScheduleEvery:
		g := cron.Grid{Anchor: t.Anchor, Every: time.Duration(t.Schedule.EveryMs) * time.Millisecond}
		if err := g.Validate(); err != nil {
			return nil, err
		}
		out.onGrid(g)
	case domain.ScheduleAt:
		at := time.UnixMilli(t.Schedule.AtMs).UTC()
		out.next = func(after time.Time) (time.Time, bool) { return at, at.After(after) }
	default:
		return nil, fmt.Errorf("a schedule of kind %q is never due", t.Schedule.Kind)
	}
	return out, nil
}

func (t *Times) onGrid(g cron.Grid) {
	t.grid = &g
	t.next = g.Next
}

// Next is the first fire strictly after an instant, in UTC; false: never.
func (t *Times) Next(after time.Time) (time.Time, bool) {
	at, ok := t.next(after)
	return at.UTC(), ok
}

// BizDate is the business date of a fire.
func (t *Times) BizDate(at time.Time) domain.BizDate {
	d := domain.BizDateOf(at, t.loc)
	if t.rule == domain.BizDateTMinus1 {
		return d.AddDays(-1)
	}
	return d
}

// day is the time in which a fire must lie to be about the date: from start, before end.
func (t *Times) day(d domain.BizDate) (start, end time.Time) {
	if t.rule == domain.BizDateTMinus1 {
		d = d.AddDays(1)
	}
	return d.Start(t.loc), d.AddDays(1).Start(t.loc)
}

// Clock writes a fire's local time for people.
func (t *Times) Clock(at time.Time) string {
	if at.Second() == 0 && at.Nanosecond() == 0 {
		return at.In(t.loc).Format("15:04")
	}
	if at.Nanosecond() == 0 {
		return at.In(t.loc).Format("15:04:05")
	}
	return at.In(t.loc).Format("15:04:05.000")
}

// stretch is the fires of one business date in a window.
type stretch struct {
	date               domain.BizDate
	first, second2last time.Time // second2last is zero when there is only one
	last               time.Time
	fires              int
}

// stretch gathers the first business date's fires strictly after an instant and not
// after to; false when there are none. A day of a grid is counted, not walked, and a
// cron expression has at most 90,000 fires in a day, so the work is bounded.
func (t *Times) stretch(after, to time.Time) (stretch, bool) {
	first, ok := t.Next(after)
	if !ok || first.After(to) {
		return stretch{}, false
	}
	s := stretch{date: t.BizDate(first), first: first, last: first, fires: 1}
	_, end := t.day(s.date)
	if end = end.Add(-time.Millisecond); end.Before(to) {
		to = end
	}
	if t.grid != nil {
		s.fires += max(0, int(to.Sub(first)/t.grid.Every))
		s.last = first.Add(time.Duration(s.fires-1) * t.grid.Every)
		if s.fires > 1 {
			s.second2last = s.last.Add(-t.grid.Every)
		}
		return s, true
	}
	for {
		at, ok := t.Next(s.last)
		if !ok || at.After(to) {
			return s, true
		}
		s.second2last, s.last = s.last, at
		s.fires++
	}
}
