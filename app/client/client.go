package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one AX. Make one with New. Safe for concurrent use once Tell is set.
type Client struct {
	// Tell hears what a caller who waits may want to know, a sentence at a time: that no answer
	// came yet, or why a call is repeated. nil = nobody. It may be called from any goroutine.
	Tell func(text string)

	base   string
	token  string
	agent  string
	http   *http.Client
	limits limits
	large  bool
	told   *quiet
}

// maxAnswer bounds one JSON answer, in bytes.
const maxAnswer = 64 << 20

// New makes a client for the AX at base, an http or https address, that acts with
// an API token. version stands in the User-Agent.
func New(base, token, version string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of AX: write it like http://127.0.0.1:8080", base)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token holds a blank or a character that no token has: copy it again")
	}
	l := usual()
	return &Client{base: strings.TrimRight(base, "/"), token: token, agent: "ax/" + version, http: newHTTP(l.connect), limits: l, told: &quiet{}}, nil
}

// Large is the same client for changes that may take AX a while, such as a file of thousands of
// jobs: it waits longer for their answers.
func (c *Client) Large() *Client {
	large := *c
	large.large = true
	return &large
}

// newHTTP follows no redirect: a token is shown only to the address that was named.
func newHTTP(connect time.Duration) *http.Client {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connect}).DialContext, TLSHandshakeTimeout: connect, ForceAttemptHTTP2: true}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Job is the path of a job's calls. name is [project/]name.
func Job(name string) string { return "/api/v1/jobs/" + url.PathEscape(name) }

// Instance is the path of an instance's calls.
func Instance(id string) string { return "/api/v1/instances/" + url.PathEscape(id) }

// Get reads a document. Empty values of query are left out.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	kept := url.Values{}
	for name, values := range query {
		if len(values) > 0 && values[0] != "" {
			kept[name] = values
		}
	}
	if len(kept) > 0 {
		path += "?" + kept.Encode()
	}
	return c.call(ctx, http.MethodGet, path, "", nil)
}

// Send changes something: body, as JSON, goes to path with an idempotency key that
// is this call's own, the same for all its tries: what a lost answer was about is not
// done twice. A nil body is none. An answer without a body gives nil.
func (c *Client) Send(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return c.call(ctx, method, path, rand.Text(), text)
}

// call tries until there is an answer that another try would not change, or the time is up. Of
// several failures the one is told that says most: what AX said before that it said nothing.
func (c *Client) call(ctx context.Context, method, path, key string, body []byte) (json.RawMessage, error) {
	began, p := time.Now(), c.limits.of(method, c.large)
	var until time.Time // no try begins later; set at the first failure
	var said error
	tries := 0
	for pause := c.limits.pause; ; pause *= 2 {
		tries++
		text, err := c.once(ctx, try{method, path, key, body, min(p.try, p.all-time.Since(began))})
		if err == nil || ctx.Err() != nil || !Passing(err) {
			return text, err
		}
		if said == nil || !isLost(err) {
			said = err
		}
		now := time.Now()
		if until.IsZero() {
			until = now.Add(c.limits.again)
			c.tell(said.Error() + "; trying again for " + words(c.limits.again))
		}
		if pause = min(pause, until.Sub(now)); pause <= 0 || now.Add(pause).Sub(began) >= p.all {
			return nil, repeated(said, tries)
		}
		if rest(ctx, pause) != nil {
			return nil, said
		}
	}
}

// repeated is what AX said, with how often it was asked where that was more than once.
func repeated(said error, tries int) error {
	if tries < 2 || isLost(said) {
		return said
	}
	return fmt.Errorf("%w; tried %d times", said, tries)
}

// try is one sending of a call, which is given up when AX says nothing for the limit.
type try struct {
	method, path, key string
	body              []byte
	limit             time.Duration
}

func (c *Client) once(ctx context.Context, t try) (json.RawMessage, error) {
	ctx, heard, done := c.listen(ctx, t.limit)
	defer done()
	req, err := c.request(ctx, t.method, t.path, t.body)
	if err != nil {
		return nil, err
	}
	if t.key != "" {
		req.Header.Set("Idempotency-Key", t.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(hearing{res.Body, func() { heard(t.limit) }}, maxAnswer+1))
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer is larger than %d MB", maxAnswer>>20)
	}
	return judge(res, text)
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// judge makes of an answer its document or its error.
func judge(res *http.Response, text []byte) (json.RawMessage, error) {
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, nil
		}
		if !json.Valid(text) {
			return nil, fmt.Errorf("%s answered what is not JSON: is AX_URL the address of an AX?", res.Request.URL.Host)
		}
		return text, nil
	}
	var said struct {
		Error Error `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error.Message == "" {
		return nil, &Error{Status: res.StatusCode, Message: fmt.Sprintf("%s answered %s without saying why: is AX_URL the address of an AX?", res.Request.URL.Host, res.Status)}
	}
	said.Error.Status, said.Error.Document = res.StatusCode, text
	return nil, &said.Error
}
