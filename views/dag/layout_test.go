package dag

import (
	"fmt"
	"io"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyGraph draws nodes and edges, with circles, doubles, loops and unknown ends.
func anyGraph(t *rapid.T) ([]Node, []Edge) {
	n := rapid.IntRange(0, 25).Draw(t, "nodes")
	var nodes []Node
	for i := range n {
		nodes = append(nodes, Node{ID: fmt.Sprint("n", i)})
	}
	id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("n", rapid.IntRange(0, n).Draw(t, "id")) })
	edge := rapid.Custom(func(t *rapid.T) Edge {
		return Edge{From: id.Draw(t, "from"), To: id.Draw(t, "to"), Back: rapid.Bool().Draw(t, "back")}
	})
	return nodes, rapid.SliceOfN(edge, 0, 60).Draw(t, "edges")
}

func TestPlanKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := anyGraph(t)
		d := plan(nodes, edges)
		if len(d.nodes) != len(nodes) {
			t.Fatalf("%d of %d nodes are drawn", len(d.nodes), len(nodes))
		}
		at := map[string]placed{}
		for i, p := range d.nodes {
			at[p.ID] = p
			if p.x < 0 || p.y < 0 || p.x+nodeWidth > d.width || p.y+nodeHeight > d.height+0.01 {
				t.Fatalf("%s stands outside the picture", p.ID)
			}
			for _, q := range d.nodes[:i] {
				if p.x == q.x && p.y < q.y+nodeHeight && q.y < p.y+nodeHeight {
					t.Fatalf("%s and %s lie on each other", p.ID, q.ID)
				}
			}
		}
		for _, r := range d.routes {
			if !d.cycle[r.Edge] && at[r.From].x >= at[r.To].x {
				t.Fatalf("%s → %s does not lead to the right", r.From, r.To)
			}
		}
		if again := plan(nodes, edges); !reflect.DeepEqual(d, again) {
			t.Fatal("the same graph gave another picture")
		}
	})
}

func TestPlanFindsTheCircle(t *testing.T) {
	nodes := []Node{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	d := plan(nodes, []Edge{{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "c", To: "a"}})
	if len(d.cycle) != 1 || !d.cycle[Edge{From: "c", To: "a"}] {
		t.Errorf("closing edges are %v, want c → a", d.cycle)
	}
	if d = plan(nodes, []Edge{{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "a", To: "c"}}); len(d.cycle) != 0 {
		t.Errorf("a graph without circle has closing edges %v", d.cycle)
	}
}

// An edge from an earlier date closes no circle, and never bends the order of the others.
func TestPlanKnowsEarlierDates(t *testing.T) {
	nodes := []Node{{ID: "a"}, {ID: "b"}}
	d := plan(nodes, []Edge{{From: "b", To: "a", Back: true}, {From: "a", To: "b"}})
	if d.circle() || !d.back() || d.nodes[0].x >= d.nodes[1].x || len(d.routes) != 2 {
		t.Errorf("circle %t, nodes %v", d.circle(), d.nodes)
	}
	if d = plan(nodes, []Edge{{From: "a", To: "b", Back: true}}); len(d.cycle) != 0 || d.nodes[0].x >= d.nodes[1].x {
		t.Errorf("an edge that closes nothing is left out: %v", d.cycle)
	}
}

func TestPlanOfAThousandIsQuick(t *testing.T) {
	var nodes []Node
	var edges []Edge
	for i := range 1000 {
		nodes = append(nodes, Node{ID: fmt.Sprint(i)})
		for _, back := range []int{7, 31} {
			if i >= back {
				edges = append(edges, Edge{From: fmt.Sprint(i - back), To: fmt.Sprint(i)})
			}
		}
	}
	start := time.Now()
	plan(nodes, edges)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("1,000 nodes took %s", took)
	}
}

// One, 1,200 and one: the whole page, with the picture, in less than a second.
func TestAPageOfAWideJoinIsQuick(t *testing.T) {
	p := GraphPage{BizDate: "2026-03-08", PageURL: "/dag", Nodes: []Node{{ID: "first"}, {ID: "last"}}}
	for i := range 1200 {
		id := fmt.Sprintf("m%04d", i)
		p.Nodes = append(p.Nodes, Node{ID: id, Said: "Not planned", Absent: "unplanned"})
		p.Edges = append(p.Edges, Edge{From: "first", To: id}, Edge{From: id, To: "last"})
	}
	start := time.Now()
	if err := Graph(p).Render(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Logf("1,202 nodes took %s", took)
	if took > time.Second {
		t.Errorf("1,202 nodes took %s", took)
	}
}

func TestCutText(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"abc", "abc"}, {"abcdef", "abcd…"}, {"订单统计", "订单…"}, {"", ""}} {
		if got := cutText(c.text, 4); got != c.want {
			t.Errorf("cutText(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
