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
	"github.com/axsched/ax/worker/types/program"
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
	return New(r, "", program.NewUsers([]string{"nobody"})), s
}

func run(t *testing.T, e *Executor, s *runner.Spool, exec map[string]any, task types.Task) (types.Outcome, string) {
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
	o, log := run(t, e, s, map[string]any{"command": "env; pwd", "cwd": "/"},
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
		o, log := run(t, e, s, map[string]any{"command": `echo "${BASH_VERSION:+bash}"`, "shell": shell}, types.Task{})
		if o.Run.Outcome != runner.Success || log != want {
			t.Errorf("%q: %+v, log %q", shell, o, log)
		}
	}
}

func TestFailureSaysTheLastErrorLine(t *testing.T) {
	e, s := start(t)
	o, _ := run(t, e, s, map[string]any{"command": "echo no table orders >&2; echo; exit 3"}, types.Task{})
	if o.Run.Outcome != runner.Failed || o.Run.ExitCode != 3 || o.Run.Message != "exit code 3: no table orders" {
		t.Errorf("got %+v", o)
	}
	o, _ = run(t, e, s, map[string]any{"command": "python3 -c 'print(\"x\" * 70000, file=__import__(\"sys\").stderr)'; exit 1"}, types.Task{})
	if len(o.Run.Message) > 1000 || !strings.HasSuffix(o.Run.Message, "…") {
		t.Errorf("message of %d bytes", len(o.Run.Message))
	}
}

func TestStacksOfPythonAreInTheLog(t *testing.T) {
	e, s := start(t)
	o, log := run(t, e, s, map[string]any{"command": "python3 -c '\nimport time\ndef stuck():\n  print(\"up\")\n  time.sleep(600)\nstuck()'; true"},
		types.Task{Deadline: time.Now().Add(4 * time.Second)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(log, "up\n") || !strings.Contains(log, "in stuck") {
		t.Errorf("got %+v\n%s", o, log)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	e, s := start(t)
	for says, exec := range map[string]map[string]any{
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
			if o, _ := run(t, e, s, map[string]any{"command": "true", p.Name: choice}, types.Task{}); o.Run.Outcome != runner.Success {
				t.Errorf("%s: %s is offered and refused: %+v", p.Name, choice, o)
			}
		}
	}
}

// (G-C16)
func TestExitCodes(t *testing.T) {
	e, s := start(t)
	for _, c := range []struct {
		command string
		codes   []int
		want    runner.Outcome
		code    int
		says    string
	}{
		{"exit 0", nil, runner.Success, 0, ""},
		{"exit 256", nil, runner.Success, 0, ""}, // the system keeps the lowest eight bits
		{"exit 3", nil, runner.Failed, 3, "exit code 3"},
		{"exit 3", []int{0, 3}, runner.Success, 3, "success_codes has it"},
		{"exit 4", []int{0, 3}, runner.Failed, 4, "exit code 4"},
		{"exit 0", []int{3}, runner.Failed, 0, "not among success_codes"},
		{"exit 255", nil, runner.Failed, 255, "exit code 255"},
		{"/etc/passwd", nil, runner.Failed, 126, "could not execute"},
		{"/no/such/program", nil, runner.Failed, 127, "did not find"},
		{"sh -c 'kill -9 $$'; exit $?", nil, runner.Failed, 137, "SIGKILL"},
		{"sh -c 'kill -TERM $$'; exit $?", nil, runner.Failed, 143, "SIGTERM"},
		{"kill -SEGV $$", nil, runner.Failed, -1, "SIGSEGV"},
		{"kill -SEGV $$", []int{0, 139}, runner.Failed, -1, "SIGSEGV"}, // a signal is no exit code
	} {
		exec := map[string]any{"command": c.command}
		if c.codes != nil {
			exec["success_codes"] = c.codes
		}
		o, _ := run(t, e, s, exec, types.Task{})
		if o.Run.Outcome != c.want || o.Run.ExitCode != c.code || !strings.Contains(o.Run.Message, c.says) || c.says == "" && o.Run.Message != "" {
			t.Errorf("%s, %v: %+v", c.command, c.codes, o)
		}
	}
	if o, _ := run(t, e, s, map[string]any{"command": "sleep 60", "success_codes": []int{0, 134, 143}, "dump_signal": "SIGTERM"}, types.Task{Deadline: time.Now().Add(200 * time.Millisecond)}); o.Run.Outcome != runner.Timeout {
		t.Errorf("a time-out that success_codes knows: %+v", o)
	}
}

func TestACommandRunsAsTheUserThatTheWorkerAllows(t *testing.T) {
	e, s := start(t)
	if o, _ := run(t, e, s, map[string]any{"command": "id -un", "user": "daemon"}, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "worker.users") {
		t.Errorf("one that it does not name: %+v", o)
	}
	if os.Geteuid() != 0 {
		if o, _ := run(t, e, s, map[string]any{"command": "id -un", "user": "nobody"}, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, "root") {
			t.Errorf("without root: %+v", o)
		}
		t.Skip("not root: nothing was run as another user")
	}
	o, log := run(t, e, s, map[string]any{"command": `id -un; id -G; echo "$USER $LOGNAME"; pwd; kill -0 $PPID 2>/dev/null && echo reached`, "user": "nobody", "cwd": "/"}, types.Task{})
	if lines := strings.Split(log, "\n"); o.Run.Outcome != runner.Failed || len(lines) < 4 || lines[0] != "nobody" || strings.Contains(" "+lines[1]+" ", " 0 ") || lines[2] != "nobody nobody" || lines[3] != "/" || strings.Contains(log, "reached") {
		t.Errorf("got %+v\n%s", o, log)
	}
	// It is ended like any other, with all that it started.
	o, log = run(t, e, s, map[string]any{"command": "trap '' TERM; echo up; setsid sleep 600 & sleep 600", "user": "nobody", "cwd": "/", "dump_signal": "SIGTERM"}, types.Task{Deadline: time.Now().Add(500 * time.Millisecond)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(log, "up") || strings.Contains(o.Run.Message, "could not be killed") {
		t.Errorf("its end: %+v\n%s", o, log)
	}
}
