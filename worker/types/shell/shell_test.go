package shell

import (
	"context"
	"encoding/json"
	"os"
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

func start(t *testing.T) (*Executor, *runner.Spool) {
	t.Helper()
	r, err := runner.New(runner.Config{Marker: runner.Marker{UID: "shell-test", Boot: int64(os.Getpid())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	s, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return New(r, ""), s
}

func run(t *testing.T, e *Executor, s *runner.Spool, exec map[string]string, task types.Task) (types.Outcome, string) {
	t.Helper()
	raw, err := json.Marshal(exec)
	if err != nil {
		t.Fatal(err)
	}
	task.Attempt, task.Exec = 1, raw
	out := s.Create(1)
	o := e.Run(context.Background(), task, out)
	out.Finish(time.Now())
	b, err := out.Lines(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for _, l := range b.Lines {
		log.WriteString(l.Text + "\n")
	}
	return o, log.String()
}

func TestCommandSeesItsEnvironmentAndNoOther(t *testing.T) {
	t.Setenv("AX_SECRET_OF_THE_WORKER", "x")
	t.Setenv("TZ", "Asia/Shanghai")
	e, s := start(t)
	o, log := run(t, e, s, map[string]string{"command": "env; pwd", "cwd": "/"},
		types.Task{Env: map[string]string{"AX_BIZ_DATE": "2026-02-03", "LANG": "C", "QUOTE": "a b\n'c'"}})
	if o.Run.Outcome != runner.Success {
		t.Fatalf("got %+v", o)
	}
	for _, want := range []string{"AX_BIZ_DATE=2026-02-03\n", "LANG=C\n", "TZ=Asia/Shanghai\n", "HOME=", "PATH=", "AX_ATTEMPT=1\n",
		"QUOTE=a b\n'c'\n", "PYTHONFAULTHANDLER=1\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is missing in:\n%s", want, log)
		}
	}
	if strings.Contains(log, "SECRET") || strings.Count(log, "LANG=") != 1 || !strings.HasSuffix(log, "/\n") {
		t.Errorf("log:\n%s", log)
	}
}

func TestShellIsTheOneAskedFor(t *testing.T) {
	e, s := start(t)
	for shell, want := range map[string]string{"": "\n", "sh": "\n", "bash": "bash\n"} {
		o, log := run(t, e, s, map[string]string{"command": `echo "${BASH_VERSION:+bash}"`, "shell": shell}, types.Task{})
		if o.Run.Outcome != runner.Success || log != want {
			t.Errorf("%q: %+v, log %q", shell, o, log)
		}
	}
}

func TestFailureSaysTheLastErrorLine(t *testing.T) {
	e, s := start(t)
	o, _ := run(t, e, s, map[string]string{"command": "echo no table orders >&2; echo; exit 3"}, types.Task{})
	if o.Run.Outcome != runner.Failed || o.Run.ExitCode != 3 || o.Run.Message != "exit code 3: no table orders" {
		t.Errorf("got %+v", o)
	}
	o, _ = run(t, e, s, map[string]string{"command": "python3 -c 'print(\"x\" * 70000, file=__import__(\"sys\").stderr)'; exit 1"}, types.Task{})
	if len(o.Run.Message) > 1000 || !strings.HasSuffix(o.Run.Message, "…") {
		t.Errorf("message of %d bytes", len(o.Run.Message))
	}
}

func TestStacksOfPythonAreInTheLog(t *testing.T) {
	e, s := start(t)
	o, log := run(t, e, s, map[string]string{"command": "python3 -c '\nimport time\ndef stuck():\n  print(\"up\")\n  time.sleep(600)\nstuck()'; true"},
		types.Task{Deadline: time.Now().Add(4 * time.Second)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(log, "up\n") || !strings.Contains(log, "in stuck") {
		t.Errorf("got %+v\n%s", o, log)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	e, s := start(t)
	for says, exec := range map[string]map[string]string{
		"exec.command is empty": {"command": " "},
		"exec.cwd":              {"command": "true", "cwd": "relative"},
		"exec.shell":            {"command": "true", "shell": "fish"},
		"exec.dump_signal":      {"command": "true", "dump_signal": "SIGKILL"},
		"comand":                {"comand": "true"},
	} {
		o, _ := run(t, e, s, exec, types.Task{})
		if o.Run.Outcome != runner.Failed || !o.Run.StartedAt.IsZero() || !strings.Contains(o.Run.Message, says) {
			t.Errorf("%v: got %+v", exec, o)
		}
	}
	for _, p := range e.Describe().Params {
		for _, choice := range p.Choices {
			if o, _ := run(t, e, s, map[string]string{"command": "true", p.Name: choice}, types.Task{}); o.Run.Outcome != runner.Success {
				t.Errorf("%s: %s is offered and refused: %+v", p.Name, choice, o)
			}
		}
	}
}
