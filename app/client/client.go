package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one AX. Make one with New. Safe for concurrent use.
type Client struct {
	base  string
	token string
	agent string
	http  *http.Client
	wait  func(ctx context.Context, d time.Duration) error
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
	return &Client{base: strings.TrimRight(base, "/"), token: token, agent: "ax/" + version, http: newHTTP(), wait: pause}, nil
}

// newHTTP follows no redirect: a token is shown only to the address that was named.
func newHTTP() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
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

// backoffs are the pauses before the further tries of a call that got no answer.
func backoffs() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}
}

// attemptLimit is how long one try may take.
const attemptLimit = 65 * time.Second

// call tries until there is an answer that another try would not change.
func (c *Client) call(ctx context.Context, method, path, key string, body []byte) (json.RawMessage, error) {
	pauses := backoffs()
	for try := 0; ; try++ {
		text, err := c.once(ctx, method, path, key, body)
		if err == nil || ctx.Err() != nil || try == len(pauses) || !Passing(err) {
			return text, err
		}
		if c.wait(ctx, pauses[try]) != nil {
			return nil, err
		}
	}
}

func (c *Client) once(ctx context.Context, method, path, key string, body []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &lost{c.base, err}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, &lost{c.base, err}
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
