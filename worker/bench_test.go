package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
)

// BenchmarkNoop measures the whole way of an attempt through one worker, with the journal's fsyncs, in messages of 100
// over a real Redis. The fake center runs in the same process and is part of the figure.
func BenchmarkNoop(b *testing.B) {
	l := dial(b, redisServer(b).URL)
	c := newCenter(b, l).run()
	n := start(b, l, worker.Config{})
	const size = 100
	b.ResetTimer()
	for first := 0; first < b.N; first += size {
		var tasks []protocol.Task
		for id := first; id < min(first+size, b.N); id++ {
			tasks = append(tasks, nothing(int64(id+1)))
		}
		c.send(n.boot, fmt.Sprint("m", b.N, "-", first), protocol.LaneHigh, tasks...)
	}
	within(b, time.Minute, "all are reported", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.total == b.N
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
}
