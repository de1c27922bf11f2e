package board

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// told is a graph in one line: jobs with versions that differ, edges, and what is otherwise today.
func (p *pictured) told(g Graph) string {
	name := map[domain.ID]string{}
	for _, j := range p.jobs {
		name[j.ID] = j.Key.Name
	}
	line := func(edges []domain.JobEdge) string {
		var out []string
		for _, e := range edges {
			out = append(out, name[e.Up]+">"+name[e.Down])
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	var versions, fresh []string
	for _, id := range slices.Sorted(maps.Keys(g.Since.Versions)) {
		v := g.Since.Versions[id]
		versions = append(versions, fmt.Sprintf("%s%d/%d", name[id], v.Then, v.Now))
	}
	for _, j := range g.Since.NewJobs {
		fresh = append(fresh, j.Key.Name)
	}
	return fmt.Sprintf("%s | %s | %s | gone %s | new %s %s", g.names(), line(g.Edges), strings.Join(versions, " "), line(g.Since.GoneEdges), strings.Join(fresh, " "), line(g.Since.NewEdges))
}

// What ran is drawn by what its instance waited for, the rest by its definition then; what has come and gone since is told. (G-D9)
func TestTheGraphOfADateIsThatOfItsInstances(t *testing.T) {
	p := picture("a>b b>c c>d x>d") // today
	gone := p.id("gone")
	p.jobs[gone-1].DeletedAt = time.Now()
	p.on(march, "a=success c=success").on(march.AddDays(1), "")
	p.then = []domain.JobThen{{Job: p.id("b"), Then: 1, Now: 2}, {Job: p.id("c"), Then: 2, Now: 3}, {Job: p.id("x"), Now: 1}, {Job: gone, Then: 4}, {Job: p.id("d"), Then: 1, Now: 2}}
	p.used = map[domain.ID]int{p.id("c"): 1} // c was edited after it had run, and again the day after
	p.waited = []domain.InstanceDep{{InstanceID: 1000 + p.id("c"), Upstream: p.id("a")}, {InstanceID: 1000 + p.id("c"), Upstream: p.id("c"), Rule: "current-1d"}}
	p.shapes = map[domain.ID]domain.JobShape{
		p.id("b"): {Ups: []domain.JobEdge{{Up: p.id("a"), Down: p.id("b")}}},
		p.id("c"): {Title: "C", Ups: []domain.JobEdge{{Up: p.id("x"), Down: p.id("c")}}}, // its version's, which has run: its instance tells
		p.id("d"): {Ups: []domain.JobEdge{{Up: p.id("c"), Down: p.id("d")}, {Up: gone, Down: p.id("d")}}},
		gone:      {Started: true, Ups: []domain.JobEdge{{Up: p.id("a"), Down: gone}}},
	}
	p.absent = map[domain.ID]domain.Absence{gone: {Kind: domain.AbsentUnplanned}, p.id("b"): {Kind: domain.AbsentUnplanned}, p.id("d"): {Kind: domain.AbsentMissed}}
	g, err := p.reader().Graph(t.Context(), Choice{}, march, march.AddDays(9), everything)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a b c d gone | a>b a>c a>gone c>d gone>d | b1/2 c1/3 d1/2 gone4/0 | gone a>c a>gone gone>d | new x b>c x>d"
	if got := p.told(g); got != want {
		t.Errorf("drawn is\n%s, want\n%s", got, want)
	}
	if g.Absent[gone].Kind != domain.AbsentUpstream || g.Absent[p.id("b")].Kind != domain.AbsentUnplanned || g.Absent[p.id("d")].Kind != domain.AbsentMissed || len(g.Absent) != 3 {
		t.Errorf("absences: %+v", g.Absent)
	}
	if g.Jobs[2].Title != "C" {
		t.Errorf("the title then: %q", g.Jobs[2].Title)
	}
	around, err := p.reader().Graph(t.Context(), Choice{Named: true, Around: key("gone")}, march, march.AddDays(9), everything)
	if got, want := p.told(around), "a d gone | a>gone gone>d | d1/2 gone4/0 | gone a>gone gone>d | new  "; err != nil || got != want {
		t.Errorf("around one that is gone\n%s, want\n%s; %v", got, want, err)
	}
	if n, ok, err := p.reader().Node(t.Context(), g, key("gone"), everything); err != nil || !ok || n.Stand.Then != 4 || n.Absent.Kind != domain.AbsentUpstream || len(n.WaitingFor) != 1 {
		t.Errorf("the one that is gone: %+v, %t, %v", n, ok, err)
	}
	// What is in no project in sight is not drawn, though an instance waited for it.
	p.jobs[p.id("a")-1].ProjectID = 2
	mine, err := p.reader().Graph(t.Context(), Choice{}, march, march.AddDays(9), domain.ProjectSet{IDs: []domain.ID{1}})
	if err != nil || slices.ContainsFunc(mine.Edges, func(e domain.JobEdge) bool { return e.Up == p.id("a") && e.Down != p.id("b") }) {
		t.Errorf("drawn from out of sight: %s, %v", p.told(mine), err)
	}
}

// Nothing changed: the picture is today's, whatever the date.
func TestAGraphWithoutChangesIsTodays(t *testing.T) {
	p := picture("a>b b>c").on(march, "a=success")
	for _, date := range []domain.BizDate{march, march.AddDays(-300), march.AddDays(300)} {
		g, err := p.reader().Graph(t.Context(), Choice{}, date, march, everything)
		if err != nil || p.told(g) != "a b c | a>b b>c |  | gone  | new  " || g.Since.Changes() != 0 {
			t.Errorf("%s: %s, %v", date, p.told(g), err)
		}
	}
}
