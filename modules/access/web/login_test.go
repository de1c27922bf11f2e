package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

func TestASetUpLinkMakesTheFirstAdminOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, err := w.access.Start(t.Context(), access.FirstStart{})
		if err != nil || secret == "" {
			t.Fatalf("first start gave link %q, error %v", secret, err)
		}
		b := w.browser()
		if a := b.get("/setup"); a.status != 403 || strings.Contains(a.body, `name="password"`) {
			t.Errorf("set-up without a token: %d", a.status)
		}
		link := "/setup?token=" + secret
		token := b.csrf(link)
		fields := []string{"token", secret, "name", "root", "password", "long enough", "repeat", "something else", "csrf", token}
		if a := b.post("/setup", fields); a.status != 422 || !strings.Contains(a.body, "differ") {
			t.Errorf("two different passwords: %d", a.status)
		}
		fields[5], fields[7] = "short", "short"
		if a := b.post("/setup", fields); a.status != 422 {
			t.Errorf("a short password: %d", a.status)
		}
		fields[5], fields[7] = "long enough", "long enough"
		if a := b.post("/setup", fields); a.status != 303 || a.header.Get("Location") != "/" {
			t.Fatalf("set-up: %d %s", a.status, a.body)
		}
		if a := b.get("/audit"); a.status != 200 {
			t.Errorf("the first admin is not logged in as one: /audit says %d", a.status)
		}
		other := w.browser()
		other.get("/login")
		if a := other.post("/setup", []string{"token", secret, "name", "second", "password", "long enough", "repeat", "long enough", "csrf", other.csrf("/login")}); a.status != 401 {
			t.Errorf("the link worked twice: %d", a.status)
		}
		if again, err := w.access.Start(t.Context(), access.FirstStart{}); err != nil || again != "" {
			t.Errorf("a later start offers set-up again: %q, %v", again, err)
		}
	})
}

func TestASecondSetUpLinkDiesWithTheFirst(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		one, err := w.access.Start(t.Context(), access.FirstStart{})
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.access.Start(t.Context(), access.FirstStart{})
		if err != nil || two == "" || one == two {
			t.Fatalf("links %q and %q, error %v", one, two, err)
		}
		if _, err := w.access.Setup(t.Context(), one, "root", "long enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.access.Setup(t.Context(), two, "second", "long enough"); !domain.Is(err, domain.Conflict) {
			t.Errorf("a second admin by the second link: %v", err)
		}
		if a := w.browser().get("/setup?token=" + two); a.status != 403 || strings.Contains(a.body, `name="password"`) {
			t.Errorf("the page still offers set-up: %d", a.status)
		}
	})
}

func TestPagesBeforeLoginHaveAllTheirWords(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, err := w.access.Start(t.Context(), access.FirstStart{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/login", "/setup", "/setup?token=" + secret, "/login?token=wrong", "/nosuch"} {
			for _, lang := range []string{"en", "zh-CN"} {
				a := w.browser().get(path, "Accept-Language", lang)
				if strings.Contains(a.body, "⟦") || !strings.Contains(a.body, `lang="`+lang+`"`) || strings.Contains(a.body, "style=") {
					t.Errorf("%s in %s: %d %s", path, lang, a.status, a.body)
				}
			}
		}
	})
}

func TestFirstStartFromTheEnvironment(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var group sync.WaitGroup
		for range 3 { // several processes at once
			group.Go(func() {
				if link, err := w.access.Start(t.Context(), access.FirstStart{AdminPassword: adminPassword, BootstrapToken: adminToken}); err != nil || link != "" {
					t.Errorf("start: link %q, error %v", link, err)
				}
			})
		}
		group.Wait()
		if a := w.api(adminToken, "GET", "/api/v1/users", ""); a.status != 200 || strings.Count(a.body, `"name":"admin"`) != 1 {
			t.Errorf("the bootstrap token is not an admin's: %d %s", a.status, a.body)
		}
		w.browser().login("admin", adminPassword)
		if _, err := w.access.Start(t.Context(), access.FirstStart{AdminPassword: "another one", BootstrapToken: "another-token-entirely"}); err != nil {
			t.Fatal(err)
		}
		if a := w.api("another-token-entirely", "GET", "/api/v1/me", ""); a.status != 401 {
			t.Errorf("a later start took a new bootstrap token: %d", a.status)
		}
		w.browser().login("admin", adminPassword)
		for _, bad := range []string{strings.Repeat("t", 501), "with a space in it", "nul\x00nul\x00nul"} {
			if _, err := w.access.Start(t.Context(), access.FirstStart{BootstrapToken: bad}); !domain.Is(err, domain.Invalid) {
				t.Errorf("bootstrap token %q: %v", bad, err)
			}
		}
		for _, bad := range []string{strings.Repeat("p", 501)} {
			if _, err := w.access.Start(t.Context(), access.FirstStart{AdminPassword: bad}); !domain.Is(err, domain.Invalid) || !strings.Contains(err.Error(), "AX_ADMIN_PASSWORD") {
				t.Errorf("admin password of %d characters: %v", len(bad), err)
			}
		}
	})
}

func TestABootstrapTokenAloneLeavesSetUpOpen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		link, err := w.access.Start(t.Context(), access.FirstStart{BootstrapToken: adminToken})
		if err != nil || link == "" {
			t.Fatalf("link %q, error %v", link, err)
		}
		if a := w.api(adminToken, "GET", "/api/v1/users", ""); a.status != 200 {
			t.Errorf("the token is not an admin's: %d", a.status)
		}
		b := w.browser()
		if a := b.submit("/setup?token="+link, "/setup", "token", link, "name", "admin", "password", "long enough", "repeat", "long enough"); a.status != 303 {
			t.Errorf("set-up: %d %s", a.status, a.body)
		}
		w.browser().login("admin", "long enough")
	})
}

func TestALoginLinkWorksOnceAndForAQuarterOfAnHour(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if _, err := w.access.Start(t.Context(), access.FirstStart{}); err != nil {
			t.Fatal(err)
		}
		secret, err := w.access.LoginLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := w.browser()
		if a := b.get("/login?token=" + secret); a.status != 303 || a.header.Get("Location") != "/" {
			t.Fatalf("login link: %d %s", a.status, a.body)
		}
		if a := b.get("/things"); a.status != 200 {
			t.Errorf("not logged in: %d", a.status)
		}
		if a := w.browser().get("/login?token=" + secret); a.status != 401 {
			t.Errorf("the link worked twice: %d", a.status)
		}
		late, err := w.access.LoginLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.clock.move(15 * time.Minute)
		if a := w.browser().get("/login?token=" + late); a.status != 401 {
			t.Errorf("the link worked after its end: %d", a.status)
		}
		if a := w.api(late, "GET", "/api/v1/me", ""); a.status != 401 {
			t.Errorf("a login link is taken for an API token: %d", a.status)
		}
	})
}

func TestOfManyWhoUseALinkAtOnceOneGetsIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, err := w.access.LoginLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var in atomic.Int32
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := w.access.UseLoginLink(t.Context(), secret); err == nil {
					in.Add(1)
				} else if !domain.Is(err, domain.Unauthentic) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if in.Load() != 1 {
			t.Errorf("%d got in", in.Load())
		}
	})
}

func TestLoginSaysNothingOfWhichIsWrong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		wrong := b.submit("/login", "/login", "name", "admin", "password", "guess")
		nobody := b.submit("/login", "/login", "name", "nobody", "password", "guess")
		if wrong.status != 401 || nobody.status != 401 {
			t.Errorf("wrong password %d, unknown name %d, want 401", wrong.status, nobody.status)
		}
		if !strings.Contains(wrong.body, "do not fit") || !strings.Contains(nobody.body, "do not fit") {
			t.Error("the page does not say what is wrong")
		}
		if a := b.submit("/login", "/login", "name", "admin", "password", adminPassword, "next", "//evil.example/x"); a.header.Get("Location") != "/" {
			t.Errorf("login leads away from AX: %q", a.header.Get("Location"))
		}
	})
}

func TestLoginIsThrottledPerNameAndSaysUntilWhen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		for range 5 {
			if a := b.submit("/login", "/login", "name", "admin", "password", "guess"); a.status != 401 {
				t.Fatalf("guess: %d", a.status)
			}
			w.clock.move(10 * time.Second)
		}
		a := b.submit("/login", "/login", "name", "admin", "password", adminPassword)
		if a.status != 429 || a.header.Get("Retry-After") != "250" || !strings.Contains(a.body, "250 seconds") {
			t.Errorf("sixth try: %d, Retry-After %q", a.status, a.header.Get("Retry-After"))
		}
		if a := b.submit("/login", "/login", "name", "somebody", "password", "guess"); a.status != 401 {
			t.Errorf("another name is held up too: %d", a.status)
		}
		w.clock.move(250 * time.Second)
		b.login("admin", adminPassword)
	})
}

func TestLoginIsThrottledPerAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		for i := range 30 {
			if a := b.submit("/login", "/login", "name", "user"+strconv.Itoa(i), "password", "guess"); a.status != 401 {
				t.Fatalf("guess %d: %d", i, a.status)
			}
		}
		if a := b.submit("/login", "/login", "name", "admin", "password", adminPassword); a.status != 429 {
			t.Errorf("the thirty-first name from one address: %d", a.status)
		}
	})
}

func TestTriesAtTheSameTimeDoNotOutrunTheThrottle(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		var mu sync.Mutex
		count := map[domain.Kind]int{}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				_, err := w.access.Login(t.Context(), "admin", "guess", "192.0.2.1")
				mu.Lock()
				defer mu.Unlock()
				count[domain.KindOf(err)]++
			})
		}
		group.Wait()
		if count[domain.Unauthentic] != 5 || count[domain.Denied] != 15 {
			t.Errorf("of 20 tries at once: %v", count)
		}
	})
}

func TestAPasswordChangeEndsAllSessions(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		here, there := w.browser(), w.browser()
		here.login("admin", adminPassword)
		there.login("admin", adminPassword)
		put := func(body string) answer {
			req, _ := http.NewRequestWithContext(t.Context(), "PUT", w.server.URL+"/api/v1/me/password", strings.NewReader(body))
			req.Header.Set("X-CSRF-Token", here.csrf("/audit"))
			return do(t, here.c, req)
		}
		if a := put(`{"old":"wrong","password":"a new password"}`); a.status != 400 {
			t.Errorf("with a wrong old password: %d %s", a.status, a.body)
		}
		if a := there.get("/things"); a.status != 200 {
			t.Errorf("a failed change ended a session: %d", a.status)
		}
		if a := put(`{"old":"` + adminPassword + `","password":"a new password"}`); a.status != 204 {
			t.Fatalf("change: %d %s", a.status, a.body)
		}
		for _, b := range []*browser{here, there} {
			if a := b.get("/things"); a.status != 303 || a.header.Get("Location") != "/login?next=%2Fthings" {
				t.Errorf("a session outlived the password: %d %s", a.status, a.header.Get("Location"))
			}
		}
		w.browser().login("admin", "a new password")
	})
}

func TestSessionsEndByLogoutDisuseAndDisabling(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		w.as("ann", access.Admin, "")
		b := w.browser()
		b.login("ann", "password of ann")
		stolen := b.cookies()
		if a := b.submit("/audit", "/logout"); a.status != 303 {
			t.Fatalf("logout: %d %s", a.status, a.body)
		}
		thief := w.browser()
		thief.setCookies(stolen)
		if a := thief.get("/things"); a.status != 303 {
			t.Errorf("the session lives on after logout: %d", a.status)
		}
		b.login("ann", "password of ann")
		for range 6 { // used each 10 hours, beyond what it would live unused
			w.clock.move(10 * time.Hour)
			if a := b.get("/things"); a.status != 200 {
				t.Fatalf("a used session ended: %d", a.status)
			}
		}
		w.clock.move(12*time.Hour + time.Minute)
		if a := b.get("/things"); a.status != 303 {
			t.Errorf("an unused session lives on: %d", a.status)
		}
		b.login("ann", "password of ann")
		if a := w.api(adminToken, "PUT", "/api/v1/users/ann", `{"disabled":true}`); a.status != 204 {
			t.Fatalf("disable: %d %s", a.status, a.body)
		}
		if a := b.get("/things"); a.status != 303 {
			t.Errorf("a disabled account's session lives on: %d", a.status)
		}
		if a := b.submit("/login", "/login", "name", "ann", "password", "password of ann"); a.status != 401 {
			t.Errorf("a disabled account logged in: %d", a.status)
		}
	})
}

func TestASessionsCookieIsNotInTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.firstStart()
		b := w.browser()
		b.login("admin", adminPassword)
		var tokens []string
		if err := w.db.Scan(t.Context(), &tokens, "SELECT token FROM session"); err != nil || len(tokens) != 1 {
			t.Fatalf("%d sessions, error %v", len(tokens), err)
		}
		for _, k := range b.cookies() {
			if k.Name == "ax_session" && k.Value == tokens[0] {
				t.Error("the cookie's value is stored as it is")
			}
		}
		var secrets []string
		if err := w.db.Scan(t.Context(), &secrets, "SELECT secret FROM token"); err != nil || len(secrets) != 1 || secrets[0] == adminToken {
			t.Errorf("tokens as stored: %v, %v", secrets, err)
		}
	})
}

func (b *browser) cookies() []*http.Cookie { return b.c.Jar.Cookies(b.url()) }

func (b *browser) setCookies(all []*http.Cookie) { b.c.Jar.SetCookies(b.url(), all) }

func (b *browser) url() *url.URL {
	u, err := url.Parse(b.w.server.URL)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return u
}
