package worker_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/axsched/ax/worker"
)

// Readiness does not wait for a silence to call the registry away: it asks it, beside the Redis of the work.
func TestReadinessAsksTheRegistryToo(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		work, registry := redisServer(t), redisServer(t)
		apart := dial(t, work.URL)
		apart.Registry = dial(t, registry.URL).Registry
		one := start(t, dial(t, work.URL), worker.Config{Name: "one"})
		two := start(t, apart, worker.Config{Name: "two"})
		ready := func(n *node) (r worker.Readiness) {
			t.Helper()
			w := httptest.NewRecorder()
			n.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || r.Ready != (w.Code == http.StatusOK) || r.Ready != (r.Error == "") {
				t.Fatalf("%d %s: %v", w.Code, w.Body, err)
			}
			return r
		}
		for _, n := range []*node{one, two} {
			if r := ready(n); !r.Parts["redis"].OK || !r.Parts["registry"].OK {
				t.Errorf("of %s, with all there: %+v", n.name, r.Parts)
			}
		}
		kill := func(kill func() error) {
			t.Helper()
			if err := kill(); err != nil {
				t.Fatal(err)
			}
		}
		kill(registry.Kill)
		if r := ready(two); r.Ready || !r.Parts["redis"].OK || r.Parts["registry"].OK || r.Parts["registry"].Note == "" {
			t.Errorf("without its registry: %+v", r)
		}
		if r := ready(one); !r.Parts["registry"].OK {
			t.Errorf("with another's registry gone: %+v", r)
		}
		kill(work.Kill)
		for _, n := range []*node{one, two} {
			if r := ready(n); r.Ready || r.Parts["redis"].OK || r.Parts["registry"].OK {
				t.Errorf("of %s, with nothing there: %+v", n.name, r)
			}
		}
	})
}
