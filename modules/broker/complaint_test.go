package broker

import (
	"errors"
	"testing"
	"time"
)

func TestTheSameComplaintIsMadeSeldom(t *testing.T) {
	var c complaint
	away, full := errors.New("away"), errors.New("full")
	for _, step := range []struct {
		after time.Duration
		err   error
		due   bool
	}{{0, away, true}, {time.Second, away, false}, {2 * time.Second, full, true}, {3 * time.Second, full, false}, {4 * time.Second, away, true},
		{14*time.Second - 1, away, false}, {14 * time.Second, away, true}, {15 * time.Second, away, false}} {
		if got := c.due(step.err, time.Unix(0, 0).Add(step.after)); got != step.due {
			t.Errorf("%s after %s: told %v", step.err, step.after, got)
		}
	}
}
