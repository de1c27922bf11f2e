package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A task that ends while its worker stands still ended then, not when the worker goes on; one that had hardly begun ended
// when the watchdog began to watch it.
func TestATaskOfAFrozenWorkerEndedWhenItDid(t *testing.T) {
	for name, age := range map[string]time.Duration{"watched": watchAfter + time.Second/2, "not watched yet": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := filepath.Join(t.TempDir(), "go")
			begin := time.Now()
			w := startWorker(t, newUID(t), "1", nil, "until test -e "+gate+"; do sleep 0.02; done")
			eventually(t, "the task is not up", 10*time.Second, func() bool { return len(carriers(t, w.uid)) > 0 })
			up := time.Now()
			eventually(t, "it gets no older", 10*time.Second, func() bool { return time.Since(up) >= age })
			must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGSTOP))
			must(t, os.WriteFile(gate, nil, 0o600))
			eventually(t, "the task does not end", 10*time.Second, func() bool { return len(carriers(t, w.uid)) == 0 })
			end := time.Now()
			const still = 4 * time.Second
			eventually(t, "time stands still", 10*time.Second, func() bool { return time.Since(end) >= still })
			must(t, unix.Kill(w.cmd.Process.Pid, unix.SIGCONT))
			line, err := w.says.ReadString('\n')
			must(t, err)
			f := strings.Fields(line)
			took, err := time.ParseDuration(f[2])
			if most := end.Sub(begin) + watchAfter + time.Second; err != nil || f[1] != string(Success) || took < age || took > most {
				t.Errorf("it says %q, and the task took at most %v", line, most)
			}
		})
	}
}

// What the watchdog says arrives whole, however the pipe cuts it, and counts only for what runs.
func TestGuardHearsTheEndsOfWhatRuns(t *testing.T) {
	back, says, err := os.Pipe()
	must(t, err)
	defer func() { _, _ = back.Close(), says.Close() }()
	g := &guard{back: back, tasks: map[int64]string{1: "s", 2: "s"}, exits: map[int64]time.Duration{}}
	ago := func(d time.Duration) int64 { return int64(bootClock() - d) }
	_, err = fmt.Fprintf(says, "x 1 %d\nx 3 %d\nnonsense\nx 2 ", ago(time.Minute), ago(time.Minute))
	must(t, err)
	for attempt, want := range map[int64]time.Duration{1: time.Minute, 2: 0, 3: 0} {
		if got := g.exited(attempt); got < want || got > want+10*time.Second {
			t.Errorf("attempt %d ended %v ago, want %v", attempt, got, want)
		}
	}
	_, err = fmt.Fprintf(says, "%d\n", ago(time.Hour))
	must(t, err)
	if got := g.exited(2); got < time.Hour {
		t.Errorf("attempt 2 ended %v ago", got)
	}
	g.ended(1)
	if got := g.exited(1); got != 0 {
		t.Errorf("an attempt that is over ended %v ago", got)
	}
}
