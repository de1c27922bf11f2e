package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// maxSkew is how far this node's clock may be off the database's. Beyond it the node
// takes nothing.
const maxSkew = time.Second

// dbClock follows the database's clock. Safe for concurrent use.
type dbClock struct {
	own func() time.Time
	db  func(ctx context.Context) (time.Time, error)

	mu     sync.Mutex
	offset time.Duration // database − own
	skewed bool
}

// now is the database's time as far as it is known here.
func (c *dbClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own().Add(c.offset)
}

// measure asks the database for its time and compares it with the middle of the
// asking. An asking that took longer than twice the allowed skew says nothing.
func (c *dbClock) measure(ctx context.Context) error {
	_, err := c.read(ctx)
	return err
}

// read is measure, and gives the database's time. In a transaction it judges the
// moment of taking.
func (c *dbClock) read(ctx context.Context) (time.Time, error) {
	before := c.own()
	db, err := c.db(ctx)
	if err != nil {
		return db, err
	}
	trip := c.own().Sub(before)
	if trip > 2*maxSkew {
		return db, nil
	}
	offset := db.Sub(before.Add(trip / 2))
	c.set(offset, offset.Abs() > maxSkew+trip/2)
	return db, nil
}

func (c *dbClock) set(offset time.Duration, skewed bool) {
	c.mu.Lock()
	was := c.skewed
	c.offset, c.skewed = offset, skewed
	c.mu.Unlock()
	switch {
	case skewed && !was:
		slog.Error("clock off: this node takes no fires until it is set right", "alert", "clock_off", "database_minus_own", offset.String())
	case was && !skewed:
		slog.Info("clock is right again: taking fires", "database_minus_own", offset.String())
	}
}

// fault says why nothing may be taken; "" = it may.
func (c *dbClock) fault() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.skewed {
		return ""
	}
	way, by := "behind", c.offset
	if by < 0 {
		way, by = "ahead of", -by
	}
	return fmt.Sprintf("this node's clock is %s %s the database's: it takes no fires until it is set right (at most %s)",
		by.Round(time.Millisecond), way, maxSkew)
}

func (c *dbClock) skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}
