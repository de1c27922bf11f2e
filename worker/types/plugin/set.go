package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// Options of Open. All but Taken must be set.
type Options struct {
	Folder string // that holds the plug-ins, one folder each; one that is not there holds none
	Home   string // where what is made for them is kept
	Runner *runner.Runner
	Env    []string // the base of their environments
	Log    *slog.Logger
	Taken  []string // the types that are no plug-in's
}

// Set is all plug-ins of a worker. Its methods may be called by any number of goroutines.
type Set struct {
	plugins []*plugin
	bad     []protocol.PluginState // those that can't be loaded as they are
	ids     atomic.Int64
	stop    context.CancelFunc
	loops   sync.WaitGroup
}

// Open reads the manifests and begins to load the plug-ins, each beside the others; it does not wait for them. What is
// wrong with one is told by States and keeps no other from being loaded.
func Open(o Options) *Set {
	ctx, stop := context.WithCancel(context.Background())
	s := &Set{stop: stop}
	taken := map[string]string{}
	for _, t := range o.Taken {
		taken[t] = "AX itself"
	}
	names := map[string]bool{}
	for _, dir := range s.folders(o) {
		m, err := sound(dir)
		if err == nil {
			err = s.fits(m, taken, names)
		}
		if err != nil {
			o.Log.Error("plug-in: it can't be loaded", "folder", dir, "err", err)
			s.bad = append(s.bad, protocol.PluginState{Name: filepath.Base(dir), State: protocol.PluginFailed, Fault: runner.CleanMessage(err.Error())})
			continue
		}
		p := newPlugin(m, o, func() int64 { return s.ids.Add(1) })
		s.plugins = append(s.plugins, p)
	}
	for _, p := range s.plugins {
		s.loops.Go(func() { p.keep(ctx) })
	}
	return s
}

// folders lists the folders that may be plug-ins, in order. Those that begin with a dot or hold no manifest are none.
func (s *Set) folders(o Options) []string {
	all, err := os.ReadDir(o.Folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		o.Log.Error("plug-in: their folder can't be read", "folder", o.Folder, "err", err)
		s.bad = append(s.bad, protocol.PluginState{Name: filepath.Base(o.Folder), State: protocol.PluginFailed, Fault: runner.CleanMessage(err.Error())})
	}
	var out []string
	for _, e := range all {
		dir := filepath.Join(o.Folder, e.Name())
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		out = append(out, dir)
	}
	return out
}

// sound reads a manifest and refuses one with faults.
func sound(dir string) (Manifest, error) {
	m, faults, err := ReadManifest(dir)
	if err != nil {
		return m, err
	}
	if n := len(faults); n > 1 {
		return m, fmt.Errorf("%w (and %d more: ax plugin check %s)", faults[0], n-1, dir)
	} else if n == 1 {
		return m, faults[0]
	}
	return m, nil
}

// fits refuses a plug-in whose name or type another has, and notes those of one that fits.
func (s *Set) fits(m Manifest, taken map[string]string, names map[string]bool) error {
	if names[m.Name] {
		return fmt.Errorf("name: another plug-in of this worker is called %s", m.Name)
	}
	for _, t := range m.Types {
		if by := taken[t.Name]; by != "" {
			return fmt.Errorf("types: %s is already run by %s", t.Name, by)
		}
	}
	names[m.Name] = true
	for _, t := range m.Types {
		taken[t.Name] = "the plug-in " + m.Name
	}
	return nil
}

// Executors are the types of all plug-ins, also of those that are not ready.
func (s *Set) Executors() []types.Executor {
	var out []types.Executor
	for _, p := range s.plugins {
		for _, t := range p.manifest.Types {
			out = append(out, executor{p, t.Name, t.About})
		}
	}
	return out
}

// States is how all of them stand, by name.
func (s *Set) States() []protocol.PluginState {
	out := slices.Clone(s.bad)
	for _, p := range s.plugins {
		out = append(out, p.State())
	}
	slices.SortFunc(out, func(a, b protocol.PluginState) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Close ends all processes and returns when nothing of them is alive. No task may be under way.
func (s *Set) Close() error {
	s.stop()
	s.loops.Wait()
	var all sync.WaitGroup
	for _, p := range s.plugins {
		all.Go(p.pool.close)
	}
	all.Wait()
	return nil
}
