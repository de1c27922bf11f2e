package scenarios

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/app/wall"
	"github.com/axsched/ax/e2e/setup"
)

// dial is the clock of one process, which a test can set.
type dial string

func newDial(s *setup.Site, name string) dial { return dial(filepath.Join(s.Dir(), name+".shift")) }

// env lets a process follow the dial.
func (d dial) env() string { return wall.Variable + "=" + string(d) }

// set puts the clock so far off; it is followed within a moment.
func (d dial) set(t *testing.T, off time.Duration) {
	t.Helper()
	fresh := string(d) + ".new"
	if err := os.WriteFile(fresh, []byte(off.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, string(d)); err != nil {
		t.Fatal(err)
	}
}

// readiness is what /readyz of a process says.
func readiness(t *testing.T, p *setup.Process) (int, string) {
	t.Helper()
	resp, err := http.Get(p.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// The clock of one of two centers, the one with the active broker, is set by seconds and by hours, either way. It takes
// nothing and says so; the other takes all, on time; no wait ends early by it, and nothing comes twice or in a herd. (J-A22, G-A17)
func TestTheClockOfOneCenterIsSet(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		hands := newDial(s, "center")
		odd := s.Center(t, setup.Opts{Env: []string{hands.env()}})
		even := s.Center(t, setup.Opts{})
		c, d := s.Client(t, even), s.Diary(t)
		s.Worker(t, setup.Opts{})
		c.Apply(files(shellJob("tick", d.Command("tick", ""), eachSecond, "overlap: allow"),
			shellJob("flaky", d.Command("flaky", "test {{attempt}} = 2"), "retry: {times: 1, interval: 8}"),
			shellJob("nowhere", "true", "tags: [quantum]", "queue_timeout: 600")))
		setup.Until(t, awaited, "it ticks", func() bool { return len(d.Of("end", "")) > 2 }, func() string { return "" })
		if figure(t, odd, "ax_broker_active") != 1 {
			t.Fatal("the broker is not with the center whose clock is set, which was first")
		}
		nowhere := c.Trigger("nowhere")
		from := time.Now().Truncate(time.Second).Add(time.Second)
		for _, off := range []time.Duration{10 * time.Second, -10 * time.Second, 2 * time.Hour, -2 * time.Hour} {
			flaky := c.Trigger("flaky")
			setup.Until(t, awaited, "the first attempt ends", func() bool { return c.Instance(flaky.ID).State == "retrying" }, func() string { return c.Instance(flaky.ID).String() })
			hands.set(t, off)
			way := map[bool]string{true: "ahead of", false: "behind"}[off > 0]
			setup.Until(t, 10*time.Second, "it says that its clock is "+way, func() bool {
				status, body := readiness(t, odd)
				return status == http.StatusServiceUnavailable && strings.Contains(body, "clock is ") && strings.Contains(body, way)
			}, func() string { _, body := readiness(t, odd); return body })
			if figure(t, odd, "ax_scheduler_fault") != 1 || figure(t, even, "ax_scheduler_fault") != 0 {
				t.Errorf("%s: the metrics do not say whose clock is off", off)
			}
			if v := figure(t, odd, "ax_scheduler_clock_offset_seconds"); (time.Duration(v*float64(time.Second)) + off).Abs() > time.Second {
				t.Errorf("%s: the clock's offset is said to be %v s", off, v)
			}
			done := c.Await(flaky.ID, "success")
			if gap := instant(t, done.Attempts[1].StartedAt).Sub(instant(t, done.Attempts[0].FinishedAt)); gap < 7900*time.Millisecond || gap > 12*time.Second {
				t.Errorf("%s: a retry after 8 s began after %s: %v", off, gap, done)
			}
			hands.set(t, 0)
			setup.Until(t, 10*time.Second, "it is ready again", func() bool { status, _ := readiness(t, odd); return status == http.StatusOK },
				func() string { _, body := readiness(t, odd); return body })
		}
		till := time.Now().Truncate(time.Second)
		c.Must("pause", "tick")
		allEnded(t, c, "tick")
		ticksOnTime(t, d, from)
		if a := ledgerOf(c, from, till, "--job", "tick"); !a.Balanced || a.Jobs[0].Fired != a.Jobs[0].Planned {
			t.Errorf("the ledger: %+v", a)
		}
		if got := c.Instance(nowhere.ID); got.Status() != "running/queued" {
			t.Errorf("what waits for ten minutes at most ended by a clock that was set: %v", got)
		}
	})
}

// ticksOnTime expects every tick once, never before its time and not long after it.
func ticksOnTime(t *testing.T, d *setup.Diary, from time.Time) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range d.Of("start", "") {
		if e.Job != "tick" {
			continue
		}
		at := instant(t, e.Expect)
		if seen[e.Expect] {
			t.Errorf("two tasks for %s", e.Expect)
		}
		seen[e.Expect] = true
		if late := e.At.Sub(at); late < 0 || at.After(from) && late > 5*time.Second {
			t.Errorf("the task for %s began %s after it", e.Expect, late)
		}
	}
}

// Workers six seconds off get nothing, one four seconds off does. Where all are off the work waits, and why says whose
// clock to set; once it is set the work runs. (J-C21)
func TestWorkersWithWrongClocks(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		hands := map[string]dial{}
		workers := map[string]*setup.Process{}
		for _, name := range []string{"fast", "slow", "near"} {
			hands[name] = newDial(s, name)
			workers[name] = s.Worker(t, setup.Opts{Name: name, Env: []string{hands[name].env()}})
		}
		c.Apply(shellJob("short", d.Command("short", ""), "overlap: allow"))
		c.Await(c.Trigger("short").ID, "success")
		for name, off := range map[string]time.Duration{"fast": 6 * time.Second, "slow": -6 * time.Second, "near": 4 * time.Second} {
			hands[name].set(t, off)
		}
		for name, way := range map[string]string{"fast": "ahead of", "slow": "behind"} {
			setup.Until(t, awaited, name+" says that its clock is "+way, func() bool {
				status, body := readiness(t, workers[name])
				return status == http.StatusServiceUnavailable && strings.Contains(body, "clock is 6.0 s "+way)
			}, func() string { _, body := readiness(t, workers[name]); return body })
		}
		if status, body := readiness(t, workers["near"]); status != http.StatusOK {
			t.Errorf("four seconds are no reason: %s", body)
		}
		for range 10 {
			if done := c.Await(c.Trigger("short").ID, "success"); done.Attempts[len(done.Attempts)-1].Target != "near" {
				t.Errorf("it ran on a worker whose clock is off: %v", done)
			}
		}
		workers["near"].Stop()
		in := c.Trigger("short")
		setup.Until(t, awaited, "why says whose clocks are off", func() bool {
			why := c.Must("why", in.ID)
			return strings.Contains(why, "fast is 6 s ahead") && strings.Contains(why, "slow is 6 s behind")
		}, func() string { return c.Must("why", in.ID) + fmt.Sprint(c.Instance(in.ID)) })
		if got := c.Instance(in.ID); got.Status() != "running/queued" {
			t.Errorf("it waits for a clock: %v", got)
		}
		hands["slow"].set(t, 0)
		if done := c.Await(in.ID, "success"); done.Attempts[len(done.Attempts)-1].Target != "slow" {
			t.Errorf("it ran on %v", done)
		}
		if n := len(d.Of("end", in.TraceID)); n != 1 {
			t.Errorf("it ended %d times", n)
		}
	})
}
