package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each end of a process is told as what it was. (G-C16)
func TestExitCodesAndSignals(t *testing.T) {
	b := newBench(t)
	cases := []struct {
		command string
		code    int
		signal  string
		says    string
	}{
		{"exit 0", 0, "", ""},
		{"exit 1", 1, "", "exit code 1"},
		{"exit 2", 2, "", "exit code 2"},
		{"exit 126", 126, "", "could not execute"},
		{"/no/such/program", 127, "", "did not find"},
		{"exit 137", 137, "", "SIGKILL"},
		{"exit 143", 143, "", "SIGTERM"},
		{"exit 255", 255, "", "exit code 255"},
		{"exec python3 -c 'import os; os._exit(256)'", 0, "", ""}, // the kernel keeps eight bits
		{"exec python3 -c 'import os; os._exit(-1)'", 255, "", "exit code 255"},
		{"kill -SEGV $$", -1, "SIGSEGV", "SIGSEGV"},
		{"kill -KILL $$", -1, "SIGKILL", "SIGKILL"},
	}
	for _, tc := range cases {
		t.Run(tc.command, func(t *testing.T) {
			res, _ := b.sh(t, context.Background(), tc.command, nil)
			want := Failed
			if tc.code == 0 {
				want = Success
			}
			if res.Outcome != want || res.ExitCode != tc.code || res.Signal != tc.signal || !strings.Contains(res.Message, tc.says) {
				t.Errorf("got %+v", res)
			}
			if want == Success && res.Message != "" {
				t.Errorf("a plain success says %q", res.Message)
			}
			if res.OOM || res.StartedAt.IsZero() || res.FinishedAt.Before(res.StartedAt) {
				t.Errorf("got %+v", res)
			}
		})
	}
}

func TestWhatCannotStart(t *testing.T) {
	b := newBench(t)
	cases := []struct {
		name   string
		change func(*Spec)
		says   string
	}{
		{"no program", func(s *Spec) { s.Argv = nil }, "no program"},
		{"unknown program", func(s *Spec) { s.Argv = []string{"/no/such"} }, "/no/such: no such file"},
		{"unknown program by name", func(s *Spec) { s.Argv = []string{"no-such-program"} }, "no-such-program"},
		{"unknown directory", func(s *Spec) { s.Dir = "/no/such/dir" }, "working directory"},
		{"directory is a file", func(s *Spec) { s.Dir = "/etc/passwd" }, "not a directory"},
		{"NUL in the environment", func(s *Spec) { s.Env = []string{"A=\x00"} }, "NUL"},
		{"too much environment", func(s *Spec) { s.Env = []string{"A=" + strings.Repeat("x", 3<<20)} }, "too big"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			res, _ := b.sh(t, context.Background(), "exit 0", tc.change)
			if res.Outcome != Failed || res.ExitCode != -1 || !res.StartedAt.IsZero() || !strings.Contains(res.Message, tc.says) {
				t.Errorf("got %+v", res)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrShutdown)
	if res, _ := b.sh(t, ctx, "exit 0", nil); res.Outcome != Shutdown || !res.StartedAt.IsZero() {
		t.Errorf("cancelled before the start: %+v", res)
	}
}

func TestEnvironmentAndInput(t *testing.T) {
	b := newBench(t)
	t.Setenv("LEAK", "the worker's own")
	res, log := b.sh(t, context.Background(), `cat; echo "$A $AX_ATTEMPT $LEAK"; pwd; ulimit -c`, func(s *Spec) {
		s.Env = append(s.Env, "A=a", "AX_ATTEMPT=999")
		s.Stdin = []byte("given\n")
		s.Dir = "/"
	})
	if want := "1out:given|2out:a 1 |3out:/|"; res.Outcome != Success || !strings.HasPrefix(log, want) {
		t.Errorf("%+v log %s, want %s", res, log, want)
	}
	res, _ = b.sh(t, context.Background(), "exit 0", func(s *Spec) { s.Stdin = make([]byte, 1<<20) })
	if res.Outcome != Success {
		t.Errorf("input that nobody reads: %+v", res)
	}
}

// TestCauses: what ends the task decides its outcome, and so does nothing once it has ended by itself.
func TestCauses(t *testing.T) {
	b := newBench(t)
	for cause, want := range map[error]Outcome{ErrKilled: Killed, ErrShutdown: Shutdown, ErrLost: Lost,
		fmt.Errorf("killed by ann: %w", ErrKilled): Killed, errors.New("other"): Killed} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
		res, _ := b.sh(t, ctx, "sleep 600", nil)
		if res.Outcome != want || res.Signal != "SIGTERM" || !strings.Contains(res.Message, cause.Error()) {
			t.Errorf("%v: got %+v", cause, res)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if res, _ := b.sh(t, ctx, "sleep 600", nil); res.Outcome != Timeout {
		t.Errorf("context's own deadline: %+v", res)
	}
	if res, _ := b.sh(t, context.Background(), "sleep 600", deadline(50*time.Millisecond)); res.Outcome != Timeout ||
		!strings.Contains(res.Message, "timed out after") {
		t.Errorf("deadline: %+v", res)
	}
}

func deadline(d time.Duration) func(*Spec) {
	return func(s *Spec) { s.Deadline = time.Now().Add(d) }
}

// A task that ignores the signal gets its grace and then SIGKILL; both times are told. (G-C7)
func TestTaskThatIgnoresTheSignalIsKilledAfterTheGrace(t *testing.T) {
	b := newBench(t)
	res, log := b.sh(t, context.Background(), `trap "echo got it" TERM; echo ready; while :; do sleep 1; done`, func(s *Spec) {
		s.Deadline = time.Now().Add(300 * time.Millisecond)
		s.Grace = 400 * time.Millisecond
	})
	ran := res.FinishedAt.Sub(res.StartedAt)
	if res.Outcome != Timeout || res.Signal != "SIGKILL" || ran < 650*time.Millisecond || ran > 3*time.Second {
		t.Errorf("%+v after %v", res, ran)
	}
	if !regexp.MustCompile(`^timed out after \d+ms; SIGKILL was needed \d+ms later`).MatchString(res.Message) {
		t.Errorf("message %q tells not both times", res.Message)
	}
	if !strings.Contains(log, "ready") {
		t.Errorf("log %s", log)
	}
}

func TestDumpLandsInTheLog(t *testing.T) {
	b := newBench(t)
	code := "import time\ndef stuck_here():\n print('up', flush=True)\n time.sleep(600)\nstuck_here()"
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "job.py"), []byte(code), 0o600))
	res, log := b.sh(t, context.Background(), "cd "+dir+"; python3 job.py; exit 3", func(s *Spec) {
		s.Env = append(s.Env, "PYTHONFAULTHANDLER=1")
		s.DumpSignal = syscall.SIGABRT
		s.Deadline = time.Now().Add(4 * time.Second)
	})
	if res.Outcome != Timeout || !strings.Contains(log, "stuck_here") {
		t.Errorf("%+v log %s", res, log)
	}
	if cores, _ := filepath.Glob(filepath.Join(dir, "core*")); len(cores) > 0 {
		t.Errorf("the dump signal left %v", cores)
	}
}

// TestNothingIsLeftBehind: whatever a task starts is dead when its run is over, whether it ended, was killed, left its
// group or forks all the time. b.sh looks for survivors after each. (J-C18, G-C5, G-C6, G-C8)
func TestNothingIsLeftBehind(t *testing.T) {
	b := newBench(t)
	tree := `sh -c 'sh -c "sleep 600 & sleep 600" & wait'`
	cases := []struct {
		name, command string
		kill          bool
	}{
		{"tree is killed", tree, true},
		{"background and foreground are killed", "sleep 600 & sleep 600", true},
		{"leader ends, grandchild holds the output", "sleep 600 & echo done", false},
		{"leader ends, setsid child holds the output", "setsid sh -c 'sleep 600; true' & sleep 0.1; echo done", false},
		{"setsid with a tree of its own", "setsid sh -c 'sleep 600 & setsid sleep 600 & wait' & sleep 0.1; echo done", false},
		{"setsid child is killed before it leaves the group", "setsid sleep 600 & exit 0", false},
		{"daemon by double fork", "(setsid sh -c '(sleep 600 &) ; sleep 600' &) ; sleep 0.1; echo done", false},
		{"setsid is killed", "setsid sh -c 'sleep 600; true' & sleep 600", true},
		{"leaves the group, clears the environment", "exec bash -c 'set -m; env -i sleep 600 & echo done'", false},
		{"forks all the time", "while :; do sleep 600 & done", true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			if tc.kill {
				time.AfterFunc(300*time.Millisecond, func() { cancel(ErrKilled) })
			}
			begin := time.Now()
			res, log := b.sh(t, ctx, tc.command, nil)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			switch {
			case res.Outcome == Success && strings.Contains(tc.command, "exit 0"): // whether it got away first is chance
			case tc.kill && res.Outcome != Killed:
				t.Errorf("got %+v", res)
			case !tc.kill && (res.Outcome != Success || log != "1out:done|" || !strings.Contains(res.Message, "left behind were killed")):
				t.Errorf("got %+v log %s", res, log)
			}
		})
	}
}

func TestStoppedTaskKeepsItsLog(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	out := b.spool.Create(1)
	done := make(chan Result)
	go func() {
		done <- b.Run(ctx, Spec{Attempt: 1, Env: []string{"PATH=" + os.Getenv("PATH")},
			Argv: []string{"/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done"}}, out)
	}()
	shown := func() int { return len(readAll(t, out, 100)) }
	eventually(t, "no lines", 10*time.Second, func() bool { return shown() >= 8 })
	before := shown()
	cancel(ErrKilled)
	<-done
	out.Finish(time.Now())
	lines := readAll(t, out, 100)
	if len(lines) < before {
		t.Errorf("%d lines were shown, %d are left", before, len(lines))
	}
	for i, l := range lines {
		if l.Text != fmt.Sprintf("line %d", i+1) {
			t.Errorf("line %d reads %q", i+1, l.Text)
		}
	}
}

func TestTwoTasksDoNotKillEachOther(t *testing.T) {
	b := newBench(t)
	first := make(chan Result)
	go func() {
		out := b.spool.Create(100)
		first <- b.Run(context.Background(), Spec{Attempt: 100, Argv: []string{"/bin/sh", "-c", "setsid sleep 1 & wait"},
			Env: []string{"PATH=" + os.Getenv("PATH")}}, out)
	}()
	eventually(t, "the first task is not up", 5*time.Second, func() bool { return len(carriers(t, b.marker.UID)) >= 2 })
	for range 20 {
		out := b.spool.Create(101)
		b.Run(context.Background(), Spec{Attempt: 101, Argv: []string{"/bin/sh", "-c", "sleep 600 & exit 0"},
			Env: []string{"PATH=" + os.Getenv("PATH")}}, out)
	}
	if res := <-first; res.Outcome != Success || res.Message != "" {
		t.Errorf("its neighbour did %+v", res)
	}
}

// TestEndlessOutputKeepsMemoryFlat: gigabytes of two-byte lines, and one line of 100 MB.
func TestEndlessOutputKeepsMemoryFlat(t *testing.T) {
	size := 1 << 30
	if testing.Short() {
		size = 256 << 20
	}
	b := newBench(t)
	stop := make(chan struct{})
	peak := make(chan uint64)
	go watchHeap(stop, peak)
	out := b.spool.Create(1)
	begin := time.Now()
	res := b.Run(context.Background(), Spec{Attempt: 1, Env: []string{"PATH=" + os.Getenv("PATH")}, Argv: []string{"/bin/sh", "-c",
		fmt.Sprintf("yes | head -c %d; head -c 100000000 /dev/zero; echo; echo the end", size)}}, out)
	out.Finish(time.Now())
	took := time.Since(begin)
	close(stop)
	used := <-peak
	log := texts(readAll(t, out, 1000))
	t.Logf("%d MB in %v, heap peak %d MB", size>>20, took.Round(time.Millisecond), used>>20)
	if res.Outcome != Success || !strings.Contains(log, "not kept …") {
		t.Errorf("got %+v, log of %d bytes", res, len(log))
	}
	if want := fmt.Sprintf("%dout:the end|", size/2+2); !strings.HasSuffix(log, want) {
		t.Errorf("the log ends in %q, want %q", log[len(log)-40:], want)
	}
	if used > 16<<20 {
		t.Errorf("the heap grew to %d MB", used>>20)
	}
}

// watchHeap reports the highest heap in use that it saw until stop closes.
func watchHeap(stop <-chan struct{}, peak chan<- uint64) {
	var most uint64
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			peak <- most
			return
		case <-tick.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
}

func TestMessageIsAlwaysFitToBeSaved(t *testing.T) {
	got := CleanMessage(strings.Repeat("任务😀", 10_000) + "\x00")
	if len(got) > messageMax || len(got) < messageMax-16 || strings.ToValidUTF8(got, "") != got || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-8:])
	}
	if got := CleanMessage("a\x00b\xff"); got != "a␀b\uFFFD" {
		t.Errorf("got %q", got)
	}
}

// TestPromptIsShownWhileTheTaskWaits: a beginning of a line without its end is readable after a second.
func TestPromptIsShownWhileTheTaskWaits(t *testing.T) {
	b := newBench(t)
	out := b.spool.Create(1)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan Result)
	go func() {
		done <- b.Run(ctx, Spec{Attempt: 1, Argv: []string{"/bin/sh", "-c", "printf 'step 1... '; sleep 600"},
			Env: []string{"PATH=" + os.Getenv("PATH")}}, out)
	}()
	eventually(t, "nothing is shown", 10*time.Second, func() bool {
		batch, err := out.Lines(1, 10)
		must(t, err)
		return texts(batch.Lines) == "1out:step 1... |"
	})
	cancel(ErrKilled)
	<-done
}

// TestOOMIsNamed: the counter of the kernel's out-of-memory killer went up while the task was killed by nobody here. (G-C16)
func TestOOMIsNamed(t *testing.T) {
	b := newBench(t)
	b.oom.path = filepath.Join(t.TempDir(), "memory.events")
	set := func(n int) {
		must(t, os.WriteFile(b.oom.path, fmt.Appendf(nil, "low 0\noom 9\noom_kill %d\noom_group_kill 0\n", n), 0o600))
	}
	set(3)
	b.oom.tick()
	b.oom.tick()
	if res, _ := b.sh(t, context.Background(), "kill -KILL $$", nil); res.OOM {
		t.Errorf("no memory ran out: %+v", res)
	}
	set(4)
	for _, command := range []string{"kill -KILL $$", "sh -c 'kill -KILL $$'; exit $?"} {
		if res, _ := b.sh(t, context.Background(), command, nil); !res.OOM || !strings.Contains(res.Message, "memory ran out") {
			t.Errorf("%s: %+v", command, res)
		}
	}
	if res, _ := b.sh(t, context.Background(), "exit 1", nil); res.OOM {
		t.Errorf("a plain failure: %+v", res)
	}
}

// TestOrphansThatDieMeanwhileAreCollected: a long task whose background processes end must not fill the process table.
func TestOrphansThatDieMeanwhileAreCollected(t *testing.T) {
	b := newBench(t)
	done := make(chan Result)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		done <- b.Run(ctx, Spec{Attempt: 1, Argv: []string{"/bin/sh", "-c", "(setsid sh -c 'exit 0' &); (setsid sh -c 'exit 0' &); sleep 600"},
			Env: []string{"PATH=" + os.Getenv("PATH")}}, b.spool.Create(1))
	}()
	var dead map[proc]bool
	eventually(t, "the orphans are not ours", 5*time.Second, func() bool {
		dead = b.reapLong(nil)
		return len(dead) >= 2
	})
	if again := b.reapLong(dead); len(again) > 0 {
		t.Errorf("new ones: %v", again)
	}
	if left := b.reapLong(nil); len(left) > 0 {
		t.Errorf("not collected: %v", left)
	}
	cancel(ErrKilled)
	if res := <-done; res.Outcome != Killed {
		t.Errorf("the task itself: %+v", res)
	}
}

// TestGraceIsForTheWholeGroup: the leader dies of the signal at once, its child needs a moment for its last words.
func TestGraceIsForTheWholeGroup(t *testing.T) {
	b := newBench(t)
	child := `trap "sleep 0.3; echo last words; exit" TERM; echo up; while :; do sleep 0.05; done`
	res, log := b.sh(t, context.Background(), "bash -c '"+child+"'; true", deadline(700*time.Millisecond))
	if res.Outcome != Timeout || !strings.HasSuffix(log, "out:last words|") || strings.Contains(res.Message, "SIGKILL") {
		t.Errorf("%+v log %s", res, log)
	}
	begin := time.Now()
	res, _ = b.sh(t, context.Background(), "bash -c 'trap \"\" TERM; while :; do sleep 0.05; done'; true", func(s *Spec) {
		s.Deadline, s.Grace = time.Now().Add(500*time.Millisecond), 400*time.Millisecond
	})
	if took := time.Since(begin); res.Outcome != Timeout || !strings.Contains(res.Message, "SIGKILL was needed") || took > 5*time.Second {
		t.Errorf("a child that ignores the signal: %+v after %v", res, took)
	}
}
