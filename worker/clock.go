package worker

import "time"

// sighting is one moment on all clocks that a heartbeat lets see: the middle of its trip.
type sighting struct {
	boot        time.Duration // the boot clock
	wall, redis time.Time
	// ahead is how far Redis' clock was before the database's when the broker looked, at looked by Redis' clock.
	ahead  time.Duration
	looked time.Time
}

// lookFresh is how old a broker's look may be for its word on Redis' clock to count; it looks each second.
const lookFresh = 5 * time.Second

// skew is what is known of this machine's clock. The zero value knows nothing.
type skew struct {
	off    time.Duration // this machine's clock minus the database's
	sure   bool          // a broker's word on Redis' clock has counted
	before sighting
}

// judge goes on from one sighting to the next. Redis' clock is only what lies between two others: as long as a broker
// says how far it is off, it may be off by any amount. Without a fresh word, what is known goes on with how this
// machine's clock moved against its boot clock: Redis' clock may just have been set. Before the first word Redis' clock
// itself is all there is to compare with.
func (k skew) judge(s sighting) skew {
	age := s.redis.Sub(s.looked)
	switch {
	case !s.looked.IsZero() && age >= -time.Second && age <= lookFresh:
		k.off, k.sure = s.wall.Sub(s.redis)+s.ahead, true
	case k.sure:
		k.off += s.wall.Sub(k.before.wall) - (s.boot - k.before.boot)
	default:
		k.off = s.wall.Sub(s.redis)
	}
	k.before = s
	return k
}

// judgeClock takes a sighting in, and says when work is refused for it from now on.
func (n *Node) judgeClock(s sighting) {
	s.wall, s.redis = s.wall.Round(0), s.redis.Round(0) // of the wall alone: it may have been set
	n.mu.Lock()
	n.clock = n.clock.judge(s)
	off := n.clock.off
	n.mu.Unlock()
	was := time.Duration(n.skew.Swap(int64(off)))
	if unfit("", was, false) == "" && unfit("", off, false) != "" {
		n.log.Error("refusing work: " + unfit("", off, false) + "; set this machine's clock right")
	}
}
