package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkOverBare says what a task costs beyond its program. Rounds of a bare fork+exec and rounds of the same program as
// a task take turns within one run, so that both meet the same machine: "true" is /bin/true, "sh" is `sh -c true`, "says"
// writes a line that the task has to spool. The figures of a kind are milliseconds of elapsed time per task, and "over" is
// their difference; "latency" is the same difference for how long one task took from its start to its end, which with
// eight at once is mostly waiting for a core.
func BenchmarkOverBare(b *testing.B) {
	for _, kind := range []struct {
		name string
		argv []string
	}{
		{"true", []string{"/bin/true"}},
		{"sh", []string{"/bin/sh", "-c", "true"}},
		{"says", []string{"/bin/sh", "-c", "echo done"}},
	} {
		for _, at := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/at=%d", kind.name, at), func(b *testing.B) { overBare(b, kind.argv, at) })
		}
	}
}

func overBare(b *testing.B, argv []string, at int) {
	const round = 40
	r, task := asTask(b, argv)
	watchdog := cpuOf(b, r.guard.pid)
	var bareTime, taskTime, bareLatency, taskLatency time.Duration
	n := 0
	for b.Loop() {
		e, l := timed(at, round, func() { bare(b, argv) })
		bareTime, bareLatency = bareTime+e, bareLatency+l
		e, l = timed(at, round, task)
		taskTime, taskLatency = taskTime+e, taskLatency+l
		n += round
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }
	b.ReportMetric(0, "ns/op") // an iteration is a round of both kinds and says nothing
	b.ReportMetric(per(bareTime), "bare-ms")
	b.ReportMetric(per(taskTime), "task-ms")
	b.ReportMetric(per(taskTime-bareTime), "over-ms")
	b.ReportMetric(per(taskLatency-bareLatency), "latency-over-ms")
	b.ReportMetric(per(cpuOf(b, r.guard.pid)-watchdog), "watchdog-cpu-ms")
}

// cpuOf is the CPU time that a process has taken, by its CPU clock.
func cpuOf(b *testing.B, pid int) time.Duration {
	const perProcess = 2 // of clock ids: the scheduler's clock of a whole process
	var ts unix.Timespec
	must(b, unix.ClockGettime(int32(^pid<<3|perProcess), &ts))
	return time.Duration(ts.Nano())
}

// timed calls fn n times from at goroutines and returns how long that took, and the sum of how long each call took.
func timed(at, n int, fn func()) (elapsed, calls time.Duration) {
	var all sync.WaitGroup
	var next, sum atomic.Int64
	start := time.Now()
	for range at {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				began := time.Now()
				fn()
				sum.Add(int64(time.Since(began)))
			}
		})
	}
	all.Wait()
	return time.Since(start), time.Duration(sum.Load())
}

// bare is the floor: a process group of its own, the output read through a pipe, the exit code.
func bare(b *testing.B, argv []string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if _, err := cmd.CombinedOutput(); err != nil {
		b.Error(err)
	}
}

// asTask runs the program as a worker does: marker, watchdog, capture, search for leftovers.
func asTask(b *testing.B, argv []string) (*Runner, func()) {
	r, err := New(Config{Marker: Marker{UID: newUID(b), Boot: 1}})
	must(b, err)
	b.Cleanup(func() { _ = r.Close() })
	spool, err := OpenSpool(b.TempDir(), Limits{})
	must(b, err)
	env := []string{"PATH=" + os.Getenv("PATH")}
	var id atomic.Int64
	return r, func() {
		attempt := id.Add(1)
		out := spool.Create(attempt)
		res := r.Run(context.Background(), Spec{Attempt: attempt, Argv: argv, Env: env, Deadline: time.Now().Add(time.Minute)}, out)
		out.Finish(time.Now())
		if res.Outcome != Success {
			b.Error(res)
		}
		must(b, out.Remove())
	}
}

// BenchmarkTask is one task alone, for profiles and allocations.
func BenchmarkTask(b *testing.B) {
	_, task := asTask(b, []string{"/bin/sh", "-c", "true"})
	b.ReportAllocs()
	for b.Loop() {
		task()
	}
}

// BenchmarkBareShell is the same command without a runner.
func BenchmarkBareShell(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		bare(b, []string{"/bin/sh", "-c", "true"})
	}
}
