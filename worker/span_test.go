package worker

import (
	"testing"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// The wall clock was set while the task ran: what is reported is how long it ran.
func TestARunTookWhatTheBootClockSays(t *testing.T) {
	start := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for name, end := range map[string]time.Time{"set forward": start.Add(2 * time.Hour), "set back": start.Add(-2 * time.Hour)} {
		o := types.Outcome{Run: runner.Result{Outcome: runner.Success, StartedAt: start, FinishedAt: end}}
		r := report(&attempt{id: 7}, span{start, 1500 * time.Millisecond}, o, runner.Stats{})
		if r.Started != start.UnixMilli() || r.Finished-r.Started != 1500 {
			t.Errorf("%s: from %d to %d", name, r.Started, r.Finished)
		}
	}
}
