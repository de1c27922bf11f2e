package scenarios

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/redistest"
)

// hurried makes workers count as lost sooner, so that what must not happen could.
var hurried = []string{"AX_WORKER_LOST_AFTER=3s"}

// privately runs fn on a database and a Redis server that are the test's own.
func privately(t *testing.T, fn func(t *testing.T, s *setup.Site, redis *stores.Server)) {
	t.Helper()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("redis", func(t *testing.T) {
			redis := redistest.Private(t)
			fn(t, setup.NewSite(t, dbtest.Empty(t), redis.URL), redis)
		})
	})
}

// tell gives a Redis server orders that it answers in one line each.
func tell(t *testing.T, redis *stores.Server, commands ...string) {
	t.Helper()
	u, err := url.Parse(redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Ask(u.Host, commands...); err != nil {
		t.Fatal(err)
	}
}

// figure is the sum of a metric's values over its labels; 0 where the process has none.
func figure(t *testing.T, p *setup.Process, name string) float64 {
	t.Helper()
	resp, err := http.Get(p.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	sum := 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if key, _, _ = strings.Cut(key, "{"); key == name {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			sum += v
		}
	}
	return sum
}

// gated is a job whose task waits for the file.
func gated(d *setup.Diary, name, gate string, more ...string) string {
	return shellJob(name, d.Command(name, "while ! test -e "+gate+"; do sleep 0.2; done"), append([]string{"timeout: 300", "overlap: allow"}, more...)...)
}

// onceEach expects that of each kind and trace the diary has exactly so many.
func onceEach(t *testing.T, d *setup.Diary, want int) {
	t.Helper()
	for _, kind := range []string{"start", "end"} {
		seen := map[string]int{}
		for _, e := range d.Of(kind, "") {
			if seen[e.Trace]++; seen[e.Trace] > 1 {
				t.Errorf("%s of %s for %s %d times", kind, e.Job, e.Trace, seen[e.Trace])
			}
		}
		if len(seen) != want {
			t.Errorf("%d of %d tasks have a %s", len(seen), want, kind)
		}
	}
}

// A Redis that throws keys away when it is full is refused by every process, whichever of the two it is, with the
// reason and the remedy.
func TestARedisThatEvictsIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		good := redistest.Redis(t)
		bad := redistest.PrivateWith(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru").URL
		for _, mode := range []string{"center", "web", "scheduler", "broker", "worker", "all"} {
			for _, key := range []string{"redis_url", "registry_redis_url"} {
				env := map[string]string{"redis_url": good, "registry_redis_url": good}
				env[key] = bad
				cmd := exec.CommandContext(t.Context(), setup.Binary(t), "--mode="+mode, "--data", t.TempDir(), "--listen", "127.0.0.1:0")
				cmd.Env = append(os.Environ(), "AX_REDIS_URL="+env["redis_url"], "AX_REGISTRY_REDIS_URL="+env["registry_redis_url"],
					"AX_DATABASE_URL=mysql://ax:ax@127.0.0.1:1/nowhere")
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				err := cmd.Run()
				if n := strings.Count(said.String(), "redis_url:") + strings.Count(said.String(), "redis_url or"); n != 1 {
					t.Errorf("--mode=%s with an evicting %s says %d times which it is:\n%s", mode, key, n, said.String())
				}
				for _, want := range []string{key + ":", "volatile-lru", "maxmemory-policy noeviction", "redis.conf"} {
					if err == nil || !strings.Contains(said.String(), want) {
						t.Errorf("--mode=%s with an evicting %s: %v; it does not say %q:\n%s", mode, key, err, want, said.String())
					}
				}
			}
		}
	})
}

// A Redis that is full, or has become a replica, answers every read: nobody's heartbeat moves, and nobody is lost for it.
func TestARedisThatTakesNoWritesLosesNobody(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]struct{ off, on string }{
		"full":    {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"replica": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	} {
		t.Run(name, func(t *testing.T) {
			privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
				center := s.Center(t, setup.Opts{Env: hurried})
				c, d := s.Client(t, center), s.Diary(t)
				s.Worker(t, setup.Opts{Name: "w", Env: hurried})
				soon, later := c.Path("soon"), c.Path("later")
				c.Apply(files(gated(d, "ends", soon), gated(d, "stays", later)))
				ends, stays := c.Trigger("ends"), c.Trigger("stays")
				c.Await(ends.ID, "running/executing")
				c.Await(stays.ID, "running/executing")
				tell(t, redis, order.off)
				if err := touch(soon); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(9 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) { // three times lost_after
					if out := c.Must("workers"); strings.Contains(out, "lost") {
						t.Fatalf("a worker counts as lost because Redis takes no writes:\n%s", out)
					}
				}
				tell(t, redis, order.on)
				mended := time.Now()
				if err := touch(later); err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{ends.ID, stays.ID} {
					if done := c.Await(id, "success"); len(done.Attempts) != 1 {
						t.Errorf("one attempt expected: %v", done)
					}
				}
				t.Logf("both outcomes were in the database %s after Redis took writes again", time.Since(mended).Round(100*time.Millisecond))
				onceEach(t, d, 2)
				if n := figure(t, center, "ax_broker_losses_total"); n != 0 {
					t.Errorf("%v attempts were settled as lost", n)
				}
			})
		})
	}
}

// Redis is gone for twice lost_after and comes back empty: the tick goes on, nobody is lost, what ended meanwhile is
// known soon after, and what fell due meanwhile runs once. (J-C14)
func TestARedisThatIsDownCostsLatenessOnly(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		center := s.Center(t, setup.Opts{})
		c, d := s.Client(t, center), s.Diary(t)
		for _, name := range []string{"one", "two"} {
			s.Worker(t, setup.Opts{Name: name})
		}
		gate := c.Path("go")
		c.Apply(files(shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"), gated(d, "long", gate)))
		var ids []string
		for range 4 {
			ids = append(ids, c.Trigger("long").ID)
		}
		for _, id := range ids {
			c.Await(id, "running/executing")
		}
		from := time.Now().Truncate(time.Second).Add(time.Second)
		if err := redis.Kill(); err != nil {
			t.Fatal(err)
		}
		down := time.Now()
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		setup.Until(t, awaited, "the running tasks end without Redis", func() bool {
			n := 0
			for _, e := range d.Of("end", "") {
				if e.Job == "long" {
					n++
				}
			}
			return n == len(ids)
		}, func() string { return "" })
		for time.Since(down) < 20*time.Second {
			time.Sleep(500 * time.Millisecond)
			if out := c.Must("workers"); strings.Contains(out, "lost") {
				t.Fatalf("a worker counts as lost because Redis is down:\n%s", out)
			}
		}
		till := time.Now().Truncate(time.Second)
		if a := ledgerOf(c, from, till.Add(-time.Second), "--job", "tick"); len(a.Jobs) != 1 || a.Jobs[0].Fired != a.Jobs[0].Planned || a.Jobs[0].Planned < 17 {
			t.Errorf("while Redis was down the tick was slowed: %+v", a)
		}
		if err := redis.Restart(); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		for _, id := range ids {
			if done := c.Await(id, "success"); len(done.Attempts) != 1 {
				t.Errorf("one attempt expected: %v", done)
			}
		}
		t.Logf("what ended meanwhile was in the database %s after Redis' return", time.Since(back).Round(100*time.Millisecond))
		c.Must("pause", "tick")
		allEnded(t, c, "tick")
		onceEach(t, d, len(ids)+len(c.Instances("--job", "tick")))
		if n := figure(t, center, "ax_broker_losses_total"); n != 0 {
			t.Errorf("%v attempts were settled as lost", n)
		}
		if a := ledgerOf(c, from, till, "--job", "tick"); !a.Balanced {
			t.Errorf("the ledger: %+v", a)
		}
	})
}

// allEnded waits until every instance of a job is a success.
func allEnded(t *testing.T, c *setup.Client, job string) {
	t.Helper()
	var open []setup.Instance
	setup.Until(t, 2*time.Minute, "all instances of "+job+" have ended well", func() bool {
		open = slices.DeleteFunc(c.Instances("--job", job), func(i setup.Instance) bool { return i.State == "success" })
		return len(open) == 0
	}, func() string { return fmt.Sprint(len(open), " have not, the first: ", open[0]) })
}

// Redis loses everything while twenty run and two hundred wait, on the way to a worker, at it and in the broker. (G-I1)
func TestFlushedWithManyQueuedAndRunning(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		center := s.Center(t, setup.Opts{})
		c, d := s.Client(t, center), s.Diary(t)
		lanes := []string{"AX_WORKER_LANES_DEFAULT=10", "AX_WORKER_LANES_HIGH=1", "AX_WORKER_LANES_LOW=1"}
		s.Worker(t, setup.Opts{Name: "one", Env: lanes})
		s.Worker(t, setup.Opts{Name: "two", Env: lanes})
		gate := c.Path("go")
		c.Apply(gated(d, "many", gate))
		const all = 220
		for i := range all {
			a, err := c.Call(http.MethodPost, "/api/v1/jobs/many/trigger", "{}", "Idempotency-Key", fmt.Sprint("k", i))
			if err != nil || a.Status/100 != 2 {
				t.Fatalf("trigger: %v %+v", err, a)
			}
			if i == all/2 {
				tell(t, redis, "FLUSHALL") // also while they are being sent
			}
		}
		setup.Until(t, awaited, "twenty run", func() bool { return len(d.Of("start", "")) == 20 }, func() string { return fmt.Sprint(len(d.Of("start", ""))) })
		tell(t, redis, "FLUSHALL")
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		flushed := time.Now()
		allEnded(t, c, "many")
		t.Logf("all %d had ended %s after the flush", all, time.Since(flushed).Round(100*time.Millisecond))
		onceEach(t, d, all)
	})
}

// Redis stands still for longer than lost_after while a task runs: it runs once. (G-I2)
func TestAStalledRedisDoesNotRunATaskTwice(t *testing.T) {
	t.Parallel()
	stall, work := 12*time.Second, "sleep 20"
	if os.Getenv("AX_TEST_LONG") != "" {
		stall, work = 45*time.Second, "sleep 90"
	}
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		center := s.Center(t, setup.Opts{Env: hurried})
		c, d := s.Client(t, center), s.Diary(t)
		s.Worker(t, setup.Opts{Name: "one", Env: hurried})
		s.Worker(t, setup.Opts{Name: "two", Env: hurried})
		c.Apply(files(shellJob("long", d.Command("long", work), "timeout: 300"), shellJob("waits", d.Command("waits", work), "timeout: 300", "on_worker_lost: wait")))
		ids := []string{c.Trigger("long").ID, c.Trigger("waits").ID}
		for _, id := range ids {
			c.Await(id, "running/executing")
		}
		if err := redis.Freeze(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(stall) // the stall that this test is about
		if err := redis.Thaw(); err != nil {
			t.Fatal(err)
		}
		if done := c.AwaitWithin(2*time.Minute, ids[0], "success"); len(done.Attempts) != 1 {
			t.Errorf("one attempt expected: %v", done)
		}
		if stall > 30*time.Second { // the stated price: a task that is late rather than twice ends in so long an outage
			c.AwaitWithin(3*time.Minute, ids[1], "success")
		} else if done := c.AwaitWithin(2*time.Minute, ids[1], "success"); len(done.Attempts) != 1 {
			t.Errorf("one attempt expected: %v", done)
		}
		for _, id := range ids {
			trace := c.Instance(id).TraceID
			if n := len(d.Of("end", trace)); n != 1 {
				t.Errorf("%s ended %d times", id, n)
			}
		}
	})
}

// A short stall that ends with everything lost makes fires late by itself and little more.
func TestAShortStallWithLossIsMadeGoodAtOnce(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		s.Worker(t, setup.Opts{})
		c.Apply(shellJob("tick", d.Command("tick", ""), "every: 200ms", "overlap: allow"))
		setup.Until(t, awaited, "it ticks", func() bool { return len(d.Of("end", "")) > 10 }, func() string { return "" })
		const stall = 5 * time.Second
		if err := redis.Freeze(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(stall) // the stall that this test is about
		if err := redis.Thaw(); err != nil {
			t.Fatal(err)
		}
		tell(t, redis, "FLUSHALL")
		thawed := time.Now()
		setup.Until(t, awaited, "it ticks again", func() bool {
			es := d.Of("start", "")
			last := es[len(es)-1]
			return instant(t, last.Expect).After(thawed.Add(5 * time.Second))
		}, func() string { return "" })
		c.Must("pause", "tick")
		allEnded(t, c, "tick")
		onceEach(t, d, len(c.Instances("--job", "tick")))
		worst := time.Duration(0)
		for _, e := range d.Of("start", "") {
			worst = max(worst, e.At.Sub(instant(t, e.Expect)))
		}
		t.Logf("after a stall of %s and the loss of all data a task began at most %s late", stall, worst.Round(10*time.Millisecond))
		if worst > stall+4500*time.Millisecond {
			t.Errorf("a task began %s late, %s after the end of the stall", worst, worst-stall)
		}
	})
}

// Redis' own clock is wrong, and is set while work goes on: nobody refuses work for it and nothing runs twice.
func TestRedisOwnClockIsOff(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		t.Run("miniredis", func(t *testing.T) {
			redis, set := redistest.Clocked(t)
			set(10 * time.Minute)
			s := setup.NewSite(t, dbtest.Empty(t), redis)
			center := s.Center(t, setup.Opts{Env: hurried})
			c, d := s.Client(t, center), s.Diary(t)
			worker := s.Worker(t, setup.Opts{Env: hurried})
			c.Apply(shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"))
			ticks := func(what string) {
				t.Helper()
				from := time.Now().Add(2 * time.Second)
				setup.Until(t, awaited, what, func() bool {
					n := 0
					for _, e := range d.Of("end", "") {
						if e.At.After(from) {
							n++
						}
					}
					return n > 4
				}, func() string { return c.Must("workers") })
				for _, p := range []*setup.Process{center, worker} {
					if v := figure(t, p, "ax_worker_clock_skew_seconds"); v > 1 || v < -1 {
						t.Errorf("%s: the worker's clock counts as %v s off", what, v)
					}
				}
			}
			ticks("ten minutes ahead")
			if v := figure(t, center, "ax_redis_clock_ahead_seconds"); v < 599 || v > 601 {
				t.Errorf("the center takes Redis' clock for %v s ahead", v)
			}
			for _, off := range []time.Duration{-10 * time.Minute, 0, 10 * time.Second, -2 * time.Hour} {
				set(off)
				ticks("set to " + off.String())
			}
			c.Must("pause", "tick")
			allEnded(t, c, "tick")
			onceEach(t, d, len(c.Instances("--job", "tick")))
			if n := figure(t, center, "ax_broker_losses_total"); n != 0 {
				t.Errorf("%v attempts were settled as lost", n)
			}
			if n := figure(t, center, "ax_broker_withdrawals_total"); n > 3 {
				t.Errorf("%v attempts were taken back", n)
			}
		})
	})
}
