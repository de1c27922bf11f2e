package web_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/incident/web"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
)

type world struct {
	*edge.World
	store *store.Store
	read  *incident.Reader
}

type projects struct{ a *access.Access }

func (p projects) Names(ctx context.Context) (map[domain.ID]string, error) {
	all, err := p.a.Projects(ctx, domain.ProjectSet{All: true})
	out := map[domain.ID]string{}
	for _, one := range all {
		out[one.ID] = one.Name
	}
	return out, err
}

type audit struct{ a *access.Access }

func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := &world{}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			w.store = store.New(e.DB, e.IDs.Next)
			w.read = &incident.Reader{Store: w.store, Projects: projects{e.Access}}
			return (&web.Handlers{Reader: w.read, Closer: &incident.Closer{Store: w.store, Audit: audit{e.Access}}}).Routes()
		})
		fn(t, w)
	})
}

// raise opens incidents of failed jobs, "job1" and on, or of one worker for project 0.
func (w *world) raise(project domain.ID, n int) {
	w.T.Helper()
	var found []store.Occurrence
	for i := range n {
		o := store.Occurrence{ProjectID: project, Kind: domain.IncidentJobFailed, Subject: fmt.Sprint(int64(project) + int64(i) + 1), Name: fmt.Sprintf("job%d", i+1),
			At: time.Now().UTC(), Example: 77, Message: "<b>exit code 3</b>"}
		if project == domain.EveryProject {
			o.Kind, o.Subject, o.Name, o.Detail = domain.IncidentWorkerLost, "w1", "w1", []string{"incident.said.silent", "host", "h1"}
		}
		found = append(found, o)
	}
	if err := w.store.Raise(w.T.Context(), found); err != nil {
		w.T.Fatal(err)
	}
}

type answer struct {
	Incidents []struct {
		ID, Kind, Subject, Project, Message, Recovery, Example string
		Open                                                   bool
		Count                                                  int
		ResolvedAt                                             *time.Time
	}
	Cursor string
}

func (w *world) list(token, query string) (out answer) {
	w.T.Helper()
	a := w.API(token, "GET", "/api/v1/incidents"+query, "")
	if a.Status != 200 {
		w.T.Fatalf("%s: %d %s", query, a.Status, a.Body)
	}
	a.JSON(w.T, &out)
	return out
}

func TestOpenOnesComeFirstAndEveryPageOfThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pay := w.Project("pay")
		w.raise(pay, 120)
		all := w.list(edge.AdminToken, "?limit=500")
		if len(all.Incidents) != 120 || all.Incidents[0].Subject != "job120" || all.Cursor != "" {
			t.Fatalf("%d incidents, the first %+v", len(all.Incidents), all.Incidents[0])
		}
		for i, in := range all.Incidents { // all but the three oldest are over, in an order of their own
			if i < 117 {
				id, err := domain.ParseID(in.ID)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.store.Resolve(t.Context(), []domain.ID{id}, time.UnixMilli(1_800_000_000_000+int64(i%10)), domain.RecoveredSuccess); err != nil {
					t.Fatal(err)
				}
			}
		}
		seen, order, cursor := map[string]bool{}, []string{}, ""
		for {
			page := w.list(edge.AdminToken, "?limit=7&cursor="+cursor)
			for _, in := range page.Incidents {
				if seen[in.ID] {
					t.Fatalf("%s comes twice", in.ID)
				}
				seen[in.ID] = true
				order = append(order, fmt.Sprint(in.Open, in.ResolvedAt))
			}
			if cursor = page.Cursor; cursor == "" {
				break
			}
		}
		if len(seen) != 120 || !strings.HasPrefix(order[2], "true") || !strings.HasPrefix(order[3], "false") {
			t.Errorf("%d came in pages, %v", len(seen), order[:5])
		}
		for i := 4; i < len(order); i++ {
			if order[i] > order[i-1] {
				t.Fatalf("%s after %s", order[i], order[i-1])
			}
		}
		if open := w.list(edge.AdminToken, "?state=open"); len(open.Incidents) != 3 {
			t.Errorf("%d are open", len(open.Incidents))
		}
		if over := w.list(edge.AdminToken, "?state=closed&limit=500"); len(over.Incidents) != 117 || over.Incidents[0].Recovery != "success" || over.Incidents[0].Open {
			t.Errorf("%d are over, %+v", len(over.Incidents), over.Incidents[0])
		}
	})
}

func TestWhoSeesWhat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pay, hr := w.Project("pay"), w.Project("hr")
		w.raise(pay, 2)
		w.raise(hr, 3)
		w.raise(domain.EveryProject, 1)
		viewer := w.As("viewer", access.Viewer, "pay")
		all := w.list(viewer, "")
		for _, in := range all.Incidents {
			if in.Project != "pay" && in.Project != "" {
				t.Errorf("a viewer of pay sees %+v", in)
			}
		}
		if len(all.Incidents) != 3 || len(w.list(edge.AdminToken, "").Incidents) != 6 {
			t.Errorf("a viewer of one project sees %d", len(all.Incidents))
		}
		if a := w.API(viewer, "GET", "/api/v1/incidents?project=hr", ""); a.Status != 404 {
			t.Errorf("another project: %d", a.Status)
		}
		if a := w.API(w.As("nobody", "", ""), "GET", "/api/v1/incidents", ""); a.Status != 403 {
			t.Errorf("without a role: %d", a.Status)
		}
		for query, n := range map[string]int{"?project=pay": 2, "?kind=worker_lost": 1, "?kind=job_failed&project=hr": 3, "?kind=clock": 0, "?id=" + all.Incidents[0].ID: 1} {
			if got := w.list(edge.AdminToken, query); len(got.Incidents) != n {
				t.Errorf("%s gives %d, want %d", query, len(got.Incidents), n)
			}
		}
		for _, query := range []string{"?kind=nonsense", "?state=shut", "?cursor=x", "?limit=0", "?id=x"} {
			if a := w.API(edge.AdminToken, "GET", "/api/v1/incidents"+query, ""); a.Status != 400 {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
	})
}

func TestThePage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.Browser("admin", edge.AdminPassword)
		if p := b.Get("/incidents"); p.Status != 200 || !strings.Contains(p.Body, "Nothing is wrong") || strings.Contains(p.Body, "⟦") {
			t.Errorf("the empty page: %d %s", p.Status, p.Body)
		}
		pay := w.Project("pay")
		w.raise(pay, 60)
		w.raise(domain.EveryProject, 1)
		p := b.Get("/incidents")
		for _, want := range []string{"Worker lost", "Its host: h1.", "job60", "&lt;b&gt;exit code 3", `href="/instances/77"`, "cursor="} {
			if !strings.Contains(p.Body, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.Contains(p.Body, "<b>exit") || strings.Contains(p.Body, "⟦") {
			t.Error("the page holds markup of a message, or lacks a word")
		}
		if p := b.Get("/incidents?" + url.Values{"kind": {"clock"}}.Encode()); !strings.Contains(p.Body, "Nothing matches") {
			t.Error("a filter that leaves nothing does not say so")
		}
		if p := b.Get("/incidents?kind=nonsense"); p.Status != 422 || !strings.Contains(p.Body, "There is no kind of incident") {
			t.Errorf("a wrong filter: %d", p.Status)
		}
	})
}

func TestTheFramesCountIsOfWhatTheReaderMaySee(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		pay, hr := w.Project("pay"), w.Project("hr")
		w.raise(pay, 2)
		w.raise(hr, 3)
		w.raise(domain.EveryProject, 1)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.read.Run(ctx) }()
		for deadline := time.Now().Add(20 * time.Second); w.read.OpenCount(domain.ProjectSet{All: true}) == 0; {
			if time.Now().After(deadline) {
				t.Fatal("nothing is counted")
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for seen, want := range map[string]int64{"all": 6, "pay": 3, "none": 0} {
			set := map[string]domain.ProjectSet{"all": {All: true}, "pay": {IDs: []domain.ID{pay}}}[seen]
			if got := w.read.OpenCount(set); got != want {
				t.Errorf("who sees %s sees %d, want %d", seen, got, want)
			}
		}
	})
}
