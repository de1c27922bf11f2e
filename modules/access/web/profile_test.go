package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
)

var (
	exportLine = regexp.MustCompile(`export AX_URL=(\S+) AX_TOKEN=(ax_[A-Z0-9]+)`)
	keyInput   = regexp.MustCompile(`name="idempotency_key" value="([^"]+)"`)
	revokeForm = regexp.MustCompile(`/profile/tokens/(\d+)/revoke`)
)

func TestProfileChangesThePassword(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		here, elsewhere := w.browser(), w.browser()
		here.login("admin", adminPassword)
		elsewhere.login("admin", adminPassword)
		for _, bad := range []struct{ old, password, repeat, says string }{
			{"wrong", "another horse", "another horse", "not the password in force"},
			{adminPassword, "another horse", "another house", "two passwords differ"},
			{adminPassword, "short", "short", "at least 8"},
		} {
			a := here.submit("/profile", "/profile/password", "old", bad.old, "password", bad.password, "repeat", bad.repeat)
			if a.status != 422 || !strings.Contains(a.body, bad.says) || strings.Contains(a.body, "another horse") {
				t.Errorf("%+v: %d", bad, a.status)
			}
		}
		a := here.submit("/profile", "/profile/password", "old", adminPassword, "password", "another horse", "repeat", "another horse")
		if a.status != 303 || a.header.Get("Location") != "/profile?saved=password" {
			t.Fatalf("%d %s", a.status, a.header.Get("Location"))
		}
		if a := here.get("/profile?saved=password"); a.status != 200 || !strings.Contains(a.body, "toast-box") {
			t.Errorf("whoever changed the password is out: %d", a.status)
		}
		if a := elsewhere.get("/profile"); a.status != 303 {
			t.Errorf("another session goes on: %d", a.status)
		}
		w.browser().login("admin", "another horse")
		if a := here.post("/profile/password", []string{"old", "another horse", "password", "third horse", "repeat", "third horse"}); a.status != 403 {
			t.Errorf("without the form's token: %d", a.status)
		}
	})
}

func TestProfileMakesAndRevokesTokens(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		page := b.get("/profile")
		key, csrf := keyInput.FindStringSubmatch(page.body)[1], b.csrf("/profile")
		form := []string{"name", "laptop", "days", "30", "csrf", csrf, "idempotency_key", key}
		a := b.post("/profile/tokens", form)
		line := exportLine.FindStringSubmatch(a.body)
		if a.status != 200 || line == nil || line[1] != w.server.URL || a.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d, line %v, %s", a.status, line, a.header.Get("Cache-Control"))
		}
		if me := w.api(line[2], "GET", "/api/v1/me", ""); me.status != 200 {
			t.Errorf("the token does not work: %d", me.status)
		}
		if again := b.post("/profile/tokens", form); again.status != 303 || strings.Contains(again.body, line[2]) {
			t.Errorf("the same form again: %d", again.status)
		}
		list := b.get("/profile")
		ids := revokeForm.FindAllStringSubmatch(list.body, -1)
		if len(ids) != 2 || strings.Contains(list.body, line[2]) || !strings.Contains(list.body, "laptop") {
			t.Fatalf("listed are %v, one of the first start and one made", ids)
		}
		mine := ids[len(ids)-1][1]
		w.as("other", access.Viewer, "default")
		other := w.browser()
		other.login("other", "password of other")
		if a := other.submit("/profile", "/profile/tokens/"+mine+"/revoke"); a.status != 404 {
			t.Errorf("somebody else's token: %d", a.status)
		}
		if a := b.submit("/profile", "/profile/tokens/"+mine+"/revoke"); a.status != 303 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if list := b.get("/profile"); strings.Contains(list.body, mine) {
			t.Error("a revoked token is listed")
		}
		for _, bad := range [][2]string{{"", "30"}, {"x", "-1"}, {"x", "soon"}, {strings.Repeat("x", 101), "30"}} {
			if a := b.submit("/profile", "/profile/tokens", "name", bad[0], "days", bad[1]); a.status != 422 || exportLine.MatchString(a.body) {
				t.Errorf("%q for %q days: %d", bad[0], bad[1], a.status)
			}
		}
		soon := w.api(adminToken, "POST", "/api/v1/tokens", `{"name": "short", "expiresAt": "`+w.clock.now().Add(time.Second).Format(time.RFC3339Nano)+`"}`)
		if list := b.get("/profile"); soon.status != 201 || strings.Contains(list.body, "expired") {
			t.Errorf("%d, or a token in force is called expired", soon.status)
		}
		w.clock.move(2 * time.Second)
		if list := b.get("/profile"); !strings.Contains(list.body, "expired") {
			t.Error("nothing says that a token is expired")
		}
		late := exportLine.FindStringSubmatch(b.submit("/profile", "/profile/tokens", "name", "month", "days", "30").body)
		w.clock.move(31 * 24 * time.Hour)
		if me := w.api(late[2], "GET", "/api/v1/me", ""); me.status != 401 {
			t.Errorf("after its days it still works: %d", me.status)
		}
	})
}

func TestProfileIsOnesOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		if a := w.browser().get("/profile"); a.status != 303 || !strings.HasPrefix(a.header.Get("Location"), "/login") {
			t.Errorf("nobody: %d", a.status)
		}
		w.as("none", "", "")
		b := w.browser()
		b.login("none", "password of none")
		for _, lang := range []string{"en", "zh-CN"} {
			if a := b.get("/profile", "Accept-Language", lang); a.status != 200 || strings.Contains(a.body, "⟦") {
				t.Errorf("without any role, in %s: %d", lang, a.status)
			}
		}
		if a := b.submit("/profile", "/prefs", "lang", "zh-CN", "theme", "dark", "zone", "Asia/Tokyo", "next", "/profile?saved=look"); a.header.Get("Location") != "/profile?saved=look" {
			t.Errorf("%d %s", a.status, a.header.Get("Location"))
		}
		if a := b.get("/profile"); !strings.Contains(a.body, `lang="zh-CN"`) || !strings.Contains(a.body, `data-bs-theme="dark"`) || !strings.Contains(a.body, `<option value="Asia/Tokyo" selected>`) {
			t.Error("what was chosen is not in force")
		}
	})
}
