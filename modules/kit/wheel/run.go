package wheel

import (
	"context"
	"time"
)

// maxRest is the most ticks (100 ms) for which Run sleeps over empty slots: so long can it
// be until a clock that was set forward meanwhile is noticed.
const maxRest = 10

// Run advances the wheel to what clock says at the beginning of each tick that has
// something in it, and passes every batch that isn't empty to deliver, one at a time;
// while deliver works, the wheel collects. Between those ticks it sleeps. It ends, with
// nil, when ctx does. One Run per wheel at a time.
func (w *Wheel[K]) Run(ctx context.Context, clock func() time.Time, deliver func(batch []K)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.earlier:
		case <-timer.C:
			if batch := w.Advance(clock()); len(batch) > 0 {
				deliver(batch)
			}
		}
		timer.Reset(w.rest(clock()))
	}
}

// rest is how long nothing can come due, counted from now.
func (w *Wheel[K]) rest(now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	tick := lastTick(now)
	switch {
	case tick > w.current: // Advance is behind
		w.rests = 0
		return 0
	case tick < w.current || w.passed.next != &w.passed: // the clock was set back a little, or a key was late
		w.rests = tick + 1
	default:
		w.rests = w.occupied()
	}
	return min(time.UnixMilli(w.rests*Tick.Milliseconds()).Sub(now), maxRest*Tick)
}

// occupied is the next tick, at most maxRest ahead, that has keys or moves keys inwards.
func (w *Wheel[K]) occupied() int64 {
	for t := w.current + 1; t < w.current+maxRest; t++ {
		if slot := &w.inner[t%innerSlots]; slot.next != slot || t%innerSlots == 0 {
			return t
		}
	}
	return w.current + maxRest
}

// wake ends the sleep of Run where a key was added that is due before its end.
func (w *Wheel[K]) wake(tick int64) {
	if max(tick, w.current+1) >= w.rests {
		return
	}
	w.rests = 0
	select {
	case w.earlier <- struct{}{}:
	default:
	}
}
