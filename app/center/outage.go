package center

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	incidentstore "github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/instance"
)

// outages lets pages of instances say what keeps all of AX from going on.
type outages struct {
	l *life
	c *core
}

// Outage asks no store but the database: how this process' own writes fare, and how the
// active broker found Redis, in whichever process that is.
func (o outages) Outage(ctx context.Context) (instance.Outage, error) {
	out := instance.Outage{NoWrites: o.l.noWrites()}
	if b := o.l.broker; b != nil && b.Active() {
		if out.Redis = o.l.found.worst(o.l.clock.now(), anyRedis); !out.Redis.Since.IsZero() {
			out.Redis.Broker = o.l.process()
		}
		return out, nil
	}
	faults, err := o.c.incidents.Store.RedisFaults(ctx)
	out.Redis = worstOf(faults)
	return out, err
}

// deaf is since when no worker can be heard, and why; zero when nothing of the kind is known.
func (o outages) deaf(ctx context.Context) (since time.Time, said string, err error) {
	var r instance.RedisFault
	if b := o.l.broker; b != nil && b.Active() {
		r = o.l.found.worst(o.l.clock.now(), carriesHeartbeats)
		return r.Since, r.Said, nil
	}
	faults, err := o.c.incidents.Store.RedisFaults(ctx)
	r = worstOf(slices.DeleteFunc(faults, func(f incidentstore.RedisFault) bool { return !carriesHeartbeats(f.Redis) }))
	return r.Since, r.Said, err
}

// unreached is since when the broker reaches no worker, and why; zero when nothing of the kind is known.
func (o outages) unreached(ctx context.Context) (since time.Time, said string, err error) {
	out, err := o.Outage(ctx)
	return out.Redis.Since, out.Redis.Said, err
}

// carriesHeartbeats reports whether workers are heard through a Redis.
func carriesHeartbeats(redis string) bool { return redis != redisTransport }

func anyRedis(string) bool { return true }

// worstOf is the fault that keeps workers from being heard: of a Redis that is away before one that refuses.
func worstOf(faults []incidentstore.RedisFault) (out instance.RedisFault) {
	for _, f := range faults {
		if away := f.Fault == domain.IncidentRedisAway; away || out.Since.IsZero() || out.Answers {
			out = instance.RedisFault{Since: f.Since, Broker: f.Broker, Answers: !away, Said: f.Said}
		}
	}
	return out
}

// worst is the fault of one of these Redis that keeps workers from being reached or heard: of one that is away before one
// that refuses. now is by the database's clock.
func (s *standings) worst(now time.Time, of func(redis string) bool) instance.RedisFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out instance.RedisFault
	for redis, f := range s.of {
		if !of(redis) {
			continue
		}
		away := f.fault == domain.IncidentRedisAway
		if away || f.fault == domain.IncidentRedisRefuses && (out.Since.IsZero() || out.Answers) {
			out = instance.RedisFault{Since: now.Add(-time.Since(f.since)), Answers: !away, Said: f.said}
		}
	}
	return out
}
