package web_test

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
)

func firstFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/order_stat_daily.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheFirstFileNeedsBothUpstreamAndTakesAnyOrder(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := w.definitions()
		a := w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, false, firstFile(t)))
		f := a.Failure(t)
		if a.Status != 422 || f.Kind != "invalid" || len(f.Problems) != 2 {
			t.Fatalf("alone: %d %s", a.Status, a.Body)
		}
		for i, name := range []string{"sync_order_daily", "sync_pay_daily"} {
			p := f.Problems[i]
			if !strings.Contains(p["message"].(string), name) || p["file"] != "a.yaml" || p["severity"] != "error" || p["path"] != fmt.Sprintf("job.deps[%d].name", i) ||
				p["line"].(float64) < 5 || !strings.Contains(p["excerpt"].(string), name) || p["hint"] == "" {
				t.Errorf("problem %d: %v", i, p)
			}
		}
		if w.definitions() != before {
			t.Error("a refused apply changed the database")
		}
		got := w.apply(edge.AdminToken, firstFile(t), yaml("sync_pay_daily"), yaml("sync_order_daily"))
		if got.changes() != "order_stat_daily created v1, sync_pay_daily created v1, sync_order_daily created v1" {
			t.Errorf("together: %s", got.changes())
		}
		if next := got.Results[0].Next; len(next) != 5 || next[0].In(time.FixedZone("", 8*3600)).Format("15:04") != "02:00" {
			t.Errorf("next fires: %v", next)
		}
		after := w.definitions()
		if again := w.apply(edge.AdminToken, yaml("sync_order_daily"), firstFile(t)); again.changes() != "sync_order_daily unchanged v1, order_stat_daily unchanged v1" {
			t.Errorf("again: %s", again.changes())
		}
		if w.definitions() != after {
			t.Error("applying what is there changed the database")
		}
	})
}

func TestAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("old"))
		before := w.definitions()
		for name, bad := range map[string]string{
			"wrong YAML":          "version: v1\njob:\n  name: \"x\n",
			"an unknown key":      yaml("x", "timout: 5"),
			"an impossible cron":  yaml("x", `cron: "0 0 30 2 *"`),
			"a wrong cron":        yaml("x", `cron: "61 * * * *"`),
			"a step of 0 (J-A8)":  yaml("x", "dialect: quartz", `cron: "0 0 13/0 * * ? *"`),
			"an unknown variable": strings.Replace(yaml("x"), "{type: noop}", "{type: shell, command: 'echo {{nope}}'}", 1),
			"markup in the name":  yaml(`"<b>x</b>"`),
			"a missing upstream":  yaml("x", "deps: [{name: nowhere}]"),
			"a cycle":             yaml("old", "deps: [{name: x}]") + "---\n" + yaml("x", "deps: [{name: old}]"),
			"itself":              yaml("x", "deps: [{name: x}]"),
			"twice":               yaml("good"),
			"a large param":       yaml("x", "params: {p: "+strings.Repeat("v", 1<<20)+"}"),
		} {
			a := w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, false, yaml("good"), bad))
			f := a.Failure(t)
			if a.Status != 422 || len(f.Problems) == 0 {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
			p := f.Problems[0]
			if p["line"].(float64) < 1 || p["column"].(float64) < 1 || p["file"] != "b.yaml" || strings.Contains(p["message"].(string), "⟦") || len(a.Body) > 20_000 {
				t.Errorf("%s: %v", name, p)
			}
			if name == "a cycle" && !strings.Contains(p["message"].(string), "old → x → old") {
				t.Errorf("the cycle's path is not said: %v", p["message"])
			}
			if w.definitions() != before {
				t.Fatalf("%s: something was kept", name)
			}
		}
	})
}

func TestTheNextFiresToldAreThoseOfTheTrigger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.apply(edge.AdminToken, yaml("grid", "every: 10m"), yaml("off", "every: 10m", "enabled: false"))
		again := w.apply(edge.AdminToken, yaml("grid", "every: 10m"))
		var next int64
		if err := w.DB.Scan(t.Context(), &next, "SELECT next_fire_at FROM `trigger` WHERE enabled = 1"); err != nil {
			t.Fatal(err)
		}
		for _, got := range []applied{first, again} {
			if fires := got.Results[0].Next; len(fires) != 5 || fires[0].UnixMilli() != next || fires[4].Sub(fires[0]) != 40*time.Minute {
				t.Errorf("told %v, the trigger fires at %v", fires, time.UnixMilli(next).UTC())
			}
		}
		if len(first.Results[1].Next) != 0 {
			t.Errorf("a paused job is told to fire: %v", first.Results[1].Next)
		}
	})
}

func TestADryRunSaysAllAndKeepsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("old"))
		before := w.definitions()
		a := w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, true, yaml("old", "title: new"), yaml("fresh", "every: 10m")))
		var got applied
		a.JSON(t, &got)
		if a.Status != 200 || !got.DryRun || got.changes() != "old updated v2, fresh created v1" || got.Results[1].ID != "" || len(got.Results[1].Next) != 5 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if w.definitions() != before {
			t.Error("a dry run changed the database")
		}
		if trail := strings.Join(w.Trail(), "\n"); strings.Contains(trail, "fresh") {
			t.Errorf("a dry run stands in the trail: %s", trail)
		}
	})
}

func TestWhoMayApplyWhere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("mine")
		w.Project("hidden")
		tokens := map[string]string{"editor of mine": w.As("ed", access.Editor, "mine"), "editor of all": w.As("all", access.Editor, ""),
			"viewer of mine": w.As("view", access.Viewer, "mine"), "operator of mine": w.As("op", access.Operator, "mine"), "nobody": w.As("none", "", "")}
		type row struct {
			who, project string
			status       int
		}
		for _, r := range []row{
			{"editor of mine", "mine", 200}, {"editor of mine", "default", 403}, {"editor of mine", "hidden", 403}, {"editor of mine", "new", 403},
			{"viewer of mine", "mine", 403}, {"operator of mine", "mine", 403}, {"nobody", "mine", 403}, {"editor of all", "hidden", 200}, {"editor of all", "new", 200},
		} {
			before := w.definitions()
			a := w.API(tokens[r.who], "POST", "/api/v1/apply", body(t, false, yaml("job_of_"+strings.Fields(r.who)[0], "project: "+r.project)))
			if a.Status != r.status {
				t.Errorf("%s in %s: %d %s", r.who, r.project, a.Status, a.Body)
			}
			if r.status == 403 {
				f := a.Failure(t)
				if r.who == "editor of mine" && !strings.Contains(f.Message, `"`+r.project+`"`) {
					t.Errorf("%s in %s is not told where: %s", r.who, r.project, f.Message)
				}
				if w.definitions() != before {
					t.Errorf("%s in %s: something was kept", r.who, r.project)
				}
			}
		}
		refusal := func(project string) string {
			return strings.ReplaceAll(w.API(tokens["editor of mine"], "POST", "/api/v1/apply", body(t, false, yaml("x", "project: "+project))).Failure(t).Message, project, "?")
		}
		if refusal("hidden") != refusal("nosuch") {
			t.Error("the refusal tells which projects exist")
		}
		if trail := strings.Join(w.Trail(), "\n"); strings.Count(trail, "ed job.write POST /api/v1/apply refused") < 4 {
			t.Errorf("refusals are not in the trail:\n%s", trail)
		}
		if a := w.API("wrong", "POST", "/api/v1/apply", body(t, false, yaml("x"))); a.Status != 401 {
			t.Errorf("a wrong token: %d", a.Status)
		}
	})
}

func TestWhatACallerCantSeeIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Project("mine")
		w.apply(edge.AdminToken, yaml("secret_plan", "project: hidden"))
		ed := w.As("ed", access.Editor, "mine")
		told := func(dep string) string {
			a := w.API(ed, "POST", "/api/v1/validate", body(t, false, yaml("x", "project: mine", "deps: [{name: "+dep+"}]")))
			return strings.ReplaceAll(a.Body, dep, "?")
		}
		if told("hidden/secret_plan") != told("hidden/nothing_here") {
			t.Errorf("validate tells which jobs exist: %s", told("hidden/secret_plan"))
		}
		if text := told("hidden/secret_plam"); strings.Contains(text, "secret_plan") {
			t.Errorf("a hint names a job that can't be seen: %s", text)
		}
		a, b := w.API(ed, "GET", "/api/v1/jobs/hidden%2Fsecret_plan", ""), w.API(ed, "GET", "/api/v1/jobs/hidden%2Fnothing_here", "")
		if a.Status != 404 || b.Status != 404 || a.Failure(t).Message != strings.ReplaceAll(b.Failure(t).Message, "nothing_here", "secret_plan") {
			t.Errorf("%s against %s", a.Body, b.Body)
		}
		if list := w.API(ed, "GET", "/api/v1/jobs", ""); strings.Contains(list.Body, "secret_plan") {
			t.Errorf("list: %s", list.Body)
		}
		// Once an admin has set such a dependency, the editor may go on with the file.
		w.apply(edge.AdminToken, yaml("x", "project: mine", "deps: [{name: hidden/secret_plan}]"))
		if got := w.apply(ed, yaml("x", "project: mine", "deps: [{name: hidden/secret_plan}]", "title: more")); got.changes() != "mine/x updated v2" {
			t.Errorf("%s", got.changes())
		}
	})
}

func TestVersionsPauseResumeDelete(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("up", `cron: "*/5 * * * *"`, "title: Up <i>"), yaml("down", "deps: [{name: up}]"))
		w.apply(edge.AdminToken, yaml("up", `cron: "*/5 * * * *"`, "title: Up <b>"))
		show := func(name string) map[string]any {
			var m map[string]any
			a := w.API(edge.AdminToken, "GET", "/api/v1/jobs/"+url.PathEscape(name), "")
			if a.Status != 200 {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
			a.JSON(t, &m)
			return m
		}
		up := show("up")
		if up["version"] != 2.0 || len(up["versions"].([]any)) != 2 || len(up["nextFires"].([]any)) != 5 || fmt.Sprint(up["dependents"]) != "[down]" ||
			up["title"] != "Up <b>" || !strings.Contains(up["source"].(string), "Up <b>") || up["lastState"] != "" {
			t.Errorf("up: %v", up)
		}
		if up["nextFires"].([]any)[0] != up["next"] && !sameInstant(up["nextFires"].([]any)[0], up["next"]) {
			t.Errorf("next %v, of five %v", up["next"], up["nextFires"])
		}
		if byID := show(up["id"].(string)); byID["name"] != "up" {
			t.Errorf("by id: %v", byID)
		}
		a := w.API(edge.AdminToken, "GET", "/api/v1/jobs/up/versions/1", "")
		if a.Status != 200 || !strings.Contains(a.Body, `Up \u003ci\u003e`) {
			t.Errorf("version 1: %d %s", a.Status, a.Body)
		}
		if a := w.API(edge.AdminToken, "GET", "/api/v1/jobs/up/versions/3", ""); a.Status != 404 {
			t.Errorf("version 3: %d", a.Status)
		}
		for _, step := range []struct {
			act     string
			enabled bool
		}{{"pause", false}, {"pause", false}, {"resume", true}} {
			a := w.API(edge.AdminToken, "POST", "/api/v1/jobs/up/"+step.act, "")
			var m map[string]any
			a.JSON(t, &m)
			if a.Status != 200 || m["enabled"] != step.enabled || (m["next"] != nil) != step.enabled {
				t.Errorf("%s: %d %v", step.act, a.Status, m)
			}
		}
		before := w.definitions()
		refused := w.API(edge.AdminToken, "DELETE", "/api/v1/jobs/up", "")
		if f := refused.Failure(t); refused.Status != 409 || f.Kind != "conflict" || !strings.Contains(f.Message, "down") || len(f.Problems) != 1 || f.Problems[0]["job"] != "down" {
			t.Errorf("delete: %d %s", refused.Status, refused.Body)
		}
		if w.definitions() != before {
			t.Error("a refused delete changed the database")
		}
		for _, name := range []string{"down", "up"} {
			if a := w.API(edge.AdminToken, "DELETE", "/api/v1/jobs/"+name, ""); a.Status != 204 {
				t.Errorf("delete %s: %d %s", name, a.Status, a.Body)
			}
		}
		if a := w.API(edge.AdminToken, "GET", "/api/v1/jobs/"+up["id"].(string), ""); a.Status != 404 {
			t.Errorf("a deleted job is shown: %d", a.Status)
		}
		if again := w.apply(edge.AdminToken, yaml("up")); again.changes() != "up created v1" {
			t.Errorf("the name can't be used again: %s", again.changes())
		}
		trail := strings.Join(w.Trail(), "\n")
		for line, n := range map[string]int{"admin job.write job/default/up": 3, "admin job.pause job/default/up": 1, "admin job.resume job/default/up": 1, "admin job.delete job/default/up": 1} {
			if strings.Count(trail, line) != n {
				t.Errorf("the trail has %d times %q, want %d:\n%s", strings.Count(trail, line), line, n, trail)
			}
		}
	})
}

func sameInstant(a, b any) bool {
	x, errx := time.Parse(time.RFC3339Nano, fmt.Sprint(a))
	y, erry := time.Parse(time.RFC3339Nano, fmt.Sprint(b))
	return errx == nil && erry == nil && x.Equal(y)
}
