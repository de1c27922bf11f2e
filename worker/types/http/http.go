// Package http is the executor type that makes one HTTP request. It owns the request and what counts as success; where it may
// go is netguard's to say, at the moment of connecting. It starts no process, uses no proxy and never repeats a request.
package http

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// redirectsMax is how many redirects are followed.
const redirectsMax = 10

// Executor is the http type.
type Executor struct {
	version string
	stores  *netguard.Book
}

var _ types.Executor = (*Executor)(nil)

// New makes the type; version is AX's and stands in the User-Agent. stores are those of AX that the worker knows, which no
// request may go to; nil = none.
func New(version string, stores *netguard.Book) *Executor {
	return &Executor{version: version, stores: stores}
}

// Type is "http".
func (e *Executor) Type() string { return "http" }

// Describe says what an http job can set.
func (e *Executor) Describe() types.Description {
	return types.Description{Type: "http", Version: "2", Params: []types.Param{
		{Name: "url", Kind: "text", Required: true, About: "http or https; private networks and loopback only where the project's list has them"},
		{Name: "method", Kind: "text", Default: "GET, POST with a body", Choices: []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, About: "the request's method"},
		{Name: "headers", Kind: "map", About: "header names and values; not sent on to another host by a redirect"},
		{Name: "body", Kind: "text", About: "the request's body"},
		{Name: "expect_status", Kind: "list", Default: "200 to 299", About: "the statuses that count as success"},
		{Name: "expect_json", Kind: "map", About: "what must stand in the answer's JSON: pointer and value, such as /data/state and ok"},
		{Name: "tls", Kind: "map", About: "ca_file, cert_file, key_file (paths on the worker's machine), server_name"},
	}}
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
	policy := t.Net
	policy.Stores = append(slices.Clip(policy.Stores), e.stores.Fresh(ctx, started)...)
	transport := netguard.Transport(policy)
	if transport.TLSClientConfig, err = s.TLS.config(); err != nil {
		return types.Failure(started, err.Error())
	}
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, t.Deadline)
		defer cancel()
	}
	out.Log(started, s.Method+" "+shown(u))
	resp, err := e.send(ctx, s, t, transport)
	if err != nil {
		return unanswered(ctx, started, err)
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

func (e *Executor) send(ctx context.Context, s settings, t types.Task, transport *http.Transport) (*http.Response, error) {
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
	client := &http.Client{Transport: transport, CheckRedirect: s.redirect}
	return client.Do(req)
}

// redirect lets a redirect happen without what is meant for the first host only.
func (s settings) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > redirectsMax {
		return fmt.Errorf("more than %d redirects", redirectsMax)
	}
	if next.URL.Host == via[0].URL.Host && next.URL.Scheme == via[0].URL.Scheme {
		return nil
	}
	if s.hasCertificate() {
		return fmt.Errorf("redirected to %s, which a request with a client certificate does not follow", next.URL.Host)
	}
	for name := range s.Headers {
		next.Header.Del(name)
	}
	return nil
}
