package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// api plays the server: fixed answers by method and path, in turn when there are
// several, the last for ever. It notes every call.
type api struct {
	mu      sync.Mutex
	answers map[string][]answer
	calls   []call
	special map[string]http.HandlerFunc
	url     string
}

type answer struct {
	status int
	body   string
}

type call struct {
	what, query, body, key string
	header                 http.Header
}

const token = "0123456789abcdef"

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{answers: map[string][]answer{}, special: map[string]http.HandlerFunc{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// on sets the answers of a call such as "GET /api/v1/jobs".
func (a *api) on(what string, status int, bodies ...string) {
	for _, b := range bodies {
		a.answers[what] = append(a.answers[what], answer{status, b})
	}
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := r.Method + " " + r.URL.EscapedPath()
	a.mu.Lock()
	a.calls = append(a.calls, call{what, r.URL.RawQuery, string(body), r.Header.Get("Idempotency-Key"), r.Header})
	special := a.special[what]
	list := a.answers[what]
	if len(list) > 1 {
		a.answers[what] = list[1:]
	}
	a.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"kind":"unauthentic","message":"this token is not known","requestId":"r1"}}`)
	case special != nil:
		special(w, r)
	case len(list) > 0:
		w.WriteHeader(list[0].status)
		_, _ = io.WriteString(w, list[0].body)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"kind":"not_found","message":"there is no such thing"}}`)
	}
}

// of are the calls of one kind.
func (a *api) of(what string) []call {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []call
	for _, c := range a.calls {
		if c.what == what {
			out = append(out, c)
		}
	}
	return out
}

// said is what a command printed and how it ended.
type said struct {
	out, err string
	code     int
}

func (s said) String() string {
	text := s.out
	if s.err != "" {
		text += "--- standard error\n" + s.err
	}
	return text + "--- exit " + string(rune('0'+s.code)) + "\n"
}

// json is the one document on standard output.
func (s said) json(t *testing.T) row {
	t.Helper()
	var r row
	d := json.NewDecoder(strings.NewReader(s.out))
	if err := d.Decode(&r); err != nil {
		t.Fatalf("no document: %v in\n%s", err, s)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("more than one document:\n%s", s)
	}
	return r
}

// now is the moment of every test.
var now = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// world is what a process sees, with the environment given.
func world(env map[string]string, stdin string, out, errs io.Writer) *process {
	began := time.Now()
	return &process{in: strings.NewReader(stdin), out: out, err: errs, env: func(name string) string { return env[name] },
		now: func() time.Time { return now.Add(time.Since(began)) }, zone: time.FixedZone("", 8*3600), version: "test"}
}

// ax runs a command against the api.
func (a *api) ax(t *testing.T, args ...string) said {
	t.Helper()
	return ax(t, map[string]string{"AX_URL": a.url, "AX_TOKEN": token}, "", args...)
}

// still runs a command against the api in a world whose clock stands at now,
// for answers that are compared to the letter.
func (a *api) still(t *testing.T, args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	p := world(map[string]string{"AX_URL": a.url, "AX_TOKEN": token}, "", &out, &errs)
	p.now = func() time.Time { return now }
	code := run(t.Context(), args, p)
	return said{out.String(), errs.String(), code}
}

func ax(t *testing.T, env map[string]string, stdin string, args ...string) said {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, world(env, stdin, &out, &errs))
	return said{out.String(), errs.String(), code}
}
