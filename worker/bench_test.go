package worker_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
	"github.com/axsched/ax/worker/types"
)

// All of these need a real Redis. Workers run in a process of their own where CPU is measured, so that the fake center and
// asynq's client are no part of the figure.

// BenchmarkNoop measures the whole way of an attempt that does nothing through one worker process, with the journal's
// fsyncs, in messages of 100 and of 10: CPU of the worker, and elapsed time with the fake center in the way.
func BenchmarkNoop(b *testing.B) {
	for _, size := range []int{100, 10} {
		b.Run(fmt.Sprintf("message=%d", size), func(b *testing.B) { noops(b, size) })
	}
}

func noops(b *testing.B, size int) {
	f := newField(b)
	const window = 1000 // at most so many are on their way, as the broker's room for a worker bounds them
	b.ResetTimer()
	cpu := f.cpu()
	for first := 0; first < b.N; first += size {
		f.reported(first - window)
		var tasks []protocol.Task
		for id := first; id < min(first+size, b.N); id++ {
			tasks = append(tasks, ordinary(nothing(int64(id+1))))
		}
		f.send(f.worker, fmt.Sprint("m", b.N, "-", first), protocol.LaneHigh, tasks...)
	}
	f.reported(b.N)
	b.StopTimer()
	b.ReportMetric(float64((f.cpu()-cpu).Nanoseconds())/1000/float64(b.N), "worker-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
}

// BenchmarkShell compares rounds of `sh -c true` as a bare fork+exec, eight at once, with rounds of the same as attempts
// through a worker of eight threads: claim, grant, two fsyncs of the journal, runner, report.
func BenchmarkShell(b *testing.B) {
	f := newField(b)
	const round = 64
	var bareTime, taskTime time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		bareRound(b, 8, round)
		bareTime += time.Since(start)
		var tasks []protocol.Task
		for range round {
			n++
			tasks = append(tasks, sh(int64(n), "true"))
		}
		start = time.Now()
		f.send(f.worker, fmt.Sprint("m", n), protocol.LaneDefault, tasks...)
		f.reported(n)
		taskTime += time.Since(start)
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(n) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(per(bareTime), "bare-ms")
	b.ReportMetric(per(taskTime), "task-ms")
	b.ReportMetric(per(taskTime-bareTime), "over-ms")
}

func bareRound(b *testing.B, at, n int) {
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for range n / at {
				cmd := exec.Command("/bin/sh", "-c", "true")
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if _, err := cmd.CombinedOutput(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkPickUp sends one message at a time to an idle worker and measures from the sending to the claim, and from the
// answer to the start of the task.
func BenchmarkPickUp(b *testing.B) {
	l := dial(b, redisServer(b).URL)
	c := newCenter(b, l)
	heard, answered := map[int64]time.Time{}, map[int64]time.Time{}
	c.onClaim = func(cl protocol.Claim, _ int) []protocol.Downlink {
		heard[cl.IDs[0]] = time.Now()
		down := []protocol.Downlink{{Answer: c.grantAll(cl)}}
		answered[cl.IDs[0]] = time.Now()
		return down
	}
	c.run()
	stamps := &stamper{at: map[int64]time.Time{}}
	n := startWith(b, l, worker.Config{}, func(*runner.Runner) []types.Executor { return []types.Executor{stamps} })
	var claim, begin []time.Duration
	for id := int64(1); b.Loop(); id++ {
		time.Sleep(time.Duration(17+id%13) * time.Millisecond) // the worker is idle, at no fixed phase of its polling
		sent := time.Now()
		c.send(n.boot, fmt.Sprint("m", id), protocol.LaneDefault, ordinary(nothing(id)))
		within(b, time.Minute, "it is reported", func() bool { return c.report(id) != nil })
		c.mu.Lock()
		claim = append(claim, heard[id].Sub(sent))
		begin = append(begin, stamps.of(id).Sub(answered[id]))
		c.mu.Unlock()
	}
	b.ReportMetric(0, "ns/op")
	for name, ds := range map[string][]time.Duration{"claim": claim, "start": begin} {
		slices.Sort(ds)
		b.ReportMetric(ds[len(ds)/2].Seconds()*1000, name+"-p50-ms")
		b.ReportMetric(ds[len(ds)*99/100].Seconds()*1000, name+"-p99-ms")
	}
}

// stamper is a noop that notes when it ran.
type stamper struct {
	mu sync.Mutex
	at map[int64]time.Time
}

func (s *stamper) Type() string { return "noop" }

func (s *stamper) Describe() types.Description {
	return types.Description{Type: "noop", Threadless: true}
}

func (s *stamper) Run(_ context.Context, t types.Task, _ *runner.Capture) types.Outcome {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[t.Attempt] = now
	return types.Outcome{Run: types.Ended(runner.Success, now, now, "")}
}

func (s *stamper) of(id int64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[id]
}

// BenchmarkIdle measures what a worker without work and its Redis take of a core. An iteration is a second.
func BenchmarkIdle(b *testing.B) {
	f := newField(b)
	time.Sleep(2 * time.Second) // the start is no part of it
	b.ResetTimer()
	worker, server := f.cpu(), cpuOf(b, f.redis.PID())
	for range b.N {
		time.Sleep(time.Second)
	}
	b.StopTimer()
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / b.Elapsed().Seconds() }
	b.ReportMetric(share(f.cpu()-worker), "worker-%core")
	b.ReportMetric(share(cpuOf(b, f.redis.PID())-server), "redis-%core")
}

// field is a Redis, a worker process and a fake center.
type field struct {
	*center
	b      *testing.B
	redis  *stores.Server
	worker boot
	cmd    *exec.Cmd
}

func newField(b *testing.B) *field {
	s := redisServer(b)
	f := &field{b: b, redis: s, center: newCenter(b, dial(b, s.URL)).run()}
	f.cmd, f.worker = spawn(b, s.URL, b.TempDir(), 1)
	within(b, 10*time.Second, "the worker is registered", func() bool {
		all, _, err := transport.Workers(b.Context(), f.link.Registry)
		return err == nil && len(all) == 1
	})
	b.Cleanup(func() { _ = f.cmd.Process.Signal(syscall.SIGTERM); _ = f.cmd.Wait() })
	return f
}

func (f *field) cpu() time.Duration { return cpuOf(f.b, f.cmd.Process.Pid) }

// reported waits until so many attempts are.
func (f *field) reported(n int) {
	within(f.b, time.Minute, "all are reported", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.total >= n
	})
}

// cpuOf is the CPU time that a process has taken, by its CPU clock.
func cpuOf(b *testing.B, pid int) time.Duration {
	const perProcess = 2 // of clock ids: the scheduler's clock of a whole process
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcess), &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// ordinary gives a task what every task from a real center carries.
func ordinary(t protocol.Task) protocol.Task {
	t.TraceID, t.TaskID = "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "task_20240101020000"
	t.Project, t.TaskName, t.BizDate, t.OnLost = "default", "order_stat_daily", "2024-01-01", protocol.OnLostRetry
	t.Exec, t.Timeout, t.Ordinal, t.Shard = []byte(`{"type":"noop"}`), 60_000, 1, protocol.Shard{Total: 1}
	t.Env = map[string]string{"AX_PROJECT": t.Project, "AX_JOB": t.TaskName, "AX_BIZ_DATE": t.BizDate, "AX_TRACE_ID": t.TraceID,
		"AX_ATTEMPT_NO": "1", "AX_SHARD_INDEX": "0", "AX_SHARD_TOTAL": "1", "AX_EXPECTED_TIME": "2024-01-01T02:00:00+08:00"}
	return t
}
