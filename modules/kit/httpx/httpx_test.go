package httpx_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

func TestARouteCannotBeWithoutAPolicyCheck(t *testing.T) {
	e := newEdge(t)
	good := httpx.Route{Method: "GET", Path: "/a", Action: domain.ActJobRead, Handler: ok}
	for name, change := range map[string]func(*httpx.Route){
		"no action":            func(r *httpx.Route) { r.Action = "" },
		"misspelt action":      func(r *httpx.Route) { r.Action = "job.reed" },
		"no method":            func(r *httpx.Route) { r.Method = "" },
		"no path":              func(r *httpx.Route) { r.Path = "" },
		"no handler":           func(r *httpx.Route) { r.Handler = nil },
		"bare with an action":  func(r *httpx.Route) { r.Bare = true },
		"a creating GET":       func(r *httpx.Route) { r.Creating = true },
		"too long for the key": func(r *httpx.Route) { r.Path = "/" + strings.Repeat("a", 100) },
	} {
		r := good
		change(&r)
		if err := e.router.Add(good, r); err == nil {
			t.Errorf("%s: registered", name)
		}
		if n := len(e.router.Routes()); n != 0 {
			t.Fatalf("%s: %d routes are there after a refusal", name, n)
		}
	}
	if err := e.router.Add(good, good); err == nil {
		t.Error("registered twice at once")
	}
	if err := e.router.Add(good); err != nil {
		t.Fatal(err)
	}
	if err := e.router.Add(good); err == nil {
		t.Error("registered twice")
	}
	if got := e.router.Routes(); len(got) != 1 || got[0].Action != domain.ActJobRead {
		t.Errorf("the table reads %v", got)
	}
}

type later struct{ error }

func (later) RetryAfter() time.Duration { return 90 * time.Second }

func (l later) Unwrap() error { return l.error }

// fault is one of the database's that has a sentence of its own.
func fault(said, id string) error {
	return (&domain.Error{Kind: domain.Unavailable, Msg: said, Err: errors.New("x")}).Coded(id)
}

func TestErrorsBecomeHTTPOnce(t *testing.T) {
	cases := map[string]struct {
		err         error
		api, page   int
		kind, retry string
	}{
		"invalid":     {domain.Fail(domain.Invalid, "wrong").At("cron").WithHint("mend"), 400, 422, "invalid", ""},
		"not_found":   {domain.Fail(domain.NotFound, "wrong"), 404, 404, "not_found", ""},
		"conflict":    {domain.Fail(domain.Conflict, "wrong"), 409, 409, "conflict", ""},
		"exists":      {domain.Fail(domain.Exists, "wrong"), 409, 409, "exists", ""},
		"denied":      {domain.Fail(domain.Denied, "wrong"), 403, 403, "denied", ""},
		"throttled":   {later{domain.Fail(domain.Denied, "wrong")}, 429, 429, "denied", "90"},
		"unauthentic": {domain.Fail(domain.Unauthentic, "wrong"), 401, 303, "unauthentic", ""},
		"too_large":   {domain.Fail(domain.TooLarge, "wrong"), 413, 413, "too_large", ""},
		"unavailable": {&domain.Error{Kind: domain.Unavailable, Msg: "dial tcp 10.0.0.1", Err: errors.New("x")}, 503, 503, "unavailable", "5"},
		"refusing": {(&domain.Error{Kind: domain.Unavailable, Msg: "the database takes no writes: it is full", Err: errors.New("x")}).
			Coded("http.no_writes", "said", "it is full"), 503, 503, "unavailable", "5"},
		"locked":   {fault("what this needs in the database is locked by another transaction: Lock wait timeout exceeded", "http.locked"), 503, 503, "unavailable", "5"},
		"full":     {fault("the database takes no more connections: Too many connections", "http.database_full"), 503, 503, "unavailable", "5"},
		"killed":   {fault("somebody ended this in the database: Query execution was interrupted", "http.database_killed"), 503, 503, "unavailable", "5"},
		"internal": {errors.New("the secret reason"), 500, 500, "internal", ""},
		"wrapped":  {errors.Join(errors.New("while reading"), domain.Fail(domain.NotFound, "wrong")), 404, 404, "not_found", ""},
	}
	fail := func(c echo.Context) error { return cases[c.Param("case")].err }
	e := newEdge(t, httpx.Route{Method: "POST", Path: "/api/fail/:case", Action: httpx.Public, Handler: fail},
		httpx.Route{Method: "POST", Path: "/fail/:case", Action: httpx.Public, Handler: fail},
		httpx.Route{Method: "GET", Path: "/form", Action: httpx.Public, Handler: func(c echo.Context) error { return c.String(200, httpx.CSRF(c)) }})
	token := e.do(t, "GET", "/form", "")
	cookie := strings.Split(token.header.Get("Set-Cookie"), ";")[0]
	for name, c := range cases {
		a := e.do(t, "POST", "/api/fail/"+name, "", bearer...)
		f := a.failure(t)
		if a.status != c.api || f.Error.Kind != c.kind || a.header.Get("Retry-After") != c.retry || f.Error.RequestID != a.header.Get("X-Request-Id") || f.Error.RequestID == "" {
			t.Errorf("%s by API: %d %s %v", name, a.status, a.body, a.header)
		}
		if strings.Contains(a.body, "secret") || strings.Contains(a.body, "10.0.0.1") {
			t.Errorf("%s by API tells what it must not: %s", name, a.body)
		}
		p := e.do(t, "POST", "/fail/"+name, "csrf="+token.body, "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded")
		if p.status != c.page || strings.Contains(p.body, "secret") || strings.Contains(p.body, "10.0.0.1") || strings.Contains(p.body, "⟦") {
			t.Errorf("%s by page: %d %s", name, p.status, p.body)
		}
		if p.status != 303 && (!strings.Contains(p.body, "<html") || !strings.Contains(p.body, p.header.Get("X-Request-Id"))) {
			t.Errorf("%s by page has no page or no request id: %s", name, p.body)
		}
		h := e.do(t, "POST", "/fail/"+name, "csrf="+token.body, "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded", "HX-Request", "true", "HX-Current-URL", e.url+"/jobs?x=1")
		switch {
		case name == "unauthentic":
			if h.status != 200 || h.header.Get("HX-Redirect") != "/login?next=%2Fjobs%3Fx%3D1" {
				t.Errorf("%s by htmx: %d %v", name, h.status, h.header)
			}
		case h.status != c.page || strings.Contains(h.body, "<html") || !strings.Contains(h.body, `role="alert"`):
			t.Errorf("%s by htmx: %d %s", name, h.status, h.body)
		}
	}
	if f := e.do(t, "POST", "/api/fail/invalid", "", bearer...).failure(t); f.Error.Field != "cron" || f.Error.Hint != "mend" || f.Error.Message != "wrong" {
		t.Errorf("field and hint: %+v", f)
	}
	if f := e.do(t, "POST", "/api/fail/refusing", "", bearer...).failure(t); f.Error.Message != "the database takes no writes: it is full" {
		t.Errorf("a database that takes no writes: %+v", f)
	}
	// Each cause has its own sentence, for programs and for people in their language: one that holds a lock is not away.
	for name, says := range map[string][3]string{
		"locked": {"locked by another transaction: Lock wait timeout exceeded", "locked by another transaction", "被别的事务锁住"},
		"full":   {"the database takes no more connections: Too many connections", "takes no more connections", "连接已用完"},
		"killed": {"somebody ended this in the database: Query execution was interrupted", "Somebody ended this in the database", "在数据库中被人终止"},
	} {
		if f := e.do(t, "POST", "/api/fail/"+name, "", bearer...).failure(t); !strings.Contains(f.Error.Message, says[0]) || strings.Contains(f.Error.Message, "away") {
			t.Errorf("%s by API: %+v", name, f)
		}
		for i, lang := range []string{"en", "zh-CN"} {
			p := e.do(t, "POST", "/fail/"+name, "csrf="+token.body, "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded", "Accept-Language", lang)
			if !strings.Contains(p.body, says[i+1]) || strings.Contains(p.body, "is away") {
				t.Errorf("%s by page in %s: %s", name, lang, p.body)
			}
		}
	}
	if !strings.Contains(e.log.String(), "the secret reason") {
		t.Error("the log does not have the reason of a fault")
	}
}

func TestProblemsStandBesideTheError(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "POST", Path: "/api/x", Action: httpx.Public, Handler: func(echo.Context) error {
		return httpx.WithProblems(domain.Fail(domain.Invalid, "two problems"), []map[string]any{{"line": 3}, {"line": 4}})
	}})
	a := e.do(t, "POST", "/api/x", "", bearer...)
	if f := a.failure(t); a.status != 422 || len(f.Error.Problems) != 2 || f.Error.Problems[1]["line"] != 4.0 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestAPanicIsLoggedWithItsStackAndShownWithout(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/boom", Action: httpx.Public, Handler: func(echo.Context) error { panic("the secret reason") }},
		httpx.Route{Method: "GET", Path: "/half", Action: httpx.Public, Handler: func(c echo.Context) error {
			_ = c.String(200, strings.Repeat("half ", 1000))
			panic("too late")
		}})
	a := e.do(t, "GET", "/boom", "")
	id := a.header.Get("X-Request-Id")
	if a.status != 500 || strings.Contains(a.body, "secret") || strings.Contains(a.body, "goroutine") || !strings.Contains(a.body, id) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if log := e.log.String(); !strings.Contains(log, "the secret reason") || !strings.Contains(log, "httpx_test.go") || !strings.Contains(log, id) {
		t.Errorf("log: %s", log)
	}
	res, err := http.Get(e.url + "/half")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks like a whole one")
	}
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/a", Action: httpx.Public, Handler: ok})
	for _, path := range []string{"/a", "/nosuch", "/api/nosuch"} {
		a := e.do(t, "GET", path, "")
		for name, part := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
			if !strings.HasPrefix(a.header.Get(name), part) {
				t.Errorf("%s: %s = %q", path, name, a.header.Get(name))
			}
		}
		if csp := a.header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
		if path == "/api/nosuch" && a.failure(t).Error.Kind != "not_found" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := e.do(t, "GET", "/a", "", "X-Forwarded-Proto", "https"); a.header.Get("Strict-Transport-Security") == "" {
		t.Error("no HSTS behind a TLS proxy")
	}
	if a := e.do(t, "GET", "/a", ""); a.header.Get("Strict-Transport-Security") != "" {
		t.Error("HSTS without TLS")
	}
	if a := e.do(t, "HEAD", "/a", ""); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d", a.status)
	}
	if a := e.do(t, "DELETE", "/a", ""); a.status != 405 {
		t.Errorf("a method that the path lacks: %d", a.status)
	}
}

func TestCookiesAreSecureBehindTLSOnly(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/form", Action: httpx.Public, Handler: func(c echo.Context) error { return c.String(200, httpx.CSRF(c)) }})
	plain, tls := e.do(t, "GET", "/form", "").header.Get("Set-Cookie"), e.do(t, "GET", "/form", "", "X-Forwarded-Proto", "https").header.Get("Set-Cookie")
	if strings.Contains(plain, "Secure") || !strings.Contains(plain, "HttpOnly") || !strings.Contains(plain, "SameSite=Lax") {
		t.Errorf("plain: %s", plain)
	}
	if !strings.Contains(tls, "Secure") {
		t.Errorf("behind TLS: %s", tls)
	}
}

func TestTheRemoteAddressBelievesTrustedProxiesOnly(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/who", Action: httpx.Public, Handler: func(c echo.Context) error {
		return c.String(200, domain.OriginOf(c.Request().Context()).Remote)
	}})
	for header, want := range map[string]string{"": "127.0.0.1", "203.0.113.9": "203.0.113.9", "1.1.1.1, 203.0.113.9": "203.0.113.9", "203.0.113.9, 127.0.0.1": "203.0.113.9", "junk": "127.0.0.1"} {
		if a := e.do(t, "GET", "/who", "", "X-Forwarded-For", header); a.body != want {
			t.Errorf("%q: %s, want %s", header, a.body, want)
		}
	}
}

func TestAllowHidesForeignProjectsAndRecordsRefusals(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "POST", Path: "/api/p/:project", Action: domain.ActJobRead, Handler: func(c echo.Context) error {
		project, _ := domain.ParseID(c.Param("project"))
		return httpx.Allow(c.Request().Context(), project, domain.ActJobWrite)
	}}, httpx.Route{Method: "POST", Path: "/api/route", Action: domain.ActJobWrite, Handler: ok})
	for path, want := range map[string]int{"/api/p/7": 403, "/api/p/8": 404, "/api/p/0": 403, "/api/route": 403} {
		if a := e.do(t, "POST", path, "", bearer...); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if len(e.ports.denied) != 4 {
		t.Errorf("recorded: %q", e.ports.denied)
	}
	if err := httpx.Allow(context.Background(), 7, domain.ActJobRead); !domain.Is(err, domain.Unauthentic) {
		t.Errorf("outside of a request: %v", err)
	}
}

func TestTheLanguageIsPicked(t *testing.T) {
	e := newEdge(t)
	for _, c := range []struct{ header, cookie, want string }{
		{"", "", `lang="en"`}, {"zh", "", `lang="zh-CN"`}, {"zh-CN,en;q=0.5", "ax_lang=en", `lang="en"`}, {"en", "ax_lang=zh-CN", `lang="zh-CN"`}, {"en", "ax_lang=junk", `lang="en"`},
	} {
		if a := e.do(t, "GET", "/nosuch", "", "Accept-Language", c.header, "Cookie", c.cookie); a.status != 404 || !strings.Contains(a.body, c.want) {
			t.Errorf("%+v: %d %.200s", c, a.status, a.body)
		}
	}
}

func TestAProgramIsAnsweredInTheLanguageOfItsCall(t *testing.T) {
	say := func(c echo.Context) error { return c.String(200, i18n.Lang(c.Request().Context())) }
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/api/x", Action: httpx.AnyAccount, Handler: say}, httpx.Route{Method: "GET", Path: "/x", Action: httpx.AnyAccount, Handler: say})
	e.ports.language = "zh-CN" // what the account chose for pages
	for _, c := range []struct{ path, header, want string }{
		{"/api/x", "", "en"}, {"/api/x", "zh", "zh-CN"}, {"/api/x", "fr", "en"}, {"/x", "en", "zh-CN"},
	} {
		if a := e.do(t, "GET", c.path, "", "Authorization", "Bearer good", "Accept-Language", c.header, "Cookie", "ax_lang=zh-CN"); a.status != 200 || a.body != c.want {
			t.Errorf("%+v: %d %s", c, a.status, a.body)
		}
	}
}

func TestTheAccessLogNamesTheRequestAndNoSecret(t *testing.T) {
	e := newEdge(t, httpx.Route{Method: "GET", Path: "/setup", Action: httpx.Public, Handler: ok})
	a := e.do(t, "GET", "/setup?token=ax_HIDDEN", "", bearer...)
	log := e.log.String()
	for _, part := range []string{`"path":"/setup"`, `"status":200`, `"who":"ann"`, `"kind":"token"`, `"remote":"127.0.0.1"`, a.header.Get("X-Request-Id")} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %s: %s", part, log)
		}
	}
	if strings.Contains(log, "HIDDEN") || strings.Contains(log, "good") {
		t.Errorf("the log holds a secret: %s", log)
	}
}

func TestTheNavigationShowsWhatTheReaderMaySee(t *testing.T) {
	var shown []string
	ports := &ports{}
	r, err := httpx.New(httpx.Options{Policy: ports, Identity: ports, Sessions: ports, Ledger: ports, Denials: ports, Nav: []httpx.NavEntry{
		{Page: "jobs", URL: "/jobs", Action: domain.ActJobRead}, {Page: "audit", URL: "/audit", Action: domain.ActAuditRead}}})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Add(httpx.Route{Method: "GET", Path: "/a", Action: httpx.AnyAccount, Handler: func(c echo.Context) error {
		for _, n := range httpx.Shell(c).Nav {
			shown = append(shown, n.Page)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/a", nil)
	req.Header.Set("Authorization", "Bearer good")
	r.ServeHTTP(httptest.NewRecorder(), req)
	if len(shown) != 1 || shown[0] != "jobs" {
		t.Errorf("shown: %v", shown)
	}
}
