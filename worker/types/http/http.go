// Package http is the executor type that makes one HTTP request. It owns the request, what counts as success and the
// guard of the addresses that a job must not reach. It starts no process, uses no proxy and never repeats a request.
package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

const (
	// bodyMax is how much of an answer goes into the log.
	bodyMax = 64 << 10
	// redirectsMax is how many redirects are followed.
	redirectsMax = 10
)

// Executor is the http type.
type Executor struct {
	version   string
	transport http.RoundTripper
}

var _ types.Executor = (*Executor)(nil)

// New makes the type; version is AX's and stands in the User-Agent.
func New(version string) *Executor {
	return &Executor{version: version, transport: guardedTransport()}
}

// Type is "http".
func (e *Executor) Type() string { return "http" }

// Describe says what an http job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "http", Version: "1", Params: []types.Param{
		{Name: "url", Kind: "text", Required: true, About: "http or https; link-local and cloud metadata addresses are refused"},
		{Name: "method", Kind: "text", Default: "GET, POST with a body", About: "the request's method"},
		{Name: "headers", Kind: "map", About: "header names and values; not sent on to another host by a redirect"},
		{Name: "body", Kind: "text", About: "the request's body"},
		{Name: "expect", Kind: "list", Default: "200 to 299", About: "the statuses that count as success"},
	}}
}

// settings are the keys of exec.
type settings struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Expect  []int             `json:"expect"`
}

// read takes the settings apart and refuses what can't be sent.
func read(raw json.RawMessage) (settings, *url.URL, error) {
	var s settings
	if err := types.DecodeExec(raw, &s); err != nil {
		return s, nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, nil, errors.New("exec.url: must be a full http or https address")
	}
	if s.Method == "" {
		s.Method = http.MethodGet
		if s.Body != "" {
			s.Method = http.MethodPost
		}
	}
	return s, u, nil
}

func (s settings) expects(status int) bool {
	if len(s.Expect) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(s.Expect, status)
}

// Run makes the request once. The answer's status and the first 64 KB of its body go into the log; a JSON object in an
// expected answer becomes the task's result. The request carries the trace id and the attempt, so that the other side
// can recognise a repetition.
func (e *Executor) Run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	started := time.Now()
	s, u, err := read(t.Exec)
	if err != nil {
		return types.Failure(started, err.Error())
	}
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.Deadline)
		defer cancel()
	}
	out.Log(started, s.Method+" "+shown(u))
	resp, err := e.send(ctx, s, t)
	if err != nil {
		return e.unanswered(ctx, started, err)
	}
	defer resp.Body.Close()
	return answered(ctx, s, started, resp, out)
}

// shown is an address without what may be secret in it.
func shown(u *url.URL) string {
	c := *u
	c.User, c.Fragment = nil, ""
	if c.RawQuery != "" {
		c.RawQuery = "…"
	}
	return c.String()
}

func (e *Executor) send(ctx context.Context, s settings, t types.Task) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, s.Method, s.URL, strings.NewReader(s.Body))
	if err != nil {
		return nil, err
	}
	if s.Body == "" {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
	}
	req.Header.Set("User-Agent", "ax/"+e.version)
	req.Header.Set("X-Ax-Trace-Id", t.TraceID)
	req.Header.Set("X-Ax-Attempt", fmt.Sprint(t.Attempt))
	for name, value := range s.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: e.transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > redirectsMax {
			return fmt.Errorf("more than %d redirects", redirectsMax)
		}
		if next.URL.Host != via[0].URL.Host {
			for name := range s.Headers {
				next.Header.Del(name)
			}
		}
		return nil
	}}
	return client.Do(req)
}

// unanswered tells a time-out and a kill from a failure to connect.
func (e *Executor) unanswered(ctx context.Context, started time.Time, err error) types.Outcome {
	now := time.Now()
	if ctx.Err() != nil {
		return stopped(ctx, started, now)
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the address is in the log, and may hold secrets
	}
	return types.Outcome{Run: types.Ended(runner.Failed, started, now, "no answer: "+err.Error())}
}

// stopped is the outcome of a request that was given up.
func stopped(ctx context.Context, started, now time.Time) types.Outcome {
	o := runner.OutcomeOf(ctx)
	message := context.Cause(ctx).Error()
	if o == runner.Timeout {
		message = "timed out after " + now.Sub(started).Round(time.Millisecond).String()
	}
	return types.Outcome{Run: types.Ended(o, started, now, message+"; the other side may have done its work")}
}

// answered logs the answer and judges it.
func answered(ctx context.Context, s settings, started time.Time, resp *http.Response, out *runner.Capture) types.Outcome {
	out.Log(time.Now(), resp.Proto+" "+resp.Status)
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	now := time.Now()
	logged := body[:min(len(body), bodyMax)]
	if len(logged) > 0 {
		out.Write(runner.Out, now, logged)
	}
	if len(body) > bodyMax {
		out.Log(now, "the answer is longer: its first 64 KB are kept")
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return stopped(ctx, started, now)
	case err != nil:
		return types.Outcome{Run: types.Ended(runner.Failed, started, now, "the answer broke off: "+err.Error())}
	case !s.expects(resp.StatusCode):
		return types.Outcome{Run: types.Ended(runner.Failed, started, now, "answered "+resp.Status)}
	}
	return types.Outcome{Run: types.Ended(runner.Success, started, now, ""), Result: resultOf(resp.Header, body)}
}

// resultOf returns the body where it can be a result: a JSON object of at most 64 KB.
func resultOf(h http.Header, body []byte) json.RawMessage {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" || len(body) > types.ResultMax {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil
	}
	return body
}
