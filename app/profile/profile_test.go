package profile

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Only the bearer of the token reaches the profiler; every other answer is that of an unknown path, header and body.
func TestOnlyTheBearerReachesTheProfiler(t *testing.T) {
	const token = "0123456789abcdef"
	next := http.NotFoundHandler()
	for _, c := range []struct {
		name, token, path, header string
		code                      int
		body                      string
	}{
		{"the index", token, Path, "Bearer " + token, 200, "goroutine"},
		{"the scheme in any case", token, Path, "bearer " + token, 200, "goroutine"},
		{"a named profile", token, Path + "heap?debug=1", "Bearer " + token, 200, "heap profile"},
		{"all goroutines", token, Path + "goroutine?debug=2", "Bearer " + token, 200, "TestOnlyTheBearer"},
		{"a CPU profile", token, Path + "profile?seconds=1", "Bearer " + token, 200, "\x1f\x8b"},
		{"a trace", token, Path + "trace?seconds=0.1", "Bearer " + token, 200, "go 1."},
		{"the command line", token, Path + "cmdline", "Bearer " + token, 200, "test"},
		{"no such profile", token, Path + "nonesuch", "Bearer " + token, 404, "Unknown profile"},
		{"no token", token, Path, "", 404, "404 page not found"},
		{"a wrong token", token, Path + "heap", "Bearer 0123456789abcdeX", 404, "404 page not found"},
		{"a part of it", token, Path, "Bearer 0123456789abcde", 404, "404 page not found"},
		{"another scheme", token, Path, "Basic " + token, 404, "404 page not found"},
		{"nothing configured, nothing borne", "", Path, "Bearer ", 404, "404 page not found"},
		{"nothing configured", "", Path, "Bearer " + token, 404, "404 page not found"},
		{"another path", token, "/", "Bearer " + token, 404, "404 page not found"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		Behind(c.token, next).ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %.200q, want %d with %q", c.name, w.Code, w.Body, c.code, c.body)
		}
	}
}
