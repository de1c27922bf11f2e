package center

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/instance"
)

// outages lets pages of instances say what keeps all of AX from going on.
type outages struct {
	l *life
	c *core
}

// Outage asks no store but the database: how this process' own writes fare, and how the
// active broker found Redis.
func (o outages) Outage(ctx context.Context) (instance.Outage, error) {
	out := instance.Outage{NoWrites: o.l.noWrites()}
	if b := o.l.broker; b != nil && b.Active() {
		out.Redis = o.l.found.worst(o.l.clock.now())
		return out, nil
	}
	for _, kind := range []domain.IncidentKind{domain.IncidentRedisAway, domain.IncidentRedisRefuses} {
		open, err := o.c.incidents.Store.Open(ctx, kind, 0, 1)
		if err != nil {
			return out, err
		}
		if len(open) > 0 {
			out.Redis.Since, out.Redis.Said = incident.RedisSaid(open[0])
			out.Redis.Answers = kind == domain.IncidentRedisRefuses
			break
		}
	}
	return out, nil
}

// worst is the fault of a Redis that keeps workers from being heard: of one that is away before one that refuses. now is
// by the database's clock.
func (s *standings) worst(now time.Time) instance.RedisFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out instance.RedisFault
	for _, f := range s.of {
		away := f.fault == domain.IncidentRedisAway
		if away || f.fault == domain.IncidentRedisRefuses && (out.Since.IsZero() || out.Answers) {
			out = instance.RedisFault{Since: now.Add(-time.Since(f.since)), Answers: !away, Said: f.said}
		}
	}
	return out
}
