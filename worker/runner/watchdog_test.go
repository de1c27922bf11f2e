package runner

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// worker is a process of its own that runs tasks, to be killed or frozen.
type worker struct {
	cmd    *exec.Cmd
	uid    string
	says   *bufio.Reader
	sleeps int // how many it has when all tasks are up
}

// startWorker runs commands as tasks of a worker in a process group of its own, and waits until they are all up.
func startWorker(t *testing.T, uid, boot string, env []string, commands ...string) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0], commands...)
	cmd.Env = append(os.Environ(), append(env, "AX_TEST_WORKER="+t.TempDir(), "AX_TEST_UID="+uid, "AX_TEST_BOOT="+boot)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second // the watchdog holds stderr for a moment longer
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	w := &worker{cmd: cmd, uid: uid, says: bufio.NewReader(out), sleeps: strings.Count(strings.Join(commands, ""), "sleep 600")}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, p := range w.watchdogs(t) {
			_ = unix.Kill(p.pid, unix.SIGCONT)
		}
		_, _ = KillMarked(Marker{UID: uid, Boot: -1}, 5*time.Second)
	})
	eventually(t, "the tasks are not up", 10*time.Second, func() bool { return w.sleepers(t) == w.sleeps })
	return w
}

func (w *worker) sleepers(t *testing.T) int {
	n := 0
	for _, c := range carriers(t, w.uid) {
		if f := strings.Fields(c); f[1] == "sleep" {
			n++
		}
	}
	return n
}

// watchdogs lists the living watchdogs of this worker.
func (w *worker) watchdogs(t *testing.T) []proc {
	all, err := listProcs()
	must(t, err)
	var found []proc
	for _, p := range all {
		cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if strings.Contains(string(cmd), "\x00watchdog\x00"+w.uid) && !p.dead() {
			found = append(found, p)
		}
	}
	return found
}

func (w *worker) gone(t *testing.T, limit time.Duration) {
	t.Helper()
	begin := time.Now()
	eventually(t, "tasks outlive their worker", limit, func() bool { return len(carriers(t, w.uid)) == 0 })
	t.Logf("nothing left after %v", time.Since(begin).Round(time.Millisecond))
	eventually(t, "the watchdog does not go", 5*time.Second, func() bool { return len(w.watchdogs(t)) == 0 })
}

var stubborn = []string{
	"sleep 600",
	"sleep 600 & sleep 600",
	"setsid sh -c 'sleep 600; true' & sleep 600",
	"(setsid sh -c '(setsid sleep 600 &) ; sleep 600' &) ; sleep 600",
	"trap '' TERM QUIT HUP INT; sh -c 'sleep 600; true'",
	"env -i sleep 599 & sleep 600",
}

func TestKilledWorkerLeavesNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		kill func(pid int) error
	}{
		{"the worker alone", func(pid int) error { return unix.Kill(pid, unix.SIGKILL) }},
		{"its whole group, politely first", func(pid int) error {
			return firstError(unix.Kill(-pid, unix.SIGTERM), unix.Kill(-pid, unix.SIGKILL))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := startWorker(t, newUID(t), "1", nil, stubborn...)
			bare := bareSleeps(t)
			must(t, tc.kill(w.cmd.Process.Pid))
			w.gone(t, 5*time.Second)
			for _, p := range bare {
				if now, err := readProc(p.pid); err == nil && now.start == p.start && !now.dead() {
					t.Errorf("a process of the group that had cleared its environment lives on: %d", p.pid)
				}
			}
		})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// bareSleeps finds the `sleep 599` of stubborn, which carries no marker.
func bareSleeps(t *testing.T) []proc {
	t.Helper()
	all, err := listProcs()
	must(t, err)
	var found []proc
	for _, p := range all {
		if cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); string(cmd) == "sleep\x00599\x00" {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatal("no sleep without environment is up")
	}
	return found
}

func TestFrozenWorkerMissesNoDeadline(t *testing.T) {
	w := startWorker(t, newUID(t), "1", []string{"AX_TEST_DEADLINE=1500ms"}, "sleep 600", "setsid sh -c 'sleep 600; true' & sleep 600")
	must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGSTOP))
	eventually(t, "tasks run on beyond their deadline", 8*time.Second, func() bool { return len(carriers(t, w.uid)) == 0 })
	must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGCONT))
	for range 2 {
		line, err := w.says.ReadString('\n')
		if err != nil || !strings.Contains(line, " timeout ") || !strings.Contains(line, "watchdog") {
			t.Errorf("the thawed worker reports %q %v", line, err)
		}
	}
}

func TestKilledWatchdogIsReplaced(t *testing.T) {
	w := startWorker(t, newUID(t), "1", nil, "sleep 600", "setsid sh -c 'sleep 600; true' & sleep 600")
	first := w.watchdogs(t)
	if len(first) != 1 {
		t.Fatalf("watchdogs: %v", first)
	}
	must(t, unix.Kill(first[0].pid, unix.SIGKILL))
	eventually(t, "no new watchdog", 10*time.Second, func() bool {
		now := w.watchdogs(t)
		return len(now) == 1 && now[0].pid != first[0].pid
	})
	must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGKILL))
	w.gone(t, 5*time.Second)
}

func TestNextBootKillsWhatEarlierOnesLeft(t *testing.T) {
	uid := newUID(t)
	w := startWorker(t, uid, "1", nil, "sleep 600", "setsid sh -c 'sleep 600; true' & sleep 600")
	other := startWorker(t, newUID(t), "1", nil, "sleep 600")
	for _, p := range w.watchdogs(t) {
		must(t, unix.Kill(p.pid, unix.SIGSTOP)) // as if both had been killed
	}
	must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGKILL))
	_ = w.cmd.Wait()
	if w.sleepers(t) < 3 {
		t.Fatal("the tasks are gone already: nothing is proved")
	}
	if n, err := KillMarked(Marker{UID: uid, Boot: 1}, 5*time.Second); n != 0 || err != nil {
		t.Errorf("its own boot's processes: killed %d, %v", n, err)
	}
	n, err := KillMarked(Marker{UID: uid, Boot: 2}, 5*time.Second)
	if n < 3 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	if left := carriers(t, uid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if other.sleepers(t) != 1 {
		t.Error("a stranger's task was killed")
	}
}

// TestRecycledNumberIsNotHit: the watchdog's knowledge is outdated, its process number belongs to somebody else by now.
func TestRecycledNumberIsNotHit(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p, err := readProc(cmd.Process.Pid)
	must(t, err)
	w := &watchdog{marker: Marker{UID: newUID(t), Boot: 1}, tasks: map[int64]watched{}, log: io.Discard}
	must(t, w.hear(fmt.Sprintf("s 1 %d %d 1 0 1", p.pid, p.start-1)))
	w.enforce(bootClock())
	w.sweep()
	if now, err := readProc(p.pid); err != nil || now.dead() {
		t.Fatal("a stranger with the same number was killed")
	}
	(proc{pid: p.pid, start: p.start + 1}).kill()
	must(t, w.hear(fmt.Sprintf("s 1 %d %d 1 0 1", p.pid, p.start)))
	w.enforce(bootClock())
	if now, err := readProc(p.pid); err == nil && !now.dead() {
		t.Error("the right one was not killed: the test proves nothing")
	}
}

func TestUnrenewedLeaseEndsTheTask(t *testing.T) {
	b := newBench(t)
	lease := func(s *Spec) { s.Unrenewed = 1200 * time.Millisecond }
	b.Renewed(bootClock())
	res, _ := b.sh(t, context.Background(), "setsid sleep 600 & sleep 600", lease)
	if res.Outcome != Lost || !strings.Contains(res.Message, "had not answered") {
		t.Errorf("nobody renewed: %+v", res)
	}
	b.Renewed(bootClock())
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				b.Renewed(bootClock())
			case <-done:
				return
			}
		}
	}()
	if res, _ := b.sh(t, context.Background(), "sleep 2", lease); res.Outcome != Success {
		t.Errorf("renewed all the time: %+v", res)
	}
	close(done)
}

// A thawed worker may hear from the center before it looks at what became of its tasks.
func TestARenewalAfterTheKillDoesNotHideItsReason(t *testing.T) {
	b := newBench(t)
	b.Renewed(bootClock())
	spec := Spec{Attempt: 7, Argv: []string{"sleep", "600"}, Unrenewed: 700 * time.Millisecond}.withDefaults()
	c, err := b.start(spec, b.spool.Create(7))
	must(t, err)
	<-c.exited // the watchdog killed it
	b.Renewed(bootClock())
	stopped := c.await(context.Background(), b.Runner)
	if res := c.result(stopped, c.end(b.Runner)); res.Outcome != Lost || !strings.Contains(res.Message, "had not answered") {
		t.Errorf("it reads %+v", res)
	}
}

// What became of the heartbeats is told with the task that the watchdog ended for them, also when they are answered again,
// and not with one that begins later.
func TestTheReasonOfTheSilenceIsTold(t *testing.T) {
	b := newBench(t)
	b.Renewed(bootClock())
	spec := Spec{Attempt: 7, Argv: []string{"sleep", "600"}, Unrenewed: 700 * time.Millisecond}.withDefaults()
	c, err := b.start(spec, b.spool.Create(7))
	must(t, err)
	b.Unheard("because Redis did not answer")
	<-c.exited // the watchdog killed it
	b.Renewed(bootClock())
	res := c.result(c.await(context.Background(), b.Runner), c.end(b.Runner))
	if res.Outcome != Lost || !strings.HasPrefix(res.Message, "ended after 1s because Redis did not answer") {
		t.Errorf("it reads %+v", res)
	}
	spec.Attempt = 8
	b.Renewed(bootClock())
	c, err = b.start(spec, b.spool.Create(8))
	must(t, err)
	<-c.exited
	res = c.result(c.await(context.Background(), b.Runner), c.end(b.Runner))
	if res.Outcome != Lost || !strings.Contains(res.Message, "the center had not answered") {
		t.Errorf("a later one reads %+v", res)
	}
}

// A task that is ended for a silence by the worker itself says so too, and counts as lost.
func TestACauseThatNamesTheSilenceIsALoss(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Unanswered(30*time.Second, "because Redis did not answer"))
	if got := OutcomeOf(ctx); got != Lost || context.Cause(ctx).Error() != "ended after 30s because Redis did not answer" {
		t.Errorf("%s: %v", got, context.Cause(ctx))
	}
}

func TestWatchdogUnderstandsOnlyItsWords(t *testing.T) {
	w := &watchdog{tasks: map[int64]watched{}, log: io.Discard}
	for _, line := range []string{"", "x", "s 1 2", "e x", "s 1 2 3 4 5", "s 1 2 3 4 5 x", "r"} {
		if w.hear(line) == nil {
			t.Errorf("%q was taken", line)
		}
	}
	must(t, w.hear("s 1 2 3 5000000000 2000000000 1"))
	must(t, w.hear("r 1000000000"))
	if got := w.tasks[1].limit(w.renewed); got != 3*time.Second {
		t.Errorf("limit %v, want the earlier of deadline and lease", got)
	}
	if wait, any := w.nextLook(2500 * time.Millisecond); !any || wait != 500*time.Millisecond {
		t.Errorf("looks again in %v %v", wait, any)
	}
	must(t, w.hear("e 1"))
	if _, any := w.nextLook(0); any {
		t.Error("an ended task is still waited for")
	}
}

func TestRunnerRefusesToStartWithoutAWatchdog(t *testing.T) {
	for _, argv := range [][]string{{"/no/such/program"}, {"/bin/true"}} {
		if r, err := New(Config{Marker: Marker{UID: "u", Boot: 1}, Watchdog: argv}); err == nil {
			_ = r.Close()
			t.Errorf("%v is no watchdog", argv)
		} else if !strings.Contains(err.Error(), "watchdog") {
			t.Errorf("error says %v", err)
		}
	}
}

// TestWatchdogOfADeadWorkerStillSweeps: the worker died before the watchdog could even say that it listens.
func TestWatchdogOfADeadWorkerStillSweeps(t *testing.T) {
	uid := newUID(t)
	cmd := exec.Command("sleep", "600")
	cmd.Env = Marker{UID: uid, Boot: 1}.environ(nil, 1)
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	eventually(t, "no task", 5*time.Second, func() bool { return len(carriers(t, uid)) == 1 })
	dog := exec.Command(os.Args[0], "watchdog", uid, "1")
	r, w, err := os.Pipe()
	must(t, err)
	must(t, r.Close())
	dog.Stdout = w // nobody reads it
	if err := dog.Run(); err != nil {
		t.Errorf("the watchdog failed: %v", err)
	}
	must(t, w.Close())
	if left := carriers(t, uid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Messages arrive whole and in order, however the pipe cuts them; what has no end is no message.
func TestReadLinesWhateverThePieces(t *testing.T) {
	pieces := []string{"s 1", " 2 3 4 5\ne 1\nr", " 7\n", "\n", "e 9"}
	in, out := io.Pipe()
	go func() {
		for _, p := range pieces {
			_, _ = out.Write([]byte(p))
		}
		_ = out.Close()
	}()
	var got []string
	for lines := range readLines(in) {
		got = append(got, lines...)
	}
	if want := []string{"s 1 2 3 4 5", "e 1", "r 7", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
