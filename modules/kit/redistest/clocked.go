package redistest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockTick is how often the clock of a Clocked moves, and so how far it may be behind.
const clockTick = 5 * time.Millisecond

// Clocked returns the URL of an in-process Redis with a clock of its own, and what sets that: so far off this machine's.
// Name the test or subtest so that it has "miniredis" as a part, by which tests are counted.
func Clocked(t *testing.T) (url string, set func(off time.Duration)) {
	t.Helper()
	m := miniredis.RunT(t)
	var off atomic.Int64
	tell := func() { m.SetTime(time.Now().Add(time.Duration(off.Load()))) }
	tell()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(clockTick)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-tick.C:
				if tell(); now.Sub(last) >= time.Second {
					m.FastForward(now.Sub(last))
					last = now
				}
			}
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
	return "redis://" + m.Addr() + "/0", func(d time.Duration) { off.Store(int64(d)); tell() }
}
