package wall

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// book is a log that may be read while it is written.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.text.String(), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// off is how far the clock is off the machine's, to the second.
func off(clock func() time.Time) time.Duration { return time.Until(clock()).Round(time.Second) }

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}

func TestTheFileMovesTheClockAndTheLogSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := filepath.Join(t.TempDir(), "shift")
	var said book
	clock, err := Clock(ctx, path, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || off(clock) != 0 {
		t.Fatalf("without its file the clock is off by %s, %v", off(clock), err)
	}
	if !said.has("NOT THE MACHINE'S") || !said.has(path) || !said.has("level=ERROR") {
		t.Error("the log is silent about a clock that can be shifted")
	}
	for _, step := range []time.Duration{6 * time.Second, -2 * time.Hour, 0} {
		write(t, path, " "+step.String()+"\n")
		until(t, "the clock follows "+step.String(), func() bool { return off(clock) == step && said.has("shift="+step.String()) })
	}
	write(t, path, "6s")
	until(t, "the clock follows", func() bool { return off(clock) == 6*time.Second })
	write(t, path, "tomorrow")
	until(t, "what is no duration is told", func() bool { return said.has("tomorrow") })
	if off(clock) != 6*time.Second {
		t.Errorf("what is no duration moved the clock: it is off by %s", off(clock))
	}
}

func TestWithoutAFileItIsTheMachinesClock(t *testing.T) {
	clock, err := Clock(t.Context(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if before, now := time.Now(), clock(); now.Before(before) || now.Sub(before) > time.Second {
		t.Errorf("%s at %s", now, before)
	}
}

func TestAStartWithNoDurationIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shift")
	write(t, path, "six")
	if _, err := Clock(t.Context(), path, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "six") {
		t.Errorf("taken: %v", err)
	}
}
