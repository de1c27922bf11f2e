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
	Gate     Gate // the calendar that it lives by
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
	next     func(after time.Time) (time.Time, bool)
	grid     *cron.Grid
	loc      *time.Location
	rule     domain.BizDateRule
	gate     *gate // nil: every fire of the schedule happens
	calendar *domain.Calendar
}

// Compile judges a timing; calendar is the version that its gate names, nil where it has
// none. The error says what is wrong with the expression, the interval, the zone or the rule; a
// cron error is a *cron.Error.
func Compile(t Timing, calendar *domain.Calendar) (*Times, error) { return compile(t, calendar, nil) }

func compile(t Timing, calendar *domain.Calendar, carry []carried) (*Times, error) {
	loc, err := zone.Load(t.Zone)
	if err != nil {
		return nil, err
	}
	if _, ok := domain.ParseBizDateRule(string(t.Rule)); !ok {
		return nil, fmt.Errorf("there is no rule %q for business dates", t.Rule)
	}
	out := &Times{loc: loc, rule: t.Rule}
	if err := out.schedule(t); err != nil {
		return nil, err
	}
	if t.Gate == (Gate{}) {
		return out, nil
	}
	out.calendar = calendar
	if out.gate, err = newGate(t, out, calendar, carry); err != nil {
		return nil, err
	}
	out.next = out.gate.next
	return out, nil
}

// schedule makes the schedule's own fires ready.
func (t *Times) schedule(of Timing) error {
	switch of.Schedule.Kind {
	case domain.ScheduleCron:
		s, err := cron.Parse(of.Schedule.Expr, cron.Dialect(of.Schedule.Dialect))
		if err != nil {
			return err
		}
		if d, ok := s.Every(); ok {
			t.onGrid(cron.Grid{Anchor: of.Anchor, Every: d})
		} else {
			t.next = func(after time.Time) (time.Time, bool) { return s.Next(after, t.loc) }
		}
	case domain.ScheduleEvery:
		g := cron.Grid{Anchor: of.Anchor, Every: time.Duration(of.Schedule.EveryMs) * time.Millisecond}
		if err := g.Validate(); err != nil {
			return err
		}
		t.onGrid(g)
	case domain.ScheduleAt:
		at := time.UnixMilli(of.Schedule.AtMs).UTC()
		t.next = func(after time.Time) (time.Time, bool) { return at, at.After(after) }
	default:
		return fmt.Errorf("a schedule of kind %q is never due", of.Schedule.Kind)
	}
	return nil
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
	return t.rule.Of(domain.BizDateOf(at, t.loc), t.calendar)
}

// days is the time in which a fire must lie to be about the date: from start, before end;
// false when no fire can be.
func (t *Times) days(d domain.BizDate) (start, end time.Time, ok bool) {
	first, last, ok := t.rule.Days(d, t.calendar)
	return first.Start(t.loc), last.AddDays(1).Start(t.loc), ok
}

// dayEnd is the last millisecond of the day of an instant.
func (t *Times) dayEnd(at time.Time) time.Time {
	return domain.BizDateOf(at, t.loc).AddDays(1).Start(t.loc).Add(-time.Millisecond)
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
// cron expression has at most 90,000 fires in a day, so the work of a day is bounded.
func (t *Times) stretch(after, to time.Time) (stretch, bool) {
	first, ok := t.Next(after)
	if !ok || first.After(to) {
		return stretch{}, false
	}
	s := stretch{date: t.BizDate(first), first: first, last: first, fires: 1}
	if _, end, ok := t.days(s.date); ok && end.Add(-time.Millisecond).Before(to) {
		to = end.Add(-time.Millisecond)
	}
	for {
		if t.grid != nil {
			t.countDay(&s, to)
		}
		at, ok := t.Next(s.last)
		if !ok || at.After(to) {
			return s, true
		}
		s.second2last, s.last = s.last, at
		s.fires++
	}
}

// countDay goes to the last fire of a grid on the day of s.last, but not after to.
func (t *Times) countDay(s *stretch, to time.Time) {
	if end := t.dayEnd(s.last); end.Before(to) {
		to = end
	}
	if n := int(to.Sub(s.last) / t.grid.Every); n > 0 {
		s.fires += n
		s.last = s.last.Add(time.Duration(n) * t.grid.Every)
		s.second2last = s.last.Add(-t.grid.Every)
	}
}
