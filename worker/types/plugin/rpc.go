package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// lineMax bounds one object of the conversation, in bytes: a result of the largest size fits, whatever its escapes.
const lineMax = 1 << 20

// writeLimit is how long a process may take to read what it is given.
const writeLimit = 10 * time.Second

// Codes of JSON-RPC 2.0.
const (
	codeParse    = -32700
	codeNoMethod = -32601
)

// message is one object of the conversation, in either direction.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *callError      `json:"error,omitempty"`
}

// callError is what a plug-in answers in place of a result.
type callError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is the plug-in's own text.
func (e *callError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("error %d, without a message", e.Code)
	}
	return runner.CleanMessage(e.Message)
}

// noMethod reports whether the plug-in says that it has no such method.
func noMethod(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.Code == codeNoMethod
}

// Why a call got no answer.
var (
	errExited = errors.New("its process ended")
	errBroken = errors.New("the conversation is broken")
)

// talk is the conversation with one process. One call is under way at a time; notifications may come at any.
type talk struct {
	svc    *runner.Service
	notify func(method string, params json.RawMessage)

	mu     sync.Mutex
	last   int64
	answer chan message // of the call under way; nil: none is
	fault  string       // what broke it first
	broken chan struct{}
}

func newTalk(notify func(string, json.RawMessage)) *talk {
	return &talk{notify: notify, broken: make(chan struct{})}
}

// breakOff notes what is wrong, tells the process and lets whoever waits know. The process must be ended then: nobody knows
// what it believes.
func (t *talk) breakOff(format string, args ...any) {
	t.mu.Lock()
	first := t.fault == ""
	if first {
		t.fault = fmt.Sprintf(format, args...)
		close(t.broken)
	}
	said := t.fault
	t.mu.Unlock()
	if first && t.svc != nil {
		go func() { // it may not read: nobody waits for that
			_ = t.write(message{ID: json.RawMessage("null"), Error: &callError{codeParse, said}}, time.Second)
		}()
	}
}

// line takes one line of its output.
func (t *talk) line(b []byte, long bool) {
	if long {
		t.breakOff("it wrote a line of over %d bytes to its standard output", lineMax)
		return
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil || !utf8.Valid(b) || m.Version != "2.0" {
		t.breakOff("it wrote a line to its standard output that is no JSON-RPC 2.0: %s; what is for the log belongs on its error output", excerpt(b))
		return
	}
	switch {
	case m.Method != "" && m.ID == nil:
		t.notify(m.Method, m.Params)
	case m.Method != "":
		_ = t.write(message{ID: m.ID, Error: &callError{codeNoMethod, "the worker has no methods"}}, writeLimit)
	default:
		t.take(m, b)
	}
}

// take hands an answer to who waits for it.
func (t *talk) take(m message, b []byte) {
	t.mu.Lock()
	ours := t.answer != nil && string(m.ID) == fmt.Sprint(t.last) && (m.Error != nil) != (m.Result != nil)
	to := t.answer
	if ours {
		t.answer = nil
	}
	t.mu.Unlock()
	if !ours {
		t.breakOff("it answered what nobody asked, or with neither a result nor an error: %s", excerpt(b))
		return
	}
	to <- m
}

// call asks and waits for the answer, until ctx ends or limit is over; 0 is no limit. An answer that is an error is a
// *callError.
func (t *talk) call(ctx context.Context, method string, params any, limit time.Duration) (json.RawMessage, error) {
	body, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	to := make(chan message, 1)
	t.mu.Lock()
	t.last++
	id := t.last
	t.answer = to
	t.mu.Unlock()
	if err := t.write(message{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: body}, writeLimit); err != nil {
		select {
		case <-t.svc.Exited():
			return nil, errExited
		default:
		}
		t.breakOff("%s could not be asked: %v", method, err)
		return nil, errBroken
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case m := <-to:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-t.broken:
		return nil, errBroken
	case <-t.svc.Exited():
		select { // an answer may have been its last word
		case m := <-to:
			if m.Error == nil {
				return m.Result, nil
			}
			return nil, m.Error
		case <-time.After(lastWordWait):
			return nil, errExited
		}
	case <-late:
		return nil, fmt.Errorf("%s was not answered within %v", method, limit)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// lastWordWait is how long the output of a process that has ended may take to be read.
const lastWordWait = 200 * time.Millisecond

func (t *talk) write(m message, limit time.Duration) error {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.svc.Write(append(b, '\n'), limit)
}

// said is what broke the conversation.
func (t *talk) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fault
}

// excerpt shows the beginning of a line.
func excerpt(b []byte) string {
	const most = 120
	cut := ""
	if len(b) > most {
		b, cut = b[:most], "…"
	}
	return fmt.Sprintf("%q%s", runner.CleanMessage(string(b)), cut)
}

// answered is what run answers with.
type answered struct {
	Success *bool           `json:"success"`
	Message string          `json:"message"`
	Result  json.RawMessage `json:"result"`
}

// outcomeOf reads the answer of run. No other answer than an object is a success.
func outcomeOf(raw json.RawMessage) (runner.Outcome, string, json.RawMessage) {
	var a *answered
	switch err := json.Unmarshal(raw, &a); {
	case err != nil:
		return runner.Failed, "run was answered with " + excerpt(raw) + ", which is not {\"success\":…, \"message\":…, \"result\":{…}}", nil
	case a == nil:
		return runner.Success, "", nil // null
	case a.Success != nil && !*a.Success:
		if a.Message == "" {
			a.Message = "the plug-in says that it failed, and not why"
		}
		return runner.Failed, a.Message, resultOf(a.Result)
	}
	if r := bytes.TrimSpace(a.Result); len(r) > 0 && !bytes.Equal(r, []byte("null")) && r[0] != '{' {
		return runner.Failed, "its result is " + excerpt(r) + ", which is no object", nil
	}
	if len(a.Result) > types.ResultMax {
		return runner.Failed, fmt.Sprintf("its result has %d bytes, more than the %d allowed: put large data into a file and give its name", len(a.Result), types.ResultMax), nil
	}
	return runner.Success, a.Message, resultOf(a.Result)
}

// resultOf is a result that is an object of an allowed size, else nothing.
func resultOf(raw json.RawMessage) json.RawMessage {
	if r := bytes.TrimSpace(raw); len(r) > 0 && r[0] == '{' && len(r) <= types.ResultMax {
		return r
	}
	return nil
}
