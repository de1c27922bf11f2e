package center

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Whoever lacks the token is answered as for any unknown path of that process: by the pages where it has them (a
// bearer that they do not know is 401 there, whatever the path), else by the words that there are none.
func TestTheProfilerOfACenterAnswersItsTokenOnly(t *testing.T) {
	const token = "0123456789abcdef"
	db, err := dbx.Open(t.Context(), dbtest.SQLite(t), dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s *site, path, bearer string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r)
		return w
	}
	for _, mode := range config.Modes() {
		for _, configured := range []config.Secret{"", token} {
			o := Options{Config: config.Default()}
			o.Config.Mode, o.Config.PprofToken = mode, configured
			s := newSite(o)
			if mode.Carries(config.ModeWeb) {
				l := &life{o: o, ids: ids, nudger: newNudger()}
				c := l.newCore(db)
				pages, err := httpx.New(httpx.Options{Policy: c.policy, Identity: c.access, Sessions: c.sessions, Ledger: c.sessions, Denials: c.access})
				if err != nil {
					t.Fatal(err)
				}
				s.up(l, pages)
			}
			for _, bearer := range []string{"", "0123456789abcdeX", token} {
				got, unknown := ask(s, "/debug/pprof/heap?debug=1", bearer), ask(s, "/debug/nonesuch/heap?debug=1", bearer)
				if configured != "" && bearer == token {
					if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), "heap profile") {
						t.Errorf("mode %s: the token gets %d %.100q", mode, got.Code, got.Body)
					}
					continue
				}
				if got.Code != unknown.Code || got.Code < 400 || strings.Contains(got.Body.String(), "heap profile") {
					t.Errorf("mode %s, configured %t: bearer %q gets %d, an unknown path gets %d", mode, configured != "", bearer, got.Code, unknown.Code)
				}
				if mode.Carries(config.ModeWeb) && bearer == "" && got.Code != http.StatusNotFound {
					t.Errorf("mode %s, configured %t: without a token it is %d, want 404", mode, configured != "", got.Code)
				}
			}
		}
	}
}
