package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

func TestAuditPagesByKeyAndFilters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.project("mine")
		ctx := domain.WithPrincipal(t.Context(), domain.Principal{Name: "per_cent", Kind: domain.PrincipalUser})
		mine, err := w.access.ProjectByName(t.Context(), "mine")
		if err != nil {
			t.Fatal(err)
		}
		for range 7 {
			if err := w.access.Record(ctx, access.Entry{ProjectID: mine.ID, Action: "job.write", Object: "job/mine/a", Before: map[string]any{"api_key": "hunter2", "n": 1},
				After: "cron: x\ndb_password: hunter2\n", Allowed: true}); err != nil {
				t.Fatal(err)
			}
		}
		var ids []string
		path := "/api/v1/audit?limit=3&who=per_&object=job/mine"
		for next := path; next != ""; {
			a := w.api(adminToken, "GET", next, "")
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if strings.Contains(a.body, "hunter2") || !strings.Contains(a.body, "***") {
				t.Errorf("a secret is shown: %s", a.body)
			}
			m := a.json(t)
			for _, r := range m["audit"].([]any) {
				ids = append(ids, r.(map[string]any)["id"].(string))
			}
			next = ""
			if c := m["cursor"].(string); c != "" {
				next = path + "&cursor=" + c
			}
		}
		if len(ids) != 7 {
			t.Errorf("%d rows by pages of 3, want 7", len(ids))
		}
		for i := 1; i < len(ids); i++ {
			if ids[i] >= ids[i-1] {
				t.Errorf("order or repeat: %v", ids)
			}
		}
		if a := w.api(adminToken, "GET", "/api/v1/audit?cursor=rubbish", ""); a.status != 400 {
			t.Errorf("a bad cursor: %d", a.status)
		}
		if a := w.api(adminToken, "GET", "/api/v1/audit?from=yesterday", ""); a.status != 400 {
			t.Errorf("a bad date: %d", a.status)
		}
		approver := w.as("approver", access.Approver, "mine")
		a := w.api(approver, "GET", "/api/v1/audit?limit=500", "")
		if rows := a.json(t)["audit"].([]any); a.status != 200 || len(rows) != 9 { // 7, the project and the approver's grant
			t.Errorf("one project's trail has %d lines, want 9: %s", len(rows), a.body)
		}
		b := w.browser()
		b.login("admin", adminPassword)
		if a := b.get("/audit?action=job.write", "Accept-Language", "zh-CN"); a.status != 200 || strings.Count(a.body, "<tr") != 8 || !strings.Contains(a.body, "保存任务") || strings.Contains(a.body, "⟦") {
			t.Errorf("page: %d, %d rows: %s", a.status, strings.Count(a.body, "<tr"), a.body)
		}
	})
}

func TestPrefsAreRememberedAndBadOnesRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		if a := b.submit("/login", "/prefs", "lang", "zh-CN", "theme", "dark", "next", "/login"); a.status != 303 || a.header.Get("Location") != "/login" {
			t.Fatalf("prefs: %d %s", a.status, a.body)
		}
		if a := b.get("/login"); !strings.Contains(a.body, `lang="zh-CN"`) || !strings.Contains(a.body, `data-bs-theme="dark"`) {
			t.Errorf("not remembered: %s", a.body)
		}
		for _, bad := range [][]string{{"lang", "xx"}, {"theme", "pink"}, {"zone", "Mars/Olympus"}, {"zone", "../etc/passwd"}} {
			if a := b.submit("/login", "/prefs", bad...); a.status != 422 {
				t.Errorf("%v: %d", bad, a.status)
			}
		}
		b.login("admin", adminPassword)
		if a := b.submit("/audit", "/prefs", "lang", "en", "zone", "Asia/Tokyo", "next", "https://evil.example"); a.status != 303 || a.header.Get("Location") != "/" {
			t.Errorf("prefs: %d %s", a.status, a.header.Get("Location"))
		}
		elsewhere := w.browser()
		elsewhere.login("admin", adminPassword)
		if a := elsewhere.get("/audit", "Accept-Language", "zh-CN"); !strings.Contains(a.body, `lang="en"`) || !strings.Contains(a.body, "Asia/Tokyo") {
			t.Errorf("the profile is not used elsewhere: %s", a.body)
		}
	})
}

func TestAProjectIsMadeOnlyByThoseWhoMay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.project("mine")
		w.as("local", access.Editor, "mine")
		w.as("global", access.Editor, "")
		ensure := func(who, project string) error {
			acc := domain.Principal{Name: who, Kind: domain.PrincipalUser}
			all, err := w.access.Accounts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range all {
				if a.Name == who {
					acc.ID = a.ID
				}
			}
			_, err = w.access.EnsureProject(domain.WithPrincipal(t.Context(), acc), project)
			return err
		}
		if err := ensure("local", "new"); !domain.Is(err, domain.NotFound) {
			t.Errorf("an editor of one project: %v", err)
		}
		if err := ensure("global", "new"); err != nil {
			t.Errorf("an editor of all: %v", err)
		}
		if err := ensure("local", "new"); err != nil {
			t.Errorf("finding one that is there: %v", err)
		}
		if err := ensure("global", "<b>"); !domain.Is(err, domain.Invalid) {
			t.Errorf("markup as a name: %v", err)
		}
		if a := w.api(adminToken, "GET", "/api/v1/projects", ""); strings.Count(a.body, `"name"`) != 3 || !strings.Contains(a.body, `"default"`) {
			t.Errorf("projects: %s", a.body)
		}
	})
}

func TestCleaningTakesOnlyWhatIsOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		if _, err := w.access.LoginLink(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.api(adminToken, "POST", "/api/v1/things/default", `{}`, "Idempotency-Key", "k")
		if n, err := w.access.Clean(t.Context()); n != 0 || err != nil {
			t.Errorf("nothing is over, %d rows went, error %v", n, err)
		}
		w.clock.move(8 * 24 * time.Hour)
		if n, err := w.access.Clean(t.Context()); n != 3 || err != nil {
			t.Errorf("a session, a link and a key are over, %d rows went, error %v", n, err)
		}
		if a := w.api(adminToken, "GET", "/api/v1/me", ""); a.status != 200 {
			t.Errorf("the API token went too: %d", a.status)
		}
	})
}
