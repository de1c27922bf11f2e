package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// Finding is one thing that a check looked at.
type Finding struct {
	What string        `json:"what"` // manifest, environment, init, describe, run TYPE
	OK   bool          `json:"ok"`
	Took time.Duration `json:"-"`
	Note string        `json:"note"` // what was found, or what is wrong
}

// Trial is how a check runs the types.
type Trial struct {
	Options
	Spool *runner.Spool
	// Exec are settings by type; a type without any is tried with the defaults and an example of each parameter that it
	// needs.
	Exec  map[string]json.RawMessage
	Limit time.Duration // of each trial run
}

// Check looks at a plug-in's folder as a worker would, and runs each of its types once. Every finding is told as soon as it
// is known; what a finding makes impossible is not looked at. It reports whether all is well.
func Check(ctx context.Context, folder string, t Trial, tell func(Finding)) bool {
	m, faults, err := ReadManifest(folder)
	if err != nil {
		tell(Finding{What: "manifest", Note: err.Error()})
		return false
	}
	for _, f := range faults {
		tell(Finding{What: "manifest", Note: f.Error()})
	}
	if len(faults) > 0 {
		return false
	}
	for _, one := range m.Types {
		if slices.Contains(t.Taken, one.Name) {
			tell(Finding{What: "manifest", Note: fmt.Sprintf("types: %s is already run by AX itself", one.Name)})
			return false
		}
	}
	tell(Finding{What: "manifest", OK: true, Note: fmt.Sprintf("%s %s: %s", m.Name, m.Version, strings.Join(newPlugin(m, t.Options, nil).names(), ", "))})
	var ids int64
	p := newPlugin(m, t.Options, func() int64 { ids++; return ids })
	return p.check(ctx, t, tell)
}

// check loads the plug-in and tries its types.
func (p *plugin) check(ctx context.Context, t Trial, tell func(Finding)) bool {
	since := time.Now()
	step := func(what, note string, err error) bool {
		f := Finding{What: what, OK: err == nil, Note: note, Took: time.Since(since)}
		if err != nil {
			f.Note = err.Error()
		}
		tell(f)
		since = time.Now()
		return err == nil
	}
	venv := ""
	if p.manifest.Venv != nil {
		var err error
		venv, err = p.environment(ctx, p.home)
		if !step("environment", venv, err) {
			return false
		}
	}
	p.launch = p.launching(venv)
	one, err := p.start(ctx)
	if !step("init", "", err) {
		return false
	}
	if err := p.describe(ctx, one); err != nil {
		return step("describe", "", one.failed("describe", err))
	}
	step("describe", "version "+p.about, nil)
	p.pool.add(one)
	defer p.pool.close()
	p.set(protocol.PluginReady, "")
	well := true
	for i, kind := range p.names() {
		note, err := p.try(ctx, t, int64(i+1), kind)
		well = step("run "+kind, note, err) && well
	}
	return well
}

// try runs one type once.
func (p *plugin) try(ctx context.Context, t Trial, attempt int64, kind string) (string, error) {
	exec := t.Exec[kind]
	if exec == nil {
		exec = example(p.params[kind])
	}
	out := t.Spool.Create(attempt)
	now := time.Now()
	o := executor{plugin: p, kind: kind}.Run(ctx, types.Task{Attempt: attempt, Ordinal: 1, TraceID: "00000000-0000-4000-8000-000000000000", TaskID: "task_check",
		Project: "default", JobName: "check", BizDate: now.Format(time.DateOnly), ExpectedAt: now, Deadline: now.Add(t.Limit), Exec: exec,
		Shard: protocol.Shard{Total: 1}}, out)
	out.Finish(time.Now())
	defer func() { _ = out.Remove() }() // below a folder that goes as a whole
	log, err := out.Lines(1, 1)
	if err != nil {
		return "", err
	}
	if o.Run.Outcome != runner.Success {
		text := fmt.Sprintf("%s with %s: %s", o.Run.Outcome, exec, o.Run.Message)
		if len(log.Lines) > 0 {
			text += "; its log begins: " + clip(log.Lines[0].Text)
		}
		return "", errors.New(text)
	}
	note := fmt.Sprintf("with %s", exec)
	if o.Result != nil {
		note += ", result " + clip(string(o.Result))
	}
	return fmt.Sprintf("%s, %d lines of log", note, out.Stats().Lines), nil
}

// example gives settings with which a type can be tried: the defaults are its own business, what it needs is made up.
func example(params []protocol.TypeParam) json.RawMessage {
	keys := map[string]json.RawMessage{}
	for _, p := range params {
		switch {
		case !p.Required:
		case len(p.Choices) > 0:
			keys[p.Name] = quote(p.Choices[0])
		case p.Kind == protocol.KindNumber:
			keys[p.Name] = json.RawMessage("1")
		case p.Kind == protocol.KindBoolean:
			keys[p.Name] = json.RawMessage("true")
		case p.Kind == protocol.KindList:
			keys[p.Name] = json.RawMessage(`["example"]`)
		case p.Kind == protocol.KindMap:
			keys[p.Name] = json.RawMessage(`{"example":"1"}`)
		default:
			keys[p.Name] = quote("example")
		}
	}
	out, err := json.Marshal(keys)
	if err != nil {
		panic(err) // texts and what was written above
	}
	return out
}
