package center

import (
	"errors"
	"sync"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/worker/transport"
)

// What AX uses a Redis for, as incidents name it.
const (
	redisTransport = "transport"
	redisRegistry  = "registry"
	redisBoth      = "both"
)

// standings is how each Redis was found by the probes of the active broker here. Safe
// for concurrent use.
type standings struct {
	mu sync.Mutex
	of map[string]found // by what it is used for; absent = not asked in this term
}

// found is what probes found; moments are of this process' clock.
type found struct {
	fault domain.IncidentKind // "" = it is well
	since time.Time
	said  string
	flaps incident.Flaps
}

// note takes down what a probe that was begun at a moment ended with.
func (s *standings) note(redis string, err error, at time.Time) {
	f := found{since: at}
	if err != nil {
		f.fault, f.said = domain.IncidentRedisAway, err.Error()
		var failed *transport.ProbeError
		if errors.As(err, &failed) {
			f.said = failed.Said()
			if failed.Answers {
				f.fault = domain.IncidentRedisRefuses
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.of[redis]
	if known && was.fault == f.fault {
		f.since = was.since
	}
	f.flaps = was.flaps.After(f.fault, f.said, at)
	if s.of == nil {
		s.of = map[string]found{}
	}
	s.of[redis] = f
}

// forget forgets all: what was found in an earlier term says nothing of now.
func (s *standings) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = nil
}

// redisWatch tells the incidents how each Redis stands: whether it answers and keeps
// what is written, and whether it is set up so that it can be relied on.
type redisWatch struct {
	standings *standings
	fit       *fit
	clock     *clock
	names     map[string]string // what it is used for → its name in fit
}

func newRedisWatch(c config.Config, standings *standings, fit *fit, clock *clock) *redisWatch {
	names := map[string]string{redisTransport: storeRedis, redisRegistry: storeRegistry}
	if c.RegistryRedisURL == c.RedisURL {
		names = map[string]string{redisBoth: storeRedis}
	}
	return &redisWatch{standings, fit, clock, names}
}

// Standings asks nobody.
func (w *redisWatch) Standings() []incident.Standing {
	var out []incident.Standing
	w.standings.mu.Lock()
	defer w.standings.mu.Unlock()
	for redis, name := range w.names {
		f := w.standings.of[redis]
		out = append(out, incident.Standing{Redis: redis, Tells: []domain.IncidentKind{domain.IncidentRedisAway, domain.IncidentRedisRefuses},
			Fault: f.fault, Since: w.since(f.since), Said: f.said, Flaps: w.flaps(f.flaps)})
		v := w.fit.verdict(name)
		s := incident.Standing{Redis: redis, Tells: []domain.IncidentKind{domain.IncidentRedisUnfit}, Since: w.since(v.since)}
		if v.err != nil {
			s.Fault, s.Said = domain.IncidentRedisUnfit, v.err.Error()
			var evicts *transport.Evicting
			if errors.As(v.err, &evicts) {
				s.Limit, s.Policy = evicts.Limit, evicts.Policy
			}
		}
		out = append(out, s)
	}
	return out
}

// flaps is how a Redis comes and goes, by the database's clock.
func (w *redisWatch) flaps(f incident.Flaps) incident.Flaps {
	f.Since, f.Seen = w.since(f.Since), w.since(f.Seen)
	return f
}

// since is a moment of this process by the database's clock.
func (w *redisWatch) since(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return w.clock.now().Add(-time.Since(at))
}
