package scenarios

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
)

// Each role runs alone, and each store that it need not touch is cut off from it: first refused, then mute, which is
// worse. All goes on, on time.
func TestEachRoleGoesOnWithoutTheStoresThatItNeedNotTouch(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(w *wire.Wire){"refused": (*wire.Wire).Cut, "mute": (*wire.Wire).Mute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("mariadb", func(t *testing.T) {
				t.Run("redis", func(t *testing.T) { goOnWithout(t, cut) })
			})
		})
	}
}

func goOnWithout(t *testing.T, cut func(w *wire.Wire)) {
	redis := redistest.Redis(t)
	s := setup.NewSite(t, dbtest.Empty(t), redis)
	webWire, webRedis := wire.Through(t, redis)
	schedulerWire, schedulerRedis := wire.Through(t, redis)
	registryWire, brokerRegistry := wire.Through(t, redis)
	web := s.Web(t, setup.Opts{Env: []string{"AX_REDIS_URL=" + webRedis}})
	scheduler := s.Scheduler(t, setup.Opts{Env: []string{"AX_REDIS_URL=" + schedulerRedis}})
	broker := s.Broker(t, setup.Opts{Env: []string{"AX_REGISTRY_REDIS_URL=" + brokerRegistry}})
	// A worker that is told of a database, which does not exist, has no use for it.
	worker := s.Worker(t, setup.Opts{Env: []string{"AX_DATABASE_URL=mysql://ax:ax@127.0.0.1:1/nowhere"}})
	c, d := s.Client(t, web), s.Diary(t)
	reader := login(t, web.URL)
	open := c.Path("open")
	c.Apply(files(shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"),
		shellJob("hand", d.Command("hand", "")),
		shellJob("long", d.Command("long", "while ! test -e "+open+"; do sleep 0.1; done"), "timeout: 300")))
	setup.Until(t, awaited, "it fires", func() bool { return len(d.Of("end", "")) > 2 }, func() string { return "" })

	cut(webWire)
	cut(schedulerWire)
	for _, p := range []*setup.Process{web, scheduler} {
		if status, r := ready(t, p); status != http.StatusOK || r.Parts["redis"].OK || !r.Parts["database"].OK {
			t.Errorf("%s without the Redis that it can do without: %d %+v", p.Name, status, r)
		}
	}
	from := time.Now().Add(time.Second)
	done := c.Await(c.Trigger("hand").ID, "success")
	if len(done.Attempts) != 1 {
		t.Errorf("started by hand while the pages had no Redis: %v", done)
	}
	for _, page := range []string{"/", "/jobs", "/instances", "/workers"} {
		if a := reader.get(page, "en"); a.Status != http.StatusOK {
			t.Errorf("%s without Redis: %d", page, a.Status)
		}
	}
	killed := c.Trigger("long")
	c.Await(killed.ID, "running/executing")
	c.Must("kill", killed.ID)
	c.Await(killed.ID, "cancelled/killed")
	until(from.Add(8 * time.Second))
	onTime(t, d, from, from.Add(7*time.Second))

	long := c.Trigger("long")
	c.Await(long.ID, "running/executing")
	cut(registryWire)
	if status, r := ready(t, broker); status != http.StatusServiceUnavailable || r.Parts["registry"].OK || !r.Parts["redis"].OK || !r.Parts["database"].OK {
		t.Errorf("the broker without its registry: %d %+v", status, r)
	}
	whyElsewhere(t, c, long.ID, "through which workers are heard")
	whyElsewhere(t, c, c.Trigger("hand").ID, "through which workers are reached")
	began := time.Now()
	must(t, touch(open))
	if done := c.AwaitWithin(10*time.Second, long.ID, "success"); len(done.Attempts) != 1 {
		t.Errorf("ended while the broker had no registry: %v", done)
	}
	until(began.Add(13 * time.Second)) // longer than a worker may be silent
	if text := c.Must("workers"); !strings.Contains(text, "silent since") || strings.Contains(text, "lost") {
		t.Errorf("while the registry is away a worker is silent, and not lost:\n%s", text)
	}
	registryWire.Heal()
	c.Await(c.Trigger("hand").ID, "success")
	for _, p := range []*setup.Process{web, scheduler, broker, worker} {
		if !p.Alive() {
			t.Errorf("%s ended", p.Name)
		}
	}
}

// whyElsewhere expects that the pages, whose own stores are well, say what the broker of another process has met, before that
// is an incident.
func whyElsewhere(t *testing.T, c *setup.Client, id, words string) {
	t.Helper()
	began, said := time.Now(), ""
	setup.Until(t, 6*time.Second, "why names the broker's fault", func() bool {
		said = c.Must("why", id)
		return strings.Contains(said, "the broker (broker ") && strings.Contains(said, "cannot reach Redis, "+words)
	}, func() string { return said })
	t.Logf("why tells it after %s: %s", time.Since(began).Round(100*time.Millisecond), said)
}

// readyParts is what /readyz says of each part.
type readyParts struct {
	Parts map[string]struct {
		OK   bool
		Note string
	}
}

func ready(t *testing.T, p *setup.Process) (status int, r readyParts) {
	t.Helper()
	resp, err := http.Get(p.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	must(t, json.NewDecoder(resp.Body).Decode(&r))
	return resp.StatusCode, r
}

// onTime expects a fire for each second of [from, to), soon after its time.
func onTime(t *testing.T, d *setup.Diary, from, to time.Time) {
	t.Helper()
	const soon = 2 * time.Second
	fires, worst := 0, time.Duration(0)
	for _, e := range within(d.Of("start", ""), from, to) {
		if e.Job == "tick" {
			fires++
			worst = max(worst, e.At.Sub(instant(t, e.Expect)))
		}
	}
	t.Logf("%d fires from %s to %s, the latest %s late", fires, from.Format("05.000"), to.Format("05.000"), worst.Round(time.Millisecond))
	if planned := int(to.Sub(from) / time.Second); fires < planned || worst > soon {
		t.Errorf("%d of %d fires, the latest %s late", fires, planned, worst)
	}
}
