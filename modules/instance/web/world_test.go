package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/instance/web"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/idem"
)

const (
	mine   = domain.ID(7)
	theirs = domain.ID(8)
)

// The tokens of the people of these tests.
const (
	admin    = "token-of-1"
	operator = "token-of-2"
	viewer   = "token-of-3"
	stranger = "token-of-4" // an operator of the other project
)

// world is the pages and the API over a real store; who people are and what jobs
// there are is told by the test.
type world struct {
	t      *testing.T
	db     *dbx.DB
	st     *store.Store
	life   *instance.Lifecycle
	server *httptest.Server

	mu       sync.Mutex
	jobs     []domain.Job
	sessions map[string][]byte
	answers  map[string]idem.Answer
	bodies   map[string]string
	trail    []string
	denied   []string
	missing  []instance.Dependency
	waiters  []domain.InstanceDep
	stale    map[domain.ID]domain.StaleMark
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newWorld(t, url)) })
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: db, st: store.New(db), sessions: map[string][]byte{}, answers: map[string]idem.Answer{}, bodies: map[string]string{}}
	w.jobs = []domain.Job{w.newJob(11, mine, "load"), w.newJob(12, mine, "stat"), w.newJob(13, theirs, "secret")}
	ids, err := domain.NewIDs(1, now)
	if err != nil {
		t.Fatal(err)
	}
	w.life = &instance.Lifecycle{Store: w.st, IDs: ids, Now: now, Specs: w, Renderer: w, Deps: w, Tally: w, Listener: w}
	records := &instance.Records{Store: w.st, Specs: w, Deps: w, Workers: w, Now: now}
	h := &web.Handlers{Records: records, Requests: &instance.Requests{Lifecycle: w.life, Audit: audit{w}, Values: w}, Jobs: w, Projects: w, Secrets: w}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	router, err := httpx.New(httpx.Options{Policy: w, Identity: w, Sessions: w, Ledger: w, Denials: w, Log: quiet, KeepAlive: 50 * time.Millisecond,
		Patience: time.Minute}) // what pages say is judged, not how soon a busy machine does
	if err != nil {
		t.Fatal(err)
	}
	login := httpx.Route{Method: "GET", Path: "/test/login/:id", Action: httpx.Public, Handler: func(c echo.Context) error {
		id, err := httpx.ParamID(c, "id")
		if err == nil {
			err = httpx.Login(c, id)
		}
		if err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}}
	if err := router.Add(append(h.Routes(), login)...); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(router)
	t.Cleanup(func() {
		w.server.CloseClientConnections()
		w.server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func (w *world) newJob(id, project domain.ID, name string) domain.Job {
	spec := domain.JobSpec{Project: domain.DefaultProject, Name: name, Timezone: "UTC", Priority: domain.LaneDefault, Overlap: domain.OverlapQueue, BizDate: domain.BizDateT,
		Exec: domain.Exec{Type: "shell", Spec: json.RawMessage(`{}`)}, OnWorkerLost: domain.LossRetry, TimeoutSec: 60, Params: map[string]string{"source": "job's"}}
	if project == theirs {
		spec.Project = "other"
	}
	return domain.Job{ID: id, ProjectID: project, Name: name, Version: 1, Enabled: true, Spec: spec}
}

// audit is the trail of the world, whose own Changed is the lifecycle's listener.
type audit struct{ w *world }

// Spec is the definition of a job.
func (w *world) Spec(_ context.Context, job domain.ID, _ int) (domain.JobSpec, error) {
	for _, j := range w.jobs {
		if j.ID == job {
			return j.Spec, nil
		}
	}
	return domain.JobSpec{}, domain.Fail(domain.NotFound, "no job %s", job)
}

// Find finds a job by its name.
func (w *world) Find(_ context.Context, name string) (domain.Job, error) {
	for _, j := range w.jobs {
		if j.Spec.Key().String() == name || j.ID.String() == name {
			return j, nil
		}
	}
	return domain.Job{}, domain.Fail(domain.NotFound, "there is no job %q", name)
}

// InHistory finds a job by its name, with the others that bore it.
func (w *world) InHistory(ctx context.Context, name string) (j domain.Job, others []domain.JobName, err error) {
	j, err = w.Find(ctx, name)
	for _, o := range w.jobs {
		if err == nil && o.ID != j.ID && o.ProjectID == j.ProjectID && o.Name == j.Name {
			others = append(others, domain.JobName{ID: o.ID, DeletedAt: o.DeletedAt})
		}
	}
	return j, others, err
}

// NamesOf names jobs.
func (w *world) NamesOf(_ context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error) {
	out := map[domain.ID]domain.JobName{}
	for _, j := range w.jobs {
		if slices.Contains(jobs, j.ID) {
			out[j.ID] = domain.JobName{ID: j.ID, ProjectID: j.ProjectID, Key: j.Spec.Key(), DeletedAt: j.DeletedAt}
		}
	}
	return out, nil
}

// Render fills nothing in.
func (w *world) Render(_ context.Context, spec domain.JobSpec, _ domain.Instance, _ domain.Attempt) (instance.Rendered, error) {
	return instance.Rendered{Exec: spec.Exec.Spec}, nil
}

// Attach has no dependencies.
func (w *world) Attach(context.Context, []domain.Instance) (map[domain.ID]int, error) {
	return nil, nil
}

// Reopened opens nothing.
func (w *world) Reopened(context.Context, []domain.Instance) error { return nil }

// Waiting are none.
func (w *world) Waiting(context.Context, domain.ID) ([]domain.InstanceDep, error) { return nil, nil }

// Waive waives nothing.
func (w *world) Waive(context.Context, domain.ID) error { return nil }

// Record counts nothing.
func (w *world) Record(context.Context, []domain.Change) error { return nil }

// Changed hears nothing.
func (w *world) Changed([]domain.Change) {}

// Of is the dependencies of the test.
func (w *world) Of(context.Context, domain.ID) ([]instance.Dependency, error) { return w.missing, nil }

// Waiters is those of the test.
func (w *world) Waiters(context.Context, domain.ID, domain.BizDate) ([]domain.InstanceDep, error) {
	return w.waiters, nil
}

// Stale is the marks of the test.
func (w *world) Stale(context.Context, []domain.ID) (map[domain.ID]domain.StaleMark, error) {
	return w.stale, nil
}

// List has no workers.
func (w *world) List(context.Context) ([]domain.Worker, error) { return nil, nil }

// Check lets no name with a blank pass.
func (w *world) Check(_ context.Context, _ domain.ID, spec domain.JobSpec, own map[string]string) (faults []error) {
	for _, e := range domain.CheckInputs(spec.Inputs, own) {
		faults = append(faults, e)
	}
	for name := range own {
		if strings.Contains(name, " ") {
			faults = append(faults, domain.Fail(domain.Invalid, "a bad name").At("params."+name))
		}
	}
	return faults
}

// BizDateNow is always the same.
func (w *world) BizDateNow(context.Context, domain.JobSpec) (domain.BizDate, error) {
	return domain.ParseBizDate("2026-02-03")
}

// Names lists two secrets.
func (w *world) Names(context.Context, domain.ID) ([]string, error) {
	return []string{"db_prod", "db_test"}, nil
}

// Changed remembers a line of the trail.
func (a audit) Changed(_ context.Context, _ domain.ID, action, object, _, _ string) error {
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.w.trail = append(a.w.trail, action+" "+object)
	return nil
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fire makes an instance of the job for the date.
func (w *world) fire(job domain.ID, date string) domain.Instance {
	w.t.Helper()
	d, err := domain.ParseBizDate(date)
	w.ok(err)
	i := slices.IndexFunc(w.jobs, func(j domain.Job) bool { return j.ID == job })
	j := w.jobs[i]
	made, err := w.life.Create(w.t.Context(), []domain.NewInstance{{ProjectID: j.ProjectID, JobID: j.ID, JobName: j.Name, Version: 1,
		Trigger: domain.TriggerCron, BizDate: d, Expected: now()}})
	w.ok(err)
	return made[0]
}

// get reads an instance as it stands.
func (w *world) get(id domain.ID) domain.Instance {
	w.t.Helper()
	in, err := w.st.Get(w.t.Context(), id)
	w.ok(err)
	return in
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) into(t *testing.T, dest any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), dest); err != nil {
		t.Fatalf("%d, not JSON: %v in %q", a.status, err, a.body)
	}
}

func (w *world) api(token, method, path, body string, headers ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+path, strings.NewReader(body))
	w.ok(err)
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return w.do(http.DefaultClient, req)
}

func (w *world) do(c *http.Client, req *http.Request) answer {
	w.t.Helper()
	res, err := c.Do(req)
	w.ok(err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	w.ok(err)
	return answer{res.StatusCode, res.Header, string(b)}
}

// browser keeps cookies and follows no redirects.
type browser struct {
	w *world
	c *http.Client
}

func (w *world) browser(account string) *browser {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	w.ok(err)
	b := &browser{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if a := b.get("/test/login/" + account); a.status != http.StatusNoContent {
		w.t.Fatalf("login: %d %s", a.status, a.body)
	}
	return b
}

func (b *browser) get(path string, headers ...string) answer {
	b.w.t.Helper()
	req, err := http.NewRequestWithContext(b.w.t.Context(), "GET", b.w.server.URL+path, nil)
	b.w.ok(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return b.w.do(b.c, req)
}

var csrfInput = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// submit posts a form with the token of a page.
func (b *browser) submit(page, path string, fields ...string) answer {
	b.w.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	if page != "" {
		m := csrfInput.FindStringSubmatch(b.get(page).body)
		if m == nil {
			b.w.t.Fatalf("no token in %s", page)
		}
		form.Set("csrf", m[1])
	}
	req, err := http.NewRequestWithContext(b.w.t.Context(), "POST", b.w.server.URL+path, strings.NewReader(form.Encode()))
	b.w.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.w.do(b.c, req)
}
