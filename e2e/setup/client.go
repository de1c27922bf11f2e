package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Client is a person or a program outside AX: it has the command line and the HTTP API of one process.
type Client struct {
	URL, Token string

	t   T
	dir string
}

// Client is a client of the process with the site's admin token.
func (s *Site) Client(t T, p *Process) *Client {
	return &Client{URL: p.URL, Token: s.Token, t: t, dir: s.dir}
}

// Said is what a command printed and how it ended.
type Said struct {
	Out, Err string
	Code     int
}

// commandLimit is how long one command of the command line may take.
const commandLimit = 90 * time.Second

// Run runs a command of the command line and returns what it said, whatever its exit code.
func (c *Client) Run(args ...string) Said {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(c.t), args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AX_") }),
		"AX_URL="+c.URL, "AX_TOKEN="+c.Token)
	cmd.Dir = c.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("ax %s: %v", strings.Join(args, " "), err)
	}
	return Said{Out: out.String(), Err: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// Must runs a command that must exit with 0 and returns what it printed.
func (c *Client) Must(args ...string) string {
	c.t.Helper()
	s := c.Run(args...)
	if s.Code != 0 {
		c.t.Fatalf("ax %s: exit %d\n%s%s", strings.Join(args, " "), s.Code, s.Out, s.Err)
	}
	return s.Out
}

// JSON runs a command with --json that must exit with 0 and reads its one document into v.
func (c *Client) JSON(v any, args ...string) {
	c.t.Helper()
	text := c.Must(append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		c.t.Fatalf("ax --json %s printed no document: %v\n%s", strings.Join(args, " "), err, text)
	}
}

// Answer is what the API said.
type Answer struct {
	Status int
	Body   string
}

// Call calls the API; body goes as it is, as JSON unless headers (name, value, …) say otherwise.
func (c *Client) Call(method, path, body string, headers ...string) (Answer, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), commandLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Body: string(text)}, err
}

// Get reads the document at a path of the API into v.
func (c *Client) Get(path string, v any) error {
	a, err := c.Call(http.MethodGet, path, "")
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", path, a.Status, a.Body)
	}
	return json.Unmarshal([]byte(a.Body), v)
}

// Apply puts a file into force. Its name in the folder is of no meaning.
func (c *Client) Apply(yaml string) {
	c.t.Helper()
	c.Must("apply", "-f", c.File(yaml))
}

// File writes text to a new file and returns its path.
func (c *Client) File(text string) string {
	c.t.Helper()
	f, err := os.CreateTemp(c.dir, "job-*.yaml")
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	if _, err := f.WriteString(text); err != nil {
		c.t.Fatalf("%v", err)
	}
	if err := f.Close(); err != nil {
		c.t.Fatalf("%v", err)
	}
	return f.Name()
}

// Path is a path in the site's folder.
func (c *Client) Path(name string) string { return filepath.Join(c.dir, name) }

// T is the test that the client speaks for.
func (c *Client) T() T { return c.t }
