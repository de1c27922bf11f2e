package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// clockRange is a stretch of a day by the clock on the wall, in milliseconds since midnight:
// after the first, up to and with the second.
type clockRange struct{ after, to int }

const dayMs = 24 * 3600 * 1000

func wholeDay() clockRange { return clockRange{-1, dayMs - 1} }

func (r clockRange) holds(ms int) bool { return r.after < ms && ms <= r.to }

// clockOf is what the clock on the wall shows.
func clockOf(at time.Time, loc *time.Location) int {
	at = at.In(loc)
	return (at.Hour()*3600+at.Minute()*60+at.Second())*1000 + at.Nanosecond()/1_000_000
}

// carried is fires of one day of the schedule that do not go where the calendar of their span
// says, because an older version had said otherwise in time: they have happened already
// (to is zero), or they keep the day that they were promised.
type carried struct {
	day domain.BizDate // for which the schedule asked
	at  clockRange
	to  domain.BizDate
}

// plain is what is left of a day for the calendar to decide.
func (g *gate) plain(d domain.BizDate) []clockRange {
	left := []clockRange{wholeDay()}
	for _, c := range g.carried {
		if c.day == d {
			left = without(left, c.at)
		}
	}
	return left
}

func without(all []clockRange, cut clockRange) []clockRange {
	var out []clockRange
	for _, r := range all {
		for _, piece := range []clockRange{{r.after, min(r.to, cut.after)}, {max(r.after, cut.to), r.to}} {
			if piece.after < piece.to {
				out = append(out, piece)
			}
		}
	}
	return out
}

func (g *gate) carriedTo(d domain.BizDate) []clockRange {
	var out []clockRange
	for _, c := range g.carried {
		if c.to == d {
			out = append(out, c.at)
		}
	}
	return out
}

// nextCarried is the first day from d on that was promised.
func (g *gate) nextCarried(d domain.BizDate) (best domain.BizDate, found bool) {
	for _, c := range g.carried {
		if !c.to.IsZero() && !c.to.Before(d) && (!found || c.to.Before(best)) {
			best, found = c.to, true
		}
	}
	return best, found
}

// Carry tells what a newer version of a span's calendar must take over at an instant, so that
// no fire that was moved is lost or happens twice: one that has happened is not moved
// ahead again, and one that was promised for later and would now lie in the past keeps its
// promise. old is the span in force until then, new the timing from then on, which differs
// by the version of the calendar alone. The text is Span.Carried of the new span.
//
// A moved fire that falls together with one of the schedule's own is not a fire of its own, and
// is judged by the new calendar alone.
func Carry(old *Span, timing Timing, calendar *domain.Calendar, at time.Time) (string, error) {
	was, err := old.compiled()
	if err != nil {
		return "", err
	}
	is, err := Compile(timing, calendar)
	if err != nil || was.gate == nil || is.gate == nil || !is.gate.moves() || !was.gate.moves() {
		return "", err
	}
	c := carrier{was: was.gate, is: is.gate, today: was.gate.day(at), clock: clockOf(at, was.loc)}
	var out []carried
	for d := c.today.AddDays(-MaxMove); !c.today.AddDays(MaxMove).Before(d); d = d.AddDays(1) {
		if c.was.ownOn(d) {
			out = append(out, c.of(d)...)
		}
	}
	text := carriedText(out)
	if len(text) > maxCarried {
		return "", domain.Fail(domain.Conflict, "the calendar was changed too often within a day for a job that moves fires").WithHint("change it again tomorrow")
	}
	return text, nil
}

// maxCarried is how long the text may be.
const maxCarried = 4000

type carrier struct {
	was, is *gate
	today   domain.BizDate
	clock   int // of the change
}

// of judges the fires of one day of the schedule, part by part.
func (c carrier) of(d domain.BizDate) []carried {
	cuts := []int{-1, c.clock, dayMs - 1}
	for _, old := range c.was.carried {
		if old.day == d {
			cuts = append(cuts, old.at.after, old.at.to)
		}
	}
	slices.Sort(cuts)
	var out []carried
	for i, from := range cuts[:len(cuts)-1] {
		if r := (clockRange{from, cuts[i+1]}); r.after < r.to {
			if one, ok := c.part(d, r); ok {
				out = append(out, one)
			}
		}
	}
	return joined(out)
}

// past tells whether the times of a day lie behind the change. A range never holds both.
func (c carrier) past(d domain.BizDate, r clockRange) bool {
	return d.Before(c.today) || d == c.today && r.to <= c.clock
}

// part judges a stretch of one day of the schedule.
func (c carrier) part(d domain.BizDate, r clockRange) (carried, bool) {
	planned, ok := c.planned(d, r)
	if !ok {
		return carried{}, false
	}
	happened := planned.IsZero() || c.past(planned, r)
	next, goes := c.is.image(d)
	ahead := goes && !c.past(next, r)
	switch {
	case happened && (ahead || !goes || next != d && c.is.ownOn(next)):
		// Also where it would count as fallen together with another, and be judged anew at the next change.
		return carried{day: d, at: r}, true
	case !happened && !ahead:
		return carried{day: d, at: r, to: c.promise(planned)}, true
	}
	return carried{}, false
}

// planned is where the fires of a day went until now: zero when they had happened before
// the old span began; false when nothing was planned for them that the new calendar could lose or double.
func (c carrier) planned(d domain.BizDate, r clockRange) (domain.BizDate, bool) {
	for _, old := range c.was.carried {
		if old.day == d && old.at.holds(r.to) {
			return old.to, true
		}
	}
	to, ok := c.was.image(d)
	if !ok || to != d && c.was.ownOn(to) {
		return domain.BizDate{}, false
	}
	return to, true
}

// promise is the day for fires that keep what was planned: that day, or the first after it that
// is of the kind now.
func (c carrier) promise(planned domain.BizDate) domain.BizDate {
	for n := range MaxMove {
		if d := planned.AddDays(n); c.is.wanted(d) {
			return d
		}
	}
	return planned
}

// joined puts neighbouring parts of one day that say the same together.
func joined(parts []carried) []carried {
	var out []carried
	for _, p := range parts {
		if n := len(out); n > 0 && out[n-1].day == p.day && out[n-1].to == p.to && out[n-1].at.to == p.at.after {
			out[n-1].at.to = p.at.to
			continue
		}
		out = append(out, p)
	}
	return out
}

// carriedText writes like "2024-05-04>2024-05-06 2024-05-05@-1:43200000>": day, part of the day
// unless it is all of it, and where it goes.
func carriedText(all []carried) string {
	var out []string
	for _, c := range all {
		text := c.day.String()
		if c.at != wholeDay() {
			text += fmt.Sprintf("@%d:%d", c.at.after, c.at.to)
		}
		out = append(out, text+">"+c.to.String())
	}
	return strings.Join(out, " ")
}

func parseCarried(text string) ([]carried, error) {
	var out []carried
	for _, word := range strings.Fields(text) {
		from, to, ok := strings.Cut(word, ">")
		c := carried{at: wholeDay()}
		day, clock, part := strings.Cut(from, "@")
		err := c.day.UnmarshalText([]byte(day))
		if err == nil {
			err = c.to.UnmarshalText([]byte(to))
		}
		if part && err == nil {
			a, b, _ := strings.Cut(clock, ":")
			if c.at.after, err = strconv.Atoi(a); err == nil {
				c.at.to, err = strconv.Atoi(b)
			}
		}
		if err != nil || !ok || c.day.IsZero() {
			return nil, fmt.Errorf("what was carried over reads %q, which is damaged", word)
		}
		out = append(out, c)
	}
	return out, nil
}
