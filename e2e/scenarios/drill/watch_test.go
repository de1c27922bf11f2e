package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A task is alive by its process, not by what it wrote: one that is killed writes nothing.
func TestWatchKnowsWhatIsAlive(t *testing.T) {
	w := newWatch(filepath.Join(t.TempDir(), "diary"))
	if err := w.look(time.Now()); err != nil || w.alive() != 0 {
		t.Fatalf("without a diary: %v, %d alive", err, w.alive())
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	at := time.Now().Truncate(time.Millisecond)
	write(t, w.path, fmt.Sprintf("start work_00 a 1 2026-02-03T10:00:00Z %d %d\n", cmd.Process.Pid, at.UnixMilli()))
	write(t, w.path, fmt.Sprintf("start work_01 b 2 2026-02-03T10:00:06Z %d %d\nend work_01 b 2 2026-02-03T10:00:06Z %[1]d %[3]d\nend wo", 1<<22, at.UnixMilli(), at.UnixMilli()+40))
	seen := at.Add(time.Second)
	if err := w.look(seen); err != nil || w.alive() != 1 {
		t.Fatalf("%v, %d alive", err, w.alive())
	}
	if l := w.of("a", 1); l.until() != seen || !l.over().IsZero() || l.Expected != begunAt.UnixMilli() {
		t.Errorf("the living one: %+v", l)
	}
	if l := w.of("b", 2); l.until() != at.Add(40*time.Millisecond) || l.over().IsZero() {
		t.Errorf("the ended one: %+v", l)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	write(t, w.path, "rk_02 c 1 2026-02-03T10:00:06Z 7 1\n")
	if err := w.look(seen.Add(time.Second)); err != nil || w.alive() != 0 {
		t.Fatalf("%v, %d alive", err, w.alive())
	}
	if l := w.of("a", 1); l.until() != seen || l.over() != seen.Add(lookEach) {
		t.Errorf("the killed one: %+v", l)
	}
	if len(w.torn) != 1 || len(w.all()) != 2 {
		t.Errorf("torn %q, lives %d", w.torn, len(w.all()))
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestLoadIsAThousandFiresAMinute(t *testing.T) {
	l := newLoad(time.Second)
	l.window(begunAt, begunAt.Add(10*time.Minute))
	if n := l.planned(); n != 10_000 {
		t.Errorf("%d fires are planned for ten minutes", n)
	}
	seen := map[string]bool{}
	for _, j := range l.jobs {
		if seen[j.name] {
			t.Errorf("two jobs are called %s", j.name)
		}
		seen[j.name] = true
	}
}

func TestFlags(t *testing.T) {
	for text, want := range map[string]int{"": len(faults(options{})) - 1, "-long": len(faults(options{})), "-only worker_kill,redis_long": 2} {
		o, err := parse(strings.Fields(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.chosen(); err != nil || len(got) != want {
			t.Errorf("%q chooses %d drills (%v), want %d", text, len(got), err, want)
		}
	}
	for _, wrong := range []string{"-only nothing", "more", "-soak -1s"} {
		if _, err := parse(strings.Fields(wrong)); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}
