package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// Gate is how a schedule lives by one version of a calendar. The zero value: by none. It is
// comparable, so that a newer version of the calendar is another timing.
type Gate struct {
	Calendar domain.ID
	Version  int
	On       domain.GateDay
	Else     domain.GateElse
}

const (
	// MaxMove is how many days away the nearest day of the kind may be for a fire to be moved
	// there; beyond, it is skipped.
	MaxMove = 31
	// gateYears is how far ahead a gate looks for a fire that passes. The 29th of February falls
	// on the same day of the week again within 40 years.
	gateYears = 40
)

// Text is the gate as it is stored beside calendar and version; "" for none.
func (g Gate) Text() string {
	if g.Calendar == 0 {
		return ""
	}
	return string(g.On) + "/" + string(g.Else)
}

// ParseGate reads what Text wrote.
func ParseGate(calendar domain.ID, version int, text string) Gate {
	if calendar == 0 {
		return Gate{}
	}
	on, otherwise, _ := strings.Cut(text, "/")
	return Gate{Calendar: calendar, Version: version, On: domain.GateDay(on), Else: domain.GateElse(otherwise)}
}

// GateOf is the gate that a definition asks for, under the version of its calendar in
// force. A job that takes nothing of a calendar for its timing has none.
func GateOf(spec domain.JobSpec, c *domain.Calendar) Gate {
	u := spec.Calendar
	if c == nil || u.On == domain.GateAny && !spec.BizDate.Workdays() {
		return Gate{}
	}
	return Gate{Calendar: c.ID, Version: c.Version, On: u.On, Else: u.Else}
}

// moves tells whether fires are moved rather than skipped.
func (g Gate) moves() bool { return g.filters() && g.Else != domain.ElseSkip }

// filters tells whether the gate holds anything back.
func (g Gate) filters() bool { return g.On == domain.GateWorkday || g.On == domain.GateRestday }

// gate is a Gate made ready for asking: a function from the schedule's own fires to those that
// happen. It works by days: a day of the kind has the schedule's times of day if the schedule
// asks for that day itself, or for a day that is moved there. So a fire is moved to the
// same time of day, through clock changes like any other of that day, and two that are moved to
// one instant are one.
type gate struct {
	Gate
	calendar *domain.Calendar
	loc      *time.Location
	own      func(after time.Time) (time.Time, bool) // the schedule's own fires
	daily    func(after time.Time) (time.Time, bool) // its times of day, on each day; for moves only
	carried  []carried
}

// newGate judges a gate over a schedule that compiled to t.
func newGate(timing Timing, t *Times, c *domain.Calendar, carry []carried) (*gate, error) {
	if c == nil || c.ID != timing.Gate.Calendar || c.Version != timing.Gate.Version {
		return nil, fmt.Errorf("version %d of calendar %s is not at hand", timing.Gate.Version, timing.Gate.Calendar)
	}
	g := &gate{Gate: timing.Gate, calendar: c, loc: t.loc, own: t.next, carried: carry}
	if !g.moves() {
		return g, nil
	}
	if timing.Schedule.Kind != domain.ScheduleCron || t.grid != nil {
		return nil, fmt.Errorf("fires of an interval have no time of day to be moved to another day; use else: skip")
	}
	daily, err := everyDay(timing.Schedule, t.loc)
	g.daily = daily
	return g, err
}

// everyDay is a cron schedule's times of day on every day.
func everyDay(s domain.Schedule, loc *time.Location) (func(time.Time) (time.Time, bool), error) {
	parsed, err := cron.Parse(s.Expr, cron.Dialect(s.Dialect))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(s.Expr)
	expr := ""
	switch {
	case fields[0] == "@hourly":
		expr = "0 * * * *"
	case strings.HasPrefix(fields[0], "@"):
		expr = "0 0 * * *"
	case parsed.Dialect() == cron.Unix:
		expr = strings.Join(fields[:2], " ") + " * * *"
	case parsed.Dialect() == cron.Seconds:
		expr = strings.Join(fields[:3], " ") + " * * *"
	default:
		expr = strings.Join(fields[:3], " ") + " * * ?"
	}
	all, err := cron.Parse(expr, parsed.Dialect())
	if err != nil {
		return nil, err
	}
	return func(after time.Time) (time.Time, bool) { return all.Next(after, loc) }, nil
}

// wanted tells whether a day is of the kind.
func (g *gate) wanted(d domain.BizDate) bool {
	return !g.filters() || g.calendar.Workday(d) == (g.On == domain.GateWorkday)
}

func (g *gate) day(at time.Time) domain.BizDate { return domain.BizDateOf(at, g.loc) }

// next is the first fire that happens strictly after an instant.
func (g *gate) next(after time.Time) (time.Time, bool) {
	if g.moves() {
		return g.nextMoved(after)
	}
	limit := after.AddDate(gateYears, 0, 0)
	for {
		at, ok := g.own(after)
		if !ok || at.After(limit) {
			return time.Time{}, false
		}
		d := g.day(at)
		if g.wanted(d) {
			return at, true
		}
		for d = d.AddDays(1); !g.wanted(d); d = d.AddDays(1) {
			if d.Start(g.loc).After(limit) {
				return time.Time{}, false
			}
		}
		after = d.Start(g.loc).Add(-1)
	}
}

// nextMoved goes through the days on which something may happen.
func (g *gate) nextMoved(after time.Time) (time.Time, bool) {
	limit := g.day(after.AddDate(gateYears, 0, 0))
	for d := g.day(after); ; d = d.AddDays(1) {
		var ok bool
		if d, ok = g.nextDay(d, limit); !ok {
			return time.Time{}, false
		}
		if at, ok := g.on(d, after); ok {
			return at, true
		}
	}
}

// on is the first fire of a day strictly after an instant.
func (g *gate) on(d domain.BizDate, after time.Time) (time.Time, bool) {
	if start := d.Start(g.loc).Add(-1); start.After(after) {
		after = start
	}
	parts := g.parts(d)
	for {
		at, ok := g.daily(after)
		if !ok || g.day(at) != d {
			return time.Time{}, false
		}
		for _, p := range parts {
			if p.holds(clockOf(at, g.loc)) {
				return at, true
			}
		}
		after = at
	}
}

// ownOn tells whether the schedule itself asks for the day.
func (g *gate) ownOn(d domain.BizDate) bool {
	at, ok := g.own(d.Start(g.loc).Add(-1))
	return ok && g.day(at) == d
}

// ownFrom is the first day from d on for which the schedule itself asks.
func (g *gate) ownFrom(d domain.BizDate) (domain.BizDate, bool) {
	at, ok := g.own(d.Start(g.loc).Add(-1))
	return g.day(at), ok
}

// image is where the fires of a day go; false: nowhere, they are skipped.
func (g *gate) image(d domain.BizDate) (domain.BizDate, bool) {
	step := 0
	switch g.Else {
	case domain.ElseNext:
		step = 1
	case domain.ElsePrevious:
		step = -1
	}
	for n := 0; n <= MaxMove; n++ {
		if to := d.AddDays(n * step); g.wanted(to) {
			return to, true
		}
	}
	return domain.BizDate{}, false
}

// nextDay is the first day from d to limit to which fires go. Images of later days are never
// earlier, so the first image that is not before d is the least.
func (g *gate) nextDay(d, limit domain.BizDate) (domain.BizDate, bool) {
	from := d
	if g.Else == domain.ElseNext {
		for n := 0; n < MaxMove && !g.wanted(from.AddDays(-1)); n++ {
			from = from.AddDays(-1)
		}
	}
	best, found := g.nextCarried(d)
	for {
		x, ok := g.ownFrom(from)
		if !ok || limit.Before(x) {
			break
		}
		if to, ok := g.image(x); ok && !to.Before(d) {
			if !found || to.Before(best) {
				best, found = to, true
			}
			break
		}
		from = x.AddDays(1)
	}
	return best, found
}

// sources lists the days whose fires go to a day, itself first if it is one.
func (g *gate) sources(d domain.BizDate) []domain.BizDate {
	if !g.wanted(d) {
		return nil
	}
	var out []domain.BizDate
	if g.ownOn(d) {
		out = append(out, d)
	}
	step := -1
	if g.Else == domain.ElsePrevious {
		step = 1
	}
	if !g.moves() {
		return out
	}
	for n := 1; n <= MaxMove; n++ {
		x := d.AddDays(n * step)
		if g.wanted(x) {
			break
		}
		if g.ownOn(x) {
			out = append(out, x)
		}
	}
	return out
}

// parts is which times of a day happen.
func (g *gate) parts(d domain.BizDate) []clockRange {
	var out []clockRange
	for _, x := range g.sources(d) {
		left := g.plain(x)
		if len(left) == 1 && left[0] == wholeDay() {
			return left
		}
		out = append(out, left...)
	}
	return append(out, g.carriedTo(d)...)
}

// movedFrom is the day from which a fire was moved; zero when the schedule itself asks for it.
func (g *gate) movedFrom(at time.Time) domain.BizDate {
	if !g.moves() {
		return domain.BizDate{}
	}
	d, clock := g.day(at), clockOf(at, g.loc)
	for _, x := range g.sources(d) {
		for _, p := range g.plain(x) {
			if p.holds(clock) {
				if x == d {
					return domain.BizDate{}
				}
				return x
			}
		}
	}
	for _, c := range g.carried {
		if c.to == d && c.at.holds(clock) && c.day != d {
			return c.day
		}
	}
	return domain.BizDate{}
}

// refusal says why the calendar lets a fire of the schedule not happen on its day.
func (g *gate) refusal(d domain.BizDate) string {
	kind := "rest day"
	if g.On == domain.GateRestday {
		kind = "workday"
	}
	return "calendar " + g.calendar.Name + ": " + kind
}
