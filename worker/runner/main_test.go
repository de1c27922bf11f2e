package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play the watchdog and the worker that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	if dir := os.Getenv("AX_TEST_WORKER"); dir != "" {
		os.Exit(workerMain(dir))
	}
	os.Exit(m.Run())
}

// workerMain runs each shell command of its arguments as one attempt, 1, 2, …, and never returns by itself.
func workerMain(dir string) int {
	boot, _ := strconv.ParseInt(os.Getenv("AX_TEST_BOOT"), 10, 64)
	r, err := New(Config{Marker: Marker{UID: os.Getenv("AX_TEST_UID"), Boot: boot}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spool, err := OpenSpool(filepath.Join(dir, "spool"), Limits{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for i, command := range os.Args[1:] {
		spec := Spec{Attempt: int64(i + 1), Argv: []string{"/bin/sh", "-c", command}, Env: os.Environ(), Grace: time.Second}
		if d, err := time.ParseDuration(os.Getenv("AX_TEST_DEADLINE")); err == nil {
			spec.Deadline = time.Now().Add(d)
		}
		go func() {
			res := r.Run(context.Background(), spec, spool.Create(spec.Attempt))
			fmt.Printf("%d %s %s %s\n", spec.Attempt, res.Outcome, res.FinishedAt.Sub(res.StartedAt), res.Message)
		}()
	}
	select {}
}

func newUID(t testing.TB) string {
	t.Helper()
	var raw [16]byte
	_, err := rand.Read(raw[:])
	must(t, err)
	return hex.EncodeToString(raw[:])
}

// bench is one runner with a spool; every test has a uid of its own, so that it can look for its processes.
type bench struct {
	*Runner
	spool *Spool
	next  int64
}

func newBench(t testing.TB) *bench {
	t.Helper()
	r, err := New(Config{Marker: Marker{UID: newUID(t), Boot: 1}})
	must(t, err)
	s, err := OpenSpool(t.TempDir(), Limits{})
	must(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left := carriers(t, r.marker.UID); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return &bench{Runner: r, spool: s}
}

// sh runs one shell command to its end and returns the result and the log.
func (b *bench) sh(t testing.TB, ctx context.Context, command string, change func(*Spec)) (Result, string) {
	t.Helper()
	b.next++
	spec := Spec{Attempt: b.next, Argv: []string{"/bin/sh", "-c", command}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	if change != nil {
		change(&spec)
	}
	out := b.spool.Create(b.next)
	res := b.Run(ctx, spec, out)
	out.Finish(time.Now())
	log := texts(readAll(t, out, 1000))
	must(t, out.Remove())
	if left := carriers(t, b.marker.UID); len(left) > 0 {
		t.Errorf("%q: processes outlive the run: %v", command, left)
	}
	return res, log
}

// carriers lists the living processes that carry a uid, with their command lines.
func carriers(t testing.TB, uid string) []string {
	t.Helper()
	all, err := listProcs()
	must(t, err)
	var found []string
	for _, p := range all {
		if v, _ := envValue(readEnviron(p.pid), uidKey); v == uid && !p.dead() {
			cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
			found = append(found, fmt.Sprintf("%d %s", p.pid, strings.ReplaceAll(string(cmd), "\x00", " ")))
		}
	}
	slices.Sort(found)
	return found
}

// eventually waits until ok holds; a test that can't get there fails with what.
func eventually(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond) // between looks, not for luck
	}
}
