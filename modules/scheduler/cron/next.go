package cron

import (
	"math"
	"math/bits"
	"time"
)

const (
	perHour = 60 * 60
	perDay  = 24 * perHour

	none    = math.MaxInt64 // no such second
	forever = math.MaxInt64 // a period without end

	firstInstant = -62104060800 // 0002-01-01, in Unix seconds
	lastInstant  = 253370764799 // 9998-12-31, the last year that RFC 3339 writes in every zone

	madeUp  = 3 * perHour  // skipped fixed times are made up after gaps up to this
	near    = 36 * perHour // offsets of any two moments differ by less
	horizon = 130          // years; every pattern that ever comes again does so in 40
)

// Next is the first firing strictly after from, as an instant in loc (nil is UTC), and
// false when there is none: not within 130 years, nor in a year that the expression
// names. Firings are whole seconds.
// It depends on the instant only, not on the zone that from is written in; instants
// before the year 2 are searched from there, and nothing fires after 9998. An "@every D"
// schedule has no anchor of its own: here each firing is D after from, see [Grid].
func (s *Schedule) Next(from time.Time, loc *time.Location) (time.Time, bool) {
	if loc == nil {
		loc = time.UTC
	}
	base := max(from.Unix(), firstInstant)
	if base > lastInstant {
		return time.Time{}, false
	}
	if s.every > 0 {
		t := from.Round(0).Add(s.every)
		return t.In(loc), t.Unix() <= lastInstant
	}
	at := s.search(base, loc)
	if at == none || at > lastInstant {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(loc), true
}

// period is a stretch of time, in Unix seconds, with one offset from UTC. Its bounds may
// also lie where the offset stays the same.
type period struct{ start, end, offset int64 }

// periodAt is a period that holds the second.
func periodAt(sec int64, loc *time.Location) period {
	t := time.Unix(sec, 0).In(loc)
	_, offset := t.Zone()
	p := period{math.MinInt64, forever, int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = min(start.Unix(), sec)
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	if p.end <= sec { // ZoneBounds counts 365 days in leap years too: go on to the year's end
		p.end = sec - sec%perDay + perDay
	}
	return p
}

// search finds the first firing after base, both in Unix seconds.
//
// It walks the periods. fit is the first fitting wall-clock second at or after the
// place reached; it fires if the period still shows it. Where the clock goes forward
// over fit, a fixed time fires at the period's end; where it goes back, an interval
// schedule looks again from the repeated second, while a fixed one holds on to fit,
// which lies behind everything that was shown already.
func (s *Schedule) search(base int64, loc *time.Location) int64 {
	p := periodAt(base, loc)
	wall := base + 1 + p.offset
	if !s.interval {
		wall = max(wall, shown(p, base, loc))
	}
	last := s.last(wall)
	fit := s.fit(wall, last)
	for reached := base; ; {
		if fit != none && fit-p.offset < p.end {
			return fit - p.offset
		}
		if p.end == forever || fit == none && s.settled(p, reached) {
			return none
		}
		if fit != none && fit-near > p.end && s.settled(p, reached) {
			reached = fit - near // nothing fits before: skip the periods between
			p = periodAt(reached, loc)
			continue
		}
		next := periodAt(p.end, loc)
		opens := p.end + next.offset // the first wall-clock second that next shows
		skipped := next.offset - p.offset
		if !s.interval && fit < opens && skipped <= madeUp {
			return p.end
		}
		if fit < opens || s.interval && skipped < 0 {
			fit = s.fit(opens, last)
		}
		p, reached = next, p.end
	}
}

// last is the last year worth a look: what has no year field comes again within the horizon.
func (s *Schedule) last(wall int64) int {
	if s.years.any() {
		return time.Unix(wall, 0).UTC().Year() + horizon
	}
	return finalYear
}

// settled reports that the end of the period can't show again any second at or after
// the one reached, so that the next fit stays the next.
func (s *Schedule) settled(p period, reached int64) bool {
	return !s.interval || p.end-reached > near
}

// shown is the first wall-clock second that no period before p has shown; periods that
// ended over a day before base are too old to matter.
func shown(p period, base int64, loc *time.Location) int64 {
	wall := int64(math.MinInt64)
	for p.start > base-near {
		before := periodAt(p.start-1, loc)
		wall = max(wall, p.start+before.offset)
		p = before
	}
	return wall
}

// fit is the first fitting wall-clock second at or after wall, and none after the year
// last. Wall-clock seconds are counted as if the zone were UTC.
func (s *Schedule) fit(wall int64, last int) int64 {
	year, month, from := time.Unix(wall, 0).UTC().Date()
	clock, ok := s.clock(int(floorMod(wall, perDay)))
	if !ok {
		clock, _ = s.clock(0)
		from++
	}
	for m := int(month); ; m, from = m+1, 1 {
		if m > 12 {
			year, m = year+1, 1
		}
		if y, ok := s.years.next(year); !ok || y > last {
			return none
		} else if y > year {
			year, m, from = y, 1, 1
		}
		if s.months>>m&1 == 0 {
			continue
		}
		start := daysBefore(year, m)
		days := s.days.fit(monthLength(year, m), int(floorMod(start+4, 7))) // 1 January 1970 was a Thursday
		days = days >> from << from
		if days == 0 {
			continue
		}
		d := bits.TrailingZeros64(days)
		midnight := (start + int64(d) - 1) * perDay
		if midnight > wall {
			clock, _ = s.clock(0)
		}
		return midnight + int64(clock)
	}
}

// clock is the first fitting second of a day at or after from; false when the day has
// none left.
func (s *Schedule) clock(from int) (int, bool) {
	h, m, sec := from/perHour, from/60%60, from%60
	if s.hours>>h&1 != 0 {
		if s.minutes>>m&1 != 0 {
			if x := bits.TrailingZeros64(s.seconds >> sec << sec); x < 60 {
				return h*perHour + m*60 + x, true
			}
		}
		if x := bits.TrailingZeros64(s.minutes >> (m + 1) << (m + 1)); x < 60 {
			return h*perHour + x*60 + bits.TrailingZeros64(s.seconds), true
		}
	}
	x := bits.TrailingZeros64(s.hours >> (h + 1) << (h + 1))
	return x*perHour + bits.TrailingZeros64(s.minutes)*60 + bits.TrailingZeros64(s.seconds), x < 24
}

// daysBefore counts the days from 1 January 1970 to the first of a month, for years from 1.
func daysBefore(year, month int) int64 {
	y := int64(year) - 1
	days := y*365 + y/4 - y/100 + y/400 - 719162
	days += int64((367*month - 362) / 12) // as if February had 30 days
	if month > 2 {
		days -= 2
		if leap(year) {
			days++
		}
	}
	return days
}

func monthLength(year, month int) int {
	switch month {
	case 2:
		if leap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func floorMod(a, b int64) int64 { return (a%b + b) % b }
