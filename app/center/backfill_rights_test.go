package center

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// asker calls the API of a bench as accounts of several roles in the default project.
type asker struct {
	*past
	router *httpx.Router
	tokens map[access.Role]string
}

func newAsker(p *past) *asker {
	p.t.Helper()
	router, err := httpx.New(httpx.Options{Policy: p.policy, Identity: p.access, Sessions: p.sessions, Ledger: p.sessions, Denials: p.access})
	p.must(err)
	l := &life{clock: &clock{wall: time.Now}, nudger: newNudger()}
	p.must(router.Add(l.routes(p.core, time.UTC)...))
	a := &asker{past: p, router: router, tokens: map[access.Role]string{}}
	for _, role := range access.Roles {
		acc, err := p.access.CreateAccount(p.ctx, "a_"+string(role), "a long pass phrase of "+string(role))
		p.must(err)
		p.must(p.access.Grant(p.ctx, acc.Name, domain.DefaultProject, role))
		ctx := domain.WithPrincipal(p.ctx, domain.Principal{ID: acc.ID, Name: acc.Name, Kind: domain.PrincipalUser})
		_, secret, err := p.access.CreateToken(ctx, "t", time.Time{})
		p.must(err)
		a.tokens[role] = secret
	}
	return a
}

func (a *asker) call(role access.Role, method, path, body string) (int, map[string]any) {
	a.t.Helper()
	req := httptest.NewRequestWithContext(context.WithoutCancel(a.ctx), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+a.tokens[role])
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	a.router.ServeHTTP(rec, req)
	var doc map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		a.t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	return rec.Code, doc
}

// J-E15: what re-executes a success is an admin's on this road too; what failed is an operator's, what is missing an
// editor's. Everybody may look at what would run.
func TestWhoMayBackfill(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files(daily)
		p.run(p.start(p.ask("daily", "2026-03-01", "2026-03-01")).ID, nil)
		p.run(p.start(p.ask("daily", "2026-03-02", "2026-03-02")).ID, func(domain.Instance) domain.Outcome { return domain.OutcomeError })
		a := newAsker(p)
		for wanted, may := range map[string][]access.Role{
			"failed":  {access.Operator, access.Editor, access.Admin},
			"missing": {access.Editor, access.Admin},
			"all":     {access.Admin},
		} {
			for _, role := range access.Roles {
				ask := `"job":"daily","from":"2026-03-01","to":"2026-03-03","wanted":"` + wanted + `"`
				status, v := a.call(role, http.MethodPost, "/api/v1/backfills/preview", "{"+ask+"}")
				if status != 200 || v["runs"].(float64) == 0 {
					t.Fatalf("%s looks at %s: %d %v", role, wanted, status, v)
				}
				want := http.StatusForbidden
				for _, r := range may {
					if r == role {
						want = http.StatusConflict // the right is there; the hash is not that of the list
					}
				}
				if status, v = a.call(role, http.MethodPost, "/api/v1/backfills", "{"+ask+`,"hash":"x"}`); status != want {
					t.Errorf("%s starts %s: %d %v, want %d", role, wanted, status, v, want)
				}
			}
		}
		b := p.start(p.ask("daily", "2026-04-01", "2026-04-03"))
		path := "/api/v1/backfills/" + b.ID.String()
		for _, role := range []access.Role{access.Viewer, access.Approver} {
			for _, verb := range []string{"/pause", "/resume", "/stop"} {
				if status, _ := a.call(role, http.MethodPost, path+verb, ""); status != http.StatusForbidden {
					t.Errorf("%s%s: %d", role, verb, status)
				}
			}
			if status, doc := a.call(role, http.MethodGet, path, ""); status != 200 || doc["state"] != "running" {
				t.Errorf("%s looks: %d %v", role, status, doc)
			}
		}
		if status, doc := a.call(access.Operator, http.MethodPost, path+"/pause", `{"reason":"month end"}`); status != 200 || doc["state"] != "paused" || doc["pauseBy"] != "a_operator" {
			t.Errorf("%d %v", status, doc)
		}
	})
}

// Nobody learns of a backfill, or of a job, of a project in which he has no role.
func TestBackfillsOfOtherProjects(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files("  project: other\n"+strings.Replace(daily, "daily", "secret", 1)+"  deps:\n    - name: default/daily\n", daily)
		b := p.start(p.ask("other/secret", "2026-03-01", "2026-03-01"))
		a := newAsker(p)
		for _, call := range [][2]string{{"POST", "/api/v1/backfills/preview"}, {"GET", "/api/v1/backfills/" + b.ID.String()}, {"GET", "/api/v1/backfills/" + b.ID.String() + "/items"},
			{"POST", "/api/v1/backfills/" + b.ID.String() + "/stop"}, {"GET", "/api/v1/backfills?job=other/secret"}, {"GET", "/api/v1/missed?job=other/secret"}, {"GET", "/api/v1/jobs/other%2Fsecret/pause"}} {
			body := ""
			if call[0] == "POST" && strings.HasSuffix(call[1], "preview") {
				body = `{"job":"other/secret","from":"2026-03-01"}`
			}
			if status, doc := a.call(access.Editor, call[0], call[1], body); status != http.StatusNotFound {
				t.Errorf("%v: %d %v", call, status, doc)
			}
		}
		if status, doc := a.call(access.Editor, "GET", "/api/v1/backfills", ""); status != 200 || len(doc["backfills"].([]any)) != 0 {
			t.Errorf("%d %v", status, doc)
		}
		status, doc := a.call(access.Editor, "POST", "/api/v1/backfills/preview", `{"job":"daily","from":"2026-03-01","reach":"downstream"}`)
		if text, _ := json.Marshal(doc); status != 200 || strings.Contains(string(text), "secret") || !strings.Contains(string(text), `"kind":"unseen"`) {
			t.Errorf("%d %s", status, text)
		}
	})
}

// What a pause says of its fires is what a backfill of its moments lists: no other fire of these dates, from before the
// pause or before the job was there.
func TestThePauseAndItsBackfillNameTheSameFires(t *testing.T) {
	eachPast(t, func(t *testing.T, p *past) {
		p.files("  name: quick\n  every: 1s\n  exec: {type: noop}\n")
		a := newAsker(p)
		if status, doc := a.call(access.Admin, http.MethodPost, "/api/v1/jobs/quick/pause", "{}"); status != 200 {
			t.Fatal(status, doc)
		}
		var pause map[string]any
		for deadline := time.Now().Add(10 * time.Second); ; {
			_, doc := a.call(access.Viewer, http.MethodGet, "/api/v1/jobs/quick", "")
			pause, _ = doc["pause"].(map[string]any)
			if n, _ := pause["fires"].(float64); n >= 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v", doc)
			}
			nextMilli()
		}
		ask, err := json.Marshal(map[string]any{"job": "quick", "from": pause["from"], "to": pause["to"], "since": pause["begin"], "until": pause["until"]})
		p.must(err)
		_, v := a.call(access.Viewer, http.MethodPost, "/api/v1/backfills/preview", string(ask))
		items, _ := v["items"].([]any)
		if float64(len(items)) != pause["fires"] {
			t.Fatalf("the pause is %v, its backfill lists %d: %v", pause, len(items), v)
		}
		if said := items[0].(map[string]any)["said"]; said != "it is not due yet, or just now" {
			t.Errorf("why it is left alone: %v", said)
		}
	})
}
