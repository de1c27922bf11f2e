package center

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// clock is the database's clock as it is known in this process: read each second and
// carried on between two readings by the monotonic clock. So all processes write the
// same time whatever their machines' clocks say, and one that is set by hours ends no
// wait early. Before the first reading it is the machine's. Safe for concurrent use.
type clock struct {
	wall func() time.Time // this machine's
	last atomic.Pointer[reading]
	// ahead is how far Redis' clock was before it when that was last asked, in ns.
	ahead atomic.Int64
}

// reading is what the database said at a moment of the monotonic clock.
type reading struct{ database, mono time.Time }

// now is the database's time, to the millisecond.
func (c *clock) now() time.Time {
	r := c.last.Load()
	if r == nil {
		return c.wall().UTC().Truncate(time.Millisecond)
	}
	return r.database.Add(time.Since(r.mono)).Truncate(time.Millisecond)
}

const (
	readClockEach = time.Second
	// clockSlack is what two readings of the same clock may differ by, apart from the time
	// that asking takes.
	clockSlack = 2 * time.Millisecond
	// clockSet is from which difference on the database's clock was set, and did not drift.
	clockSet = time.Second
)

// measure asks once; database is its clock.
func (c *clock) measure(ctx context.Context, database func(context.Context) (time.Time, error)) error {
	ctx, cancel := context.WithTimeout(ctx, readClockEach)
	defer cancel()
	before := time.Now()
	said, err := database(ctx)
	if err != nil {
		return err
	}
	after := time.Now()
	half := after.Sub(before) / 2
	fresh := &reading{said.Add(half), after}
	was := c.last.Load()
	if was != nil {
		off := fresh.database.Sub(was.database.Add(after.Sub(was.mono)))
		if off.Abs() <= half+clockSlack {
			return nil
		}
		if off.Abs() > clockSet {
			slog.Warn("the database's clock was set; times follow it", "by", off.Round(time.Millisecond).String())
		}
	}
	c.last.Store(fresh)
	return nil
}

// follow asks until ctx ends. A database that is away changes nothing.
func (c *clock) follow(ctx context.Context, database func(context.Context) (time.Time, error)) error {
	for {
		if err := c.measure(ctx, database); err != nil && ctx.Err() == nil {
			slog.Debug("the database's clock could not be read", "error", err)
		}
		t := time.NewTimer(readClockEach)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}
