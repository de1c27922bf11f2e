package center

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
)

// TestEveryCallOfTheAPIIsDescribed holds the table of routes against the description
// that the server gives of itself.
func TestEveryCallOfTheAPIIsDescribed(t *testing.T) {
	db, err := dbx.Open(t.Context(), dbtest.SQLite(t), dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{o: Options{Config: config.Default()}, clock: &clock{wall: time.Now}, ids: ids, nudger: newNudger()}
	c := l.newCore(db)
	router, err := httpx.New(httpx.Options{Policy: c.policy, Identity: c.access, Sessions: c.sessions, Ledger: c.sessions, Denials: c.access})
	if err != nil {
		t.Fatal(err)
	}
	if err := router.Add(append(l.routes(c, time.UTC), router.Document())...); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range router.Routes() {
		if !strings.HasPrefix(r.Path, "/api/v1/") {
			continue
		}
		want = append(want, r.String())
		if r.Doc.Summary == "" {
			t.Errorf("%s does not say what it is for: give its route a Doc", r)
		}
	}
	w := httptest.NewRecorder()
	router.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 {
		t.Fatalf("%d %v", w.Code, err)
	}
	var got []string
	for path, methods := range doc.Paths {
		for method := range methods {
			got = append(got, strings.ToUpper(method)+" "+strings.NewReplacer("{", ":", "}", "").Replace(path))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 30 {
		t.Errorf("described are %v\nthere are %v", got, want)
	}
}
