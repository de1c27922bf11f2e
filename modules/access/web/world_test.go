package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/access/policy"
	"github.com/axsched/ax/modules/access/store"
	"github.com/axsched/ax/modules/access/web"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
)

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is the whole of access behind a real server, with one creating route that
// stands for another module's.
type world struct {
	t      *testing.T
	db     *dbx.DB
	access *access.Access
	router *httpx.Router
	clock  *clock
	server *httptest.Server
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newWorld(t, url)) })
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{at: time.Now().UTC().Truncate(time.Millisecond)}
	ids, err := domain.NewIDs(1, c.now)
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(db, c.now, 0)
	pol := policy.New(st, c.now)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	acc := access.New(access.Options{Store: st, Rights: pol, IDs: ids.Next, Now: c.now, Log: quiet})
	router, err := httpx.New(httpx.Options{Policy: pol, Identity: acc, Sessions: st, Ledger: st, Denials: acc, Now: c.now, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, access: acc, router: router, clock: c}
	if err := router.Add((&web.Handlers{Access: acc}).Routes()...); err != nil {
		t.Fatal(err)
	}
	if err := router.Add(w.otherModule()...); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(router)
	t.Cleanup(func() {
		w.server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// otherModule is what a module round jobs would register. Its effect is a row of
// the graph table's counter, so that a test can count how often it ran.
func (w *world) otherModule() []httpx.Route {
	effect := func(c echo.Context) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			p, err := w.access.ProjectByName(ctx, c.Param("project"))
			if err != nil {
				return err
			}
			if err := httpx.Allow(ctx, p.ID, domain.ActJobWrite); err != nil {
				return err
			}
			_, err = w.db.Exec(ctx, "UPDATE graph SET ver = ver + 1 WHERE id = 1")
			if err == nil && c.QueryParam("fail") != "" {
				err = domain.Fail(domain.Conflict, "asked to fail")
			}
			return err
		}
	}
	return []httpx.Route{
		{Method: "POST", Path: "/api/v1/things/:project", Action: domain.ActJobWrite, Creating: true, Handler: func(c echo.Context) error {
			return httpx.Once(c, func(ctx context.Context) (int, any, error) {
				return http.StatusCreated, map[string]string{"thing": "made"}, effect(c)(ctx)
			})
		}},
		{Method: "POST", Path: "/things/:project", Action: domain.ActJobWrite, Creating: true, Handler: func(c echo.Context) error {
			return httpx.OnceForm(c, func(ctx context.Context) (string, error) { return "/things", effect(c)(ctx) })
		}},
		{Method: "GET", Path: "/things", Action: domain.ActJobRead, Handler: func(c echo.Context) error { return c.String(200, "things") }},
		{Method: "GET", Path: "/boom", Action: domain.ActJobRead, Handler: func(echo.Context) error { panic("the secret reason") }},
	}
}

func (w *world) effects() int {
	w.t.Helper()
	var n int
	if err := w.db.Scan(w.t.Context(), &n, "SELECT ver FROM graph WHERE id = 1"); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// firstStart makes the admin "admin" with a password and an API token.
func (w *world) firstStart() {
	w.t.Helper()
	secret, err := w.access.Start(w.t.Context(), access.FirstStart{AdminPassword: adminPassword, BootstrapToken: adminToken})
	if err != nil || secret != "" {
		w.t.Fatalf("first start: set-up link %q, error %v", secret, err)
	}
}

const (
	adminPassword = "correct horse"
	adminToken    = "0123456789abcdef0123456789abcdef"
)

// as makes an account with a role and returns a token of it.
func (w *world) as(name string, role access.Role, project string) string {
	w.t.Helper()
	ctx := domain.WithPrincipal(w.t.Context(), domain.Principal{Name: "test", Kind: domain.PrincipalSystem})
	acc, err := w.access.CreateAccount(ctx, name, "password of "+name)
	if err != nil {
		w.t.Fatal(err)
	}
	if role != "" {
		if err := w.access.Grant(ctx, name, project, role); err != nil {
			w.t.Fatal(err)
		}
	}
	_, secret, err := w.access.CreateToken(domain.WithPrincipal(ctx, domain.Principal{ID: acc.ID, Name: name, Kind: domain.PrincipalUser}), "test", time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func (w *world) project(name string) {
	w.t.Helper()
	ctx := domain.WithPrincipal(w.t.Context(), domain.Principal{Name: "test", Kind: domain.PrincipalSystem})
	if _, err := w.access.EnsureProject(ctx, name); err != nil {
		w.t.Fatal(err)
	}
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("not JSON: %v in %q", err, a.body)
	}
	return m
}

// problem is the kind of an API error.
func (a answer) problem(t *testing.T) string {
	t.Helper()
	e, _ := a.json(t)["error"].(map[string]any)
	kind, _ := e["kind"].(string)
	if message, _ := e["message"].(string); message == "" {
		t.Errorf("the error says nothing: %s", a.body)
	}
	return kind
}

// api calls with a bearer token and header pairs.
func (w *world) api(token, method, path, body string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(w.t, &http.Client{}, req)
}

func do(t *testing.T, c *http.Client, req *http.Request) answer {
	t.Helper()
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

// browser keeps cookies and follows no redirects.
type browser struct {
	w *world
	c *http.Client
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return &browser{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *browser) get(path string, headers ...string) answer {
	b.w.t.Helper()
	req, err := http.NewRequestWithContext(b.w.t.Context(), "GET", b.w.server.URL+path, nil)
	if err != nil {
		b.w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(b.w.t, b.c, req)
}

// post sends a form as it is; fields come in pairs.
func (b *browser) post(path string, fields []string, headers ...string) answer {
	b.w.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	req, err := http.NewRequestWithContext(b.w.t.Context(), "POST", b.w.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(b.w.t, b.c, req)
}

var csrfInput = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf reads the token out of a page.
func (b *browser) csrf(path string) string {
	b.w.t.Helper()
	page := b.get(path)
	m := csrfInput.FindStringSubmatch(page.body)
	if m == nil {
		b.w.t.Fatalf("no token in %s (%d): %s", path, page.status, page.body)
	}
	return m[1]
}

// submit posts a form with a token taken from page.
func (b *browser) submit(page, path string, fields ...string) answer {
	b.w.t.Helper()
	return b.post(path, append(fields, "csrf", b.csrf(page)))
}

// login logs in and fails the test if that does not work.
func (b *browser) login(name, password string) {
	b.w.t.Helper()
	if a := b.submit("/login", "/login", "name", name, "password", password, "next", "/things"); a.status != 303 || a.header.Get("Location") != "/things" {
		b.w.t.Fatalf("login: %d %s %s", a.status, a.header.Get("Location"), a.body)
	}
}

// trail is the audit trail, oldest first, as "action object allowed".
func (w *world) trail() []access.AuditRow {
	w.t.Helper()
	rows, err := w.access.Audit(w.t.Context(), access.AuditQuery{Projects: domain.ProjectSet{All: true}, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}
