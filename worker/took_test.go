package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// late is a type whose tasks are seen to have ended long after they did.
type late struct{ clock *jump }

func (late) Type() string { return "late" }

func (late) Describe() types.Description { return types.Description{Type: "late"} }

func (l late) Run(context.Context, types.Task, *runner.Capture) types.Outcome {
	l.clock.by(40 * time.Second)
	return types.Outcome{Run: runner.Result{Outcome: runner.Success, StartedAt: time.Now(), Late: 25 * time.Second}}
}

// What a task took ends with the task, also where the worker stood still and saw its end later.
func TestARunEndsWithItsTask(t *testing.T) {
	c := newCenter(t, embedded(t)).run()
	clock := &jump{}
	n := startWith(t, c.link, worker.Config{Boot: clock.now}, func(*runner.Runner) []types.Executor { return []types.Executor{late{clock}} })
	c.send(n.boot, "m1", protocol.LaneHigh, protocol.Task{Attempt: 1, ExecType: "late"})
	r := c.await(1, protocol.OutcomeSuccess)
	if took := time.Duration(r.Finished-r.Started) * time.Millisecond; took < 15*time.Second || took >= 25*time.Second {
		t.Errorf("a task of 15 s that was seen to have ended 25 s later took %v", took)
	}
}
