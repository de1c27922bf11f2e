package plan

import "time"

// ReachingBack is the timing with a grid that begins before the instant, on the same
// points: what it would have planned, had it been in force.
func (t Timing) ReachingBack(to time.Time) Timing {
	every, ok := t.interval()
	if ok && every > 0 && to.Before(t.Anchor) {
		t.Anchor = t.Anchor.Add(-every * (t.Anchor.Sub(to)/every + 1))
	}
	return t
}
