package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// launch is how the processes of a plug-in are started.
type launch struct {
	runner *runner.Runner
	spec   runner.ServiceSpec
	init   initParams
	limits Timeouts
	// note takes what a process says while it works at no task, a line at a time.
	note func(text string)
}

// initParams is what init is given.
type initParams struct {
	Protocol int            `json:"protocol"`
	Plugin   string         `json:"plugin"`
	Version  string         `json:"version"`
	Folder   string         `json:"folder"`
	Config   map[string]any `json:"config"`
}

// process is one of a plug-in's processes. Its methods are for one goroutine at a time.
type process struct {
	*talk
	limits Timeouts
	tail   tail // of what it said between tasks
	// unprepared says that the plug-in has no method prepare.
	unprepared bool

	mu  sync.Mutex
	out *runner.Capture // of the task that it works at; nil: none
	pct int             // of the last progress told
}

// start starts a process and lets it make itself ready.
func (l launch) start(ctx context.Context, id int64) (*process, error) {
	p := &process{limits: l.limits}
	p.talk = newTalk(p.notified)
	spec := l.spec
	spec.ID, spec.LineMax = id, lineMax
	spec.Idle = func(b []byte) {
		for _, text := range p.tail.add(b) {
			l.note(text)
		}
	}
	ready := make(chan struct{})
	spec.Line = func(b []byte, long bool) { <-ready; p.line(b, long) } // a line may come before Serve has returned
	svc, err := l.runner.Serve(spec)
	if err != nil {
		close(ready)
		return nil, err
	}
	p.svc = svc
	close(ready)
	if _, err := p.call(ctx, "init", l.init, l.limits.Start); err != nil {
		return nil, p.failed("init", err)
	}
	return p, nil
}

// failed ends a process whose call failed and says why, with its last words.
func (p *process) failed(method string, err error) error {
	text := err.Error()
	switch {
	case errors.Is(err, errBroken):
		text = p.said()
	case errors.Is(err, errExited):
		res := p.svc.End("", "")
		text = "its process ended before it answered" + because(res)
	}
	if !errors.Is(err, errExited) {
		p.svc.End(runner.Killed, "")
	}
	if last := p.tail.last(); last != "" {
		text += "; it said last: " + last
	}
	return fmt.Errorf("%s: %s", method, text)
}

// because is how a process ended, for a sentence about it.
func because(res runner.Result) string {
	if res.Message == "" {
		return " (exit code 0)"
	}
	return " (" + res.Message + ")"
}

// end ends a process that has nothing to do.
func (p *process) end() { p.svc.End("", "") }

// alive reports whether it can be given a task.
func (p *process) alive() bool {
	select {
	case <-p.svc.Exited():
		return false
	case <-p.broken:
		return false
	default:
		return true
	}
}

// notified takes a notification.
func (p *process) notified(method string, params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	switch method {
	case "log":
		var l struct {
			Text   string `json:"text"`
			Stream string `json:"stream"`
		}
		if json.Unmarshal(params, &l) != nil {
			return
		}
		stream := runner.Out
		if l.Stream == "err" {
			stream = runner.Err
		}
		p.out.Write(stream, time.Now(), append([]byte(l.Text), '\n'))
	case "progress":
		var g struct {
			Percent float64 `json:"percent"`
			Text    string  `json:"text"`
		}
		if json.Unmarshal(params, &g) != nil || g.Percent < 0 || g.Percent > 100 {
			return
		}
		p.progress(int(g.Percent), g.Text)
	}
}

// progressText bounds what is told beside a progress, in bytes.
const progressText = 200

// progress writes a step into the log where the whole percents have changed.
func (p *process) progress(percent int, text string) {
	if percent == p.pct {
		return
	}
	p.pct = percent
	if len(text) > progressText {
		text = strings.ToValidUTF8(text[:progressText], "") + "…"
	}
	line := fmt.Sprintf("progress: %d %%", percent)
	if text = strings.Join(strings.Fields(text), " "); text != "" {
		line += ", " + text
	}
	p.out.Log(time.Now(), line)
}

func (p *process) attend(out *runner.Capture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out, p.pct = out, -1
}

// run works at one task until it is over, one way or another. ok says that the process can be given another.
func (p *process) run(ctx context.Context, t types.Task, out *runner.Capture) (o types.Outcome, ok bool) {
	started := time.Now()
	p.attend(out)
	defer p.attend(nil)
	p.svc.Begin(t.Attempt, t.Deadline, t.Unrenewed, out)
	limited := ctx
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadlineCause(ctx, t.Deadline, errDeadline)
		defer cancel()
	}
	raw, err := p.ask(limited, t)
	var said *callError
	switch {
	case err == nil:
		p.svc.Done()
		outcome, message, result := outcomeOf(raw)
		o = types.Outcome{Run: types.Ended(outcome, started, time.Now(), message), Result: result}
		if outcome == runner.Success {
			o.Run.ExitCode = 0
		}
		return o, true
	case errors.As(err, &said):
		p.svc.Done()
		return types.Outcome{Run: types.Ended(runner.Failed, started, time.Now(), said.Error())}, true
	}
	return types.Outcome{Run: p.ended(limited, err, started, out)}, false
}

// errDeadline is the cause of a time-out.
var errDeadline = errors.New("the deadline of the task")

// ask has the task prepared and run.
func (p *process) ask(ctx context.Context, t types.Task) (json.RawMessage, error) {
	params := taskOf(t)
	if !p.unprepared {
		_, err := p.call(ctx, "prepare", params, p.limits.Prepare)
		if noMethod(err) {
			p.unprepared, err = true, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return p.call(ctx, "run", params, 0)
}

// ended ends a process whose task came to no answer, and says what became of the task.
func (p *process) ended(ctx context.Context, err error, started time.Time, out *runner.Capture) runner.Result {
	var res runner.Result
	switch {
	case errors.Is(err, errExited):
		res = p.svc.End("", "")
		if res.Outcome == runner.Success || res.Outcome == runner.Failed {
			res.Outcome, res.Message = runner.Failed, "the plug-in's process ended during the task"+because(res)
		}
		if last := lastWords(out); last != "" {
			res.Message += ": " + last
		}
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errDeadline):
		res = p.svc.End(runner.Timeout, "timed out after "+time.Since(started).Round(time.Millisecond).String())
	case ctx.Err() != nil:
		res = p.svc.End(runner.OutcomeOf(ctx), context.Cause(ctx).Error())
	default:
		text := err.Error()
		if errors.Is(err, errBroken) {
			text = p.said()
		}
		res = p.svc.End(runner.Failed, text)
	}
	res.StartedAt, res.Message = started, runner.CleanMessage(res.Message)
	return res
}

// lastWords is the last line that the task wrote to its error output: most often the reason.
func lastWords(out *runner.Capture) string {
	lines, err := out.Peek(50)
	if err != nil {
		return "" // the log itself shows what is wrong with it
	}
	for _, l := range slices.Backward(lines) {
		if text := strings.TrimSpace(l.Text); l.Stream == runner.Err && text != "" {
			return clip(text)
		}
	}
	return ""
}

// clip bounds a line that is shown as somebody's words.
func clip(text string) string {
	if len(text) > maxWordBytes {
		return strings.ToValidUTF8(text[:maxWordBytes], "") + "…"
	}
	return text
}

// tail keeps the last line of a stream and hands out whole ones.
type tail struct {
	mu   sync.Mutex
	part []byte
	line string
}

// add takes a piece and gives the lines that it completes.
func (t *tail) add(b []byte) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, b...)
	var out []string
	for {
		i := bytes.IndexByte(t.part, '\n')
		if i < 0 && len(t.part) <= maxWordBytes {
			return out
		}
		end := i
		if i < 0 {
			end = len(t.part)
		}
		if text := strings.TrimSpace(runner.CleanMessage(string(t.part[:end]))); text != "" {
			t.line = clip(text)
			out = append(out, t.line)
		}
		t.part = append(t.part[:0], t.part[min(end+1, len(t.part)):]...)
	}
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(runner.CleanMessage(string(t.part))); text != "" {
		return clip(text)
	}
	return t.line
}
