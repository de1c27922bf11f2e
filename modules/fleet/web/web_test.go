package web_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet"
	"github.com/axsched/ax/modules/fleet/store"
	"github.com/axsched/ax/modules/fleet/web"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/httpx"
)

type world struct {
	*edge.World
	workers *store.Store
	deaf    time.Time // since when no worker is heard
	now     func() time.Time
}

type audit struct{ a *access.Access }

func (a audit) Changed(ctx context.Context, project domain.ID, action, object, before, after string) error {
	return a.a.Record(ctx, access.Entry{ProjectID: project, Action: action, Object: object, Before: before, After: after, Allowed: true})
}

func each(t *testing.T, fn func(t *testing.T, w *world)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		w := &world{now: time.Now}
		w.World = edge.New(t, url, func(e *edge.World) []httpx.Route {
			w.workers = store.New(e.DB)
			return (&web.Handlers{Drains: fleet.Drains{Store: w.workers, Audit: audit{e.Access}}, Start: "ax --mode=worker", Now: func() time.Time { return w.now() }, Offers: func(ctx context.Context) (map[string]domain.TypeOffer, error) { return w.workers.Offers(ctx) },
				Deaf: func(context.Context) (time.Time, string, error) { return w.deaf, "connection refused", nil }}).Routes()
		})
		fn(t, w)
	})
}

func (w *world) seen(workers ...domain.Worker) {
	w.T.Helper()
	if err := w.workers.Save(w.T.Context(), workers); err != nil {
		w.T.Fatal(err)
	}
}

func alive(name string) domain.Worker {
	at := time.Now().UTC().Truncate(time.Millisecond)
	return domain.Worker{Name: name, Boot: 3, State: domain.WorkerAvailable, Host: "h<b>", IP: "10.0.0.1", Version: "v1", Types: []string{"shell"}, Tags: []string{"gpu"},
		Lanes: map[domain.Lane]int{domain.LaneHigh: 4}, Cores: 2, Running: 1, Skew: -3 * time.Second, Mean: 1500 * time.Millisecond, Started: at.Add(-time.Hour), SeenAt: at}
}

// The page shows each worker with its state and how far its clock is off. (J-C21)
func TestWorkersAreListedTheLostOnesLast(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if a := w.API(edge.AdminToken, "GET", "/api/v1/workers", ""); a.Body != `{"workers":[],"cursor":"","deaf":null}`+"\n" {
			t.Errorf("none: %s", a.Body)
		}
		b := w.Browser("admin", edge.AdminPassword)
		if page := b.Get("/workers"); page.Status != 200 || !strings.Contains(page.Body, "ax --mode=worker") {
			t.Errorf("the page of none does not say how to start one: %d", page.Status)
		}
		gone := alive("a-gone")
		gone.State, gone.LostAt = domain.WorkerGone, gone.SeenAt
		here := alive("b-here")
		here.Skew, here.RefusingAt = -6*time.Second, here.SeenAt.Add(-time.Minute)
		w.seen(gone, here)
		var got struct{ Workers []map[string]any }
		w.API(edge.AdminToken, "GET", "/api/v1/workers", "").JSON(t, &got)
		if len(got.Workers) != 2 || got.Workers[0]["name"] != "b-here" || got.Workers[1]["state"] != "lost" || got.Workers[1]["lostAt"] == nil || got.Workers[0]["lostAt"] != nil {
			t.Fatalf("%v", got.Workers)
		}
		first := got.Workers[0]
		lanes, _ := first["lanes"].(map[string]any)
		if first["boot"] != 3.0 || first["skewMs"] != -6000.0 || first["meanMs"] != 1500.0 || lanes["high"] != 4.0 || lanes["low"] != 0.0 || first["drain"] != false || first["state"] != "refusing" || first["refusingAt"] == nil {
			t.Errorf("%v", first)
		}
		if lost := got.Workers[1]; lost["running"] != 0.0 || lost["refusingAt"] != nil {
			t.Errorf("a lost worker runs: %v", lost)
		}
		page := b.Get("/workers")
		if page.Status != 200 || strings.Contains(page.Body, "h<b>") || !strings.Contains(page.Body, "h&lt;b&gt;") || strings.Contains(page.Body, "⟦") || !strings.Contains(page.Body, "refuses work") ||
			!strings.Contains(page.Body, "Refusing: clock") || !strings.Contains(page.Body, "It has refused since") || strings.Contains(page.Body, "Available") {
			t.Errorf("page: %d %s", page.Status, page.Body)
		}
	})
}

// A worker whose disk is full is not available, and the page says what is wrong and of a lost one what was.
func TestAWorkersFullDiskIsSaid(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		full, gone := alive("a-full"), alive("b-gone")
		full.Disk, full.RefusingAt = "disk full (no space left on device)", full.SeenAt.Add(-time.Minute)
		gone.State, gone.LostAt, gone.Disk = domain.WorkerGone, gone.SeenAt, full.Disk
		w.seen(full, gone)
		var got struct{ Workers []map[string]any }
		w.API(edge.AdminToken, "GET", "/api/v1/workers", "").JSON(t, &got)
		if first := got.Workers[0]; first["state"] != "refusing" || first["disk"] != full.Disk || first["refusingAt"] == nil {
			t.Errorf("%v", first)
		}
		page := w.Browser("admin", edge.AdminPassword).Get("/workers").Body
		for _, want := range []string{"Refusing: disk", "It cannot write its journal: disk full (no space left on device). It takes no work until it can",
			"It has refused since", "In its last heartbeat it could not write its journal: disk full"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if strings.Contains(page, "Available") {
			t.Error("the page calls it available")
		}
	})
}

func TestDrainAndResume(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.seen(alive("w 1"))
		for _, step := range []struct {
			body  string
			state string
		}{{`{"drain":true}`, "draining"}, {`{"drain":true}`, "draining"}, {`{"drain":false}`, "available"}} {
			var got map[string]any
			a := w.API(edge.AdminToken, "POST", "/api/v1/workers/w%201/drain", step.body)
			a.JSON(t, &got)
			if a.Status != 200 || got["state"] != step.state {
				t.Errorf("%s: %d %s", step.body, a.Status, a.Body)
			}
		}
		b := w.Browser("admin", edge.AdminPassword)
		if a := b.Submit("/workers", "/workers/w%201/drain"); a.Status != 303 || a.Header.Get("Location") != "/workers" {
			t.Errorf("by form: %d", a.Status)
		}
		w.seen(alive("w 1")) // the next heartbeat does not undo it
		if all, err := w.workers.List(t.Context()); err != nil || !all[0].Drain || all[0].State != domain.WorkerDraining {
			t.Errorf("%v %v", all, err)
		}
		if a := b.Submit("/workers", "/workers/w%201/resume"); a.Status != 303 {
			t.Errorf("by form: %d", a.Status)
		}
		if trail := strings.Join(w.Trail(), "\n"); strings.Count(trail, "admin worker.drain worker/w 1") != 4 {
			t.Errorf("four changes and one repetition left the trail\n%s", trail)
		}
		for path, body := range map[string]string{"/api/v1/workers/nosuch/drain": `{"drain":true}`, "/api/v1/workers/w%201/drain": `{}`} {
			if a := w.API(edge.AdminToken, "POST", path, body); a.Status != 404 && a.Status != 400 {
				t.Errorf("%s %s: %d", path, body, a.Status)
			}
		}
	})
}

func TestWhoMayDrain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.seen(alive("w"))
		w.Project("mine")
		for _, r := range []struct {
			name          string
			role          access.Role
			project       string
			looks, drains int
		}{
			{"viewer", access.Viewer, "", 200, 403}, {"local", access.Operator, "mine", 200, 403}, {"op", access.Operator, "", 200, 200},
			{"ed", access.Editor, "", 200, 200}, {"none", "", "", 403, 403},
		} {
			token := w.As(r.name, r.role, r.project)
			if a := w.API(token, "GET", "/api/v1/workers", ""); a.Status != r.looks {
				t.Errorf("%s looks: %d", r.name, a.Status)
			}
			if a := w.API(token, "POST", "/api/v1/workers/w/drain", `{"drain":true}`); a.Status != r.drains {
				t.Errorf("%s drains: %d %s", r.name, a.Status, a.Body)
			}
		}
		if a := w.API("wrong", "GET", "/api/v1/workers", ""); a.Status != 401 {
			t.Errorf("a wrong token: %d", a.Status)
		}
		if trail := strings.Join(w.Trail(), "\n"); !strings.Contains(trail, "local worker.drain POST /api/v1/workers/w/drain refused") {
			t.Errorf("a refusal is not in the trail:\n%s", trail)
		}
	})
}

// The last heartbeat is told as such, not the moment at which the center gave the worker up.
func TestALostWorkersLastHeartbeatIsTheOneThatWasHeard(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gone := alive("gone")
		gone.SeenAt = gone.SeenAt.Add(-18 * time.Second)
		gone.State, gone.LostAt = domain.WorkerGone, gone.SeenAt.Add(11*time.Second)
		w.seen(gone)
		page := w.Browser("admin", edge.AdminPassword).Get("/workers", "Accept-Language", "en").Body
		_, banner, _ := strings.Cut(page, `class="worker-lost"`)
		banner, _, _ = strings.Cut(banner, "</p>")
		heard, lost := strings.Index(banner, gone.SeenAt.Format(time.RFC3339Nano)), strings.Index(banner, gone.LostAt.Format(time.RFC3339Nano))
		if words := strings.Index(banner, "counted as lost"); !strings.Contains(banner, "Last heartbeat") || heard < 0 || words < heard || lost < words {
			t.Errorf("heard at %s, lost at %s: %s", gone.SeenAt, gone.LostAt, banner)
		}
	})
}

// A lost worker takes nothing that it could be asked to leave; who was asked before can be asked to go on when it is back.
func TestALostWorkerIsNotAskedToDrain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gone := alive("gone")
		gone.State, gone.LostAt = domain.WorkerGone, gone.SeenAt.Add(11*time.Second)
		w.seen(alive("here"), gone)
		b := w.Browser("admin", edge.AdminPassword)
		page := b.Get("/workers", "Accept-Language", "en").Body
		if !strings.Contains(page, `"/workers/here/drain"`) || strings.Contains(page, `"/workers/gone/drain"`) || strings.Contains(page, `"/workers/gone/resume"`) {
			t.Error(page)
		}
		if err := w.workers.SetDrain(t.Context(), "gone", true); err != nil {
			t.Fatal(err)
		}
		if page = b.Get("/workers", "Accept-Language", "en").Body; !strings.Contains(page, `"/workers/gone/resume"`) || strings.Contains(page, `"/workers/gone/drain"`) {
			t.Error(page)
		}
	})
}

// Who is not heard is not told as available, and whoever cannot be heard at all says so.
func TestASilentWorkerIsToldAsSilent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		silent, fresh, gone := alive("silent"), alive("fresh"), alive("gone")
		at := silent.SeenAt
		w.now = func() time.Time { return at }
		silent.SeenAt = at.Add(-domain.SilentFrom)
		fresh.SeenAt = silent.SeenAt.Add(time.Millisecond)
		gone.State, gone.LostAt = domain.WorkerGone, at
		w.seen(silent, fresh, gone)
		states := func() string {
			var got struct {
				Workers []struct{ Name, State string }
				Deaf    *struct{ Said string }
			}
			w.API(edge.AdminToken, "GET", "/api/v1/workers", "").JSON(t, &got)
			out := ""
			for _, x := range got.Workers {
				out += x.Name + " " + x.State + ", "
			}
			if got.Deaf != nil {
				out += got.Deaf.Said
			}
			return out
		}
		page := func() string {
			return w.Browser("admin", edge.AdminPassword).Get("/workers", "Accept-Language", "en").Body
		}
		if got := states(); got != "fresh available, silent silent, gone lost, " {
			t.Error(got)
		}
		if p := page(); !strings.Contains(p, "3 workers, 1 alive, 1 silent") || strings.Contains(p, "no worker can be heard") {
			t.Error(p)
		}
		w.deaf = at.Add(-time.Second)
		if got := states(); got != "fresh silent, silent silent, gone lost, connection refused" {
			t.Error(got)
		}
		if p := page(); !strings.Contains(p, "3 workers, 0 alive, 2 silent") || !strings.Contains(p, "no worker can be heard, for the Redis through which they are heard: connection refused") {
			t.Error(p)
		}
	})
}

// The page and the API say what types take and which plug-ins are of no use, in the reader's language, and nothing of it is markup.
func TestWhatTypesTakeIsShown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		here := alive("a-here")
		here.Types = []string{"shell", "acme_copy"}
		w.seen(here)
		cat := domain.Catalog{Worker: here.Name, Boot: here.Boot, Rev: "r", Types: []domain.TypeDescription{{Type: "acme_copy", Version: "1.2", Plugin: "acme", About: domain.Words{"en": "copies <b>", "zh-CN": "复制"},
			Params: []domain.TypeParam{{Name: "table", Kind: "text", Required: true, Choices: []string{"a", "b"}, Label: domain.Words{"zh-CN": "表"}}}}, {Type: "free"}, {Type: "noop", Params: []domain.TypeParam{}}},
			Plugins: []domain.PluginState{{Name: "bad", Version: "2", State: domain.PluginFailed, Fault: "init: <i>no licence"}, {Name: "slow", State: domain.PluginLoading}, {Name: "acme", State: domain.PluginReady}}}
		body, err := json.Marshal(cat)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.workers.SaveCatalog(t.Context(), here.Name, here.Boot, "r", body, time.Now()); err != nil {
			t.Fatal(err)
		}
		b := w.Browser("admin", edge.AdminPassword)
		for lang, all := range map[string][]string{"en": {"Plug-in bad 2 can", "init: &lt;i&gt;no licence", "slow is being loaded", "copies &lt;b&gt;", "text, required, one of a, b"}, "zh-CN": {"插件 bad 2", "复制", "必填", "表"}} {
			page := b.Get("/workers", "Accept-Language", lang)
			for _, want := range all {
				if !strings.Contains(page.Body, want) {
					t.Errorf("%s: the page lacks %q", lang, want)
				}
			}
			if strings.Contains(page.Body, "⟦") || strings.Contains(page.Body, "<i>no") || strings.Contains(page.Body, "Plug-in acme") {
				t.Errorf("%s: %s", lang, page.Body)
			}
		}
		var types struct{ Types []map[string]any }
		w.API(edge.AdminToken, "GET", "/api/v1/types", "").JSON(t, &types)
		if len(types.Types) != 2 || types.Types[0]["type"] != "acme_copy" || types.Types[0]["plugin"] != "acme" || types.Types[1]["builtIn"] != true || types.Types[1]["params"] != nil {
			t.Errorf("%v", types.Types)
		}
		var all struct{ Workers []map[string]any }
		w.API(edge.AdminToken, "GET", "/api/v1/workers", "").JSON(t, &all)
		if plugins, _ := all.Workers[0]["plugins"].([]any); len(plugins) != 3 {
			t.Errorf("%v", all.Workers[0])
		}
		here.Boot++
		w.seen(here) // of this life nothing is told yet
		if page := b.Get("/workers").Body; strings.Contains(page, "no licence") {
			t.Error("what a former life told is told of this one")
		}
	})
}
