package httpx_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// A store that hangs costs a reader the patience and no more, and the answer says what is the matter in the reader's
// language, with when to try again.
func TestAHangingPageIsAnsweredInTime(t *testing.T) {
	hang := func(c echo.Context) error {
		<-c.Request().Context().Done()
		return c.Request().Context().Err() // as a driver says it
	}
	away := func(c echo.Context) error { // the store's own patience ends a moment after the reader's
		<-c.Request().Context().Done()
		return &domain.Error{Kind: domain.Unavailable, Msg: "away", Err: io.EOF}
	}
	e := newEdgeOf(t, 100*time.Millisecond,
		httpx.Route{Method: "GET", Path: "/hang", Action: httpx.Public, Handler: hang},
		httpx.Route{Method: "GET", Path: "/away", Action: httpx.Public, Handler: away},
		httpx.Route{Method: "GET", Path: "/api/v1/hang", Action: domain.ActJobRead, Handler: hang})
	for _, c := range []struct{ path, lang, htmx, words string }{
		{"/api/v1/hang", "en", "", "the database is away or does not answer in time"},
		{"/hang", "en", "", "Not available right now"},
		{"/hang", "zh-CN", "", "暂时不可用"},
		{"/hang", "en", "true", "The database is away or does not answer in time"},
		{"/away", "zh-CN", "", "暂时不可用"},
	} {
		headers := []string{"Accept-Language", c.lang}
		if strings.HasPrefix(c.path, "/api/") {
			headers = append(headers, bearer...)
		}
		if c.htmx != "" {
			headers = append(headers, "HX-Request", c.htmx)
		}
		began := time.Now()
		a := e.do(t, http.MethodGet, c.path, "", headers...)
		if took := time.Since(began); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || !strings.Contains(a.body, c.words) || took > 2*time.Second {
			t.Errorf("%+v: after %s %d, Retry-After %q: %s", c, took, a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	// Where others hold locks it is not away, and is not called so.
	e.outage.Store(&httpx.Outage{Store: "database", Locked: true})
	for path, words := range map[string]string{"/api/v1/hang": "is locked by another transaction", "/hang": "被别的事务锁住"} {
		headers := []string{"Accept-Language", "zh-CN"}
		if strings.HasPrefix(path, "/api/") {
			headers = bearer
		}
		if a := e.do(t, http.MethodGet, path, "", headers...); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, words) || strings.Contains(a.body, "away") || strings.Contains(a.body, `"store"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// What changes something may take longer than what only looks: a file of many jobs is no hanging page.
func TestAChangeMayTakeLonger(t *testing.T) {
	const patience = 100 * time.Millisecond
	e := newEdgeOf(t, patience,
		httpx.Route{Method: "POST", Path: "/api/v1/slow", Action: domain.ActJobRead, Handler: func(c echo.Context) error {
			select {
			case <-c.Request().Context().Done():
				return c.Request().Context().Err()
			case <-time.After(3 * patience):
				return c.String(http.StatusOK, "done")
			}
		}})
	if a := e.do(t, http.MethodPost, "/api/v1/slow", "{}", append([]string{"Content-Type", "application/json"}, bearer...)...); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}
