package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
)

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
