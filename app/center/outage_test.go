package center

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/worker/transport"
)

// What a broker's probes found is told from the first of them on: of several faults that of a Redis that is away.
func TestAFaultOfRedisIsToldFromItsFirstProbe(t *testing.T) {
	s, now := &standings{}, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	if r := s.worst(now); !r.Since.IsZero() {
		t.Errorf("nothing was asked yet: %+v", r)
	}
	s.note(redisTransport, nil, time.Now())
	s.note(redisRegistry, &transport.ProbeError{Answers: true, Err: errors.New("OOM command not allowed")}, time.Now())
	if r := s.worst(now); !r.Answers || r.Said != "OOM command not allowed" || now.Sub(r.Since).Abs() > time.Minute {
		t.Errorf("one takes no writes: %+v", r)
	}
	s.note(redisTransport, errors.New("connection refused"), time.Now())
	if r := s.worst(now); r.Answers || r.Said != "connection refused" {
		t.Errorf("one is away: %+v", r)
	}
}

// A process without the active broker reads it from the incident.
func TestAnIncidentOfRedisTellsSinceWhenAndWhy(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	i := domain.Incident{OpenedAt: at.Add(5 * time.Second), Detail: []string{"incident.said.redis_refuses", "redis", "both", "at", "2026-02-03 04:05:06Z", "said", "OOM"}}
	if since, said := incident.RedisSaid(i); !since.Equal(at) || said != "OOM" {
		t.Errorf("%s %q", since, said)
	}
	if since, _ := incident.RedisSaid(domain.Incident{OpenedAt: at}); !since.Equal(at) {
		t.Errorf("without a detail: %s", since)
	}
}

// The reason of a database that takes no writes is told by each process whose own writes it refuses.
func TestTheReasonOfADatabaseThatTakesNoWritesIsKnown(t *testing.T) {
	if said := refusing(t).noWrites(); !strings.HasPrefix(said, "attempt to write a readonly database") {
		t.Errorf("it says %q", said)
	}
}
