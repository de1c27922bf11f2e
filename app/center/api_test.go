package center

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/config"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
)

// served is the whole API over an empty database, called with an admin's token.
func served(t *testing.T) func(method, path, body string) (int, string) {
	t.Helper()
	db, err := dbx.Open(t.Context(), dbtest.SQLite(t), dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	ids, err := domain.NewIDs(1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const token = "axt_0123456789abcdef0123456789abcdef"
	l := &life{o: Options{Config: config.Default()}, clock: &clock{wall: time.Now}, ids: ids, nudger: newNudger()}
	c := l.newCore(db)
	if _, err := c.access.Start(t.Context(), access.FirstStart{AdminPassword: "a long enough password", BootstrapToken: token}); err != nil {
		t.Fatal(err)
	}
	router, err := httpx.New(httpx.Options{Policy: c.policy, Identity: c.access, Sessions: c.sessions, Ledger: c.sessions, Denials: c.access})
	if err != nil {
		t.Fatal(err)
	}
	if err := router.Add(append(l.routes(c, time.UTC), router.Document())...); err != nil {
		t.Fatal(err)
	}
	return func(method, path, body string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
}

func applyJobs(t *testing.T, call func(method, path, body string) (int, string), names ...string) {
	t.Helper()
	type file struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	var files []file
	for _, name := range names {
		project, job, _ := strings.Cut(name, "/")
		files = append(files, file{job + ".yaml", "version: v1\njob:\n  project: " + project + "\n  name: " + job + "\n  exec: {type: shell, command: 'true'}\n"})
	}
	body, err := json.Marshal(map[string]any{"files": files})
	if err != nil {
		t.Fatal(err)
	}
	if code, text := call("POST", "/api/v1/apply", string(body)); code != http.StatusOK {
		t.Fatalf("apply: %d %s", code, text)
	}
}

// The calls that docs/api.md shows work as they stand there, and the same with a plain slash are refused with the remedy.
func TestTheNamesInThePathsOfTheManual(t *testing.T) {
	call := served(t)
	applyJobs(t, call, "default/order_stat_daily", "pay/order_stat_daily", "pay/订单")
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^(GET|POST) +(/api/v1/jobs/\S+)(?: +# (\{.*\}))?`).FindAllStringSubmatch(string(page), -1)
	if len(shown) != 7 {
		t.Fatalf("the examples of docs/api.md were not found: %q", shown)
	}
	for _, s := range shown {
		method, path, body := s[1], s[2], s[3]
		for _, same := range []string{path, strings.ReplaceAll(path, "%2F", "%2f")} {
			code, text := call(method, same, body)
			if code != http.StatusOK && code != http.StatusCreated {
				t.Errorf("%s %s: %d %s", method, same, code, text)
			}
			if strings.Contains(path, "pay%2F") && method == "GET" && !strings.Contains(text, `"pay/`) {
				t.Errorf("%s names another job: %s", same, text)
			}
		}
		if plain := strings.ReplaceAll(path, "%2F", "/"); plain != path {
			if code, text := call(method, plain, body); code != http.StatusNotFound && code != http.StatusMethodNotAllowed || !strings.Contains(text, "%2F") {
				t.Errorf("%s %s: %d %s", method, plain, code, text)
			}
		}
	}
	if code, _ := call("GET", "/api/v1/jobs/pay%252Forder_stat_daily", ""); code != http.StatusNotFound {
		t.Errorf("encoded twice: %d", code)
	}
}

// Each call whose path names something of a project says how, in the description too.
func TestTheDescriptionSaysHowNamesStandInPaths(t *testing.T) {
	_, text := served(t)("GET", "/api/v1/openapi.json", "")
	var doc struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In, Description string
				Examples              map[string]struct{ Value string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			for _, p := range op.Parameters {
				if p.In != "path" || p.Name != "job" && p.Name != "calendar" && p.Name != "pool" {
					continue
				}
				if found[p.Name]++; !strings.Contains(p.Description, "%2F") || len(p.Examples) != 2 {
					t.Errorf("%s %s: %+v", method, path, p)
				}
			}
		}
	}
	if found["job"] < 6 || found["calendar"] < 2 || found["pool"] < 3 || !strings.Contains(doc.Info.Description, "/api/v1/jobs/pay%2Forder_stat_daily") {
		t.Errorf("found %v; %s", found, doc.Info.Description)
	}
}
