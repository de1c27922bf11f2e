package board

import (
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// pictured makes a graph of edges like "a>b"; states like "a=failed".
func pictured(edges, states string) Graph {
	g := Graph{Days: map[domain.ID]domain.JobDay{}}
	id := func(name string) domain.ID {
		for _, j := range g.Jobs {
			if j.Key.Name == name {
				return j.ID
			}
		}
		j := domain.JobName{ID: domain.ID(len(g.Jobs) + 1), Key: domain.JobKey{Project: domain.DefaultProject, Name: name}}
		g.Jobs = append(g.Jobs, j)
		return j.ID
	}
	for _, e := range strings.Fields(edges) {
		up, down, linked := strings.Cut(e, ">")
		if linked {
			g.Edges = append(g.Edges, domain.JobEdge{Up: id(up), Down: id(down)})
		} else {
			id(up)
		}
	}
	for _, s := range strings.Fields(states) {
		name, state, _ := strings.Cut(s, "=")
		g.Days[id(name)] = domain.JobDay{Job: id(name), Status: domain.Status{State: domain.State(state)}}
	}
	return g
}

func (g Graph) names() string {
	var out []string
	for _, j := range g.Jobs {
		out = append(out, j.Key.Name)
	}
	return strings.Join(out, " ")
}

func TestThePartOfAGraphThatIsWanted(t *testing.T) {
	g := pictured("a>b b>c c>d d>e x>c lonely", "b=failed lonely=failed a=success d=success")
	around := func(name string) Choice {
		return Choice{Named: true, Around: domain.JobKey{Project: domain.DefaultProject, Name: name}}
	}
	for _, c := range []struct {
		choice Choice
		want   string
		edges  int
	}{
		{Choice{}, "a b c d e x", 5}, {around("c"), "a b c d e x", 5}, {around("a"), "a b c", 2}, {around("e"), "c d e", 2}, {around("nosuch"), "", 0},
		{around("lonely"), "lonely", 0}, {Choice{Failing: true}, "b c d e lonely", 3}, {Choice{Failing: true, Named: true, Around: around("a").Around}, "b c", 1},
	} {
		got := g.Choose(c.choice)
		if got.names() != c.want || len(got.Edges) != c.edges {
			t.Errorf("%+v: %q with %d edges, want %q with %d", c.choice, got.names(), len(got.Edges), c.want, c.edges)
		}
	}
	if got := g.First(2); got.names() != "a b" || len(got.Edges) != 1 {
		t.Errorf("first two: %q, %d edges", got.names(), len(got.Edges))
	}
	if waits := g.WaitingFor(2); len(waits) != 1 || waits[0].Key.Name != "c" {
		t.Errorf("c waits for b, got %v", waits)
	}
	if waits := g.WaitingFor(3); len(waits) != 0 {
		t.Errorf("d has succeeded, yet waits: %v", waits)
	}
	ring := pictured("a>b b>a", "a=failed")
	if got := ring.Choose(Choice{Failing: true}); got.names() != "a b" {
		t.Errorf("a ring: %q", got.names())
	}
}
