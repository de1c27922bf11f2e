// Package python is the executor type that hands a script to a Python interpreter: the text of one, or a file on the worker's
// machine. It owns which interpreter, its virtual environment and where a script's text lies while it runs. A value reaches
// the script as an argument or in the environment, never as a part of its text.
package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
	"github.com/axsched/ax/worker/types/program"
)

// Executor is the python type over one runner.
type Executor struct {
	runner *runner.Runner
	dir    string
	base   []string
}

var _ types.Executor = (*Executor)(nil)

// New makes the type. dir is where scripts lie while they run; it is the type's own, and what an earlier life left in it
// is removed.
func New(r *runner.Runner, dir string) *Executor {
	_ = os.RemoveAll(dir) // what can't be removed is in nobody's way: each task has a folder of its own in it
	return &Executor{runner: r, dir: dir, base: program.BaseEnv()}
}

// Type is "python".
func (e *Executor) Type() string { return "python" }

// settings are the keys of exec.
type settings struct {
	Script       string   `json:"script"`
	File         string   `json:"file"`
	Args         []string `json:"args"`
	Interpreter  string   `json:"interpreter"`
	Venv         string   `json:"venv"`
	Cwd          string   `json:"cwd"`
	SuccessCodes []int    `json:"success_codes"`
}

// Describe says what a python job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "python", Version: "1", Params: []types.Param{
		{Name: "script", Kind: "text", About: "the text of the script; or file"},
		{Name: "file", Kind: "text", About: "a script on the worker's machine, an absolute path; or script"},
		{Name: "args", Kind: "list", About: "its arguments, as sys.argv[1:]"},
		{Name: "interpreter", Kind: "text", Default: "python3", About: "a program of the worker's PATH, or an absolute path"},
		{Name: "venv", Kind: "text", About: "a virtual environment on the worker's machine, an absolute path; its interpreter runs the script"},
		{Name: "cwd", Kind: "text", About: "working directory, an absolute path; else the worker's own"},
		{Name: "success_codes", Kind: "list", Default: "0", About: "the exit codes that count as success"},
	}}
}

// Run runs the script to its end. The fault handler is on: at a time-out or kill SIGABRT makes it write the stacks of all
// threads into the log before the process group is killed. Its output is not buffered.
func (e *Executor) Run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	var s settings
	err := types.DecodeExec(t.Exec, &s)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return types.Failure(time.Now(), err.Error())
	}
	file := s.File
	if file == "" {
		var remove func()
		if file, remove, err = e.keep(s.Script); err != nil {
			return types.Failure(time.Now(), err.Error())
		}
		defer remove()
	}
	res := program.Judge(e.runner.Run(ctx, e.spec(t, s, file), out), s.SuccessCodes)
	return types.Outcome{Run: program.WithLastWords(res, out)}
}

// check refuses what could not be run as it was meant.
func (s settings) check() error {
	if (strings.TrimSpace(s.Script) == "") == (s.File == "") {
		return errors.New("exec: give script, the text of one, or file, the path of one on the worker's machine")
	}
	if s.Interpreter != "" && s.Venv != "" {
		return errors.New("exec: venv brings its own interpreter; give one of the two")
	}
	for key, path := range map[string]string{"file": s.File, "venv": s.Venv, "cwd": s.Cwd} {
		if path != "" && !filepath.IsAbs(path) {
			return fmt.Errorf("exec.%s %q: must be an absolute path", key, path)
		}
	}
	if s.File != "" {
		if info, err := os.Stat(s.File); err != nil {
			return fmt.Errorf("exec.file: %w", err)
		} else if info.IsDir() {
			return fmt.Errorf("exec.file: %s is a folder", s.File)
		}
	}
	if s.Venv != "" {
		if _, err := os.Stat(venvPython(s.Venv)); err != nil {
			return fmt.Errorf("exec.venv: %s has no interpreter: %w; python3 -m venv makes one", s.Venv, err)
		}
	}
	return nil
}

func venvPython(venv string) string { return filepath.Join(venv, "bin", "python") }

// keep writes the script's text to a file of its own, so that a traceback names its lines and processes can be started
// anew from it.
func (e *Executor) keep(script string) (file string, remove func(), err error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("keep the script: %w", err)
	}
	dir, err := os.MkdirTemp(e.dir, "task-")
	if err != nil {
		return "", nil, fmt.Errorf("keep the script: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // what stays is removed at the next start
	file = filepath.Join(dir, "script.py")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		remove()
		return "", nil, fmt.Errorf("keep the script: %w", err)
	}
	return file, remove, nil
}

// spec decides how the script is run.
func (e *Executor) spec(t types.Task, s settings, file string) runner.Spec {
	own := map[string]string{}
	interpreter := "python3"
	switch {
	case s.Interpreter != "":
		interpreter = s.Interpreter
	case s.Venv != "":
		interpreter = venvPython(s.Venv)
		own["VIRTUAL_ENV"] = s.Venv
		own["PATH"] = filepath.Join(s.Venv, "bin") + ":" + valueOf(e.base, "PATH")
	}
	env := program.Environ(program.Environ(e.base, own), t.Env)
	return runner.Spec{Attempt: t.Attempt, Argv: append([]string{interpreter, "-X", "faulthandler", "-u", file}, s.Args...), Env: env, Dir: s.Cwd,
		Deadline: t.Deadline, DumpSignal: syscall.SIGABRT, Unrenewed: t.Unrenewed}
}

func valueOf(env []string, name string) string {
	for _, kv := range env {
		if value, found := strings.CutPrefix(kv, name+"="); found {
			return value
		}
	}
	return ""
}
