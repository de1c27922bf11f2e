package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// A start is told when its task lasts, once, and not beside the report that tells it too.
func TestStartsOfShortTasksAreToldByTheirReports(t *testing.T) {
	const now = time.Hour
	at := func(id int64, ago time.Duration) begun { return begun{protocol.Started{Attempt: id}, now - ago} }
	tell, young := ripe([]begun{at(1, time.Second), at(2, time.Millisecond), at(3, time.Second), at(4, 0), at(5, shortTask)},
		[]protocol.Report{{Attempt: 3}, {Attempt: 4}}, now)
	ids := func(all []begun) (out []int64) {
		for _, b := range all {
			out = append(out, b.Attempt)
		}
		return out
	}
	if got := ids(tell); !slices.Equal(got, []int64{1, 5}) {
		t.Errorf("told are %v, want 1 and 5", got)
	}
	if got := ids(young); !slices.Equal(got, []int64{2}) {
		t.Errorf("kept are %v, want 2", got)
	}
}
