// Package cron owns what a cron expression means in AX: it parses the three
// dialects (unix, seconds, quartz) and the descriptors (@daily, @every 5m),
// finds the next firing in a time zone, and keeps the grid of fixed intervals.
// It also owns the time-zone data: zones come from the archive compiled into
// the binary, never from the host, so that every node computes the same instants.
//
// It refuses to guess: an expression that is not understood whole is an [*Error]
// with the byte offset of the fault and a hint. It knows no job, no store and no
// clock; time is always an argument. Schedules are immutable and safe for
// concurrent use. The job editor, the CLI's preview, the ledger and the taking of
// due fires all call this one code, so a preview can't differ from the firing.
//
// Clock changes follow cronie. A schedule is of the interval kind when its second,
// minute or hour field begins with "*" or is "a/n", else of the fixed-time kind.
// Fixed times that a gap of at most three hours skips fire once, at the first
// instant after the gap; fixed times that come twice fire on the first pass only.
// Interval schedules simply follow the wall clock.
package cron

import (
	"time"
)

// Dialect names the rules an expression is read by. The zero value, [Auto], lets
// [Parse] choose by the fields.
type Dialect string

const (
	// Auto chooses: 5 fields are unix, 7 are quartz, 6 are quartz when a day field
	// holds "?" or an operator L, W or #, else seconds.
	Auto Dialect = ""
	// Unix is crontab(5): minute hour day month weekday, weekday 0-7 with 0 and 7 Sunday.
	Unix Dialect = "unix"
	// Seconds is Unix with a seconds field in front.
	Seconds Dialect = "seconds"
	// Quartz is second minute hour day month weekday [year], weekday 1-7 from Sunday.
	Quartz Dialect = "quartz"
)

// Schedule is a parsed expression. Only [Parse] makes valid ones.
type Schedule struct {
	dialect  Dialect
	interval bool
	every    time.Duration // of "@every D"; 0 in all others

	seconds, minutes, hours uint64 // bit v = value v
	months                  uint64 // bits 1-12
	days                    dayRule
	years                   yearSet
}

// Dialect is the dialect the expression was understood in, never [Auto].
// Descriptors are lines of the unix dialect.
func (s *Schedule) Dialect() Dialect { return s.dialect }

// Interval reports whether the schedule is of the interval kind, which follows
// the wall clock through clock changes; false is the fixed-time kind.
func (s *Schedule) Interval() bool { return s.interval }

// Every is the distance of an "@every D" schedule, and false for all others.
// Whoever keeps such a schedule combines it with a stored anchor in a [Grid].
func (s *Schedule) Every() (time.Duration, bool) { return s.every, s.every > 0 }

// Between lists, in order, the firings at or after from and before to, at most
// limit of them (none when limit <= 0), so that windows laid side by side hold each
// firing once. An "@every" schedule counts from its anchor and is listed by
// [Grid.Between]; here it counts from the instant from, which is itself no firing.
func (s *Schedule) Between(from, to time.Time, loc *time.Location, limit int) []time.Time {
	if s.every == 0 {
		from = from.Add(-1)
	}
	return collect(from, to, limit, func(t time.Time) (time.Time, bool) { return s.Next(t, loc) })
}

// collect follows next from an instant, which is excluded, up to to, excluded too.
func collect(from, to time.Time, limit int, next func(time.Time) (time.Time, bool)) []time.Time {
	var out []time.Time
	for len(out) < limit {
		t, ok := next(from)
		if !ok || !t.Before(to) {
			break
		}
		out = append(out, t)
		from = t
	}
	return out
}
