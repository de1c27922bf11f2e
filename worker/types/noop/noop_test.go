package noop

import (
	"context"
	"testing"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

func TestNoop(t *testing.T) {
	if o := (Executor{}).Run(context.Background(), types.Task{}, nil); o.Run.Outcome != runner.Success || o.Run.ExitCode != 0 {
		t.Errorf("got %+v", o)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(runner.ErrKilled)
	if o := (Executor{}).Run(ctx, types.Task{}, nil); o.Run.Outcome != runner.Killed {
		t.Errorf("killed before it ran: %+v", o)
	}
}
