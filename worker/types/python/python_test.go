package python

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// TestMain lets the test binary play the watchdog.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	os.Exit(m.Run())
}

type bed struct {
	e     *Executor
	spool *runner.Spool
	dir   string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	r, err := runner.New(runner.Config{Marker: runner.Marker{UID: "python-test", Boot: int64(os.Getpid())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	s, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "python")
	return &bed{New(r, dir), s, dir}
}

func (b *bed) run(t *testing.T, exec map[string]any, task types.Task) (types.Outcome, string) {
	t.Helper()
	raw, err := json.Marshal(exec)
	if err != nil {
		t.Fatal(err)
	}
	task.Attempt, task.Exec = 1, raw
	out := b.spool.Create(1)
	o := b.e.Run(context.Background(), task, out)
	out.Finish(time.Now())
	lines, err := out.Lines(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, l := range lines.Lines {
		log.WriteString(l.Text + "\n")
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return o, log.String()
}

func TestAScriptAndAFile(t *testing.T) {
	b := newBed(t)
	const script = "import sys, os\nprint(sys.argv[1:], os.environ['AX_PARAM_who'])\nprint('half', end='')\nprint(f'{{not a template}}')\n"
	task := types.Task{Env: map[string]string{"AX_PARAM_who": "中文"}}
	o, log := b.run(t, map[string]any{"script": script, "args": []string{"a b", "", "$HOME"}}, task)
	if o.Run.Outcome != runner.Success || log != "['a b', '', '$HOME'] 中文\nhalf{not a template}\n" {
		t.Errorf("%+v\n%s", o, log)
	}
	file := filepath.Join(t.TempDir(), "run me.py")
	if err := os.WriteFile(file, []byte("import os, helper\nprint(os.getcwd(), helper.word)\nraise SystemExit(3)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "helper.py"), []byte("word = 'helped'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, log := b.run(t, map[string]any{"file": file, "cwd": "/"}, task); o.Run.Outcome != runner.Failed || o.Run.ExitCode != 3 || log != "/ helped\n" {
		t.Errorf("%+v\n%s", o, log)
	}
	if o, _ := b.run(t, map[string]any{"file": file, "cwd": "/", "success_codes": []int{0, 3}}, task); o.Run.Outcome != runner.Success {
		t.Errorf("%+v", o)
	}
}

func TestATracebackNamesTheLineAndTheMessageTheError(t *testing.T) {
	b := newBed(t)
	o, log := b.run(t, map[string]any{"script": "def load():\n    raise ValueError('no table orders')\n\nload()\n"}, types.Task{})
	if o.Run.Outcome != runner.Failed || o.Run.Message != "exit code 1: ValueError: no table orders" || !strings.Contains(log, `script.py", line 2, in load`) {
		t.Errorf("%+v\n%s", o, log)
	}
}

// All threads' stacks are in the log before a hung script is killed.
func TestStacksAtATimeout(t *testing.T) {
	b := newBed(t)
	o, log := b.run(t, map[string]any{"script": "import threading, time\ndef beside():\n    time.sleep(600)\ndef stuck():\n    print('up')\n    while True: pass\nthreading.Thread(target=beside, daemon=True).start()\nstuck()\n"},
		types.Task{Deadline: time.Now().Add(4 * time.Second)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(log, "up\n") || !strings.Contains(log, "in stuck") || !strings.Contains(log, "in beside") {
		t.Errorf("%+v\n%s", o, log)
	}
}

func TestAVirtualEnvironmentIsTheScripts(t *testing.T) {
	b := newBed(t)
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("python3 -m venv: %v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the environment has no site-packages: %v, %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "tool.py"), []byte("word = 'of the environment'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = "import sys, os, shutil, tool\nprint(tool.word, sys.prefix, os.environ['VIRTUAL_ENV'], shutil.which('python'))\n"
	if o, log := b.run(t, map[string]any{"script": script, "venv": venv}, types.Task{}); o.Run.Outcome != runner.Success || log != "of the environment "+venv+" "+venv+" "+venv+"/bin/python\n" {
		t.Errorf("%+v\n%s", o, log)
	}
	if o, _ := b.run(t, map[string]any{"script": script}, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "No module named 'tool'") {
		t.Errorf("without it: %+v", o)
	}
	if o, _ := b.run(t, map[string]any{"script": "print(1)", "interpreter": venv + "/bin/python3"}, types.Task{}); o.Run.Outcome != runner.Success {
		t.Errorf("an interpreter by its path: %+v", o)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	b := newBed(t)
	for says, exec := range map[string]map[string]any{
		"give script":         {},
		"give script ":        {"script": "1", "file": "/x.py"},
		"its own interpreter": {"script": "1", "venv": "/v", "interpreter": "python3"},
		"has no interpreter":  {"script": "1", "venv": "/no/such/venv"},
		"exec.file":           {"file": "/no/such.py"},
		"is a folder":         {"file": "/"},
		"exec.cwd":            {"script": "1", "cwd": "rel"},
		"scrypt":              {"scrypt": "1"},
		"python4.99":          {"script": "1", "interpreter": "python4.99"},
	} {
		o, _ := b.run(t, exec, types.Task{})
		if o.Run.Outcome != runner.Failed || !o.Run.StartedAt.IsZero() || !strings.Contains(o.Run.Message, strings.TrimSpace(says)) {
			t.Errorf("%v: %+v", exec, o)
		}
	}
}

// What a life that was killed left is gone at the next start.
func TestWhatAnEarlierLifeLeftIsRemoved(t *testing.T) {
	b := newBed(t)
	file, _, err := b.e.keep("print(1)")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kept: %v, %v", info, err)
	}
	New(b.e.runner, b.dir)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
