package runner

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkBareShell is the floor: fork, exec and wait of `sh -c true` with its output read.
func BenchmarkBareShell(b *testing.B) {
	for b.Loop() {
		if _, err := exec.Command("/bin/sh", "-c", "true").CombinedOutput(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTask is the same command as a task: marker, watchdog, capture, search for leftovers.
func BenchmarkTask(b *testing.B) {
	r, err := New(Config{Marker: Marker{UID: newUID(b), Boot: 1}})
	must(b, err)
	defer func() { _ = r.Close() }()
	spool, err := OpenSpool(b.TempDir(), Limits{})
	must(b, err)
	env := []string{"PATH=" + os.Getenv("PATH")}
	for id := int64(1); b.Loop(); id++ {
		out := spool.Create(id)
		res := r.Run(context.Background(), Spec{Attempt: id, Argv: []string{"/bin/sh", "-c", "true"}, Env: env,
			Deadline: time.Now().Add(time.Minute)}, out)
		out.Finish(time.Now())
		if res.Outcome != Success {
			b.Fatal(res)
		}
	}
}
