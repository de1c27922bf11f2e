package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

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
