package center

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/kit/redistest"
	"github.com/axsched/ax/worker/transport"
)

// patrol is a broker's probes of two real servers, and what is told of them.
type patrol struct {
	t        *testing.T
	registry *registry
	watch    *redisWatch
	fit      *fit
}

func newPatrol(t *testing.T, main, reg *stores.Server) *patrol {
	t.Helper()
	o := Options{Config: config.Config{RedisURL: config.StoreURL(main.URL), RegistryRedisURL: config.StoreURL(reg.URL)}}
	var err error
	if o.Transport, err = transport.Dial(main.URL); err != nil {
		t.Fatal(err)
	}
	if o.Registry, err = transport.Dial(reg.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = o.Transport.Close(), o.Registry.Close() })
	c, found, f := &clock{wall: time.Now}, &standings{}, &fit{}
	return &patrol{t, newRegistry(o, "holder", c, found), newRedisWatch(o.Config, found, f, c), f}
}

// stands looks once and tells each Redis that something is wrong with.
func (p *patrol) stands() map[string]string {
	p.t.Helper()
	_, _, _ = p.registry.Beats(p.t.Context()) // what it says is told
	out := map[string]string{}
	for _, s := range p.watch.Standings() {
		if s.Fault != "" {
			out[s.Redis] = fmt.Sprintf("%s: %s%s", s.Fault, s.Said, s.Policy)
		}
	}
	return out
}

func (p *patrol) want(redis, words string) {
	p.t.Helper()
	got := p.stands()
	if text := got[redis]; !strings.Contains(text, words) || len(got) != 1 || strings.Contains(text, "script") {
		p.t.Errorf("found was %q, want of %s alone %q", got, redis, words)
	}
}

func order(t *testing.T, s *stores.Server, commands ...string) {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Ask(u.Host, commands...); err != nil {
		t.Fatal(err)
	}
}

// Which Redis it is, and whether it is away or takes no writes, is told from what each said; one is not blamed for the other.
func TestTheProbesTellWhichRedisIsInTrouble(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		main, reg := redistest.Private(t), redistest.Private(t)
		p := newPatrol(t, main, reg)
		if got := p.watch.Standings(); len(got) != 4 || !got[0].Since.IsZero() {
			t.Errorf("before anything was asked: %+v", got)
		}
		for off, c := range map[string]struct{ on, said string }{
			"CONFIG SET maxmemory 1":             {"CONFIG SET maxmemory 0", "redis_refuses: OOM command not allowed"},
			"CONFIG SET min-replicas-to-write 1": {"CONFIG SET min-replicas-to-write 0", "redis_refuses: NOREPLICAS"},
			"REPLICAOF 127.0.0.1 1":              {"REPLICAOF NO ONE", "redis_refuses: READONLY"},
		} {
			order(t, main, off)
			p.want(redisTransport, c.said)
			order(t, main, c.on)
			if got := p.stands(); len(got) != 0 {
				t.Errorf("afterwards %q", got)
			}
		}
		if err := reg.Freeze(); err != nil {
			t.Fatal(err)
		}
		p.want(redisRegistry, "redis_away: ")
		since := p.watch.Standings()
		p.want(redisRegistry, "redis_away: ")
		if again := p.watch.Standings(); !oldest(again).Equal(oldest(since)) && oldest(again).Sub(oldest(since)).Abs() > time.Second {
			t.Errorf("it has been away since %s, and then since %s", oldest(since), oldest(again))
		}
		if err := reg.Thaw(); err != nil {
			t.Fatal(err)
		}
		if err := main.Kill(); err != nil {
			t.Fatal(err)
		}
		if got := p.stands()[redisTransport]; !strings.Contains(got, "redis_away: ") || !strings.Contains(got, "refused") {
			t.Errorf("of a dead one is told %q", got)
		}
		p.watch.standings.forget()
		for _, s := range p.watch.Standings() {
			if s.Fault != "" || !s.Since.IsZero() {
				t.Errorf("the next term begins with %+v", s)
			}
		}
	})
}

// oldest is the earliest moment that something is known since.
func oldest(all []incident.Standing) time.Time {
	var at time.Time
	for _, s := range all {
		if s.Fault != "" && (at.IsZero() || s.Since.Before(at)) {
			at = s.Since
		}
	}
	return at
}

// A Redis that is set up anew while work goes on, so that it evicts, is told with the policy.
func TestARedisThatBeginsToEvictIsTold(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		main, reg := redistest.Private(t), redistest.Private(t)
		p := newPatrol(t, main, reg)
		judge := func() { p.fit.judge("registry", transport.Check(t.Context(), p.registry.registry)) }
		judge()
		if got := p.stands(); len(got) != 0 {
			t.Fatalf("found was %q", got)
		}
		order(t, reg, "CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru")
		judge()
		p.want(redisRegistry, string(domain.IncidentRedisUnfit))
		p.want(redisRegistry, "allkeys-lru")
		order(t, reg, "CONFIG SET maxmemory-policy noeviction")
		judge()
		if got := p.stands(); len(got) != 0 {
			t.Errorf("afterwards %q", got)
		}
	})
}
