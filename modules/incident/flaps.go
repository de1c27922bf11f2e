package incident

import (
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	// flapsApart is how long it must have been right between two faults for these to be two troubles.
	flapsApart = 30 * time.Second
	// flapsMost is from how many faults of one trouble on it comes and goes.
	flapsMost = 3
)

// Flaps is how something comes and goes; the zero value: it never went. None of its times may last long enough to be told by
// itself.
type Flaps struct {
	Since time.Time           // of the first fault of those that followed one another closely
	Seen  time.Time           // when it was last seen at fault
	Times int                 // how often it went
	Fault domain.IncidentKind // of the last time
	Said  string              // then

	down bool
}

// After is how it comes and goes once it was found at fault at a moment, or well ("").
func (f Flaps) After(fault domain.IncidentKind, said string, at time.Time) Flaps {
	switch {
	case fault == "":
		f.down = false
		return f
	case !f.down && at.Sub(f.Seen) > flapsApart:
		f = Flaps{Since: at}
	}
	if !f.down {
		f.Times++
	}
	f.Seen, f.Fault, f.Said, f.down = at, fault, said, true
	return f
}

// Often reports whether it comes and goes still.
func (f Flaps) Often(now time.Time) bool {
	return f.Times >= flapsMost && now.Sub(f.Seen) <= flapsApart
}

// flapping is a Redis that comes and goes, as an occurrence.
func (s Standing) flapping(now time.Time) store.Occurrence {
	return store.Occurrence{Kind: s.Flaps.Fault, Subject: s.Redis, At: now, Lasts: true,
		Detail: []string{"incident.said.redis_flaps", "redis", s.Redis, "at", stamp(s.Flaps.Since), "times", count(s.Flaps.Times), "last", stamp(s.Flaps.Seen), "said", cut(s.Flaps.Said)}}
}
