package transport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestTheSameLineIsSaidSeldom(t *testing.T) {
	var s seldom
	at := time.Unix(1000, 0)
	for _, step := range []struct {
		after time.Duration
		text  string
		due   bool
	}{{0, "a", true}, {0, "b", true}, {sayEach - 1, "a", false}, {sayEach, "a", true}, {sayEach + 1, "b", true}, {sayEach + 2, "b", false}} {
		if got := s.due(step.text, at.Add(step.after)); got != step.due {
			t.Errorf("%s after %s: said %v", step.text, step.after, got)
		}
	}
	for n := range 10 * seldomMost {
		if !s.due(fmt.Sprint("text ", n), at) {
			t.Fatalf("text %d is new and was not said", n)
		}
	}
	if len(s.last) > seldomMost {
		t.Errorf("%d texts are remembered", len(s.last))
	}
}

// What the libraries repeat while Redis is away is one line, whichever lane's server says it.
func TestLibrariesDoNotFloodTheLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var s seldom
	high, low := quietLog{log.With("lane", "high"), &s}, quietLog{log.With("lane", "low"), &s}
	for range 50 {
		high.Error("Dequeue error: connection refused")
		low.Error("Dequeue error: connection refused")
		low.Warn("another")
	}
	was := slog.Default()
	slog.SetDefault(log)
	defer slog.SetDefault(was)
	d := &detail{}
	for range 50 {
		d.Printf(context.Background(), "pool: dial %s", "failed")
	}
	for words, want := range map[string]int{"Dequeue error": 1, "another": 1, "redis: pool: dial failed": 1} {
		if n := strings.Count(out.String(), words); n != want {
			t.Errorf("%q is in the log %d times, want %d:\n%s", words, n, want, out.String())
		}
	}
}
