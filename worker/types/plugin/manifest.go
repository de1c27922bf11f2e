package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// Manifest is what a plug-in's folder says of it, in plugin.yaml, plugin.yml or plugin.json.
type Manifest struct {
	Name    string
	Version string
	// Command is the program and its arguments, run in the folder. A first word with a slash is a file of the folder;
	// python and python3 are the interpreter of Venv where there is one; all else is looked up in the PATH.
	Command []string
	Pool    int // processes at most
	Env     map[string]string
	Config  map[string]any // given to init as it is
	Dump    string         // the signal at a time-out or kill
	Venv    *Venv
	Timeouts
	Types []Type

	folder string
}

// Venv is a virtual environment that is made at the first load from files of the folder alone.
type Venv struct {
	Python       string // the interpreter that makes it
	Requirements string // a file of the folder
	Wheels       string // a folder of the folder
}

// Timeouts are the limits of what is no task.
type Timeouts struct {
	Start   time.Duration // from the start of a process to the answer of init and describe
	Prepare time.Duration
	Install time.Duration // of the virtual environment
}

// Type is a type that the plug-in runs.
type Type struct {
	Name   string
	About  protocol.Words
	Params []protocol.TypeParam // nil: whatever the job gives
}

const (
	defaultPool  = 2
	maxPool      = 64
	defaultDump  = "SIGTERM"
	pythonDump   = "SIGABRT"
	maxManifest  = 1 << 20
	maxTypes     = 50
	maxParams    = 100
	maxWordBytes = 500
)

// fileNames are what a manifest may be called.
func fileNames() []string { return []string{"plugin.yaml", "plugin.yml", "plugin.json"} }

// ErrNoManifest says that a folder is no plug-in.
var ErrNoManifest = errors.New("it holds no plugin.yaml, plugin.yml or plugin.json")

// ReadManifest reads the manifest of a folder. Faults are all that is wrong with it, each with its line and key; with any
// of them the manifest must not be used.
func ReadManifest(folder string) (Manifest, []Fault, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Manifest{}, nil, err
	}
	for _, name := range fileNames() {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxManifest {
			err = fmt.Errorf("%s: %d bytes, more than the %d allowed", path, info.Size(), maxManifest)
		}
		if err != nil {
			return Manifest{}, nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return Manifest{}, nil, err
		}
		m, faults := parse(text, name)
		m.folder = folder
		if len(faults) == 0 {
			faults = m.files(name)
		}
		return m, faults, nil
	}
	return Manifest{}, nil, fmt.Errorf("%s: %w", folder, ErrNoManifest)
}

// Fault is one thing wrong in a manifest.
type Fault struct {
	File string
	Line int // from 1; 0 is about no line
	Key  string
	Text string // what is wrong, and how it is mended
}

// Error is the whole of it on one line.
func (f Fault) Error() string {
	where := f.File
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	if f.Key != "" {
		where += ": " + f.Key
	}
	return where + ": " + f.Text
}

// python reports whether the plug-in's program is Python, as far as its command tells.
func (m Manifest) python() bool {
	if len(m.Command) == 0 {
		return false
	}
	base := filepath.Base(m.Command[0])
	return base == "python" || base == "python3"
}

// files judges what the manifest names of its folder.
func (m Manifest) files(file string) []Fault {
	var out []Fault
	check := func(key, name string, folder bool) {
		info, err := os.Stat(filepath.Join(m.folder, name))
		switch {
		case err != nil:
			out = append(out, Fault{File: file, Key: key, Text: fmt.Sprintf("%s can't be found in the folder: %v", name, errors.Unwrap(err))})
		case folder != info.IsDir():
			out = append(out, Fault{File: file, Key: key, Text: name + " is not what it should be: " + map[bool]string{true: "a folder", false: "a file"}[folder] + " is wanted"})
		}
	}
	if first := m.Command[0]; filepath.Base(first) != first && !filepath.IsAbs(first) {
		check("command", first, false)
	}
	if m.Venv != nil {
		if m.Venv.Requirements != "" {
			check("venv.requirements", m.Venv.Requirements, false)
		}
		if m.Venv.Wheels != "" {
			check("venv.wheels", m.Venv.Wheels, true)
		}
	}
	return out
}
