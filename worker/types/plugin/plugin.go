package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// plugin is one plug-in of a worker. It is loaded beside everything else and tried again when it fails.
type plugin struct {
	manifest Manifest
	home     string // where its virtual environment is
	runner   *runner.Runner
	base     []string
	nextID   func() int64
	log      *slog.Logger
	pool     *pool
	again    chan struct{} // capacity 1: it is to be loaded again

	mu     sync.Mutex
	state  string
	fault  string
	launch launch
	params map[string][]protocol.TypeParam // by type; as describe has it, else the manifest
	about  string                          // its version, likewise
}

func newPlugin(m Manifest, o Options, nextID func() int64) *plugin {
	p := &plugin{manifest: m, home: filepath.Join(o.Home, m.Name), runner: o.Runner, base: o.Env, nextID: nextID, log: o.Log.With("plugin", m.Name),
		again: make(chan struct{}, 1), state: protocol.PluginLoading, params: map[string][]protocol.TypeParam{}, about: m.Version}
	for _, t := range m.Types {
		p.params[t.Name] = t.Params
	}
	p.pool = newPool(m.Pool, p.start, p.failed)
	return p
}

const (
	retryFirst = time.Second
	retryMost  = 5 * time.Minute
)

// keep loads the plug-in, and loads it again when it has failed, until ctx ends.
func (p *plugin) keep(ctx context.Context) {
	wait := retryFirst
	for {
		p.log.Info("plug-in: loading", "version", p.manifest.Version)
		one, err := p.load(ctx)
		if ctx.Err() != nil {
			if one != nil {
				one.end()
			}
			return
		}
		if err == nil {
			p.pool.add(one)
			p.set(protocol.PluginReady, "")
			p.log.Info("plug-in: ready", "types", p.names())
			wait = retryFirst
			select {
			case <-ctx.Done():
				return
			case <-p.again:
			}
		} else {
			p.failed(err.Error())
		}
		p.log.Error("plug-in: it can't be used; it is tried again", "in", wait, "why", p.Fault())
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, retryMost)
		select { // told while it waited: this try answers it
		case <-p.again:
		default:
		}
	}
}

// load makes the environment and the first process, and asks it what it can do.
func (p *plugin) load(ctx context.Context) (*process, error) {
	venv := ""
	if p.manifest.Venv != nil {
		var err error
		if venv, err = p.environment(ctx, p.home); err != nil {
			return nil, fmt.Errorf("its virtual environment can't be made: %w", err)
		}
	}
	p.mu.Lock()
	p.launch = p.launching(venv)
	p.mu.Unlock()
	one, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.describe(ctx, one); err != nil {
		return nil, one.failed("describe", err)
	}
	return one, nil
}

// start starts one more process.
func (p *plugin) start(ctx context.Context) (*process, error) {
	p.mu.Lock()
	l := p.launch
	p.mu.Unlock()
	return l.start(ctx, p.nextID())
}

// launching is how processes are started, in a virtual environment or "".
func (p *plugin) launching(venv string) launch {
	m := p.manifest
	argv := slices.Clone(m.Command)
	env := map[string]string{"PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}
	if venv != "" {
		bin := filepath.Join(venv, "bin")
		env["VIRTUAL_ENV"], env["PATH"] = venv, bin+":"+lookup(p.base, "PATH")
		if m.python() && filepath.Base(argv[0]) == argv[0] {
			argv[0] = filepath.Join(bin, "python")
		}
	}
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(m.folder, argv[0])
	}
	for k, v := range m.Env {
		env[k] = v
	}
	dump, _ := signalOf(m.Dump) // the manifest was judged
	config := m.Config
	if config == nil {
		config = map[string]any{}
	}
	return launch{runner: p.runner, limits: m.Timeouts, note: func(text string) { p.log.Info("plug-in says: " + text) },
		spec: runner.ServiceSpec{Argv: argv, Env: laid(p.base, env), Dir: m.folder, DumpSignal: dump},
		init: initParams{Protocol: 1, Plugin: m.Name, Version: m.Version, Folder: m.folder, Config: config}}
}

// laid lays values over an environment.
func laid(base []string, over map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(base), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := over[name]
		return replaced
	})
	for k, v := range over {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// described is what describe answers with.
type described struct {
	Version string `json:"version"`
	Types   []struct {
		Name   string          `json:"name"`
		Params json.RawMessage `json:"params"` // as in a manifest
	} `json:"types"`
}

// describe asks what the types take. A plug-in without the method is what its manifest says.
func (p *plugin) describe(ctx context.Context, one *process) error {
	raw, err := one.call(ctx, "describe", struct{}{}, p.manifest.Start)
	if noMethod(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var d described
	if err := json.Unmarshal(raw, &d); err != nil {
		return fmt.Errorf("the answer is not understood: %w", err)
	}
	params := map[string][]protocol.TypeParam{}
	for _, t := range d.Types {
		if !slices.Contains(p.names(), t.Name) {
			return fmt.Errorf("it describes the type %q, which its manifest does not have", t.Name)
		}
		if len(t.Params) == 0 || string(t.Params) == "null" {
			continue
		}
		read, faults := parseParams(t.Params, "the answer, types "+t.Name)
		if len(faults) > 0 {
			return faults[0]
		}
		params[t.Name] = read
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about = cmp.Or(d.Version, p.manifest.Version)
	for name, one := range params {
		p.params[name] = one
	}
	return nil
}

// names are the types, in the order of the manifest.
func (p *plugin) names() []string {
	out := make([]string, len(p.manifest.Types))
	for i, t := range p.manifest.Types {
		out[i] = t.Name
	}
	return out
}

// failed says that it can run nothing, and has it tried again.
func (p *plugin) failed(why string) {
	p.set(protocol.PluginFailed, why)
	select {
	case p.again <- struct{}{}:
	default:
	}
}

func (p *plugin) set(state, fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.fault = state, runner.CleanMessage(fault)
}

// Fault says why it can run nothing, "" = it can.
func (p *plugin) Fault() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case protocol.PluginReady:
		return ""
	case protocol.PluginLoading:
		return "the plug-in " + p.manifest.Name + " is being loaded"
	}
	return "the plug-in " + p.manifest.Name + " failed: " + p.fault
}

// State is how it stands.
func (p *plugin) State() protocol.PluginState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return protocol.PluginState{Name: p.manifest.Name, Version: p.about, Types: p.names(), State: p.state, Fault: p.fault}
}

func signalOf(name string) (syscall.Signal, error) {
	switch name {
	case "SIGABRT":
		return syscall.SIGABRT, nil
	case "SIGQUIT":
		return syscall.SIGQUIT, nil
	case "SIGTERM":
		return syscall.SIGTERM, nil
	case "SIGINT":
		return syscall.SIGINT, nil
	}
	return 0, fmt.Errorf("%q: one of %s is wanted", name, strings.Join(dumpSignals(), ", "))
}

// dumpSignals are what a manifest may choose. SIGKILL is not among them: it follows anyway.
func dumpSignals() []string { return []string{"SIGABRT", "SIGQUIT", "SIGTERM", "SIGINT"} }

// executor is one type of a plug-in.
type executor struct {
	*plugin
	kind  string
	about protocol.Words
}

var (
	_ types.Executor = executor{}
	_ types.Unsteady = executor{}
)

// Type is the word.
func (e executor) Type() string { return e.kind }

// Describe says what the type takes, as the plug-in has it now.
func (e executor) Describe() types.Description {
	e.mu.Lock()
	defer e.mu.Unlock()
	return types.Description{Type: e.kind, Version: e.plugin.about, Plugin: e.manifest.Name, About: e.about, Params: e.params[e.kind]}
}

// Run has a process of the plug-in work at the task.
func (e executor) Run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	if fault := e.Fault(); fault != "" {
		return types.Outcome{Run: types.Ended(runner.Failed, time.Time{}, time.Now(), fault), Refused: true}
	}
	e.mu.Lock()
	params := e.params[e.kind]
	e.mu.Unlock()
	exec, err := settle(t.Exec, params)
	if err != nil {
		return types.Failure(time.Now(), err.Error())
	}
	t.Type, t.Exec = e.kind, exec
	return e.pool.run(ctx, t, out)
}
