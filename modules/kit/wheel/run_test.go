package wheel

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// running runs a wheel with the clock and hands on each key with its moment of delivery.
func running(t *testing.T, clock func() time.Time) (*Wheel[int], chan delivered) {
	w, out := New[int](clock()), make(chan delivered, 10_000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Run(ctx, clock, func(batch []int) {
			for _, k := range batch {
				out <- delivered{k, time.Now()}
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return w, out
}

type delivered struct {
	key int
	at  time.Time
}

// A key comes at the beginning of the tick that its moment falls into, whenever it is added: Run's sleep makes nothing
// later. Added late, it comes within a tick.
func TestRunIsNeverLaterThanATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := running(t, time.Now)
		const keys = 5000
		var due, added [keys]time.Time
		random := rand.New(rand.NewPCG(1, 2))
		for k := range keys {
			time.Sleep(time.Duration(random.Int64N(int64(150 * time.Millisecond))))
			ahead := time.Duration(random.Int64N(int64(4*time.Second))) >> random.IntN(12)
			added[k] = time.Now()
			due[k] = added[k].Add(ahead - 2*time.Millisecond)
			if err := w.Add(k, due[k]); err != nil {
				t.Fatal(err)
			}
		}
		for range keys {
			d := <-out
			tick := time.UnixMilli(firstTick(due[d.key]) * Tick.Milliseconds())
			if d.at.Before(due[d.key]) || d.at.After(tick) && d.at.Sub(added[d.key]) >= Tick {
				t.Errorf("key %d, added %s before its moment, came %s after it", d.key, due[d.key].Sub(added[d.key]), d.at.Sub(due[d.key]))
			}
		}
	})
}

func TestRunSleepsWhileNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		w, out := running(t, func() time.Time { asked.Add(1); return time.Now() })
		begin := time.Now()
		for k, ahead := range []time.Duration{30 * time.Second, 59 * time.Minute} {
			if err := w.Add(k, begin.Add(ahead)); err != nil {
				t.Fatal(err)
			}
		}
		if d := <-out; d.key != 0 || d.at.Sub(begin) != 30*time.Second {
			t.Errorf("%d came after %s", d.key, d.at.Sub(begin))
		}
		const looks = 30 * 10 * 5 / 4 // ten a second, and the moves between the rings; each asks the clock twice
		if n := asked.Load(); n > 2*looks {
			t.Errorf("the clock was asked %d times in 30 s with one key", n)
		}
	})
}

// A clock that is set forward while Run sleeps is noticed within maxRest ticks; one that is set back repeats nothing.
func TestRunFollowsAClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
		w, out := running(t, clock)
		add := func(k int, ahead time.Duration) {
			if err := w.Add(k, clock().Add(ahead)); err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range []time.Duration{5 * time.Second, time.Minute, -3 * time.Second, -time.Minute} {
			add(i, 30*time.Second)
			time.Sleep(time.Second + 5*time.Millisecond)
			offset.Add(int64(step))
			set := time.Now()
			want := max(29*time.Second-step, 0)
			if d := <-out; d.key != i || d.at.Sub(set) < want-Tick || d.at.Sub(set) > want+maxRest*Tick {
				t.Errorf("step %s: %d came %s after it, want %s", step, d.key, d.at.Sub(set), want)
			}
		}
		if len(out) != 0 {
			t.Errorf("%d keys came again", len(out))
		}
	})
}
