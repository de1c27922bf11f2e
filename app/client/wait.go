package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// limits are how long a client waits. AX itself answers a look within 4 s and a change within
// 50 s, if only that a store does not answer.
type limits struct {
	connect time.Duration // to reach the process at all
	look    patience
	change  patience
	large   patience
	again   time.Duration // how long after its first failure a call is repeated
	pause   time.Duration // before the first repetition, doubled before each further one
	mention time.Duration // after how long without an answer that is told
	hush    time.Duration // between two things that are told
}

// patience bounds one call: try is how long AX may say nothing in one try, all how long after
// the call began a try may still be waited for.
type patience struct{ try, all time.Duration }

func usual() limits {
	return limits{connect: 2 * time.Second, look: patience{5 * time.Second, 8 * time.Second}, change: patience{10 * time.Second, 15 * time.Second},
		large: patience{time.Minute, 75 * time.Second}, again: 3 * time.Second, pause: 100 * time.Millisecond, mention: 2 * time.Second, hush: 10 * time.Second}
}

func (l limits) of(method string, large bool) patience {
	switch {
	case method == http.MethodGet:
		return l.look
	case large:
		return l.large
	}
	return l.change
}

// silent is why a call was given up.
type silent struct{ after time.Duration }

// Error names the time.
func (s *silent) Error() string { return "nothing was heard for " + words(s.after) }

// listen bounds a call by silence: its context ends when nothing was heard for the limit, or after the last call of heard
// for what that was given. done must be called.
func (c *Client) listen(ctx context.Context, limit time.Duration) (bounded context.Context, heard func(next time.Duration), done func()) {
	ctx, end := context.WithCancelCause(ctx)
	var last atomic.Int64
	last.Store(int64(limit))
	mention := time.AfterFunc(c.limits.mention, func() {
		if limit > c.limits.mention {
			c.tell(fmt.Sprintf("%s has not answered for %s; waiting for up to %s", c.base, words(c.limits.mention), words(limit)))
		}
	})
	timer := time.AfterFunc(limit, func() { end(&silent{time.Duration(last.Load())}) })
	heard = func(next time.Duration) {
		mention.Stop()
		last.Store(int64(next))
		timer.Reset(next)
	}
	return ctx, heard, func() {
		mention.Stop()
		timer.Stop()
		end(nil)
	}
}

// lost is err as the end of a call without an answer; where that was given up, that is said.
func (c *Client) lost(ctx context.Context, err error) error {
	var s *silent
	if errors.As(context.Cause(ctx), &s) {
		err = s
	}
	return &lost{c.base, err}
}

// hearing tells of each piece that is read.
type hearing struct {
	r     io.Reader
	heard func()
}

// Read reads on.
func (h hearing) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.heard()
	return n, err
}

// quiet keeps what is told from being told again and again. Safe for concurrent use.
type quiet struct {
	mu   sync.Mutex
	last time.Time
}

func (c *Client) tell(text string) {
	if c.Tell == nil {
		return
	}
	c.told.mu.Lock()
	defer c.told.mu.Unlock()
	if now := time.Now(); c.told.last.IsZero() || now.Sub(c.told.last) >= c.limits.hush {
		c.told.last = now
		c.Tell(text)
	}
}

// words is a span of time in seconds, rounded to a tenth.
func words(d time.Duration) string {
	return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
}

// rest waits, or fails when ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
