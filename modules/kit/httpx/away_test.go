package httpx_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/kit/httpx"
)

func TestAProcessWithoutPagesSaysSo(t *testing.T) {
	away := httpx.Away("the database is away")
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
		{"GET", "/api/v1/jobs", nil, `"message":"the database is away"`},
		{"GET", "/jobs", bearer, `"kind":"unavailable"`},
	} {
		w := ask(c.method, c.path, c.headers...)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), c.words) || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%+v: %d %v %s", c, w.Code, w.Header(), w.Body)
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
