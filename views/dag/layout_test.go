package dag

import (
	"fmt"
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
	edge := rapid.Custom(func(t *rapid.T) Edge { return Edge{From: id.Draw(t, "from"), To: id.Draw(t, "to")} })
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
	d := plan(nodes, []Edge{{"a", "b"}, {"b", "c"}, {"c", "a"}})
	if len(d.cycle) != 1 || !d.cycle[Edge{"c", "a"}] {
		t.Errorf("closing edges are %v, want c → a", d.cycle)
	}
	if d = plan(nodes, []Edge{{"a", "b"}, {"b", "c"}, {"a", "c"}}); len(d.cycle) != 0 {
		t.Errorf("a graph without circle has closing edges %v", d.cycle)
	}
}

func TestPlanOfAThousandIsQuick(t *testing.T) {
	var nodes []Node
	var edges []Edge
	for i := range 1000 {
		nodes = append(nodes, Node{ID: fmt.Sprint(i)})
		for _, back := range []int{7, 31} {
			if i >= back {
				edges = append(edges, Edge{fmt.Sprint(i - back), fmt.Sprint(i)})
			}
		}
	}
	start := time.Now()
	plan(nodes, edges)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("1,000 nodes took %s", took)
	}
}

func TestCutText(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"abc", "abc"}, {"abcdef", "abcd…"}, {"订单统计", "订单…"}, {"", ""}} {
		if got := cutText(c.text, 4); got != c.want {
			t.Errorf("cutText(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
