package scheduler

import (
	"sync"
	"time"
)

const (
	// complainEach is how often what goes on going wrong is said again.
	complainEach = 10 * time.Second
	// complainMost bounds how many different faults are said in between: one whose words change each time, as with a
	// port in it, is no news.
	complainMost = 3
)

// complaint says what goes wrong many times a second when it begins and when its reason is another, and else each 10 s
// with how often it was. Its zero value is ready; it may be used by many at once.
type complaint struct {
	mu    sync.Mutex
	since time.Time       // of the present span
	said  map[string]bool // in it
	times int             // since it was last said
	open  bool
}

// due counts a fault and reports whether it is to be said now, and then how often anything was wrong since it was last
// said.
func (c *complaint) due(fault string, now time.Time) (times int, say bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times++
	if past := now.Sub(c.since); !c.open || past >= complainEach || past < 0 {
		c.open, c.since, c.said = true, now, map[string]bool{}
	}
	if c.said[fault] || len(c.said) == complainMost {
		return 0, false
	}
	c.said[fault] = true
	times, c.times = c.times, 0
	return times, true
}

// over ends it, and reports whether there was anything to end.
func (c *complaint) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.open
	c.open, c.times = false, 0
	return was
}
