package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/axsched/ax/modules/job"
)

// file is a job file as it was read.
type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// maxUpload bounds all files of one call together, in bytes.
const maxUpload = 64 << 20

// files reads job files: files as they are named, folders with every *.yaml and *.yml
// below them, "-" the standard input. A file that was named twice is read once.
func (p *process) files(names []string) ([]file, error) {
	var out []file
	seen, total := map[string]bool{}, 0
	for _, name := range names {
		paths, err := below(name)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if seen[path] {
				continue
			}
			seen[path] = true
			f, err := p.file(path)
			if err != nil {
				return nil, err
			}
			if total += len(f.Text); total > maxUpload {
				return nil, fmt.Errorf("these files hold more than %d MB together: apply them in parts", maxUpload>>20)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// below lists what a name stands for, sorted.
func below(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(name)}, nil
	}
	var found []string
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && !d.IsDir() && (ext == ".yaml" || ext == ".yml") {
			found = append(found, path)
		}
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no *.yaml or *.yml in %s", name)
	}
	slices.Sort(found)
	return found, err
}

// file reads one, at most a byte more than a job file may hold: whoever judges it
// says that it is too large.
func (p *process) file(path string) (file, error) {
	in, name := p.in, "stdin"
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return file{}, err
		}
		defer func() { _ = opened.Close() }()
		in, name = opened, path
	}
	text, err := io.ReadAll(io.LimitReader(in, job.MaxFileBytes+1))
	return file{name, string(text)}, err
}

// unsendable reports whether a file can't travel as JSON text and is to be judged here.
func (f file) unsendable() bool {
	return len(f.Text) > job.MaxFileBytes || !utf8.ValidString(f.Text) || bytes.IndexByte([]byte(f.Text), 0) >= 0
}
