package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
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

func TestListsPageByKeyAndFilter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var texts []string
		for i := range 7 {
			texts = append(texts, yaml(fmt.Sprintf("job_%d", i), "owner: Ann", fmt.Sprintf("enabled: %v", i%2 == 0)))
		}
		w.apply(edge.AdminToken, append(texts, yaml("sure", "project: other", "title: 100% sure"))...)
		names := func(query string) string {
			var all []string
			cursor := ""
			for range 20 {
				var out struct {
					Jobs []struct {
						Name    string `json:"name"`
						Enabled bool   `json:"enabled"`
					} `json:"jobs"`
					Cursor string `json:"cursor"`
				}
				a := w.API(edge.AdminToken, "GET", "/api/v1/jobs?"+query+"&cursor="+cursor, "")
				if a.Status != 200 {
					return fmt.Sprintf("%d %s", a.Status, a.Failure(t).Field)
				}
				a.JSON(t, &out)
				for _, j := range out.Jobs {
					all = append(all, j.Name)
				}
				if cursor = out.Cursor; cursor == "" {
					return strings.Join(all, " ")
				}
			}
			return "the list never ends"
		}
		for query, want := range map[string]string{
			"limit=2": "job_0 job_1 job_2 job_3 job_4 job_5 job_6 other/sure", "q=JOB_3": "job_3", "q=ann&limit=3": "job_0 job_1 job_2 job_3 job_4 job_5 job_6",
			"q=%25": "other/sure", "q=_": "job_0 job_1 job_2 job_3 job_4 job_5 job_6", "enabled=false": "job_1 job_3 job_5", "project=other": "other/sure",
			"enabled=perhaps": "400 enabled", "project=nosuch": "404 project", "limit=0": "400 limit",
		} {
			if got := names(query); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		if a := w.API(edge.AdminToken, "GET", "/api/v1/jobs?cursor=xx", ""); a.Status != 400 || a.Failure(t).Field != "cursor" {
			t.Errorf("a cursor of nobody: %d %s", a.Status, a.Body)
		}
	})
}

func TestRolesOfTheseRoutes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("j", "project: mine"))
		tokens := map[access.Role]string{}
		for _, role := range access.Roles {
			tokens[role] = w.As("a_"+string(role), role, "mine")
		}
		tokens[""] = w.As("a_none", "", "")
		name := url.PathEscape("mine/j")
		for _, r := range []struct {
			method, path, body string
			may                string
		}{
			{"GET", "/api/v1/jobs", "", "viewer operator editor approver admin"},
			{"GET", "/api/v1/jobs/" + name, "", "viewer operator editor approver admin"},
			{"GET", "/api/v1/jobs/" + name + "/versions/1", "", "viewer operator editor approver admin"},
			{"GET", "/api/v1/next?expr=0+2+*+*+*", "", "viewer operator editor approver admin"},
			{"POST", "/api/v1/validate", body(t, false, yaml("j", "project: mine")), "viewer operator editor approver admin"},
			{"POST", "/api/v1/apply", body(t, false, yaml("j", "project: mine")), "editor admin"},
			{"POST", "/api/v1/jobs/" + name + "/pause", "", "operator editor admin"},
			{"POST", "/api/v1/jobs/" + name + "/resume", "", "operator editor admin"},
			{"DELETE", "/api/v1/jobs/" + url.PathEscape("mine/nosuch"), "", "editor admin"},
		} {
			for role, token := range tokens {
				a := w.API(token, r.method, r.path, r.body)
				may := role != "" && strings.Contains(r.may, string(role))
				if (a.Status == 403) == may || a.Status >= 500 {
					t.Errorf("%s %s as %q: %d %s", r.method, r.path, role, a.Status, a.Body)
				}
			}
		}
	})
}

func TestBadCallsAreRefusedClearly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := w.definitions()
		for name, c := range map[string]struct {
			body   string
			status int
		}{
			"no JSON": {"{", 400}, "no files": {`{"files":[]}`, 400}, "an unknown key": {`{"files":[],"x":1}`, 400}, "empty": {"", 400},
			"too large":  {`{"files":[{"name":"a","text":"` + strings.Repeat("x", 8<<20) + `"}]}`, 413},
			"NUL":        {`{"files":[{"name":"a","text":"\u0000"}]}`, 400},
			"a big file": {`{"files":[{"name":"a","text":"` + strings.Repeat("x", 5<<20) + `"}]}`, 422},
		} {
			a := w.API(edge.AdminToken, "POST", "/api/v1/apply", c.body)
			if a.Status != c.status || len(a.Body) > 4000 {
				t.Errorf("%s: %d %.300s", name, a.Status, a.Body)
			}
			a.Failure(t)
		}
		for query, field := range map[string]string{"expr=61+*+*+*+*": "expr", "expr=0+0+30+2+*": "expr", "": "expr", "expr=0+2+*+*+*&tz=Mars": "tz", "expr=0+2+*+*+*&n=1000": "n", "expr=0+2+*+*+*&from=x": "from"} {
			if a := w.API(edge.AdminToken, "GET", "/api/v1/next?"+query, ""); a.Status != 400 || a.Failure(t).Field != field {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
		var got struct {
			Dialect string   `json:"dialect"`
			Next    []string `json:"next"`
		}
		w.API(edge.AdminToken, "GET", "/api/v1/next?expr=0+2+*+*+*&tz=Asia/Tokyo&n=2&from=2026-02-03T00:00:00Z", "").JSON(t, &got)
		if got.Dialect != "unix" || strings.Join(got.Next, " ") != "2026-02-04T02:00:00+09:00 2026-02-05T02:00:00+09:00" {
			t.Errorf("next: %+v", got)
		}
		if w.definitions() != before {
			t.Error("a bad call changed the database")
		}
	})
}

func TestOneProblemIsNotCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, c := range []struct{ name, wants string }{
			{"name: a b", "nothing was changed: name: a b holds a space, which no name may hold"},
			{"name: a b\n  exce: {}", "nothing was changed: 2 problems, the first is: "},
		} {
			text := strings.Replace(yaml("a"), "name: a", c.name, 1)
			if f := w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, false, text)).Failure(t); !strings.HasPrefix(f.Message, c.wants) {
				t.Errorf("%s: %q", c.name, f.Message)
			}
		}
	})
}

func TestValidateWritesNothingAndSpeaksTheReadersLanguage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := w.Dump("graph") + w.definitions()
		a := w.API(edge.AdminToken, "POST", "/api/v1/validate", body(t, false, firstFile(t)), "Accept-Language", "zh-CN")
		var got struct {
			OK       bool             `json:"ok"`
			Problems []map[string]any `json:"problems"`
			Jobs     []map[string]any `json:"jobs"`
		}
		a.JSON(t, &got)
		if a.Status != 200 || got.OK || len(got.Problems) != 2 || len(got.Jobs) != 1 || got.Jobs[0]["timeout"] != 120.0 || len(got.Jobs[0]["next"].([]any)) != 5 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if text := got.Problems[0]["message"].(string); !strings.ContainsAny(text, "依赖不存在") {
			t.Errorf("not in Chinese: %s", text)
		}
		if w.Dump("graph")+w.definitions() != before {
			t.Error("validate wrote")
		}
	})
}

func TestTheLastStateIsThatOfTheLatestDate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		got := w.apply(edge.AdminToken, yaml("j"))
		id, err := domain.ParseID(got.Results[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		day, err := domain.ParseBizDate("2026-02-03")
		if err != nil {
			t.Fatal(err)
		}
		for i, state := range []domain.State{domain.Failed, domain.Success} {
			in := domain.Instance{ID: domain.ID(100 + i), JobID: id, FireKey: string(state), BizDate: day.AddDays(-i), Status: domain.Status{State: state}}
			if err := w.ran.Insert(t.Context(), []domain.Instance{in}); err != nil {
				t.Fatal(err)
			}
		}
		a := w.API(edge.AdminToken, "GET", "/api/v1/jobs", "")
		var out struct{ Jobs []map[string]json.RawMessage }
		a.JSON(t, &out)
		if string(out.Jobs[0]["lastState"]) != `"failed"` {
			t.Errorf("last state %s", out.Jobs[0]["lastState"])
		}
	})
}

// around is the workers that there are.
type around []domain.Worker

func (a around) List(context.Context) ([]domain.Worker, error) { return a, nil }

// A save warns of tags that no worker which is up offers together, and goes through. (J-B10)
func TestTagsThatNobodyOffersAreSaidAtTheSave(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		job := yaml("a", "tags: [gpu, east]")
		for name, c := range map[string]struct {
			workers around
			warned  bool
		}{
			"one offers both":                  {around{{Name: "x"}, {Name: "y", Tags: []string{"east", "gpu", "fast"}}}, false},
			"each offers one":                  {around{{Name: "x", Tags: []string{"gpu"}}, {Name: "y", Tags: []string{"east"}}}, true},
			"who offered them is gone":         {around{{Name: "x"}, {Name: "y", Tags: []string{"east", "gpu"}, State: domain.WorkerGone}}, true},
			"nobody is up, which is no matter": {around{{Name: "y", State: domain.WorkerGone}}, false},
		} {
			w.jobs.Workers = c.workers
			for range 2 { // also where nothing has changed
				r := w.apply(edge.AdminToken, job).Results[0]
				said := slices.ContainsFunc(r.Warnings, func(p map[string]any) bool {
					return strings.Contains(p["message"].(string), "gpu, east") && p["line"] == 6.0
				})
				if said != c.warned || len(r.Warnings) > 1 {
					t.Errorf("%s: warnings %v", name, r.Warnings)
				}
			}
			checked := w.API(edge.AdminToken, "POST", "/api/v1/apply", body(t, true, job))
			if checked.Status != 200 || strings.Contains(checked.Body, "gpu, east: instances wait") != c.warned {
				t.Errorf("%s: a dry run says %s", name, checked.Body)
			}
			if r := w.apply(edge.AdminToken, yaml("b")).Results[0]; len(r.Warnings) > 0 {
				t.Errorf("%s: without tags %v", name, r.Warnings)
			}
		}
	})
}
