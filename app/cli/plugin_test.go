package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/runner"
)

// TestMain lets the test binary play the watchdog of a check.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	os.Exit(m.Run())
}

// A check runs each type of a plug-in, says what is wrong with it by line and key, and its exit code tells.
func TestAPlugInIsChecked(t *testing.T) {
	const folder = "../../worker/types/plugin/testdata/odd"
	env := map[string]string{"PATH": os.Getenv("PATH")}
	if got := ax(t, env, "", "plugin", "check", folder, "--exec", `odd_act={"act":"fine"}`); got.code != 0 || strings.Contains(got.out, "WRONG") ||
		!strings.Contains(got.out, "odd 2.1: odd_echo, odd_act") || !strings.Contains(got.out, "run odd_echo") || !strings.Contains(got.out, `"tasks": 2`) {
		t.Errorf("a good one: %s", got)
	}
	if got := ax(t, env, "", "plugin", "check", folder, "--exec", `odd_act={"act":"error"}`, "--json"); got.code != 1 || !strings.Contains(got.out, `"ok":false`) || !strings.Contains(got.out, "no table orders") {
		t.Errorf("one that fails: %s", got)
	}
	dir := t.TempDir()
	if got := ax(t, env, "", "plugin", "check", dir); got.code != 1 || !strings.Contains(got.out, "no plugin.yaml") {
		t.Errorf("an empty folder: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte("manifest: v1\nname: a\nversion: 1\ncommand: [x]\npol: 3\ntypes: [{name: b}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := ax(t, env, "", "plugin", "check", dir); got.code != 1 || !strings.Contains(got.out, "plugin.yaml:5: pol: there is no such key") {
		t.Errorf("an unknown key: %s", got)
	}
	if got := ax(t, env, "", "plugin", "check", dir, "--exec", "x"); got.code != 2 {
		t.Errorf("a wrong flag: %s", got)
	}
}
