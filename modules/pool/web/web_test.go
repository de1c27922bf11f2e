package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/pool"
	"github.com/axsched/ax/modules/pool/store"
	"github.com/axsched/ax/modules/pool/web"
)

// world is the edge over a real store; who names pools and who is in them is told by the test.
type world struct {
	*edge.World
	uses   map[string]domain.PoolUse // by name
	jobs   []string                  // that name each pool
	nudges int
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := &world{uses: map[string]domain.PoolUse{}}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			pools := &pool.Pools{Store: store.New(e.DB), IDs: e.IDs, Now: time.Now, Projects: projects{e.Access}, Instances: w, Jobs: w, Audit: audit{e.Access}, Nudge: func() { w.nudges++ }}
			return (&web.Handlers{Pools: pools, Instances: w}).Routes()
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

// PoolUse says the same of each project.
func (w *world) PoolUse(_ context.Context, ids []domain.ID) (map[domain.PoolKey]domain.PoolUse, error) {
	out := map[domain.PoolKey]domain.PoolUse{}
	for _, id := range ids {
		for name, use := range w.uses {
			out[domain.PoolKey{Project: id, Name: name}] = use
		}
	}
	return out, nil
}

// PoolJobs counts none.
func (w *world) PoolJobs(context.Context, []domain.ID) (map[domain.PoolKey]int, error) {
	return nil, nil
}

// NamePool lists the jobs of the test.
func (w *world) NamePool(_ context.Context, _ domain.PoolKey, limit int) ([]string, error) {
	return w.jobs[:min(len(w.jobs), limit)], nil
}

// InPool is an orphan of a job with an odd name.
func (w *world) InPool(_ context.Context, key domain.PoolKey, _ int) ([]domain.Instance, error) {
	var out []domain.Instance
	for range w.uses[key.Name].Used {
		out = append(out, domain.Instance{ID: 5, JobName: "a<b>", Status: domain.Status{State: domain.Running, Label: domain.Orphan}})
	}
	return out, nil
}

// WaitForPool is one that waits, of another job.
func (w *world) WaitForPool(_ context.Context, key domain.PoolKey, limit int) ([]domain.Instance, error) {
	var out []domain.Instance
	for range min(w.uses[key.Name].Waiting, limit) {
		out = append(out, domain.Instance{ID: 6, JobName: "patient", ReadyAt: time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC), Status: domain.Status{State: domain.Running, Label: domain.HeldPool}})
	}
	return out, nil
}

func (w *world) put(token, name, body string) edge.Answer {
	return w.API(token, "PUT", "/api/v1/pools/"+name, body)
}

type poolDoc struct {
	Name, Project, Title       string
	Limit, Used, Waiting, Jobs int
	Ver                        int64
}

func (w *world) list(query string) []poolDoc {
	w.T.Helper()
	var got struct{ Pools []poolDoc }
	w.API(edge.AdminToken, "GET", "/api/v1/pools"+query, "").JSON(w.T, &got)
	return got.Pools
}

func TestAPoolIsMadeChangedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if got := w.list(""); len(got) != 0 {
			t.Fatal(got)
		}
		w.uses["db"] = domain.PoolUse{Used: 2, Waiting: 7}
		var got poolDoc
		w.put(edge.AdminToken, "db", `{"limit":3,"title":"订单库"}`).JSON(t, &got)
		if want := (poolDoc{Name: "db", Project: "default", Title: "订单库", Limit: 3, Used: 2, Waiting: 7, Ver: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		w.put(edge.AdminToken, "db", `{"limit":0,"reason":"the disk burns"}`).JSON(t, &got)
		if got.Limit != 0 || got.Title != "订单库" || got.Ver != 2 {
			t.Errorf("paused: %+v", got)
		}
		w.put(edge.AdminToken, "db", `{"limit":0}`).JSON(t, &got)
		if got.Ver != 2 || w.nudges != 2 {
			t.Errorf("the same again: %+v, %d nudges", got, w.nudges)
		}
		if a := w.put(edge.AdminToken, "db", `{"limit":4,"ver":1}`); a.Status != 409 || !strings.Contains(a.Failure(t).Message, "its limit is 0 now") {
			t.Errorf("from an old version: %d %s", a.Status, a.Body)
		}
		if a := w.put(edge.AdminToken, "db", `{"limit":4,"ver":2}`); a.Status != 200 {
			t.Errorf("from the version that is there: %d %s", a.Status, a.Body)
		}
		del := func() edge.Answer { return w.API(edge.AdminToken, "DELETE", "/api/v1/pools/db", "") }
		w.jobs = []string{"a", "b", "c", "d", "e", "f", "g"}
		if a := del(); a.Status != 409 || !strings.Contains(a.Failure(t).Message, "a, b, c, d, e, …") {
			t.Errorf("deleted while jobs name it: %d %s", a.Status, a.Body)
		}
		w.jobs = nil
		if a := del(); a.Status != 409 || !strings.Contains(a.Failure(t).Message, "2 instances have a place in it and 7 wait") {
			t.Errorf("deleted while instances are in it: %d %s", a.Status, a.Body)
		}
		delete(w.uses, "db")
		if a := del(); a.Status != 204 {
			t.Errorf("deleted: %d %s", a.Status, a.Body)
		}
		if a := del(); a.Status != 404 {
			t.Errorf("deleted again: %d", a.Status)
		}
		if got := w.list(""); len(got) != 0 {
			t.Errorf("it is still there: %v", got)
		}
		trail := strings.Join(w.Trail(), "\n")
		if strings.Count(trail, "pool.write pool/db") != 2 || strings.Count(trail, "pool.limit pool/db") != 2 {
			t.Errorf("trail:\n%s", trail)
		}
	})
}

func TestWhatIsNoPool(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("pay")
		for _, c := range []struct {
			name, body string
			status     int
		}{
			{"a%20b", `{"limit":1}`, 400}, {"-a", `{"limit":1}`, 400}, {"a", `{"limit":-1}`, 400}, {"a", `{"limit":100001}`, 400}, {"a", `{}`, 400}, {"a", `{"limit":1.5}`, 400},
			{"a", `{"limit":"1"}`, 400}, {"a", `{"limit":1,"x":1}`, 400}, {"a", `{"limit":1,"title":"a\nb"}`, 400}, {"nosuch%2Fa", `{"limit":1}`, 200}, {"a", `{"limit":1,"ver":1}`, 404},
			{strings.Repeat("x", 101), `{"limit":1}`, 400}, {"pay%2F%E8%AE%A2%E5%8D%95", `{"limit":1}`, 200}, {"new", `{"limit":100000}`, 200},
		} {
			if a := w.put(edge.AdminToken, c.name, c.body); a.Status != c.status {
				t.Errorf("%s %s: %d %s, want %d", c.name, c.body, a.Status, a.Body, c.status)
			}
		}
		if got := w.list("?project=pay"); len(got) != 1 || got[0].Name != "pay/订单" {
			t.Errorf("of one project: %v", got)
		}
		if a := w.Browser("admin", edge.AdminPassword).Get("/pools/default%2Fnew"); a.Status != 200 || !strings.Contains(a.Body, "Pool new") {
			t.Errorf("the page of a pool with the name of a page: %d", a.Status)
		}
	})
}

func TestWhoMayDoWhatWithPools(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("pay")
		w.put(edge.AdminToken, "pay%2Fdb", `{"limit":3}`)
		for _, r := range []struct {
			name                            string
			role                            access.Role
			project                         string
			looks, limits, describes, makes int
		}{
			{"viewer", access.Viewer, "pay", 200, 403, 403, 403}, {"op", access.Operator, "pay", 200, 200, 403, 403}, {"ed", access.Editor, "pay", 200, 200, 200, 200},
			{"appr", access.Approver, "pay", 200, 403, 403, 403}, {"other", access.Admin, "default", 404, 404, 404, 404}, {"everywhere", access.Operator, "", 200, 200, 403, 403},
		} {
			token := w.As(r.name, r.role, r.project)
			if a := w.API(token, "GET", "/api/v1/pools/pay%2Fdb", ""); a.Status != r.looks {
				t.Errorf("%s looks: %d", r.name, a.Status)
			}
			if a := w.put(token, "pay%2Fdb", fmt.Sprintf(`{"limit":%d}`, len(r.name))); a.Status != r.limits {
				t.Errorf("%s sets the limit: %d %s", r.name, a.Status, a.Body)
			}
			if a := w.put(token, "pay%2Fdb", fmt.Sprintf(`{"title":"of %s"}`, r.name)); a.Status != r.describes {
				t.Errorf("%s describes it: %d", r.name, a.Status)
			}
			if a := w.put(token, "pay%2F"+r.name, `{"limit":1}`); a.Status != r.makes {
				t.Errorf("%s makes one: %d", r.name, a.Status)
			}
			if a := w.API(token, "DELETE", "/api/v1/pools/pay%2F"+r.name, ""); r.makes == 200 && a.Status != 204 || r.makes != 200 && a.Status < 400 {
				t.Errorf("%s deletes one: %d", r.name, a.Status)
			}
		}
		var seen struct{ Pools []poolDoc }
		w.API(w.As("other2", access.Viewer, "default"), "GET", "/api/v1/pools", "").JSON(t, &seen)
		if len(seen.Pools) != 0 {
			t.Errorf("pools of another project are listed: %v", seen.Pools)
		}
		if a := w.API("wrong", "GET", "/api/v1/pools", ""); a.Status != 401 {
			t.Errorf("nobody: %d", a.Status)
		}
	})
}

func TestPagesOfPools(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		says := func(a edge.Answer, status int, parts ...string) {
			t.Helper()
			if a.Status != status || strings.Contains(a.Body, "⟦") {
				t.Errorf("status %d, want %d, or a word is missing", a.Status, status)
			}
			for _, p := range parts {
				if !strings.Contains(a.Body, p) {
					t.Errorf("the page lacks %q", p)
				}
			}
		}
		says(b.Get("/pools"), 200, "There are no pools", "/pools/new")
		says(b.Get("/pools/new"), 200, `name="limit"`)
		says(b.Submit("/pools/new", "/pools", "project", "default", "name", "db", "limit", "many"), 422, "A limit is a whole number", `value="db"`)
		if a := b.Submit("/pools/new", "/pools", "project", "default", "name", "db", "limit", "3", "title", "t<b>"); a.Status != 303 || a.Header.Get("Location") != "/pools/default%2Fdb" {
			t.Fatalf("made: %d %s", a.Status, a.Header.Get("Location"))
		}
		says(b.Submit("/pools/new", "/pools", "project", "default", "name", "db", "limit", "9"), 409, "There is a pool db already")
		w.uses["db"], w.jobs = domain.PoolUse{Used: 1, Waiting: 12}, []string{"stat"}
		const page = "/pools/default%2Fdb"
		says(b.Get("/pools"), 200, `href="/pools/default%2Fdb"`, "1 of 3", "t&lt;b&gt;")
		says(b.Get(page), 200, "a&lt;b&gt;", "orphan", "patient", `datetime="2026-02-03T04:05:00Z"`, `href="/instances?pool=db&amp;place=holds"`, `href="/instances?pool=db&amp;place=waits"`, `href="/jobs/stat"`, `name="ver" value="1"`)
		says(b.Get(page, "Accept-Language", "zh-CN"), 200, "资源池 db")
		if a := b.Submit(page, page, "ver", "1", "limit", "5", "title", "t<b>"); a.Status != 303 || a.Header.Get("Location") != page {
			t.Errorf("changed: %d %s", a.Status, a.Header.Get("Location"))
		}
		says(b.Submit(page, page, "ver", "1", "limit", "7", "title", "mine"), 409, "was changed meanwhile: its limit is 5 now", `value="7"`, `value="mine"`, `name="ver" value="2"`)
		says(b.Submit(page, page, "ver", "2", "limit", "-1", "title", ""), 422, "A limit is a whole number", `value="-1"`)
		says(b.Submit(page, page+"/delete"), 409, "these jobs name it: stat")
		w.uses, w.jobs = nil, nil
		if a := b.Submit(page, page+"/delete"); a.Status != 303 || a.Header.Get("Location") != "/pools" {
			t.Errorf("deleted: %d %s", a.Status, a.Body)
		}
		says(b.Get(page), 404)
		if got := w.list(""); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}
