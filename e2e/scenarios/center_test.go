package scenarios

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

func touch(path string) error { return os.WriteFile(path, nil, 0o600) }

// mustVanishBut expects that within the limit no process with the marker is left that was there at the moment.
func mustVanishBut(t *testing.T, marker string, moment time.Time, limit time.Duration) {
	t.Helper()
	old := func() []string {
		var found []string
		for _, line := range setup.Survivors(marker) {
			pid, _, _ := strings.Cut(line, " ")
			if info, err := os.Stat("/proc/" + pid); err == nil && info.ModTime().Before(moment) {
				found = append(found, line)
			}
		}
		return found
	}
	setup.Until(t, limit, "no process of the killed worker's task is left", func() bool { return len(old()) == 0 },
		func() string { return strings.Join(old(), "\n") })
}

func TestKilledCenterLosesNoOutcomeAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		center := s.Center(t, setup.Opts{})
		c := s.Client(t, center)
		s.Worker(t, setup.Opts{Name: "steady"})
		d := s.Diary(t)
		const tasks = 6
		open := c.Path("open")
		var all []string
		jobs := make([]string, tasks)
		for i := range jobs {
			jobs[i] = shellJob("task_"+strconv.Itoa(i), d.Command("task", "while ! test -e "+open+"; do sleep 0.1; done"), "timeout: 300")
		}
		c.Apply(files(jobs...))
		var ids []string
		for i := range tasks {
			ids = append(ids, c.Trigger("task_"+strconv.Itoa(i)).ID)
		}
		for _, id := range ids {
			c.Await(id, "running/executing")
		}
		center.Kill()
		if err := touch(open); err != nil {
			t.Fatal(err)
		}
		setup.Until(t, awaited, "the tasks end without a center", func() bool { return len(d.Of("end", "")) == tasks }, func() string { return "" })
		center.Restart()
		for _, id := range ids {
			if done := c.Await(id, "success"); len(done.Attempts) != 1 {
				t.Errorf("one attempt expected: %v", done)
			}
			all = append(all, id)
		}
		if starts := d.Of("start", ""); len(starts) != tasks || len(all) != tasks {
			t.Errorf("%d tasks began %d times", tasks, len(starts))
		}
	})
}

// The whole of a small set-up is killed: what ran runs again, what had ended does not. (J-C13)
func TestKilledMachineRunsItsTasksAgain(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Run("miniredis", func(t *testing.T) {
			s := setup.Embedded(t)
			p := s.All(t, setup.Opts{})
			c := s.Client(t, p)
			d := s.Diary(t)
			m := marker(t)
			open := c.Path("open")
			c.Apply(files(
				shellJob("again", d.Command("again", "while ! test -e "+open+"; do sleep 0.2; done"), "timeout: 300", "env:\n  E2E_MARK: "+m),
				shellJob("before", d.Command("before", ""))))
			ended := c.Trigger("before")
			c.Await(ended.ID, "success")
			in := c.Trigger("again")
			c.Await(in.ID, "running/executing")
			killed := time.Now()
			p.Kill()
			mustVanishBut(t, m, killed, 10*time.Second)
			if err := touch(open); err != nil {
				t.Fatal(err)
			}
			p.Restart()
			done := c.Await(in.ID, "success")
			if len(done.Attempts) != 2 || done.Attempts[0].Outcome != "worker_lost" {
				t.Errorf("a lost attempt and a good one expected: %v", done)
			}
			if n := len(d.Of("end", in.TraceID)); n != 1 {
				t.Errorf("it ended %d times", n)
			}
			if n := len(d.Of("start", ended.TraceID)); n != 1 {
				t.Errorf("what had ended before ran %d times", n)
			}
		})
	})
}

func TestStoppedProcessesEndCleanlyAndGoOn(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		var processes []*setup.Process
		if s.IsEmbedded() {
			processes = append(processes, s.All(t, setup.Opts{}))
		} else {
			processes = append(processes, s.Center(t, setup.Opts{}), s.Worker(t, setup.Opts{}))
		}
		c := s.Client(t, processes[0])
		c.Apply(shellJob("short", "true"))
		c.Await(c.Trigger("short").ID, "success")
		for _, p := range processes {
			p.Stop()
		}
		for _, p := range processes {
			p.Restart()
		}
		c.Await(c.Trigger("short").ID, "success")
	})
}
