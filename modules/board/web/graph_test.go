package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
)

func TestTheGraphHasTheStatesOfOneDate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := time.Date(2026, 2, 3, 9, 0, 0, 0, w.zone)
		in := w.ends(w.starts(w.born(1, at), at), at.Add(time.Minute), domain.Failed)
		b := w.Browser("admin", edge.AdminPassword)
		page := b.Get("/dag")
		if page.Status != 200 || strings.Contains(page.Body, "⟦") || strings.Count(page.Body, `class="node`) != 3 || !strings.Contains(page.Body, `data-st="failed"`) || strings.Contains(page.Body, "<alpha>") {
			t.Errorf("today: %d, %d nodes", page.Status, strings.Count(page.Body, `class="node`))
		}
		if other := b.Get("/dag?biz_date=2026-02-02"); strings.Contains(other.Body, `class="node" data-st="failed"`) || other.Status != 200 {
			t.Error("another date has today's states")
		}
		if panel := b.Get("/dag?node=alpha"); !strings.Contains(panel.Body, "/instances/"+in.ID.String()) || !strings.Contains(panel.Body, "/jobs/2") || !strings.Contains(panel.Body, "/backfills/new?") {
			t.Error("the panel does not lead on")
		}
		if bad := b.Get("/dag?biz_date=nonsense"); bad.Status != 422 || !strings.Contains(bad.Body, "nonsense") {
			t.Errorf("a wrong date: %d", bad.Status)
		}
		if list := b.Get("/dag?view=list&failing=1"); list.Status != 200 || strings.Contains(list.Body, "⟦") {
			t.Errorf("as a list: %d", list.Status)
		}
	})
}

// A date in the past is drawn as it was, says so and what is otherwise today, in words and to programs. (G-D9)
func TestTheGraphOfADateIsAsItWas(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		at := time.Date(2026, 2, 1, 9, 0, 0, 0, w.zone)
		in := w.ends(w.starts(w.born(1, at), at), at.Add(time.Minute), domain.Success)
		deleted := w.names[3]
		deleted.DeletedAt = w.now
		w.names[3] = deleted
		w.names[4] = domain.JobName{ID: 4, ProjectID: 7, Key: domain.JobKey{Project: domain.DefaultProject, Name: "delta"}}
		w.edges = []domain.JobEdge{{Up: 1, Down: 2}, {Up: 2, Down: 4}}
		w.then = []domain.JobThen{{Job: 2, Then: 3, Now: 5}, {Job: 3, Then: 1}, {Job: 4, Now: 1}}
		w.shapes = map[domain.ID]domain.JobShape{2: {Job: 2, Title: "<was beta>", Ups: []domain.JobEdge{{Up: 1, Down: 2}}},
			3: {Job: 3, Title: "gamma", Ups: []domain.JobEdge{{Up: 2, Down: 3}}}}
		w.absent = map[domain.ID]domain.Absence{2: {Kind: domain.AbsentMissed, Fires: 1, Reason: "older than 7 days", At: at}, 3: {Kind: domain.AbsentUnplanned}}
		b := w.Browser("admin", edge.AdminPassword)
		for lang, words := range map[string][]string{
			"en":    {"As it was on 2026-02-01", "Asia/Shanghai", "5 things have changed since", "beta: v3; today v5", "gamma: v1; deleted since", "gamma depended on beta", "delta depends on beta today", "Missed: older than 7 days", "Not planned", "&lt;was beta&gt;"},
			"zh-CN": {"2026-02-01 当时的样子", "此后有 5 处变化", "v3，现为 v5", "此后已删除", "错过 1 次：调度器处理时已超过 7 天", "未计划"},
		} {
			for _, view := range []string{"", "&view=list"} {
				page := b.Get("/dag?biz_date=2026-02-01"+view, "Accept-Language", lang)
				for _, word := range words {
					if page.Status != 200 || !strings.Contains(page.Body, word) {
						t.Errorf("%s%s: %d, %q is not said", lang, view, page.Status, word)
					}
				}
				if strings.Contains(page.Body, "⟦") || strings.Contains(page.Body, "<was beta>") {
					t.Errorf("%s%s: raw text", lang, view)
				}
			}
		}
		if list := b.Get("/dag?biz_date=2026-02-01&view=list"); !strings.Contains(list.Body, `href="/instances/`+in.ID.String()+`"`) {
			t.Error("the list does not lead to the instance")
		}
		panel := b.Get("/dag?biz_date=2026-02-01&node=gamma", "Accept-Language", "en")
		if !strings.Contains(panel.Body, "dag-panel") || !strings.Contains(panel.Body, `panel-why">Not planned`) {
			t.Error("the panel of a job that has been deleted since")
		}
		for date, words := range map[string]string{"2026-02-03": "Today: what has an instance", "2026-02-04": "2026-02-04 has not come yet"} {
			if page := b.Get("/dag?biz_date="+date, "Accept-Language", "en"); !strings.Contains(page.Body, words) {
				t.Errorf("%s does not say %q", date, words)
			}
		}
		w.sameForPrograms(in)
	})
}

// sameForPrograms is what the API says of the date that the page was asked for.
func (w *world) sameForPrograms(in domain.Instance) {
	w.T.Helper()
	var g struct {
		BizDate, AsOf string
		Jobs          []struct {
			Job, Title, State, Since string
			Instance                 *domain.ID
			Version, VersionNow      int
			Absence                  *struct{ Kind, Reason string }
		}
		Edges, NewEdges []struct {
			Up, Down string
			Gone     bool
		}
	}
	a := w.API(edge.AdminToken, "GET", "/api/v1/dag?biz_date=2026-02-01", "")
	if a.Status != 200 {
		w.T.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(w.T, &g)
	if g.BizDate != "2026-02-01" || g.AsOf != "then" || len(g.Jobs) != 3 || len(g.Edges) != 2 || len(g.NewEdges) != 1 {
		w.T.Fatalf("%s", a.Body)
	}
	alpha, beta, gamma := g.Jobs[0], g.Jobs[1], g.Jobs[2]
	if alpha.Instance == nil || *alpha.Instance != in.ID || alpha.State != "success" || alpha.Absence != nil || alpha.Since != "" {
		w.T.Errorf("alpha: %+v", alpha)
	}
	if beta.Title != "<was beta>" || beta.Version != 3 || beta.VersionNow != 5 || beta.Since != "changed" || beta.Absence == nil || beta.Absence.Kind != "missed" || beta.Instance != nil {
		w.T.Errorf("beta: %+v", beta)
	}
	if gamma.Since != "gone" || gamma.Absence.Kind != "unplanned" || g.Edges[0].Gone || !g.Edges[1].Gone {
		w.T.Errorf("gamma: %+v, edges %+v", gamma, g.Edges)
	}
	if bad := w.API(edge.AdminToken, "GET", "/api/v1/dag?biz_date=2026-2-1", ""); bad.Status != 400 && bad.Status != 422 {
		w.T.Errorf("a wrong date: %d %s", bad.Status, bad.Body)
	}
}

func TestTheGraphOpensOnTheLastDateOnWhichAnythingInItRan(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		yesterday := w.now.AddDate(0, 0, -1)
		w.ends(w.starts(w.born(2, yesterday), yesterday), yesterday.Add(time.Minute), domain.Success)
		w.names[9] = domain.JobName{ID: 9, ProjectID: 7, Key: domain.JobKey{Project: domain.DefaultProject, Name: "lonely"}}
		w.ends(w.starts(w.born(9, w.now), w.now), w.now.Add(time.Second), domain.Failed)
		b := w.Browser("admin", edge.AdminPassword)
		if page := b.Get("/dag"); !strings.Contains(page.Body, `value="2026-02-02"`) || !strings.Contains(page.Body, `class="node" data-st="success"`) {
			t.Error("a job that nothing depends on keeps the graph on a date on which nothing in it ran")
		}
		if page := b.Get("/dag?failing=1"); !strings.Contains(page.Body, `value="2026-02-03"`) || !strings.Contains(page.Body, `class="node" data-st="failed"`) {
			t.Error("the failing chains of today are not shown")
		}
	})
}

func TestAGraphOfTooManyJobsAsksForAChoice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.edges = nil
		for id := domain.ID(100); id < 100+board.MostDrawn; id++ {
			w.edges = append(w.edges, domain.JobEdge{Up: id, Down: id + 1})
		}
		b := w.Browser("admin", edge.AdminPassword)
		for _, lang := range []string{"en", "zh-CN"} {
			page := b.Get("/dag", "Accept-Language", lang)
			if page.Status != 200 || strings.Contains(page.Body, "⟦") || strings.Contains(page.Body, `class="node`) || strings.Contains(page.Body, "No dependencies yet") {
				t.Errorf("%s: %d", lang, page.Status)
			}
			if strings.Count(page.Body, "<option value=") != len(w.names) {
				t.Errorf("%s: no job can be chosen", lang)
			}
		}
		if page := b.Get("/dag"); !strings.Contains(page.Body, "more than 1500 jobs") && !strings.Contains(page.Body, "more than 1,500 jobs") {
			t.Error("it does not say why nothing is drawn")
		}
	})
}
