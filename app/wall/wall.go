// Package wall hands out the wall clock of this process: the machine's, or, for drills only, one that a file shifts.
//
// It owns the variable AX_CLOCK_SHIFT_FILE and the loudness about it. It refuses to touch monotonic and boot clocks:
// whatever is measured as a span goes on as before, as on a machine whose clock is set. main drives it, once, and hands
// the clock to the roots; the database's clock, Redis' clock and those of tasks stay as they are.
package wall

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Variable names the environment variable with the path of a file that holds a duration such as 6s or -2h, which is
// added to the wall clock. The file is read again each 100 ms; while it is absent or empty nothing is added.
const Variable = "AX_CLOCK_SHIFT_FILE"

const readEach = 100 * time.Millisecond

// Clock is the wall clock for path, the value of Variable: time.Now where that is empty. Else the file is followed until
// ctx ends. An error says that it holds no duration.
func Clock(ctx context.Context, path string, log *slog.Logger) (func() time.Time, error) {
	if path == "" {
		return time.Now, nil
	}
	shift, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	log.Error("THE CLOCK OF THIS PROCESS IS NOT THE MACHINE'S: "+Variable+" is set, which is for drills and never for work",
		"file", path, "shift", shift.String())
	var now atomic.Int64
	now.Store(int64(shift))
	go follow(ctx, path, &now, log)
	return func() time.Time { return time.Now().Round(0).Add(time.Duration(now.Load())) }, nil
}

// read is the duration in the file.
func read(path string) (time.Duration, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(string(text))
	if word == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, which is no duration such as 6s or -2h", path, word)
	}
	return d, nil
}

// follow reads the file again and again. What it cannot read changes nothing.
func follow(ctx context.Context, path string, shift *atomic.Int64, log *slog.Logger) {
	tick := time.NewTicker(readEach)
	defer tick.Stop()
	var said error
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d, err := read(path)
		if err != nil {
			if said == nil {
				log.Error("the shift of this process' clock stays as it was", "error", err)
			}
			said = err
			continue
		}
		said = nil
		if was := time.Duration(shift.Swap(int64(d))); was != d {
			log.Error("THE CLOCK OF THIS PROCESS WAS SET, for a drill", "shift", d.String(), "before", was.String())
		}
	}
}
