package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// A worker dies with tasks of jobs that say hold: each is an orphan until a person says what became of it. One that says
// idempotent runs again by itself. What the person said holds, and nothing ran twice that was not told to.
func TestAnOrphanWaitsForAPerson(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		c := s.Client(t, s.Center(t, setup.Opts{}))
		first := s.Worker(t, setup.Opts{Name: "first"})
		d := s.Diary(t)
		gate := c.Path("go")
		work := func(job string) string { return d.Command(job, "while ! test -e "+gate+"; do sleep 0.2; done") }
		names := []string{"ran", "broke", "never"}
		var all []string
		for _, name := range append(names, "safe") {
			lines := []string{"timeout: 300", "on_worker_lost: hold", "retry: {times: 2, interval: 1}"}
			if name == "safe" {
				lines = append(lines, "idempotent: true")
			}
			all = append(all, shellJob(name, work(name), lines...))
		}
		all = append(all, shellJob("after", "true", "deps: [{name: ran}]"))
		c.Apply(files(all...))
		ids := map[string]setup.Instance{}
		for _, name := range append(names, "safe") {
			ids[name] = c.Trigger(name, "--biz-date", "2026-02-03")
		}
		after := c.Trigger("after", "--biz-date", "2026-02-03")
		for name, in := range ids {
			ids[name] = c.Await(in.ID, "running/executing")
		}
		killed := time.Now()
		first.Kill()
		for _, name := range names {
			c.Await(ids[name].ID, "running/orphan")
		}
		t.Logf("orphans %s after the kill", time.Since(killed).Round(100*time.Millisecond))
		s.Worker(t, setup.Opts{Name: "second"})
		setup.Until(t, awaited, "the idempotent one runs again by itself", func() bool { return len(d.Of("start", ids["safe"].TraceID)) == 2 },
			func() string { return c.Instance(ids["safe"].ID).String() })

		if list := c.Must("orphans"); strings.Count(list, "first") < 3 || strings.Contains(list, "safe") {
			t.Errorf("the list of orphans:\n%s", list)
		}
		if why := c.Must("why", ids["ran"].ID); !strings.Contains(why, "a person must say") {
			t.Errorf("why: %s", why)
		}
		attempt := ids["ran"].Attempts[0].ID
		c.Must("settle", ids["ran"].ID+"."+attempt, "--as", "success", "--reason", "the bank has it")
		c.Await(ids["ran"].ID, "success")
		c.Await(after.ID, "success")
		c.Must("settle", ids["broke"].ID, "--as", "failed", "--reason", "half of it is there")
		c.Await(ids["broke"].ID, "failed/worker_lost")
		c.Must("settle", ids["never"].ID, "--as", "rerun", "--reason", "no trace of it")
		again := c.Await(ids["never"].ID, "running/executing")
		if n := len(again.Attempts); n != 2 || again.Attempts[1].Target != "second" || again.TraceID != ids["never"].TraceID {
			t.Errorf("it runs again as %v", again)
		}
		if said := c.Run("settle", ids["never"].ID, "--as", "failed", "--reason", "too late"); said.Code != 1 || !strings.Contains(said.Out, "is no orphan") {
			t.Errorf("settled twice: exit %d\n%s%s", said.Code, said.Out, said.Err)
		}
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		c.Await(ids["never"].ID, "success")
		c.Await(ids["safe"].ID, "success")

		// The worker comes back under its name: what its journal knows of them moves nothing.
		first.Restart()
		for name, want := range map[string]string{"ran": "success", "broke": "failed/worker_lost", "never": "success", "safe": "success"} {
			if got := c.Instance(ids[name].ID); got.Status() != want {
				t.Errorf("%s is %s after its first worker came back", name, got.Status())
			}
		}
		for name, starts := range map[string]int{"ran": 1, "broke": 1, "never": 2, "safe": 2} {
			if got := len(d.Of("start", ids[name].TraceID)); got != starts {
				t.Errorf("%s started %d times, want %d", name, got, starts)
			}
		}
		var audit struct {
			Audit []struct{ Action, Object, After string }
		}
		if err := c.Get("/api/v1/audit?action=orphan.settle_success", &audit); err != nil || len(audit.Audit) != 1 || !strings.Contains(audit.Audit[0].After, "the bank has it") {
			t.Errorf("trail %+v, %v", audit, err)
		}
	})
}
