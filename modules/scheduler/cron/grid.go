package cron

import (
	"fmt"
	"time"
)

const (
	// MinEvery is the least distance of a [Grid].
	MinEvery = 100 * time.Millisecond
	// MaxEvery is the largest: 100 years of 365 days.
	MaxEvery = 100 * 365 * 24 * time.Hour
)

// Grid is a fixed rate: Anchor + k × Every for k = 0, 1, 2 …, in elapsed time, whatever
// clocks and zones do. Instants are whole milliseconds, as they are stored; a finer
// Anchor is cut to that. The zero Grid never fires.
type Grid struct {
	Anchor time.Time
	Every  time.Duration
}

// Validate says why Every can't be kept: it must be whole milliseconds from
// [MinEvery] to [MaxEvery].
func (g Grid) Validate() error { return checkEvery(g.Every) }

func checkEvery(d time.Duration) error {
	switch {
	case d < MinEvery:
		return fmt.Errorf("every %s is too short, the least is %s", d, MinEvery)
	case d > MaxEvery:
		return fmt.Errorf("every %s is too long, the most is %s (100 years)", d, MaxEvery)
	case d%time.Millisecond != 0:
		return fmt.Errorf("every %s is not a whole number of milliseconds", d)
	}
	return nil
}

// Next is the first point of the grid strictly after from, in UTC; the anchor itself
// when from is before it. It is false for a grid that Validate refuses and for points
// after the year 9998.
func (g Grid) Next(from time.Time) (time.Time, bool) {
	if g.Validate() != nil || from.Unix() > lastInstant {
		return time.Time{}, false
	}
	anchor, every := g.Anchor.UnixMilli(), g.Every.Milliseconds()
	next := anchor
	if passed := from.UnixMilli() - anchor; passed >= 0 {
		next = anchor + (passed/every+1)*every
	}
	return time.UnixMilli(next).UTC(), next/1000 <= lastInstant
}

// Between lists the points at or after from and before to, at most limit of them.
func (g Grid) Between(from, to time.Time, limit int) []time.Time {
	return collect(from.Add(-1), to, limit, g.Next)
}
