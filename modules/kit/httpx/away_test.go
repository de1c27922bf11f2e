package httpx_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/kit/httpx"
)

func TestAProcessWithoutPagesSaysSo(t *testing.T) {
	var outage httpx.Outage
	away := httpx.Away(func() httpx.Outage { return outage })
	ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		away.ServeHTTP(w, req)
		return w
	}
	for _, c := range []struct {
		method, path string
		headers      []string
		words        string
	}{
		{"GET", "/", []string{"Accept-Language", "zh-CN"}, "暂时不可用"},
		{"GET", "/jobs?x=1", []string{"Accept-Language", "en"}, "Not available right now"},
		{"GET", "/jobs", []string{"Cookie", "ax_lang=zh-CN"}, "暂时不可用"},
		{"POST", "/jobs", nil, "Not available right now"},
		{"POST", "/jobs", []string{"HX-Request", "true"}, `role="alert"`},
		{"GET", "/api/v1/jobs", nil, `"message":"AX is starting`},
		{"GET", "/jobs", bearer, `"kind":"unavailable"`},
	} {
		w := ask(c.method, c.path, c.headers...)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), c.words) || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%+v: %d %v %s", c, w.Code, w.Header(), w.Body)
		}
	}
	outage = httpx.Outage{Store: "database", Since: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
	for _, c := range []struct {
		path, lang string
		says       []string
	}{
		{"/api/v1/jobs", "en", []string{`"store":"database","since":"2026-02-03T04:05:06Z"`, "the database has not answered since 2026-02-03T04:05:06Z; nothing is lost"}},
		{"/jobs", "en", []string{"The database has not answered since 2026-02-03 04:05:06 UTC", "Nothing is lost"}},
		{"/jobs", "zh-CN", []string{"数据库自 2026-02-03 04:05:06 UTC 起没有应答", "不会丢失"}},
	} {
		w := ask("GET", c.path, "Accept-Language", c.lang)
		for _, words := range c.says {
			if !strings.Contains(w.Body.String(), words) {
				t.Errorf("%s in %s does not say %q: %s", c.path, c.lang, words, w.Body)
			}
		}
	}
	css := regexp.MustCompile(`href="(/static/[^"]+\.css)"`).FindStringSubmatch(ask("GET", "/").Body.String())
	if css == nil {
		t.Fatal("the page names no style sheet")
	}
	if w := ask("GET", css[1]); w.Code != http.StatusOK || w.Body.Len() == 0 {
		t.Errorf("%s: %d", css[1], w.Code)
	}
}
