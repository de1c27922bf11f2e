package job

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

// jobFile is a job that depends on others.
func jobFile(name string, on ...string) string {
	text := "version: v1\njob:\n  name: " + name + "\n  timeout: 5\n  exec: {type: noop}\n"
	if len(on) > 0 {
		text += "  deps:\n"
	}
	for _, o := range on {
		text += "    - name: " + o + "\n"
	}
	return text
}

func parseAll(t *testing.T, texts ...string) []Parsed {
	t.Helper()
	jobs, problems := ParseFile([]byte(strings.Join(texts, "---\n")), options())
	if len(problems) > 0 {
		t.Fatal(problems.Render(speaker(t, "en")))
	}
	return jobs
}

func keys(names ...string) []domain.JobKey {
	out := make([]domain.JobKey, len(names))
	for i, n := range names {
		out[i] = domain.ParseJobKey(n)
	}
	return out
}

func edge(job, on string) Edge { return Edge{Job: domain.ParseJobKey(job), On: domain.ParseJobKey(on)} }

func TestTheFirstFileAloneLacksBothUpstream(t *testing.T) {
	alone := parseAll(t, orderStat)
	problems := CheckGraph(Graph{}, alone)
	text := problems.Render(speaker(t, "en"))
	if len(problems) != 2 || !strings.Contains(text, "sync_order_daily") || !strings.Contains(text, "sync_pay_daily") {
		t.Fatalf("want both missing names, got\n%s", text)
	}
	if problems[0].Line != 6 || problems[0].Column != 13 || problems[1].Line != 9 {
		t.Errorf("places: %s", text)
	}
	texts := []string{orderStat, jobFile("sync_order_daily"), jobFile("sync_pay_daily")}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		together := parseAll(t, texts[order[0]], texts[order[1]], texts[order[2]])
		if problems := CheckGraph(Graph{}, together); len(problems) != 0 {
			t.Errorf("order %v: %s", order, problems.Render(speaker(t, "en")))
		}
	}
	if problems := CheckGraph(Graph{Jobs: keys("sync_order_daily", "sync_pay_daily")}, alone); len(problems) != 0 {
		t.Errorf("both are there, yet %s", problems.Render(speaker(t, "en")))
	}
}

func TestMissingNameIsGuessed(t *testing.T) {
	problems := CheckGraph(Graph{Jobs: keys("sync_order_daily", "other")}, parseAll(t, jobFile("a", "sync_ordre_daily")))
	if len(problems) != 1 || problems[0].Args["suggestion"] != "sync_order_daily" {
		t.Errorf("%+v", problems)
	}
	fin := strings.Replace(jobFile("a", "b", "ops/c"), "  name: a", "  name: a\n  project: fin", 1)
	problems = CheckGraph(Graph{Jobs: keys("b", "c")}, parseAll(t, fin))
	if len(problems) != 2 || problems[0].Args["on"] != "fin/b" || problems[1].Args["on"] != "ops/c" {
		t.Errorf("names in other projects: %+v", problems)
	}
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		name    string
		there   Graph
		changed []string
		path    string
	}{
		{"third of three (J-D1)", Graph{keys("W1", "W2"), []Edge{edge("W1", "W2"), edge("W2", "W3")}}, []string{jobFile("W3", "W1")}, "W3 → W1 → W2 → W3"},
		{"all at once (J-D2)", Graph{}, []string{jobFile("A", "B"), jobFile("B", "C"), jobFile("C", "A")}, "A → B → C → A"},
		{"two (G-D10)", Graph{keys("A", "B"), []Edge{edge("A", "B")}}, []string{jobFile("B", "A")}, "B → A → B"},
		{"itself (G-D10)", Graph{}, []string{jobFile("A", "A")}, "A → A"},
		{"shortest way", Graph{keys("A", "B", "C"), []Edge{edge("A", "B"), edge("B", "C"), edge("C", "D"), edge("B", "D")}}, []string{jobFile("D", "A")}, "D → A → B → D"},
		{"mended at once", Graph{keys("A", "B"), []Edge{edge("A", "B")}}, []string{jobFile("A"), jobFile("B", "A")}, ""},
		{"diamond", Graph{}, []string{jobFile("A", "B", "C"), jobFile("B", "D"), jobFile("C", "D"), jobFile("D")}, ""},
	} {
		problems := CheckGraph(c.there, parseAll(t, c.changed...))
		switch {
		case c.path == "" && len(problems) != 0, c.path != "" && len(problems) != 1:
			t.Errorf("%s: %+v", c.name, problems)
		case c.path != "" && problems[0].Args["path"] != c.path:
			t.Errorf("%s: path %s, want %s", c.name, problems[0].Args["path"], c.path)
		case c.path != "" && problems[0].Line == 0:
			t.Errorf("%s: no place", c.name)
		}
	}
}

func TestSameJobTwice(t *testing.T) {
	problems := CheckGraph(Graph{}, parseAll(t, jobFile("a"), jobFile("A"), jobFile("a")))
	if len(problems) != 1 || problems[0].ID != idJobTwice || problems[0].Hint != hintJobTwice || problems[0].Args["line"] != "3" {
		t.Errorf("%+v", problems)
	}
}

func TestDependents(t *testing.T) {
	g := Graph{keys("a", "b", "c"), []Edge{edge("c", "a"), edge("b", "a"), edge("a", "a"), edge("a", "b")}}
	if got := Dependents(g, domain.ParseJobKey("a")); !slices.Equal(got, keys("b", "c")) {
		t.Errorf("dependents of a: %v", got)
	}
	if got := Dependents(g, domain.ParseJobKey("c")); len(got) != 0 {
		t.Errorf("dependents of c: %v", got)
	}
}

// TestCycleFoundWhenThereIsOne compares with a plain search over small random graphs: the path
// told is a real one, and silence means that every job can be put after what it depends on.
func TestCycleFoundWhenThereIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "jobs")
		on := map[domain.JobKey]map[domain.JobKey]bool{}
		var changed []Parsed
		for i := range n {
			p := Parsed{Spec: domain.JobSpec{Project: "default", Name: fmt.Sprint(i)}}
			on[p.Spec.Key()] = map[domain.JobKey]bool{}
			for _, up := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 3), rapid.ID[int]).Draw(t, "on") {
				p.Spec.Deps = append(p.Spec.Deps, domain.Dep{Project: "default", Name: fmt.Sprint(up)})
				on[p.Spec.Key()][domain.ParseJobKey(fmt.Sprint(up))] = true
			}
			changed = append(changed, p)
		}
		problems := CheckGraph(Graph{}, changed)
		for _, p := range problems {
			path := strings.Split(p.Args["path"], " → ")
			if len(path) < 2 || path[0] != path[len(path)-1] {
				t.Fatalf("no round: %v", path)
			}
			for i := range len(path) - 1 {
				if !on[domain.ParseJobKey(path[i])][domain.ParseJobKey(path[i+1])] {
					t.Fatalf("%s does not depend on %s", path[i], path[i+1])
				}
			}
		}
		if sortable(on) != (len(problems) == 0) {
			t.Fatalf("sortable %v, problems %v", sortable(on), problems)
		}
	})
}

// sortable takes away jobs whose dependencies are all gone, until none is left or none goes.
func sortable(on map[domain.JobKey]map[domain.JobKey]bool) bool {
	gone := map[domain.JobKey]bool{}
	for len(gone) < len(on) {
		before := len(gone)
		for job, ups := range on {
			free := true
			for up := range ups {
				free = free && gone[up]
			}
			if free {
				gone[job] = true
			}
		}
		if len(gone) == before {
			return false
		}
	}
	return true
}

func TestTenThousandEdges(t *testing.T) {
	const n = 10000
	random := rand.New(rand.NewPCG(1, 2))
	g := Graph{}
	for i := range n {
		g.Jobs = append(g.Jobs, domain.ParseJobKey(fmt.Sprintf("job_%05d", i)))
		if i > 0 {
			g.Edges = append(g.Edges, Edge{Job: g.Jobs[i], On: g.Jobs[i-1]}, Edge{Job: g.Jobs[i], On: g.Jobs[random.IntN(i)]})
		}
	}
	start := time.Now()
	problems := CheckGraph(g, parseAll(t, jobFile("job_00000", "job_09999", "job_0999")))
	if took := time.Since(start); took > time.Second {
		t.Errorf("20,000 edges took %v", took)
	}
	if len(problems) != 2 || problems[0].ID != idDepMissing || problems[1].ID != idCycle {
		t.Errorf("%d problems", len(problems))
	}
}
