package scenarios

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
)

// reader is a browser that somebody has logged in with. Safe for concurrent use.
type reader struct {
	t   *testing.T
	url string
	c   *http.Client
}

// seen is what a reader got.
type seen struct {
	Status     int
	RetryAfter string
	Body       string
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// login is the admin's browser.
func login(t *testing.T, base string) *reader {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t, base, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	m := csrfField.FindStringSubmatch(r.get("/login", "en").Body)
	if m == nil {
		t.Fatal("the login page has no token")
	}
	form := url.Values{"name": {"admin"}, "password": {setup.AdminPassword}, "csrf": {m[1]}}
	if a := r.do(http.MethodPost, "/login", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); a.Status != http.StatusSeeOther {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return r
}

// get asks for a page, which must be answered in time whatever it says.
func (r *reader) get(path, lang string) seen {
	r.t.Helper()
	return r.do(http.MethodGet, path, "", "Accept-Language", lang)
}

// patient asks for a page of which nothing is expected; 1 if the database did not answer it.
func (r *reader) patient(path string) int {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.t.Context()), http.MethodGet, r.url+path, nil)
	if err != nil {
		return 0
	}
	resp, err := r.c.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode == http.StatusServiceUnavailable {
		return 1
	}
	return 0
}

func (r *reader) do(method, path, body string, headers ...string) seen {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	began := time.Now()
	resp, err := r.c.Do(req)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, path, err)
		return seen{Body: fmt.Sprint(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, path, err)
	}
	if took := time.Since(began); took > answerWithin {
		r.t.Errorf("%s %s took %s: %d", method, path, took.Round(time.Millisecond), resp.StatusCode)
	}
	return seen{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)}
}
