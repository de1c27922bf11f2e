// Package shell is the executor type that hands a command to a shell. It owns what surrounds the command: which shell, whose
// rights, the dump signal. It never looks into the command.
package shell

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
	"github.com/axsched/ax/worker/types/program"
)

// Executor is the shell type over one runner.
type Executor struct {
	runner *runner.Runner
	dir    string
	base   []string
	users  program.Users
}

var _ types.Executor = (*Executor)(nil)

// New makes the type. dir is the working directory of jobs that name none; empty means the worker's own. users are the
// accounts that a job may ask for.
func New(r *runner.Runner, dir string, users program.Users) *Executor {
	return &Executor{runner: r, dir: dir, base: program.BaseEnv(), users: users}
}

// Type is "shell".
func (e *Executor) Type() string { return "shell" }

// settings are the keys of exec.
type settings struct {
	Command      string `json:"command"`
	Cwd          string `json:"cwd"`
	Shell        string `json:"shell"`
	User         string `json:"user"`
	SuccessCodes []int  `json:"success_codes"`
	Dump         string `json:"dump_signal"`
}

// Describe says what a shell job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "shell", Version: "2", Params: []types.Param{
		{Name: "command", Kind: "text", Required: true, About: "what the shell runs"},
		{Name: "cwd", Kind: "text", About: "working directory, an absolute path; else the worker's own, with user that one's home"},
		{Name: "shell", Kind: "text", Default: "sh", Choices: []string{"sh", "bash"}, About: "which shell reads the command"},
		{Name: "user", Kind: "text", About: "the account to run as, where the worker's set-up names it"},
		{Name: "success_codes", Kind: "list", Default: "0", About: "the exit codes that count as success"},
		{Name: "dump_signal", Kind: "text", Default: "SIGABRT", Choices: program.DumpSignals(),
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
	s, spec, err := e.spec(t)
	if err != nil {
		return types.Failure(time.Now(), err.Error())
	}
	res := program.Judge(e.runner.Run(ctx, spec, out), s.SuccessCodes)
	return types.Outcome{Run: program.WithLastWords(res, out)}
}

// spec decides how the command is run.
func (e *Executor) spec(t types.Task) (settings, runner.Spec, error) {
	var s settings
	if err := types.DecodeExec(t.Exec, &s); err != nil {
		return s, runner.Spec{}, err
	}
	if strings.TrimSpace(s.Command) == "" {
		return s, runner.Spec{}, fmt.Errorf("exec.command is empty: give the command to run")
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		return s, runner.Spec{}, fmt.Errorf("exec.cwd %q: must be an absolute path", s.Cwd)
	}
	shell := "/bin/sh"
	switch s.Shell {
	case "", "sh":
	case "bash":
		shell = "bash"
	default:
		return s, runner.Spec{}, fmt.Errorf("exec.shell %q: must be sh or bash", s.Shell)
	}
	dump, err := program.DumpSignal(s.Dump)
	if err != nil {
		return s, runner.Spec{}, err
	}
	who, home, err := e.users.Find(s.User)
	if err != nil {
		return s, runner.Spec{}, err
	}
	dir := s.Cwd
	switch {
	case dir != "":
	case home != nil:
		dir = home["HOME"]
	default:
		dir = e.dir
	}
	return s, runner.Spec{Attempt: t.Attempt, Argv: []string{shell, "-c", s.Command}, Env: program.Environ(program.Environ(e.base, home), t.Env), Dir: dir,
		User: who, Deadline: t.Deadline, DumpSignal: dump, Unrenewed: t.Unrenewed}, nil
}
