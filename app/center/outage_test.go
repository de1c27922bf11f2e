package center

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	incidentstore "github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/lease"
	"github.com/axsched/ax/worker/transport"
)

// What a broker's probes found is told from the first of them on: of several faults that of a Redis that is away.
func TestAFaultOfRedisIsToldFromItsFirstProbe(t *testing.T) {
	s, now := &standings{}, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	all := func() []incidentstore.RedisFault { return s.faults(now, "broker a pid 1") }
	if r := worstOf(all()); !r.Since.IsZero() {
		t.Errorf("nothing was asked yet: %+v", r)
	}
	s.note(redisTransport, nil, time.Now())
	s.note(redisRegistry, &transport.ProbeError{Answers: true, Err: errors.New("OOM command not allowed")}, time.Now())
	if r := worstOf(all()); !r.Answers || r.Broker != "broker a pid 1" || r.Said != "OOM command not allowed" || now.Sub(r.Since).Abs() > time.Minute {
		t.Errorf("one takes no writes: %+v", r)
	}
	s.note(redisTransport, errors.New("connection refused"), time.Now())
	if r := worstOf(all()); r.Answers || r.Said != "connection refused" {
		t.Errorf("one is away: %+v", r)
	}
	if r := worstOf(ofHeartbeats(all())); !r.Answers || r.Said != "OOM command not allowed" {
		t.Errorf("workers are heard through the one that refuses: %+v", r)
	}
}

// What another process' broker found is read as that one wrote it down, the worst of it.
func TestTheWorstFaultOfTheBrokerElsewhereIsTold(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	refuses := incidentstore.RedisFault{Redis: redisRegistry, Fault: domain.IncidentRedisRefuses, Since: at, Said: "OOM", Broker: "broker b pid 1"}
	away := incidentstore.RedisFault{Redis: redisTransport, Fault: domain.IncidentRedisAway, Since: at.Add(time.Second), Said: "refused", Broker: "broker b pid 1"}
	for _, c := range []struct {
		faults []incidentstore.RedisFault
		want   instance.RedisFault
	}{
		{nil, instance.RedisFault{}},
		{[]incidentstore.RedisFault{refuses}, instance.RedisFault{Since: at, Broker: "broker b pid 1", Answers: true, Said: "OOM"}},
		{[]incidentstore.RedisFault{refuses, away}, instance.RedisFault{Since: at.Add(time.Second), Broker: "broker b pid 1", Said: "refused"}},
		{[]incidentstore.RedisFault{away, refuses}, instance.RedisFault{Since: at.Add(time.Second), Broker: "broker b pid 1", Said: "refused"}},
	} {
		if got := worstOf(c.faults); got != c.want {
			t.Errorf("%+v: %+v", c.faults, got)
		}
	}
}

// What a broker wrote down that is gone, and that nobody followed, says nothing of now.
func TestAFaultThatABrokerLeftBehindIsNotTold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.must(b.incidents.Store.KeepRedisFaults(b.ctx, []incidentstore.RedisFault{{Redis: redisBoth, Fault: domain.IncidentRedisAway, Since: time.Now(), Said: "refused", Broker: "broker b pid 1"}}))
		told := func() (since time.Time) {
			out, err := outages{&life{clock: &clock{wall: time.Now}, lease: &lease.Lease{}}, b.core}.Outage(b.ctx)
			b.must(err)
			return out.Redis.Since
		}
		if since := told(); !since.IsZero() {
			t.Errorf("no broker is active, and Redis is said to be away since %s", since)
		}
		le, err := lease.Take(b.ctx, url, "broker b pid 1")
		b.must(err)
		t.Cleanup(func() { _ = le.Close(context.WithoutCancel(b.ctx)) })
		_, err = b.db.Exec(b.ctx, "UPDATE epoch SET node = ?, holder = ? WHERE name = ?", le.Node(), le.Holder(), lease.Broker)
		b.must(err)
		if since := told(); since.IsZero() {
			t.Error("a broker is active, and what it wrote down is not told")
		}
	})
}

// The reason of a database that takes no writes is told by each process whose own writes it refuses.
func TestTheReasonOfADatabaseThatTakesNoWritesIsKnown(t *testing.T) {
	if said := refusing(t).noWrites(); !strings.HasPrefix(said, "attempt to write a readonly database") {
		t.Errorf("it says %q", said)
	}
}
