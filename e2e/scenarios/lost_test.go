package scenarios

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
)

// runs reports whether the process that wrote the entry is there and no zombie.
func runs(e setup.Entry) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(e.PID) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// A worker is frozen for longer than lost_after and thaws. Each job gets what it asked for: at once elsewhere, once the
// first is surely dead, or never without a person.
func TestAWorkerIsFrozenBeyondItsLossAndThaws(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		center := s.Center(t, setup.Opts{Env: hurried})
		c, d := s.Client(t, center), s.Diary(t)
		first := s.Worker(t, setup.Opts{Name: "first", Env: hurried})
		gate := c.Path("go")
		c.Apply(files(gated(d, "again", gate), gated(d, "late", gate, "on_worker_lost: wait"), gated(d, "held", gate, "on_worker_lost: hold")))
		ids := map[string]setup.Instance{}
		for _, name := range []string{"again", "late", "held"} {
			ids[name] = c.Trigger(name)
			ids[name] = c.Await(ids[name].ID, "running/executing")
		}
		s.Worker(t, setup.Opts{Name: "second", Env: hurried})
		frozen := time.Now()
		first.Freeze()
		c.Await(ids["held"].ID, "running/orphan")
		setup.Until(t, awaited, "the ordinary one runs elsewhere", func() bool { return len(d.Of("start", ids["again"].TraceID)) == 2 },
			func() string { return c.Instance(ids["again"].ID).String() })
		t.Logf("frozen: elsewhere after %s", d.Of("start", ids["again"].TraceID)[1].At.Sub(frozen).Round(100*time.Millisecond))
		was := d.Of("start", ids["late"].TraceID)[0]
		if !runs(was) {
			t.Error("what is late rather than twice ended although nobody was silent for 30 s")
		}
		setup.Until(t, 80*time.Second, "the late one runs elsewhere", func() bool {
			starts := d.Of("start", ids["late"].TraceID)
			if len(starts) == 1 {
				return false
			}
			if runs(was) {
				t.Errorf("it runs twice: process %d is alive when the second begins", was.PID)
			}
			return true
		}, func() string { return c.Instance(ids["late"].ID).String() })
		t.Logf("frozen: late rather than twice after %s", d.Of("start", ids["late"].TraceID)[1].At.Sub(frozen).Round(100*time.Millisecond))
		replaced := d.Of("start", ids["again"].TraceID)[0]
		first.Thaw()
		setup.Until(t, awaited, "the thawed worker kills what was replaced", func() bool { return !runs(replaced) }, func() string { return "" })
		if why := c.Must("why", ids["held"].ID); !strings.Contains(why, "first") {
			t.Errorf("why the held one waits: %s", why)
		}
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		for name, attempts := range map[string]int{"again": 2, "late": 2, "held": 1} { // the true success of the held one settles it
			done := c.Await(ids[name].ID, "success")
			if len(done.Attempts) != attempts || len(d.Of("end", ids[name].TraceID)) != 1 {
				t.Errorf("%s ended %d times: %v", name, len(d.Of("end", ids[name].TraceID)), done)
			}
			if attempts == 2 && (done.Attempts[0].Outcome != "worker_lost" || done.Attempts[1].Target != "second") {
				t.Errorf("%s: %v", name, done)
			}
		}
		setup.Until(t, awaited, "both take work", func() bool { return strings.Count(c.Must("workers"), "available") == 2 }, func() string { return c.Must("workers") })
	})
}

// A task that ends while its worker stands still, for less than its loss takes, ended then and not when the worker goes on.
func TestATaskEndsWhileItsWorkerStandsStill(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		worker := s.Worker(t, setup.Opts{Name: "w"})
		gate := c.Path("go")
		c.Apply(files(gated(d, "gated", gate)))
		in := c.Await(c.Trigger("gated").ID, "running/executing")
		until(time.Now().Add(2 * time.Second)) // the watchdog watches what is older than a second
		worker.Freeze()
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		setup.Until(t, awaited, "the task ends", func() bool { return len(d.Of("end", in.TraceID)) == 1 }, func() string { return "" })
		until(time.Now().Add(6 * time.Second))
		worker.Thaw()
		done := c.Await(in.ID, "success")
		at, err := time.Parse(time.RFC3339, done.Attempts[0].FinishedAt)
		if end := d.Of("end", in.TraceID)[0].At; err != nil || at.Sub(end).Abs() > 3*time.Second {
			t.Errorf("the task wrote its end at %s, and the attempt says %s", end.UTC().Format(time.RFC3339Nano), done.Attempts[0].FinishedAt)
		}
	})
}

// A worker that is asked to stop finishes what it can and hands the rest back, and no job without retries fails for it. (J-C15)
func TestAStoppingWorkerFinishesOrHandsBack(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		first := s.Worker(t, setup.Opts{Name: "first", Env: []string{"AX_WORKER_LANES_DEFAULT=2", "AX_TIMEOUTS_SHUTDOWN=14s"}})
		gate := c.Path("go")
		c.Apply(files(shellJob("short", d.Command("short", "sleep 6"), "timeout: 300"), gated(d, "long", gate), gated(d, "waits", gate)))
		short, long := c.Trigger("short"), c.Trigger("long")
		for _, in := range []setup.Instance{short, long} {
			c.Await(in.ID, "running/executing")
		}
		var waits []setup.Instance
		for range 3 {
			waits = append(waits, c.Trigger("waits"))
		}
		c.Await(waits[2].ID, "running/dispatched") // at the worker, for a thread
		s.Worker(t, setup.Opts{Name: "second"})
		first.Stop()
		if done := c.Await(short.ID, "success"); len(done.Attempts) != 1 || done.Attempts[0].Target != "first" {
			t.Errorf("it had the time to end: %v", done)
		}
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		for _, in := range append(waits, long) {
			done := c.Await(in.ID, "success")
			last := done.Attempts[len(done.Attempts)-1]
			if last.Target != "second" || done.Attempts[0].Outcome == "worker_lost" || len(d.Of("end", in.TraceID)) != 1 {
				t.Errorf("handed back: %v", done)
			}
		}
		if n := len(d.Of("start", "")); n != 6 { // the long one twice
			t.Errorf("%d starts, want 6", n)
		}
		if out := c.Must("workers"); strings.Contains(out, "lost") && !strings.Contains(out, "first") {
			t.Errorf("ax workers says:\n%s", out)
		}
	})
}

// Two workers are replaced one after the other under fifty tasks, half of which outlast their grace. Each task has one
// success, and none spends a retry or fails for it. (J-C15)
func TestARollingUpdateOfWorkersCostsNoTask(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c, d := s.Client(t, s.Center(t, setup.Opts{})), s.Diary(t)
		env := []string{"AX_WORKER_LANES_DEFAULT=50", "AX_TIMEOUTS_SHUTDOWN=8s"}
		workers := []*setup.Process{s.Worker(t, setup.Opts{Name: "first", Env: env}), s.Worker(t, setup.Opts{Name: "second", Env: env})}
		gate := c.Path("go")
		c.Apply(files(shellJob("short", d.Command("short", "sleep 3"), "timeout: 300", "overlap: allow"), gated(d, "long", gate)))
		const each = 25
		for range each {
			c.Trigger("short")
			c.Trigger("long")
		}
		setup.Until(t, awaited, "all have begun", func() bool { return len(d.Of("start", "")) >= 2*each }, func() string { return c.Must("workers") })
		for _, w := range workers {
			w.Stop()
			w.Restart()
			setup.Until(t, awaited, "both take work", func() bool { return strings.Count(c.Must("workers"), "available") == 2 }, func() string { return c.Must("workers") })
		}
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		allEnded(t, c, "short")
		allEnded(t, c, "long")
		ends := map[string]int{}
		for _, e := range d.Of("end", "") {
			ends[e.Trace]++
		}
		for trace, n := range ends {
			if n != 1 {
				t.Errorf("%s ended %d times", trace, n)
			}
		}
		if len(ends) != 2*each {
			t.Errorf("%d of %d ended", len(ends), 2*each)
		}
		if n := tables(t, s.Database).number("SELECT COUNT(*) FROM instance WHERE retries_used > 0 OR lost_count > 0"); n != 0 {
			t.Errorf("%d instances paid for it", n)
		}
	})
}

// A worker that dies and is back at once closes what its last life held without waiting for its loss, also where its
// folder has moved to another place meanwhile. (J-C2, J-C13)
func TestAWorkerIsBackUnderItsNameAtOnce(t *testing.T) {
	t.Parallel()
	for name, moved := range map[string]bool{"same place": false, "its volume elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			setup.Real(t, func(t *testing.T, s *setup.Site) {
				patient := []string{"AX_WORKER_LOST_AFTER=5m"}
				c, d := s.Client(t, s.Center(t, setup.Opts{Env: patient})), s.Diary(t)
				first := s.Worker(t, setup.Opts{Name: "first", Env: patient})
				gate, m := c.Path("go"), marker(t)
				c.Apply(files(gated(d, "again", gate, "env:\n  E2E_MARK: "+m), shellJob("before", d.Command("before", ""))))
				before := c.Trigger("before")
				c.Await(before.ID, "success")
				in := c.Trigger("again")
				c.Await(in.ID, "running/executing")
				killed := time.Now()
				first.Kill()
				if moved {
					if err := os.CopyFS(filepath.Join(s.Dir(), "elsewhere"), os.DirFS(first.Data)); err != nil {
						t.Fatal(err)
					}
					s.Worker(t, setup.Opts{Name: "elsewhere", Env: append(patient, "AX_WORKER_NAME=first")})
				} else {
					first.Restart()
				}
				mustVanishBut(t, m, killed, 10*time.Second)
				setup.Until(t, 15*time.Second, "it runs again", func() bool { return len(d.Of("start", in.TraceID)) == 2 }, func() string { return c.Instance(in.ID).String() })
				t.Logf("running again %s after the kill", d.Of("start", in.TraceID)[1].At.Sub(killed).Round(100*time.Millisecond))
				if err := touch(gate); err != nil {
					t.Fatal(err)
				}
				// One attempt may have been sent to the life that was over before its successor was seen; it never ran.
				if done := c.Await(in.ID, "success"); len(done.Attempts) < 2 || done.Attempts[0].Outcome != "worker_lost" || len(d.Of("start", in.TraceID)) != 2 {
					t.Errorf("started %d times: %v", len(d.Of("start", in.TraceID)), done)
				}
				if n := len(d.Of("start", before.TraceID)); n != 1 {
					t.Errorf("what had ended before ran %d times", n)
				}
			})
		})
	}
}

// A name and a folder have one live holder. The second says who that is and what to do, and does no harm.
func TestASecondHolderIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		first := s.All(t, setup.Opts{Name: "first"})
		c := s.Client(t, first)
		try := func(mode, data string) string {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), setup.Binary(t), "--mode="+mode, "--data", data, "--listen", "127.0.0.1:0")
			cmd.Env = append(os.Environ(), "AX_DATABASE_URL="+s.Database, "AX_REDIS_URL="+s.Redis, "AX_WORKER_NAME=first")
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Run(); err == nil {
				t.Errorf("a second %s with --data %s ended without an error", mode, data)
			}
			lines := strings.Split(strings.TrimSpace(said.String()), "\n")
			return lines[len(lines)-1]
		}
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"all", "worker"} {
			said := try(mode, filepath.Join(s.Dir(), "second"))
			for _, want := range []string{"ax: ", `"first"`, host, "AX_WORKER_NAME", "--mode=center"} {
				if !strings.Contains(said, want) {
					t.Errorf("a second %s under the name does not say %q: %s", mode, want, said)
				}
			}
			said = try(mode, first.Data)
			for _, want := range []string{"another AX process", fmt.Sprint("pid ", first.PID()), first.Data, "--data"} {
				if !strings.Contains(said, want) {
					t.Errorf("a second %s in the folder does not say %q: %s", mode, want, said)
				}
			}
		}
		c.Apply(shellJob("short", "true"))
		c.Await(c.Trigger("short").ID, "success")
	})
}

// A worker can still read Redis and no longer write: it counts as lost, hears that it was replaced, and stops what runs
// elsewhere by now.
func TestAWorkerThatIsCutOneWayStopsWhatWasReplaced(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		u, err := url.Parse(redis.URL)
		if err != nil {
			t.Fatal(err)
		}
		tell(t, redis, "ACL SETUSER half on >pw ~* &* +@all")
		c, d := s.Client(t, s.Center(t, setup.Opts{Env: hurried})), s.Diary(t)
		half := s.Worker(t, setup.Opts{Name: "half", Env: append(hurried, "AX_REDIS_URL=redis://half:pw@"+u.Host)})
		gate := c.Path("go")
		c.Apply(files(gated(d, "again", gate), gated(d, "held", gate, "on_worker_lost: hold")))
		in, held := c.Trigger("again"), c.Trigger("held")
		c.Await(in.ID, "running/executing")
		c.Await(held.ID, "running/executing")
		s.Worker(t, setup.Opts{Name: "whole", Env: hurried})
		cut := time.Now()
		tell(t, redis, "ACL SETUSER half -@write")
		setup.Until(t, awaited, "it runs elsewhere", func() bool { return len(d.Of("start", in.TraceID)) == 2 }, func() string { return c.Instance(in.ID).String() })
		setup.Until(t, 5*time.Second, "the worker that was cut off stops its copy", func() bool { return !runs(d.Of("start", in.TraceID)[0]) }, func() string { return half.Tail(20) })
		t.Logf("cut one way: elsewhere after %s", d.Of("start", in.TraceID)[1].At.Sub(cut).Round(100*time.Millisecond))
		if !runs(d.Of("start", held.TraceID)[0]) {
			t.Error("an orphan was stopped though nothing has taken its place")
		}
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		c.Await(in.ID, "success")
		tell(t, redis, "ACL SETUSER half +@all")
		for id, attempts := range map[string]int{in.ID: 2, held.ID: 1} {
			if done := c.Await(id, "success"); len(done.Attempts) != attempts || len(d.Of("end", done.TraceID)) != 1 {
				t.Errorf("%d ends: %v", len(d.Of("end", done.TraceID)), done)
			}
		}
		setup.Until(t, awaited, "both take work", func() bool { return strings.Count(c.Must("workers"), "available") == 2 }, func() string { return c.Must("workers") })
	})
}
