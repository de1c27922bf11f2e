// Package noop is the executor type that does nothing and succeeds: for benchmarks, drills and joints in a DAG. It
// starts no process, takes no thread and reads no settings.
package noop

import (
	"context"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// Executor is the noop type. Its zero value works.
type Executor struct{}

var _ types.Executor = Executor{}

// Type is "noop".
func (Executor) Type() string { return "noop" }

// Describe says that it takes nothing.
func (Executor) Describe() types.Description {
	return types.Description{Type: "noop", Version: "1", Threadless: true, Params: []types.Param{}}
}

// Run succeeds at once, unless the task was ended before.
func (Executor) Run(ctx context.Context, t types.Task, _ *runner.Capture) types.Outcome {
	now := time.Now()
	if ctx.Err() != nil {
		return types.Outcome{Run: types.Ended(runner.OutcomeOf(ctx), time.Time{}, now, context.Cause(ctx).Error())}
	}
	res := types.Ended(runner.Success, now, now, "")
	res.ExitCode = 0
	return types.Outcome{Run: res}
}
