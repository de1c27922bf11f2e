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
	faults, err := o.faults(ctx)
	return instance.Outage{NoWrites: o.l.noWrites(), Redis: worstOf(faults)}, err
}

// deaf is since when no worker can be heard, and why; zero when nothing of the kind is known.
func (o outages) deaf(ctx context.Context) (since time.Time, said string, err error) {
	faults, err := o.faults(ctx)
	r := worstOf(ofHeartbeats(faults))
	return r.Since, r.Said, err
}

// unreached is since when the broker reaches no worker, and why; zero when nothing of the kind is known.
func (o outages) unreached(ctx context.Context) (since time.Time, said string, err error) {
	faults, err := o.faults(ctx)
	r := worstOf(faults)
	return r.Since, r.Said, err
}

// faults are what the active broker finds wrong with Redis. Where none is active nothing is known: what one that is gone
// wrote down says nothing of now.
func (o outages) faults(ctx context.Context) ([]incidentstore.RedisFault, error) {
	if b := o.l.broker; b != nil && b.Active() {
		return o.l.found.faults(o.l.clock.now(), o.l.process()), nil
	}
	if there, err := (presence{o.c.db}).Present(ctx); err != nil || !there {
		return nil, err
	}
	return o.c.incidents.Store.RedisFaults(ctx)
}

// ofHeartbeats are the faults of a Redis through which workers are heard.
func ofHeartbeats(faults []incidentstore.RedisFault) []incidentstore.RedisFault {
	return slices.DeleteFunc(faults, func(f incidentstore.RedisFault) bool { return f.Redis == redisTransport })
}

// worstOf is the fault that keeps workers from being reached or heard: of a Redis that is away before one that refuses.
func worstOf(faults []incidentstore.RedisFault) (out instance.RedisFault) {
	for _, f := range faults {
		if away := f.Fault == domain.IncidentRedisAway; away || out.Since.IsZero() || out.Answers {
			out = instance.RedisFault{Since: f.Since, Broker: f.Broker, Answers: !away, Said: f.Said}
		}
	}
	return out
}

// faults are what the probes find wrong now, as the broker of the process would write it down. now is by the database's
// clock.
func (s *standings) faults(now time.Time, broker string) []incidentstore.RedisFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []incidentstore.RedisFault
	for redis, f := range s.of {
		if f.fault != "" {
			out = append(out, incidentstore.RedisFault{Redis: redis, Fault: f.fault, Since: now.Add(-time.Since(f.since)), Said: f.said, Broker: broker})
		}
	}
	return out
}
