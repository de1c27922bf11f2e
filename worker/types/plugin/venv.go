package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axsched/ax/worker/runner"
)

// wholeMark is the file that says that an environment was made to its end.
const wholeMark = ".ax-whole"

// environment gives the folder of the plug-in's virtual environment below home, and makes it where there is none for the
// interpreter, the requirements and the wheels as they are. Nothing is fetched: what the wheels don't hold is an error.
// Environments of other requirements are removed.
func (p *plugin) environment(ctx context.Context, home string) (string, error) {
	m := p.manifest
	python, err := p.findPython()
	if err != nil {
		return "", err
	}
	key, err := venvKey(m, python)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "venv-"+key)
	if _, err := os.Stat(filepath.Join(dir, wholeMark)); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil { // what a life left that died over it
		return "", err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	p.log.Info("plug-in: making its virtual environment", "folder", dir)
	steps := [][]string{{python, "-m", "venv", dir}}
	if m.Venv.Requirements != "" {
		steps = append(steps, []string{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-index",
			"--find-links", filepath.Join(m.folder, m.Venv.Wheels), "-r", filepath.Join(m.folder, m.Venv.Requirements)})
	}
	end := time.Now().Add(m.Install)
	for _, argv := range steps {
		if err := p.step(ctx, argv, end); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, wholeMark), []byte(strings.Join(m.Command, " ")+"\n"), 0o644); err != nil {
		return "", err
	}
	p.log.Info("plug-in: its virtual environment is made", "folder", dir)
	return dir, removeOthers(home, filepath.Base(dir))
}

// findPython is the interpreter that makes the environment.
func (p *plugin) findPython() (string, error) {
	for _, dir := range filepath.SplitList(lookup(p.base, "PATH")) {
		path := filepath.Join(dir, p.manifest.Venv.Python)
		if filepath.IsAbs(p.manifest.Venv.Python) {
			path = p.manifest.Venv.Python
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("venv.python: %s was not found; install it, or name another", p.manifest.Venv.Python)
}

// venvKey names an environment by all that it is made of.
func venvKey(m Manifest, python string) (string, error) {
	h := sha256.New()
	real, err := filepath.EvalSymlinks(python)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(h, python, real)
	for _, one := range []string{m.Venv.Requirements, m.Venv.Wheels} {
		if one == "" {
			continue
		}
		err := filepath.WalkDir(filepath.Join(m.folder, one), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			fmt.Fprintln(h, filepath.Base(path))
			_, err = io.Copy(h, f)
			return errors.Join(err, f.Close())
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// removeOthers removes the environments that are not this one.
func removeOthers(home, keep string) error {
	all, err := os.ReadDir(home)
	for _, e := range all {
		if strings.HasPrefix(e.Name(), "venv-") && e.Name() != keep {
			err = errors.Join(err, os.RemoveAll(filepath.Join(home, e.Name())))
		}
	}
	return err
}

// step runs one program to its end, with all of its output in the worker's log; it dies with the worker like a task.
func (p *plugin) step(ctx context.Context, argv []string, end time.Time) error {
	var last tail
	say := func(b []byte) {
		for _, text := range last.add(b) {
			p.log.Info("plug-in: " + text)
		}
	}
	svc, err := p.runner.Serve(runner.ServiceSpec{ID: p.nextID(), Argv: argv, Env: p.base, Dir: p.manifest.folder, LineMax: lineMax,
		Line: func(b []byte, _ bool) { say(append(append([]byte{}, b...), '\n')) }, Idle: say})
	if err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	why, reason := runner.Outcome(""), ""
	select {
	case <-svc.Exited():
	case <-timer.C:
		why, reason = runner.Timeout, fmt.Sprintf("it was not done within %v (timeouts.install)", p.manifest.Install)
	case <-ctx.Done():
		why, reason = runner.Shutdown, context.Cause(ctx).Error()
	}
	res := svc.End(why, reason)
	if res.Outcome == runner.Success {
		return nil
	}
	text := strings.Join(argv[:min(len(argv), 4)], " ") + ": " + res.Message
	if words := last.last(); words != "" {
		text += ": " + words
	}
	return errors.New(text)
}

// lookup is the value of a variable in an environment.
func lookup(env []string, name string) string {
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}
