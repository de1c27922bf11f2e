package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/incident"
)

const hookSecret = "a-secret-of-the-receiver"

// pager is who is told: a real HTTP server that keeps what it takes.
type pager struct {
	*httptest.Server
	mu     sync.Mutex
	away   bool
	taken  []incident.Body
	forged int
}

func newPager(t *testing.T) *pager {
	p := &pager{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP takes a notice, unless it is away.
func (p *pager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	var b incident.Body
	switch {
	case p.away:
		http.Error(w, "away", http.StatusBadGateway)
	case incident.Sign(hookSecret, r.Header.Get(incident.HeaderTimestamp), body) != r.Header.Get(incident.HeaderSignature), json.Unmarshal(body, &b) != nil:
		p.forged++
		http.Error(w, "forged", http.StatusForbidden)
	default:
		p.taken = append(p.taken, b)
	}
}

func (p *pager) be(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// of are the notices of a kind, as "subject", or "subject over".
func (p *pager) of(kind string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, b := range p.taken {
		switch {
		case string(b.Kind) != kind:
		case b.Recovered:
			out = append(out, b.Subject+" over")
		default:
			out = append(out, b.Subject)
		}
	}
	return strings.Join(out, ", ")
}

// wants waits until the notices of a kind are these.
func (p *pager) wants(t *testing.T, kind, want string) {
	t.Helper()
	setup.Until(t, time.Minute, kind+" is told: "+want, func() bool { return p.of(kind) == want }, func() string { return "told is " + p.of(kind) })
}

func (p *pager) env() []string {
	return []string{"AX_ALERTS_WEBHOOK_URL=" + p.URL, "AX_ALERTS_WEBHOOK_SECRET=" + hookSecret}
}

// A job that fails is told once, however often it fails and whoever is the broker, and
// so is its recovery; a receiver that is away is told later.
func TestAFailureIsToldOnceAndSoIsItsEnd(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		p := newPager(t)
		c := s.Up(t, setup.Opts{Env: p.env()})
		c.Apply(shellJob("pay", `test {{params.fail}} != yes`, "params:\n  fail: 'yes'"))
		c.Await(c.Trigger("pay").ID, "failed/error")
		p.wants(t, "job_failed", "pay")
		p.be(true)
		c.Await(c.Trigger("pay").ID, "failed/error")
		setup.Until(t, time.Minute, "the incident counts two failures", func() bool { return strings.Contains(c.Must("--json", "incidents", "--open"), `"count":2`) },
			func() string { return c.Must("incidents") })
		c.Await(c.Trigger("pay", "--param", "fail=no").ID, "success")
		setup.Until(t, time.Minute, "the incident is over", func() bool { return strings.Contains(c.Must("incidents"), "over: success") }, func() string { return c.Must("incidents") })
		p.be(false)
		p.wants(t, "job_failed", "pay, pay over")
		if p.forged > 0 {
			t.Errorf("%d notices were not signed", p.forged)
		}
	})
}

// A worker that is stopped has said so before it falls silent, though nothing ran on it: nobody is paged for it, as
// for one that is killed.
func TestAStoppedIdleWorkerIsNoIncident(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		p := newPager(t)
		s.Center(t, setup.Opts{Env: append(p.env(), hurried...)})
		stopped, killed := s.Worker(t, setup.Opts{Name: "stopped", Env: hurried}), s.Worker(t, setup.Opts{Name: "killed", Env: hurried})
		db := tables(t, s.Database)
		gone := func(name string) int64 {
			return db.number("SELECT COUNT(*) FROM worker WHERE state = 'lost' AND name = '" + name + "'")
		}
		setup.Until(t, awaited, "both workers are known", func() bool { return db.number("SELECT COUNT(*) FROM worker") == 2 }, func() string { return "" })
		stopped.Stop()
		setup.Until(t, awaited, "the stopped one is gone", func() bool { return gone("stopped") == 1 }, func() string { return "" })
		killed.Kill()
		p.wants(t, "worker_lost", "killed")
	})
}

// Each incident is told once by two centers of which the active one is killed.
func TestTwoCentersTellOnce(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		p := newPager(t)
		first := s.Center(t, setup.Opts{Name: "center-a", Env: p.env()})
		second := s.Center(t, setup.Opts{Name: "center-b", Env: p.env()})
		worker := s.Worker(t, setup.Opts{Name: "w1"})
		s.Worker(t, setup.Opts{Name: "w2"})
		c := s.Client(t, second)
		const jobs = 6
		var all []string
		for i := range jobs {
			all = append(all, shellJob(fmt.Sprintf("pay%d", i), "exit 3"))
		}
		c.Apply(files(all...))
		for i := range jobs {
			c.Trigger(fmt.Sprintf("pay%d", i))
		}
		setup.Until(t, time.Minute, "a first notice", func() bool { return p.of("job_failed") != "" }, func() string { return c.Must("instances") })
		first.Kill()
		worker.Kill()
		setup.Until(t, 2*time.Minute, "all are told", func() bool { return len(strings.Split(p.of("job_failed"), ", ")) >= jobs }, func() string { return p.of("job_failed") })
		p.wants(t, "worker_lost", "w1")
		worker.Restart()
		p.wants(t, "worker_lost", "w1, w1 over")
		ids := map[string]bool{}
		p.mu.Lock()
		defer p.mu.Unlock()
		told := map[string]int{}
		for _, b := range p.taken {
			if !ids[b.ID.String()] { // sent again by the successor of a process that died in between
				told[fmt.Sprint(b.Kind, b.Subject, b.Recovered)]++
			}
			ids[b.ID.String()] = true
		}
		for what, n := range told {
			if n != 1 {
				t.Errorf("%s was told %d times", what, n)
			}
		}
	})
}

// While no scheduler is alive the pages and the broker say that nothing fires.
func TestFiresThatNobodyTakesAreTold(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		p := newPager(t)
		web := s.Web(t, setup.Opts{})
		sched := s.Scheduler(t, setup.Opts{})
		s.Broker(t, setup.Opts{Env: p.env()})
		s.Worker(t, setup.Opts{Name: "w"})
		c := s.Client(t, web)
		c.Apply(shellJob("tick", "true", "every: 5s"))
		c.AwaitOf("tick", "success")
		sched.Kill()
		setup.Until(t, 3*time.Minute, "it is told that fires are not taken", func() bool { return p.of("fires_not_taken") == "the schedule" }, func() string { return c.Must("incidents") })
		sched.Restart()
		p.wants(t, "fires_not_taken", "the schedule, the schedule over")
	})
}

// What is wrong with Redis is told while it is wrong, without Redis' help, with what it said; and so is its end. (J-C14)
func TestRedisInTroubleIsTold(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		p := newPager(t)
		c := s.Client(t, s.Center(t, setup.Opts{Env: p.env()}))
		s.Worker(t, setup.Opts{})
		const which = "Redis (transport and registry)"
		says := func(kind string, words ...string) {
			t.Helper()
			p.wants(t, kind, which)
			p.mu.Lock()
			defer p.mu.Unlock()
			last := p.taken[len(p.taken)-1]
			for _, w := range append(words, "nothing is sent to workers and none counts as lost") {
				if !strings.Contains(last.Message, w) {
					t.Errorf("%s: the notice does not say %q: %s", kind, w, last.Message)
				}
			}
			if listed := c.Must("--json", "incidents", "--open", "--kind", kind); !strings.Contains(listed, kind) {
				t.Errorf("listed is %s", listed)
			}
		}
		tell(t, redis, "CONFIG SET min-replicas-to-write 1")
		says("redis_refuses", "NOREPLICAS", "answers, and has taken no writes since")
		tell(t, redis, "CONFIG SET min-replicas-to-write 0")
		p.wants(t, "redis_refuses", which+", "+which+" over")
		if err := redis.Kill(); err != nil {
			t.Fatal(err)
		}
		says("redis_away", "connection refused", "has not answered since")
		if err := redis.Restart(); err != nil {
			t.Fatal(err)
		}
		p.wants(t, "redis_away", which+", "+which+" over")
		tell(t, redis, "CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru")
		p.wants(t, "redis_unfit", which)
		tell(t, redis, "CONFIG SET maxmemory-policy noeviction")
		p.wants(t, "redis_unfit", which+", "+which+" over")
		if told := p.of("redis_away") + p.of("redis_refuses") + p.of("worker_lost"); strings.Count(told, which) != 4 || strings.Contains(told, "worker") {
			t.Errorf("told was %s", told)
		}
	})
}
