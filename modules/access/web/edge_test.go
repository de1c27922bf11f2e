package web_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/kit/httpx"
)

func TestAChangeByABrowserNeedsTheSessionsToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b, other := w.browser(), w.browser()
		b.login("admin", adminPassword)
		other.login("admin", adminPassword)
		own := b.csrf("/audit")
		for name, c := range map[string]struct {
			fields, headers []string
			want            int
		}{
			"missing":               {nil, nil, 403},
			"nonsense":              {[]string{"csrf", "nonsense"}, nil, 403},
			"another session's":     {[]string{"csrf", other.csrf("/audit")}, nil, 403},
			"cut short":             {[]string{"csrf", own[:40]}, nil, 403},
			"right, in the form":    {[]string{"csrf", own}, nil, 303},
			"right, in the header":  {nil, []string{"X-CSRF-Token", own}, 303},
			"right, same origin":    {[]string{"csrf", own}, []string{"Sec-Fetch-Site", "same-origin"}, 303},
			"right, own origin":     {[]string{"csrf", own}, []string{"Origin", w.server.URL}, 303},
			"right, another site":   {[]string{"csrf", own}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
			"right, sibling site":   {[]string{"csrf", own}, []string{"Sec-Fetch-Site", "same-site"}, 403},
			"right, another origin": {[]string{"csrf", own}, []string{"Origin", "https://evil.example"}, 403},
			"none, same origin":     {nil, []string{"Sec-Fetch-Site", "same-origin"}, 403},
		} {
			before := w.effects()
			a := b.post("/things/default", c.fields, c.headers...)
			if a.status != c.want || (w.effects() > before) != (c.want == 303) {
				t.Errorf("%s: %d, want %d; effects %d → %d", name, a.status, c.want, before, w.effects())
			}
		}
		if a := w.browser().post("/login", []string{"name", "admin", "password", adminPassword}); a.status != 403 {
			t.Errorf("login without a token: %d", a.status)
		}
		if first, second := b.csrf("/audit"), b.csrf("/audit"); first == second {
			t.Error("the token is the same in two pages, so compression can tell it")
		}
	})
}

func TestBearerTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		for name, header := range map[string]string{"empty": "Bearer ", "bare": "Bearer", "wrong": "Bearer ax_WRONG", "basic": "Basic YTpi", "none": ""} {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", w.server.URL+"/api/v1/me", nil)
			if name != "none" {
				req.Header["Authorization"] = []string{header}
			}
			client := b.c // a good session beside a bad header does not help
			if name == "none" {
				client = http.DefaultClient
			}
			a := do(t, client, req)
			if a.status != 401 || a.problem(t) != "unauthentic" || a.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		made := w.api(adminToken, "POST", "/api/v1/tokens", `{"name":"ci"}`)
		if made.status != 201 {
			t.Fatalf("making a token: %d %s", made.status, made.body)
		}
		secret, id := made.json(t)["secret"].(string), made.json(t)["id"].(string)
		if !strings.HasPrefix(secret, "ax_") || len(secret) < 25 {
			t.Errorf("secret %q", secret)
		}
		if a := w.api(secret, "GET", "/api/v1/tokens", ""); a.status != 200 || strings.Contains(a.body, secret) || !strings.Contains(a.body, id) {
			t.Errorf("list: %d %s", a.status, a.body)
		}
		if a := w.api(secret, "DELETE", "/api/v1/tokens/"+id, ""); a.status != 204 {
			t.Errorf("revoke: %d %s", a.status, a.body)
		}
		if a := w.api(secret, "GET", "/api/v1/me", ""); a.status != 401 {
			t.Errorf("a revoked token: %d", a.status)
		}
		bob := w.as("bob", access.Viewer, "")
		if a := w.api(bob, "DELETE", "/api/v1/tokens/"+id, ""); a.status != 404 {
			t.Errorf("another's token: %d", a.status)
		}
		for _, body := range []string{`{}`, `{"disabled":true}`, `{"password":"a good password"}`} {
			if a := w.api(adminToken, "PUT", "/api/v1/users/nosuch", body); a.status != 404 {
				t.Errorf("a change of nobody, %s: %d %s", body, a.status, a.body)
			}
		}
		if a := w.api(adminToken, "PUT", "/api/v1/users/bob", `{"disabled":true}`); a.status != 204 {
			t.Fatal(a.body)
		}
		if a := w.api(bob, "GET", "/api/v1/me", ""); a.status != 401 {
			t.Errorf("a disabled account's token: %d", a.status)
		}
		w.wantTrail("token.create token/"+id, "token.revoke token/"+id, "account.disable account/bob")
		for _, r := range w.trail() {
			if strings.Contains(r.Before+r.After, secret) || strings.Contains(r.After, "argon2") {
				t.Errorf("a secret is in the trail: %+v", r)
			}
		}
	})
}

func TestATokenExpires(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		end := w.clock.now().Add(time.Hour).Format(time.RFC3339)
		made := w.api(adminToken, "POST", "/api/v1/tokens", `{"name":"short","expiresAt":"`+end+`"}`)
		secret, _ := made.json(t)["secret"].(string)
		if a := w.api(secret, "GET", "/api/v1/me", ""); a.status != 200 {
			t.Fatalf("fresh: %d %s", a.status, a.body)
		}
		w.clock.move(time.Hour)
		if a := w.api(secret, "GET", "/api/v1/me", ""); a.status != 401 {
			t.Errorf("expired: %d", a.status)
		}
		if a := w.api(adminToken, "POST", "/api/v1/tokens", `{"name":"past","expiresAt":"`+end+`"}`); a.status != 400 {
			t.Errorf("made expired: %d", a.status)
		}
	})
}

func TestIdempotencyKeysOfTheAPI(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.project("other")
		call := func(token, path, body, key string) answer {
			return w.api(token, "POST", path, body, "Idempotency-Key", key)
		}
		first := call(adminToken, "/api/v1/things/default", `{"a":1}`, "k1")
		again := call(adminToken, "/api/v1/things/default", `{"a":1}`, "k1")
		if first.status != 201 || again.status != 201 || first.body != again.body && first.body != again.body+"\n" || w.effects() != 1 {
			t.Errorf("replay: %d %q, then %d %q; %d effects", first.status, first.body, again.status, again.body, w.effects())
		}
		if first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" {
			t.Error("a replay does not say that it is one")
		}
		for name, a := range map[string]answer{
			"another body": call(adminToken, "/api/v1/things/default", `{"a":2}`, "k1"),
			"another path": call(adminToken, "/api/v1/things/other", `{"a":1}`, "k1"),
		} {
			if a.status != 409 || a.problem(t) != "conflict" {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		if w.effects() != 1 {
			t.Errorf("%d effects after conflicts", w.effects())
		}
		bob := w.as("bob", access.Editor, "")
		if a := call(bob, "/api/v1/things/default", `{"a":1}`, "k1"); a.status != 201 || w.effects() != 2 {
			t.Errorf("somebody else's same key: %d, %d effects", a.status, w.effects())
		}
		if a := call(adminToken, "/api/v1/things/default?fail=1", `{}`, "k2"); a.status != 409 || w.effects() != 2 {
			t.Errorf("a failing effect: %d, %d effects", a.status, w.effects())
		}
		if a := call(adminToken, "/api/v1/things/default", `{}`, "k2"); a.status != 201 || w.effects() != 3 {
			t.Errorf("the key of a failed call is spent: %d, %d effects", a.status, w.effects())
		}
		if a := call(adminToken, "/api/v1/things/default", `{}`, strings.Repeat("k", 201)); a.status != 400 {
			t.Errorf("a long key: %d", a.status)
		}
		w.api(adminToken, "POST", "/api/v1/things/default", `{}`)
		w.api(adminToken, "POST", "/api/v1/things/default", `{}`)
		if w.effects() != 5 {
			t.Errorf("two calls without a key made %d effects", w.effects()-3)
		}
	})
}

func TestCallsWithOneKeyAtTheSameTimeHaveOneEffect(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if a := w.api(adminToken, "POST", "/api/v1/things/default", `{}`, "Idempotency-Key", "same"); a.status != 201 {
					t.Errorf("%d %s", a.status, a.body)
				}
			})
		}
		group.Wait()
		if w.effects() != 1 {
			t.Errorf("%d effects", w.effects())
		}
	})
}

func TestATokensSecretIsNotKeptForReplay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		first := w.api(adminToken, "POST", "/api/v1/tokens", `{"name":"ci"}`, "Idempotency-Key", "k")
		again := w.api(adminToken, "POST", "/api/v1/tokens", `{"name":"ci"}`, "Idempotency-Key", "k")
		if first.json(t)["secret"] == nil || again.json(t)["secret"] != nil || first.json(t)["id"] != again.json(t)["id"] {
			t.Errorf("first %s, replay %s", first.body, again.body)
		}
	})
}

func TestADoubleSubmitOfAFormHasOneEffect(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		for range 2 { // with a csrf token of its own each, which is not part of what is asked
			if a := b.submit("/audit", "/things/default", "v", "1", "idempotency_key", "k"); a.status != 303 || a.header.Get("Location") != "/things" {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if w.effects() != 1 {
			t.Errorf("%d effects", w.effects())
		}
		if a := b.submit("/audit", "/things/default", "v", "2", "idempotency_key", "k"); a.status != 409 || w.effects() != 1 {
			t.Errorf("another form under the same key: %d, %d effects", a.status, w.effects())
		}
	})
}

func TestRolesHoldAndRefusalsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.project("mine")
		w.project("theirs")
		viewer, editor, nobody := w.as("viewer", access.Viewer, "mine"), w.as("editor", access.Editor, "mine"), w.as("nobody", "", "")
		for _, c := range []struct {
			who, token, path string
			want             int
			kind             string
		}{
			{"editor", editor, "/api/v1/things/mine", 201, ""},
			{"viewer", viewer, "/api/v1/things/mine", 403, "denied"},
			{"nobody", nobody, "/api/v1/things/mine", 403, "denied"},
			{"editor", editor, "/api/v1/things/theirs", 404, "not_found"},
			{"editor", editor, "/api/v1/things/nosuch", 404, "not_found"},
		} {
			before, lines := w.effects(), len(w.trail())
			a := w.api(c.token, "POST", c.path, `{}`)
			if a.status != c.want || (w.effects() > before) != (c.want == 201) {
				t.Errorf("%s at %s: %d %s", c.who, c.path, a.status, a.body)
			}
			if c.kind != "" && a.problem(t) != c.kind {
				t.Errorf("%s at %s: kind %s", c.who, c.path, a.problem(t))
			}
			if c.path == "/api/v1/things/nosuch" || c.want == 201 {
				continue
			}
			if got := w.trail(); len(got) != lines+1 || got[0].Allowed || got[0].Action != "job.write" || got[0].Object != "POST "+c.path || !strings.HasPrefix(got[0].Actor, c.who) {
				t.Errorf("the refusal of %s at %s is not in the trail: %+v", c.who, c.path, got[0])
			}
		}
		if a := w.api(adminToken, "POST", "/api/v1/users/viewer/roles", `{"project":"mine","role":"editor"}`); a.status != 201 {
			t.Fatalf("grant: %d %s", a.status, a.body)
		}
		if a := w.api(viewer, "POST", "/api/v1/things/mine", `{}`); a.status != 201 {
			t.Errorf("a granted role does not hold at once: %d", a.status)
		}
		if a := w.api(adminToken, "DELETE", "/api/v1/users/viewer/roles?project=mine&role=editor", ``); a.status != 204 {
			t.Fatalf("revoke: %d %s", a.status, a.body)
		}
		if a := w.api(viewer, "POST", "/api/v1/things/mine", `{}`); a.status != 403 {
			t.Errorf("a revoked role still holds: %d", a.status)
		}
	})
}

func TestTheLastAdminStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		for name, a := range map[string]answer{
			"revoke":  w.api(adminToken, "DELETE", "/api/v1/users/admin/roles?role=admin", ""),
			"disable": w.api(adminToken, "PUT", "/api/v1/users/admin", `{"password":"changed meanwhile","disabled":true}`),
		} {
			if a.status != 409 {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		w.browser().login("admin", adminPassword) // the password of the refused change was not saved
		w.as("second", access.Admin, "")
		if a := w.api(adminToken, "PUT", "/api/v1/users/admin", `{"disabled":true}`); a.status != 204 {
			t.Errorf("with a second admin: %d %s", a.status, a.body)
		}
	})
}

func TestEveryRouteRefusesStrangersAndTheRoleless(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		nobody := w.as("nobody", "", "")
		seen := 0
		for _, r := range w.router.Routes() {
			if r.Action == httpx.Public {
				continue
			}
			seen++
			path := strings.NewReplacer(":id", "1", ":name", "admin", ":project", "default").Replace(r.Path)
			a := w.api("", r.Method, path, `{}`)
			browserRoute := !strings.HasPrefix(path, "/api/")
			switch {
			case browserRoute && r.Method == "GET":
				if a.status != 200 || !strings.Contains(a.body, `action="/login"`) { // the client followed the redirect
					t.Errorf("%s by a stranger: %d", r, a.status)
				}
			case r.Method == "GET" && a.status != 401, r.Method != "GET" && a.status != 403 && a.status != 401:
				t.Errorf("%s by a stranger: %d", r, a.status)
			}
			if a := w.api(nobody, r.Method, path, `{}`); r.Action != httpx.AnyAccount && a.status != 403 {
				t.Errorf("%s by somebody without a role: %d", r, a.status)
			}
		}
		if seen < 10 {
			t.Errorf("only %d routes walked", seen)
		}
	})
}

// wantTrail fails unless the trail has a line for each "action object".
func (w *world) wantTrail(want ...string) {
	w.t.Helper()
	got := map[string]bool{}
	for _, r := range w.trail() {
		got[r.Action+" "+r.Object] = true
	}
	for _, line := range want {
		if !got[line] {
			w.t.Errorf("the trail lacks %q", line)
		}
	}
}
