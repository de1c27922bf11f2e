package web_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	instancestore "github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/job/store"
	"github.com/axsched/ax/modules/job/web"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/scheduler"
	schedulerstore "github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/modules/scheduler/words"
	"github.com/axsched/ax/worker/protocol"
)

// world is the whole of definitions behind a real edge, with the real scheduler's
// triggers.
type world struct {
	*edge.World
	jobs *job.Definitions
	ran  *instancestore.Store
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newWorld(t, url)) })
}

func newWorld(t *testing.T, url string) *world {
	w := &world{}
	w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
		triggers := &scheduler.Triggers{Store: schedulerstore.New(e.DB), IDs: e.IDs, Nudge: deaf{}}
		w.ran = instancestore.New(e.DB)
		w.jobs = &job.Definitions{Store: store.New(e.DB), IDs: e.IDs, Now: now, Schedules: scheduler.Times{}, Triggers: put{triggers},
			Projects: projects{e.Access}, Audit: audit{e.Access}, DefaultZone: "Asia/Shanghai"}
		return (&web.Handlers{Jobs: w.jobs, Fires: triggers, Pauses: &scheduler.Plans{Store: schedulerstore.New(e.DB), Fired: w.ran}, Days: w.ran, Instances: w.ran, Words: words.Wording{}}).Routes()
	})
	return w
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

type deaf struct{}

func (deaf) Nudge(protocol.Nudge) {}

type put struct{ t *scheduler.Triggers }

func (p put) Put(ctx context.Context, j domain.Job) error {
	return p.t.Put(ctx, j.ProjectID, j.ID, j.Version, j.Spec, j.Enabled)
}
func (p put) Remove(ctx context.Context, j domain.Job) error { return p.t.Remove(ctx, j.ID) }
func (p put) Next(ctx context.Context, job domain.ID) (time.Time, error) {
	found, err := p.t.NextFires(ctx, []domain.ID{job})
	return found[job], err
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

type audit struct{ a *access.Access }

func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}

// definitions are the tables that a refused change must leave as they were.
func (w *world) definitions() string {
	w.T.Helper()
	return w.Dump("project", "job", "job_version", "job_dep", "trigger", "schedule_span")
}

// yaml is a job file: name and then lines below job:.
func yaml(name string, lines ...string) string {
	text := "version: v1\njob:\n  name: " + name + "\n  timeout: 5\n  exec: {type: noop}\n"
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

// body is an apply of texts.
func body(t *testing.T, dry bool, texts ...string) string {
	t.Helper()
	type file struct {
		Name string `json:"name"`
		Text string `json:"text"`
	}
	in := struct {
		Files  []file `json:"files"`
		DryRun bool   `json:"dryRun,omitempty"`
	}{DryRun: dry}
	for i, text := range texts {
		in.Files = append(in.Files, file{string(rune('a'+i)) + ".yaml", text})
	}
	out, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// applied is the answer of an apply.
type applied struct {
	Results []struct {
		Job      string           `json:"job"`
		Change   string           `json:"change"`
		Version  int              `json:"version"`
		ID       string           `json:"id"`
		Next     []time.Time      `json:"next"`
		NextWas  *time.Time       `json:"nextWas"`
		Warnings []map[string]any `json:"warnings"`
	} `json:"results"`
	DryRun bool `json:"dryRun"`
}

func (w *world) apply(token string, texts ...string) applied {
	w.T.Helper()
	a := w.API(token, "POST", "/api/v1/apply", body(w.T, false, texts...))
	if a.Status != 200 {
		w.T.Fatalf("apply: %d %s", a.Status, a.Body)
	}
	var out applied
	a.JSON(w.T, &out)
	return out
}

// changes is "job change vN" for each result.
func (a applied) changes() string {
	var out []string
	for _, r := range a.Results {
		out = append(out, r.Job+" "+r.Change+" v"+string(rune('0'+r.Version)))
	}
	return strings.Join(out, ", ")
}
