package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// Work goes to who has the tags; where nobody has them it waits and says which. (J-B10)
func TestTagsChooseTheWorker(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c := s.Client(t, s.Center(t, setup.Opts{}))
		s.Worker(t, setup.Opts{Name: "plain"})
		gpu := s.Worker(t, setup.Opts{Name: "fast", Env: []string{"AX_WORKER_TAGS=gpu,east"}})
		c.Apply(files(
			shellJob("train", "true", "tags: [gpu]", "overlap: allow"),
			shellJob("nowhere", "true", "tags: [quantum]")))
		for range 5 {
			in := c.Trigger("train")
			if done := c.Await(in.ID, "success"); done.Attempts[0].Target != gpu.Name {
				t.Fatalf("it ran on %s, which lacks the tag", done.Attempts[0].Target)
			}
		}
		if said := c.Run("apply", "-f", c.File(shellJob("nowhere", "true", "tags: [quantum]"))); said.Code != 0 || !strings.Contains(said.Out+said.Err, "has the tags quantum") {
			t.Errorf("nobody is told at the save that no worker has the tag: %+v", said)
		}
		in := c.Trigger("nowhere")
		setup.Until(t, awaited, "why names the missing tag", func() bool { return strings.Contains(c.Must("why", in.ID), "quantum") },
			func() string { return c.Must("why", in.ID) })
		if got := c.Instance(in.ID); got.Status() != "running/queued" || len(got.Attempts) != 0 {
			t.Errorf("nobody has the tag, so it waits unsent: %v", got)
		}
		s.Worker(t, setup.Opts{Name: "odd", Env: []string{"AX_WORKER_TAGS=quantum"}})
		if done := c.Await(in.ID, "success"); done.Attempts[0].Target != "odd" {
			t.Errorf("it ran on %s", done.Attempts[0].Target)
		}
	})
}

// A worker is killed in mid-run: its task runs elsewhere as a new attempt of the same run. (J-C1, G-C1)
func TestKilledWorkersTaskRunsElsewhereAndNothingSurvives(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c := s.Client(t, s.Center(t, setup.Opts{}))
		workers := map[string]*setup.Process{}
		for _, name := range []string{"one", "two"} {
			workers[name] = s.Worker(t, setup.Opts{Name: name})
		}
		d := s.Diary(t)
		m := marker(t)
		go1 := c.Path("go")
		c.Apply(shellJob("long", d.Command("long", "{ setsid sleep 9999 & sleep 9998 & while ! test -e "+go1+"; do sleep 0.2; done; }"), "timeout: 300", "env:\n  E2E_MARK: "+m))
		in := c.Trigger("long")
		was := c.Await(in.ID, "running/executing").Attempts[0]
		setup.Until(t, awaited, "the task's children run", func() bool { return len(setup.Survivors(m)) >= 3 }, func() string { return "" })
		first := d.Of("start", in.TraceID)[0]

		killed := time.Now()
		workers[was.Target].Kill()
		mustVanishBut(t, m, killed, 10*time.Second)
		setup.Until(t, 30*time.Second, "it runs elsewhere", func() bool { return len(d.Of("start", in.TraceID)) == 2 },
			func() string { return c.Instance(in.ID).String() })
		took := d.Of("start", in.TraceID)[1].At.Sub(killed)
		t.Logf("from kill -9 to running elsewhere: %s", took.Round(10*time.Millisecond))
		if err := touch(go1); err != nil {
			t.Fatal(err)
		}
		done := c.Await(in.ID, "success")
		if len(done.Attempts) != 2 || done.Attempts[1].Target == was.Target || done.Attempts[0].Outcome != "worker_lost" {
			t.Errorf("two attempts on two workers expected: %v", done)
		}
		if len(d.Of("end", in.TraceID)) != 1 {
			t.Errorf("it ended %d times", len(d.Of("end", in.TraceID)))
		}
		if second := d.Of("start", in.TraceID)[1]; second.Attempt == first.Attempt {
			t.Errorf("both attempts call themselves %s", first.Attempt)
		}

		workers[was.Target].Restart()
		setup.Until(t, awaited, "the worker is back", func() bool {
			return strings.Count(c.Must("workers"), "available") == 2
		}, func() string { return c.Must("workers") })
		if again := c.Instance(in.ID); again.State != "success" || len(again.Attempts) != 2 {
			t.Errorf("the return of the worker changed what had ended: %v", again)
		}
	})
}

// The only worker is gone for longer than its loss takes, under a job that fires each second. What waits stays few and is
// sent to nobody, the log stays short, and the work goes on with the worker. (J-B11)
func TestWithoutItsOnlyWorkerTheWorkWaitsInPeace(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		center := s.Center(t, setup.Opts{Env: hurried})
		c, d := s.Client(t, center), s.Diary(t)
		worker := s.Worker(t, setup.Opts{Name: "only", Env: hurried})
		c.Apply(shellJob("tick", d.Command("tick", ""), eachSecond))
		setup.Until(t, awaited, "it ticks", func() bool { return len(d.Of("end", "")) > 2 }, func() string { return "" })
		db := tables(t, s.Database)
		worker.Kill()
		setup.Until(t, awaited, "the worker counts as lost", func() bool { return strings.Contains(c.Must("workers"), "lost") }, func() string { return c.Must("workers") })
		attempts, lines := db.number("SELECT COUNT(*) FROM attempt"), strings.Count(center.Tail(1<<20), "\n")
		lost := time.Now()
		until(lost.Add(16 * time.Second)) // five times the time of a loss
		if n := db.number("SELECT COUNT(*) FROM attempt") - attempts; n != 0 {
			t.Errorf("%d attempts were sent to nobody", n)
		}
		if n := db.number("SELECT COUNT(*) FROM instance WHERE state IN ('running', 'retrying')"); n > 9 {
			t.Errorf("%d instances wait: more than the next one, one behind it, and what came since the broker last looked, which it does each 5 s", n)
		}
		if n := db.number("SELECT COUNT(*) FROM instance WHERE label = 'skipped'"); n < 8 {
			t.Errorf("%d fires are told as skipped", n)
		}
		if n := strings.Count(center.Tail(1<<20), "\n") - lines; n > 20 {
			t.Errorf("the center wrote %d lines meanwhile:\n%s", n, center.Tail(n))
		}
		worker.Restart()
		ends := len(d.Of("end", ""))
		setup.Until(t, awaited, "it ticks again", func() bool { return len(d.Of("end", "")) > ends+2 }, func() string { return c.Must("workers") })
	})
}
