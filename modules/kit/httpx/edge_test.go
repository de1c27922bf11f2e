package httpx_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/idem"
)

// ports stands for everything behind the edge. The account 1 with token "good" may
// do job.read in project 7; a session's token is its account's number.
type ports struct {
	mu      sync.Mutex
	revoked bool
	err     error
	denied  []string

	language string // of the profile of the token's account
}

func (p *ports) Allowed(_ context.Context, account, project domain.ID, action domain.Action) bool {
	return account == 1 && project == 7 && (action == domain.ActJobRead || action == domain.ActProjectRead)
}

func (p *ports) Visible(_ context.Context, account domain.ID, action domain.Action) domain.ProjectSet {
	if p.Allowed(context.Background(), account, 7, action) {
		return domain.ProjectSet{IDs: []domain.ID{7}}
	}
	return domain.ProjectSet{}
}

func (p *ports) Known(a domain.Action) bool {
	return a == domain.ActJobRead || a == domain.ActJobWrite || a == domain.ActProjectRead
}

func (p *ports) set(revoked bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked, p.err = revoked, err
}

func (p *ports) Account(context.Context, domain.ID) (domain.Principal, error) {
	return domain.Principal{}, domain.Fail(domain.Unauthentic, "no accounts here")
}

func (p *ports) Bearer(_ context.Context, secret string) (domain.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return domain.Principal{}, p.err
	}
	if secret != "good" || p.revoked {
		return domain.Principal{}, domain.Fail(domain.Unauthentic, "no such token")
	}
	return domain.Principal{ID: 1, Name: "ann", Kind: domain.PrincipalToken, Language: p.language}, nil
}

func (p *ports) FindCtx(context.Context, string) ([]byte, bool, error) { return nil, false, nil }

func (p *ports) CommitCtx(context.Context, string, []byte, time.Time) error { return nil }

func (p *ports) DeleteCtx(context.Context, string) error { return nil }

func (p *ports) Once(ctx context.Context, _ idem.Key, effect func(context.Context) (idem.Answer, error)) (idem.Answer, bool, error) {
	a, err := effect(ctx)
	return a, false, err
}

func (p *ports) Denied(_ context.Context, project domain.ID, action domain.Action, object string) error {
	p.denied = append(p.denied, project.String()+" "+string(action)+" "+object)
	return nil
}

// logs collects what was logged.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type edge struct {
	ports  *ports
	router *httpx.Router
	log    *logs
	url    string
	outage atomic.Pointer[httpx.Outage]
}

func newEdge(t *testing.T, routes ...httpx.Route) *edge {
	t.Helper()
	return newEdgeOf(t, 0, routes...)
}

// newEdgeOf is an edge of some patience; 0 = as always.
func newEdgeOf(t *testing.T, patience time.Duration, routes ...httpx.Route) *edge {
	t.Helper()
	e := &edge{ports: &ports{}, log: &logs{}}
	var err error
	e.router, err = httpx.New(httpx.Options{Policy: e.ports, Identity: e.ports, Sessions: e.ports, Ledger: e.ports, Denials: e.ports,
		Log: slog.New(slog.NewJSONHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})), KeepAlive: 10 * time.Millisecond, Patience: patience, Outage: e.known, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.router.Add(routes...); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(e.router)
	t.Cleanup(srv.Close)
	e.url = srv.URL
	return e
}

// known is what is known of a store; nil: nothing is.
func (e *edge) known() httpx.Outage {
	if o := e.outage.Load(); o != nil {
		return *o
	}
	return httpx.Outage{}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (e *edge) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, e.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

type failure struct {
	Error struct {
		Kind, Message, Field, Hint, RequestID string
		Problems                              []map[string]any
	}
}

func (a answer) failure(t *testing.T) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(a.body), &f); err != nil {
		t.Fatalf("%d %q is no API error: %v", a.status, a.body, err)
	}
	return f
}

var bearer = []string{"Authorization", "Bearer good"}

func ok(c echo.Context) error { return c.String(http.StatusOK, "fine") }
