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

// A kill leaves no process, and whoever waits for the place goes on at once. (J-C18, G-C5, G-C9)
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

// Who waits behind one that is killed goes on at once. (G-C9)
func TestAKilledOneGivesItsPlaceAtOnce(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		c.Apply(shellJob("line", "test {{biz_date}} = 2026-05-02 || sleep 8888", "timeout: 600"))
		first := c.Trigger("line", "--biz-date", "2026-05-01")
		c.Await(first.ID, "running/executing")
		second := c.Trigger("line", "--biz-date", "2026-05-02")
		c.Await(second.ID, "running/held_overlap")
		c.Must("kill", first.ID)
		killed := c.Await(first.ID, "cancelled/killed")
		done := c.Await(second.ID, "success")
		if gap := instant(t, done.Attempts[0].StartedAt).Sub(instant(t, killed.Attempts[0].FinishedAt)); gap < 0 || gap > 3*time.Second {
			t.Errorf("the next one began %s after the end of the killed one", gap)
		}
	})
}

// A task that ignores the signal of its time-out is tried again only once nothing of it is alive. The time-out is that of
// one attempt, and the same by the clock and by hand. (G-E5, G-E6, G-E7)
func TestARetryWaitsForTheEndOfWhatTimedOut(t *testing.T) {
	t.Parallel()
	setup.Each(t, func(t *testing.T, s *setup.Site) {
		c := s.Up(t, setup.Opts{})
		d := s.Diary(t)
		const timeout, grace = 2 * time.Second, 3 * time.Second
		stubborn := func(name string, more ...string) string {
			more = append(more, "timeout: 2", "retry: {times: 1, interval: 1}")
			return shellJob(name, "trap '' TERM ABRT\n"+d.Command(name, "while :; do sleep 0.1; done"), more...)
		}
		c.Apply(files(stubborn("by_hand"), stubborn("by_clock", "at: "+time.Now().Add(4*time.Second).UTC().Format(time.RFC3339))))
		began := c.Trigger("by_hand")
		for _, in := range []setup.Instance{began, c.AwaitOf("by_clock", "running/executing")} {
			setup.Until(t, awaited, in.Job+" is tried again", func() bool { return len(d.Of("start", in.TraceID)) == 2 }, func() string { return c.Instance(in.ID).String() })
			if starts := d.Of("start", in.TraceID); runs(starts[0]) {
				t.Errorf("%s: process %d of the first attempt is alive as the second begins", in.Job, starts[0].PID)
			}
			done := c.Await(in.ID, "failed/timeout")
			if len(done.Attempts) != 2 {
				t.Fatalf("%s: two attempts expected: %v", in.Job, done)
			}
			for i, a := range done.Attempts {
				if took := instant(t, a.FinishedAt).Sub(instant(t, a.StartedAt)); a.Outcome != "timeout" || took < timeout || took > timeout+grace+2*time.Second {
					t.Errorf("%s: attempt %d ended as %s after %s", in.Job, i+1, a.Outcome, took)
				}
			}
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
