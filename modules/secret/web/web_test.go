package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/seal"
	"github.com/axsched/ax/modules/secret"
	"github.com/axsched/ax/modules/secret/store"
	"github.com/axsched/ax/modules/secret/web"
)

// world is the edge over a real store; which jobs name a secret is told by the test.
type world struct {
	*edge.World
	secrets *secret.Secrets
	jobs    []string
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := &world{}
		keeper, err := seal.Open(seal.MakeKey())
		if err != nil {
			t.Fatal(err)
		}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			w.secrets = &secret.Secrets{Store: store.New(e.DB), IDs: e.IDs, Now: time.Now, Projects: projects{e.Access}, Jobs: w, Audit: audit{e.Access}, Seal: keeper}
			return (&web.Handlers{Secrets: w.secrets}).Routes()
		})
		fn(t, w)
	})
}

type audit struct{ a *access.Access }

func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}

type projects struct{ a *access.Access }

func (p projects) ByName(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.ProjectByName(ctx, name)
	return found.ID, err
}

func (p projects) Ensure(ctx context.Context, name string) (domain.ID, error) {
	found, err := p.a.EnsureProject(ctx, name)
	return found.ID, err
}

func (p projects) Names(ctx context.Context) (map[domain.ID]string, error) {
	all, err := p.a.Projects(ctx, domain.ProjectSet{All: true})
	out := map[domain.ID]string{}
	for _, one := range all {
		out[one.ID] = one.Name
	}
	return out, err
}

// SecretJobs counts none.
func (w *world) SecretJobs(context.Context, []domain.ID) (map[domain.SecretKey]int, error) {
	return nil, nil
}

// NameSecret lists the jobs of the test.
func (w *world) NameSecret(_ context.Context, _ domain.SecretKey, limit int) ([]string, error) {
	return w.jobs[:min(len(w.jobs), limit)], nil
}

const value = "hunter2 'x' 密"

func (w *world) put(token, name, body string) edge.Answer {
	return w.API(token, "PUT", "/api/v1/secrets/"+name, body)
}

// open opens a secret as the renderer does.
func (w *world) open(t *testing.T, project, name string) string {
	t.Helper()
	id, err := projects{w.Access}.ByName(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.secrets.Values(t.Context(), id, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return got[name]
}

// A secret is set, used, replaced and deleted, and its value stands in no answer, on no page, in no row and in no line of
// the trail. (J-G16)
func TestASecretIsKeptAndNeverShown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin := w.Browser("admin", edge.AdminPassword)
		seen := ""
		see := func(a edge.Answer, status int) edge.Answer {
			t.Helper()
			seen += a.Body + a.Header.Get("Location")
			if a.Status != status {
				t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
			}
			return a
		}
		see(w.put(edge.AdminToken, "db", `{"value":"hunter2 'x' 密","reason":"first"}`), 200)
		if got := w.open(t, "default", "db"); got != value {
			t.Errorf("it opens as %q", got)
		}
		see(admin.Get("/secrets"), 200)
		see(admin.Get("/secrets/default%2Fdb"), 200)
		see(w.API(edge.AdminToken, "GET", "/api/v1/secrets", ""), 200)
		if a := see(admin.Submit("/secrets/default%2Fdb", "/secrets/default%2Fdb", "version", "7", "value", value), 409); !strings.Contains(a.Body, "saved version 1") {
			t.Errorf("from a version that is not there: %s", a.Body)
		}
		see(admin.Submit("/secrets/default%2Fdb", "/secrets/default%2Fdb", "version", "1", "value", value+"\r\nsecond line"), 303)
		if got := w.open(t, "default", "db"); got != value+"\nsecond line" {
			t.Errorf("it opens as %q", got)
		}
		see(admin.Submit("/secrets/new", "/secrets", "project", "default", "name", "db", "value", value), 409)
		see(admin.Submit("/secrets/new", "/secrets", "project", "default", "name", "a b", "value", value), 422)
		see(admin.Submit("/secrets/new", "/secrets", "project", "default", "name", "other", "value", value), 303)
		w.jobs = []string{"nightly"}
		if a := see(w.API(edge.AdminToken, "DELETE", "/api/v1/secrets/db", ""), 409); !strings.Contains(a.Body, "nightly") {
			t.Errorf("a job names it: %s", a.Body)
		}
		see(admin.Submit("/secrets/default%2Fdb", "/secrets/default%2Fdb/delete"), 409)
		w.jobs = nil
		see(admin.Submit("/secrets/default%2Fdb", "/secrets/default%2Fdb/delete"), 303)
		see(w.API(edge.AdminToken, "GET", "/api/v1/secrets/db", ""), 404)
		trail := strings.Join(w.Trail(), "\n")
		if strings.Count(trail, "secret.write secret/db") != 3 {
			t.Errorf("trail:\n%s", trail)
		}
		seen += trail + w.Dump("secret", "audit", "idempotency")
		for _, part := range []string{"hunter2", "second line", "密"} {
			if strings.Contains(seen, part) {
				t.Errorf("%q is seen somewhere", part)
			}
		}
	})
}

func TestWhatIsNoSecret(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			name, body, want string
			status           int
		}{
			{"a%20b", `{"value":"hunter2"}`, "no name", 400}, {"1a", `{"value":"hunter2"}`, "no name", 400}, {"a", `{}`, "at least 4", 400},
			{"a", `{"value":"abc"}`, "at least 4", 400}, {"a", `{"value":"  \n ab \n "}`, "at least 4", 400}, {"a", `{"value":"hun\u0000ter2"}`, "NUL", 400},
			{"a", `{"value":"` + strings.Repeat("x", 16<<10+1) + `"}`, "16384", 413}, {"a", `{"value":"` + strings.Repeat("x", 16<<10) + `"}`, "", 200},
			{"a", `{"value":"hunter2","version":9}`, "version 1", 409}, {"b", `{"value":"hunter2","version":1}`, "no secret", 404}, {"nosuch%2Fa", `{"value":"hunter2"}`, "", 200},
			{"短", `{"value":"hunter2"}`, "no name", 400}, {"c", `{"value":"四个汉字"}`, "", 200},
		} {
			a := w.put(edge.AdminToken, c.name, c.body)
			if a.Status != c.status || c.want != "" && !strings.Contains(a.Failure(t).Message, c.want) {
				t.Errorf("%s %.60s: %d %.300s, want %d with %q", c.name, c.body, a.Status, a.Body, c.status, c.want)
			}
			if strings.Contains(a.Body, "hunter2") {
				t.Errorf("the answer repeats the value: %s", a.Body)
			}
		}
	})
}

func TestWhoMayDoWhatWithSecrets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("pay")
		w.put(edge.AdminToken, "pay%2Fdb", `{"value":"hunter2"}`)
		for _, r := range []struct {
			name        string
			role        access.Role
			project     string
			looks, sets int
		}{
			{"viewer", access.Viewer, "pay", 200, 403}, {"op", access.Operator, "pay", 200, 403}, {"ed", access.Editor, "pay", 200, 403},
			{"appr", access.Approver, "pay", 200, 403}, {"adm", access.Admin, "pay", 200, 200}, {"other", access.Admin, "default", 404, 404},
		} {
			token := w.As(r.name, r.role, r.project)
			if a := w.API(token, "GET", "/api/v1/secrets/pay%2Fdb", ""); a.Status != r.looks {
				t.Errorf("%s looks: %d", r.name, a.Status)
			}
			if a := w.put(token, "pay%2Fdb", `{"value":"hunter3"}`); a.Status != r.sets {
				t.Errorf("%s sets: %d, want %d", r.name, a.Status, r.sets)
			}
			if a := w.API(token, "DELETE", "/api/v1/secrets/pay%2Fnone", ""); a.Status != max(r.sets, 404) && a.Status != r.sets {
				t.Errorf("%s deletes: %d", r.name, a.Status)
			}
		}
		if got := w.open(t, "pay", "db"); got != "hunter3" {
			t.Errorf("it is %q", got)
		}
	})
}

func TestWithoutAKeyThePageSaysHowToMend(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.secrets.Seal = &seal.Keeper{}
		if a := w.put(edge.AdminToken, "db", `{"value":"hunter2"}`); a.Status != 409 || !strings.Contains(a.Failure(t).Message, "no key") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := w.Browser("admin", edge.AdminPassword).Get("/secrets"); a.Status != 200 || !strings.Contains(a.Body, "AX_SECRETS_KEY") {
			t.Errorf("%d", a.Status)
		}
	})
}
