package web_test

import (
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

// The form offers names to choose from, and no more of them than a browser can handle.
// id finds a job by [project/]name.
func (w *world) id(name string) domain.Job {
	w.T.Helper()
	j, err := w.jobs.Get(w.T.Context(), name)
	if err != nil {
		w.T.Fatal(err)
	}
	return j
}

// Counts and edges are remembered: whatever changes them is seen at once all the same, whoever changed it.
func TestWhatIsRememberedOfDefinitionsIsTrue(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, all := t.Context(), domain.ProjectSet{All: true}
		other := store.New(w.DB) // as another process sees it
		expect := func(after string, total, enabled int64, edges int) {
			t.Helper()
			for _, s := range []*store.Store{w.jobs.Store, other} {
				n, on, err := s.Count(ctx, nil)
				if err != nil || n != total || on != enabled {
					t.Errorf("after %s: %d jobs, %d enabled, want %d and %d; %v", after, n, on, total, enabled, err)
				}
				if e, err := s.Edges(ctx); err != nil || len(e.ByUp) != edges || len(e.ByDown) != edges {
					t.Errorf("after %s: %d edges, want %d; %v", after, len(e.ByUp), edges, err)
				}
			}
		}
		expect("nothing", 0, 0, 0)
		w.apply(edge.AdminToken, yaml("a", "project: one"), yaml("b", `deps: [{name: "one/a"}]`), yaml("c", "enabled: false"))
		expect("an apply", 3, 2, 1)
		a, b := w.id("one/a"), w.id("b")
		if n, on, err := w.jobs.Count(ctx, domain.ProjectSet{IDs: []domain.ID{a.ProjectID}}); err != nil || n != 1 || on != 1 {
			t.Errorf("one project has %d jobs, %d enabled, %v", n, on, err)
		}
		if _, err := w.jobs.SetEnabled(ctx, a.ID, false, ""); err != nil {
			t.Fatal(err)
		}
		expect("a pause", 3, 1, 1)
		w.apply(edge.AdminToken, yaml("b"))
		expect("a dependency taken away", 3, 1, 0)
		if err := w.jobs.Delete(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
		expect("a deletion", 2, 0, 0)
		if n, on, err := w.jobs.Count(ctx, all); err != nil || n != 2 || on != 0 {
			t.Errorf("%d jobs, %d enabled, %v", n, on, err)
		}
	})
}

func TestTheFormOffersTheFirstNamesOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.apply(edge.AdminToken, yaml("up", "project: other", `title: "the first"`))
		w.apply(edge.AdminToken, yaml("down", `deps: [{name: "other/up"}]`))
		if _, err := w.DB.Exec(t.Context(), "INSERT INTO job (id, project_id, name, version, enabled, ver, created_at, updated_at) "+
			"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT i, p.id, CONCAT('x', 1000 + i), 1, 1, 1, 1, 1 FROM n JOIN project p ON p.name = 'default'"); err != nil {
			t.Fatal(err)
		}
		_, page, _ := strings.Cut(w.Browser("admin", edge.AdminPassword).Get("/jobs/new").Body, `id="job-names"`)
		page, _, _ = strings.Cut(page, "</datalist>")
		if n := strings.Count(page, "<option value="); n != 1000 {
			t.Errorf("%d names are offered", n)
		}
		up, down := w.id("other/up"), w.id("down")
		only := domain.ProjectSet{IDs: []domain.ID{up.ProjectID}}
		if names, err := w.jobs.FirstNames(t.Context(), only, 5); err != nil || len(names) != 1 || names[0].Title != "the first" {
			t.Errorf("who sees one project is offered %v, %v", names, err)
		}
		want := []domain.JobEdge{{Up: up.ID, Down: down.ID}}
		if byUp, byDown, err := w.jobs.Edges(t.Context(), domain.ProjectSet{All: true}); err != nil || !slices.Equal(byUp, want) || !slices.Equal(byDown, want) {
			t.Errorf("edges %v, %v, %v", byUp, byDown, err)
		}
		if byUp, byDown, err := w.jobs.Edges(t.Context(), only); err != nil || len(byUp)+len(byDown) != 0 {
			t.Errorf("who sees one project has the edges %v, %v, %v", byUp, byDown, err)
		}
	})
}
