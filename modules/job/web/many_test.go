package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/axsched/ax/e2e/setup/edge"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job/store"
)

// Jobs of one name in several projects stand side by side in the list; a page may end between any two of them.
func TestAPageMayEndBetweenTwoJobsOfOneName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var texts, want []string
		for _, name := range []string{"b", "a", "c"} {
			for _, project := range []string{"one", "two", "three"} {
				texts = append(texts, yaml(name, "project: "+project))
			}
		}
		for _, r := range w.apply(edge.AdminToken, texts...).Results {
			want = append(want, r.ID)
		}
		for limit := 1; limit <= len(texts); limit++ {
			var got, names []string
			for f := (store.Filter{Limit: limit}); ; {
				page, err := w.jobs.Store.List(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, j := range page {
					got, names = append(got, j.ID.String()), append(names, j.Name)
				}
				f.AfterName, f.AfterID = page[len(page)-1].Name, page[len(page)-1].ID
			}
			if !slices.IsSorted(names) {
				t.Errorf("pages of %d come as %v", limit, names)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d have %v, want %v", limit, got, want)
			}
		}
	})
}

// The form offers names to choose from, and no more of them than a browser can handle; the graph has them all.
func TestTheFormOffersTheFirstNamesOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("up", "project: other", `title: "the first"`))
		w.apply(edge.AdminToken, yaml("down", `deps: [{name: "other/up"}]`))
		if _, err := w.DB.Exec(t.Context(), "INSERT INTO job (id, project_id, name, version, enabled, ver, created_at, updated_at) "+
			"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i, p.id, CONCAT('x', 1000 + i), 1, 1, 1, 1, 1 FROM n JOIN project p ON p.name = 'default'"); err != nil {
			t.Fatal(err)
		}
		page := w.Browser("admin", edge.AdminPassword).Get("/jobs/new").Body
		if n := strings.Count(page, "<option value="); n != 1000 {
			t.Errorf("%d names are offered", n)
		}
		jobs, edges, err := w.jobs.Graph(t.Context(), domain.ProjectSet{All: true})
		if err != nil || len(jobs) != 1001 {
			t.Fatalf("the graph has %d jobs, %v", len(jobs), err)
		}
		up := slices.IndexFunc(jobs, func(j domain.JobName) bool { return j.Key.String() == "other/up" })
		down := slices.IndexFunc(jobs, func(j domain.JobName) bool { return j.Key.String() == "down" })
		if up < 0 || down < 0 || jobs[up].Title != "the first" || fmt.Sprint(edges) != fmt.Sprint([]domain.JobEdge{{Up: jobs[up].ID, Down: jobs[down].ID}}) {
			t.Errorf("up %d, down %d, edges %v", up, down, edges)
		}
		only := domain.ProjectSet{IDs: []domain.ID{jobs[up].ProjectID}}
		if jobs, edges, err = w.jobs.Graph(t.Context(), only); err != nil || len(jobs) != 1 || jobs[0].Key.String() != "other/up" || len(edges) != 0 {
			t.Errorf("who sees one project has %v, %v, %v", jobs, edges, err)
		}
		if names, err := w.jobs.FirstNames(t.Context(), only, 5); err != nil || len(names) != 1 || names[0].Title != "the first" {
			t.Errorf("who sees one project is offered %v, %v", names, err)
		}
	})
}
