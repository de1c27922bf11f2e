// Package shell is the executor type that hands a command to a shell. It owns what surrounds the command: which shell,
// the base environment, the dump signal. It never looks into the command.
package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// Executor is the shell type over one runner.
type Executor struct {
	runner *runner.Runner
	dir    string
	base   []string
}

var _ types.Executor = (*Executor)(nil)

// New makes the type. dir is the working directory of jobs that name none; empty means the worker's own. The base
// environment is taken from the worker's: PATH, HOME, LANG, TZ and nothing else.
func New(r *runner.Runner, dir string) *Executor {
	return &Executor{runner: r, dir: dir, base: baseEnv(os.Getenv)}
}

// Type is "shell".
func (e *Executor) Type() string { return "shell" }

// settings are the keys of exec.
type settings struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	Shell   string `json:"shell"`
	Dump    string `json:"dump_signal"`
}

// Describe says what a shell job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "shell", Version: "1", Params: []types.Param{
		{Name: "command", Kind: "text", Required: true, About: "what the shell runs; success is exit code 0"},
		{Name: "cwd", Kind: "text", About: "working directory, an absolute path; else the worker's own"},
		{Name: "shell", Kind: "text", Default: "sh", Choices: []string{"sh", "bash"}, About: "which shell reads the command"},
		{Name: "dump_signal", Kind: "text", Default: "SIGABRT", Choices: dumpSignals(),
			About: "sent to the whole process group at a time-out or kill, three seconds before SIGKILL"},
	}}
}

// Run runs the command as `/bin/sh -c COMMAND`.
//
// At a time-out or kill the group gets SIGABRT by default. Most commands are Python, whose fault handler (switched on in
// the base environment) prints all stacks at SIGABRT and nothing at SIGQUIT; Go programs print theirs at both. A JVM
// prints its threads at SIGQUIT and writes a crash file at SIGABRT, so Java jobs set dump_signal: SIGQUIT; a script with
// a clean-up trap sets SIGTERM.
func (e *Executor) Run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	spec, err := e.spec(t)
	if err != nil {
		return types.Failure(time.Now(), err.Error())
	}
	res := e.runner.Run(ctx, spec, out)
	if res.Outcome == runner.Failed && res.ExitCode > 0 {
		res.Message = runner.CleanMessage(withLastWords(res.Message, out))
	}
	return types.Outcome{Run: res}
}

// spec decides how the command is run.
func (e *Executor) spec(t types.Task) (runner.Spec, error) {
	var s settings
	if err := types.DecodeExec(t.Exec, &s); err != nil {
		return runner.Spec{}, err
	}
	if strings.TrimSpace(s.Command) == "" {
		return runner.Spec{}, fmt.Errorf("exec.command is empty: give the command to run")
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		return runner.Spec{}, fmt.Errorf("exec.cwd %q: must be an absolute path", s.Cwd)
	}
	shell := "/bin/sh"
	switch s.Shell {
	case "", "sh":
	case "bash":
		shell = "bash"
	default:
		return runner.Spec{}, fmt.Errorf("exec.shell %q: must be sh or bash", s.Shell)
	}
	dump, err := dumpSignal(s.Dump)
	if err != nil {
		return runner.Spec{}, err
	}
	if s.Cwd == "" {
		s.Cwd = e.dir
	}
	return runner.Spec{Attempt: t.Attempt, Argv: []string{shell, "-c", s.Command}, Env: environ(e.base, t.Env), Dir: s.Cwd,
		Deadline: t.Deadline, DumpSignal: dump, Unrenewed: t.Unrenewed}, nil
}

// dumpSignals lists what a job may choose. SIGKILL is not among them: it follows anyway.
func dumpSignals() []string { return []string{"SIGABRT", "SIGQUIT", "SIGTERM", "SIGINT"} }

func dumpSignal(name string) (syscall.Signal, error) {
	switch name {
	case "", "SIGABRT":
		return syscall.SIGABRT, nil
	case "SIGQUIT":
		return syscall.SIGQUIT, nil
	case "SIGTERM":
		return syscall.SIGTERM, nil
	case "SIGINT":
		return syscall.SIGINT, nil
	}
	return 0, fmt.Errorf("exec.dump_signal %q: must be one of %s", name, strings.Join(dumpSignals(), ", "))
}

// baseEnv is what every command finds before the job's own environment is laid over it. A task must not depend on, nor
// see, what the worker happened to be started with. Python's two switches make its output and its stacks reach the log
// when it is killed.
func baseEnv(get func(string) string) []string {
	or := func(v, def string) string {
		if v == "" {
			return def
		}
		return v
	}
	env := []string{
		"PATH=" + or(get("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		"HOME=" + or(get("HOME"), "/"),
		"LANG=" + or(get("LANG"), "C.UTF-8"),
		"PYTHONFAULTHANDLER=1",
		"PYTHONUNBUFFERED=1",
	}
	if tz := get("TZ"); tz != "" {
		env = append(env, "TZ="+tz)
	}
	return env
}

// environ lays the task's values over the base, in a fixed order.
func environ(base []string, over map[string]string) []string {
	env := make([]string, 0, len(base)+len(over))
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := over[name]; !replaced {
			env = append(env, kv)
		}
	}
	for name, value := range over {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// lastWordsMax bounds what of the error output stands in the message, in bytes.
const lastWordsMax = 500

// withLastWords adds the last line that the command wrote to its error output: most often the reason.
func withLastWords(message string, out *runner.Capture) string {
	lines, err := out.Peek(50)
	if err != nil {
		return message // the log itself shows what is wrong with it
	}
	for _, l := range slices.Backward(lines) {
		if text := strings.TrimSpace(l.Text); l.Stream == runner.Err && text != "" {
			if len(text) > lastWordsMax {
				text = strings.ToValidUTF8(text[:lastWordsMax], "") + "…"
			}
			return message + ": " + text
		}
	}
	return message
}
