package scenarios

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
)

// drilled is what the short form of the drills holds; `make drill` holds all of them, longer.
const drilled = "center_kill,redis_restart,worker_stop"

// The short form of the fault drills: what is broken costs time, and nothing is lost, doubled or told wrongly.
func TestDrillsLoseNothing(t *testing.T) {
	t.Parallel()
	t.Run("mariadb", func(t *testing.T) {
		t.Run("redis", func(t *testing.T) {
			if !stores.HasMariaDB() || !stores.HasRedis() {
				t.Skip("MariaDB or Redis is not installed; e2e/setup/install.sh brings them")
			}
			dir := t.TempDir()
			drill := filepath.Join(dir, "drill")
			if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", drill, "./drill").CombinedOutput(); err != nil {
				t.Fatalf("building the drill: %v\n%s", err, out)
			}
			var r struct {
				Drills []struct {
					Key                           string
					Planned, Lost, Doubled, Wrong int
					Findings                      []string
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, drill, "-brief", "-only", drilled, "-json", filepath.Join(dir, "r.json"))
			cmd.Env = append(os.Environ(), "AX_TEST_BINARY="+setup.Binary(t), "TMPDIR="+dir)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it takes down what it started
			cmd.WaitDelay = 30 * time.Second
			said, err := cmd.CombinedOutput()
			t.Logf("%s", said)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "r.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Drills) != len(strings.Split(drilled, ",")) {
				t.Fatalf("%d drills were held", len(r.Drills))
			}
			for _, d := range r.Drills {
				if d.Planned < 200 || d.Lost+d.Doubled+d.Wrong > 0 {
					t.Errorf("%s: %d planned, %d lost, %d doubled, %d wrong: %s", d.Key, d.Planned, d.Lost, d.Doubled, d.Wrong, strings.Join(d.Findings, "\n"))
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "ax-*")); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	})
}
