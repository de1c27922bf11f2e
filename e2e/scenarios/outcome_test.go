package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

func TestRetriesBackOffAndSucceed(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		d := s.Diary(t)
		c.Apply(files(
			shellJob("flaky", d.Command("flaky", `test "$(grep -c 'start flaky' `+d.Path()+`)" -ge 3`), "retry:\n  times: 2\n  interval: 2"),
			shellJob("hopeless", "exit 9", "retry:\n  times: 1\n  interval: 1")))
		in := c.Trigger("flaky")
		c.Await(in.ID, "retrying/backoff")
		done := c.Await(in.ID, "success")
		if len(done.Attempts) != 3 || done.Attempts[0].Outcome != "error" || done.Attempts[2].Outcome != "success" {
			t.Fatalf("three attempts expected: %v", done)
		}
		starts := d.Of("start", in.TraceID)
		if len(starts) != 3 {
			t.Fatalf("it really ran %d times", len(starts))
		}
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].At.Sub(starts[i-1].At); gap < 2*time.Second || gap > 6*time.Second {
				t.Errorf("retry %d came after %s, its interval is 2 s", i, gap)
			}
		}
		said := c.Run("--json", "trigger", "hopeless", "--wait")
		if said.Code != 3 || !strings.Contains(said.Out, "failed") {
			t.Errorf("an awaited failure exits with 3: %+v", said)
		}
	})
}

func TestTimeoutDumpsStacksAndKillsTheGroup(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		m := marker(t)
		c.Apply(shellJob("stuck", `python3 -c "
import subprocess, time
def waits_for_ever():
    subprocess.Popen(['sleep', '7777'], start_new_session=True)
    time.sleep(7777)
waits_for_ever()
"`, "timeout: 15", "env:\n  E2E_MARK: "+m)) // a loaded machine takes seconds to start python
		in := c.Trigger("stuck")
		done := c.Await(in.ID, "failed/timeout")
		if a := done.Attempts[0]; a.Outcome != "timeout" {
			t.Errorf("outcome: %v", done)
		}
		c.AwaitLog(in.ID, "waits_for_ever")
		mustVanish(t, m, time.Second)
	})
}

func TestKillEndsEverythingTheTaskStarted(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		m := marker(t)
		c.Apply(shellJob("endless", "setsid sleep 8888 &\nsh -c 'trap \"\" TERM ABRT; sleep 8889; sleep 8890' &\necho begun\nsleep 8891", "timeout: 600", "env:\n  E2E_MARK: "+m))
		in := c.Trigger("endless")
		c.Await(in.ID, "running/executing")
		c.AwaitLog(in.ID, "begun")
		if n := len(setup.Survivors(m)); n < 4 {
			t.Fatalf("%d of the task's processes are found, so this test could overlook a survivor", n)
		}
		asked := time.Now()
		c.Must("kill", in.ID)
		done := c.Await(in.ID, "cancelled/killed")
		if took := time.Since(asked); took > 10*time.Second {
			t.Errorf("the kill took %s", took)
		}
		mustVanish(t, m, time.Second)
		if done.Attempts[0].Outcome != "killed" {
			t.Errorf("outcome: %v", done)
		}
	})
}

// mustVanish expects that within the limit no process has the marker.
func mustVanish(t *testing.T, marker string, limit time.Duration) {
	t.Helper()
	setup.Until(t, limit, "no process of the task is left", func() bool { return len(setup.Survivors(marker)) == 0 },
		func() string { return strings.Join(setup.Survivors(marker), "\n") })
}

func TestOverlapQueueRunsOneAfterTheOtherAndSkipSaysSo(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		d := s.Diary(t)
		c.Apply(files(
			shellJob("queued", d.Command("queued", "sleep 1"), "overlap: queue"),
			shellJob("picky", "sleep 2", "overlap: skip")))
		first := c.Trigger("queued", "--biz-date", "2026-05-01")
		c.Await(first.ID, "running/executing")
		second := c.Trigger("queued", "--biz-date", "2026-05-02")
		c.Await(second.ID, "running/held_overlap")
		if why := c.Must("why", second.ID); strings.TrimSpace(why) == "" {
			t.Error("why says nothing")
		}
		c.Await(first.ID, "success")
		c.Await(second.ID, "success")
		ended, begun := d.Of("end", first.TraceID), d.Of("start", second.TraceID)
		if len(ended) != 1 || len(begun) != 1 || begun[0].At.Before(ended[0].At) {
			t.Errorf("they overlapped: first ended %v, second began %v", ended, begun)
		}

		busy := c.Trigger("picky", "--biz-date", "2026-05-01")
		c.Await(busy.ID, "running/executing")
		dropped := c.Trigger("picky", "--biz-date", "2026-05-02")
		c.Await(dropped.ID, "cancelled/skipped")
		c.Await(busy.ID, "success")
	})
}
