package dag

import (
	"math"
	"slices"
	"sort"
)

// The picture's measures, in its own units (one unit is one pixel at full size).
const (
	nodeWidth  = 182
	nodeHeight = 44
	layerGap   = 56
	rowGap     = 18
	margin     = 16
	sweeps     = 12
	bowRoom    = 48 // under the nodes, for edges that lead back
)

// placed is a node with its place.
type placed struct {
	Node
	x, y float64
}

// route is an edge with its bends, from the right side of one node to the left of another.
type route struct {
	Edge
	points [][2]float64
}

// drawing is a finished layout. cycle holds the edges that had to be left out of
// the layering because they close a circle, also over earlier dates; they are drawn too.
type drawing struct {
	nodes         []placed
	routes        []route
	cycle         map[Edge]bool
	states        map[string]string // of the nodes, by id
	width, height float64
}

// slot is a node of the layering: a real one, or a bend of a long edge.
type slot struct {
	node  int // index, or -1 for a bend
	layer int
	order int
	y     float64
	left  []*slot
	right []*slot
}

// plan lays nodes out in layers from upstream to downstream. The same nodes and
// edges give the same picture.
func plan(nodes []Node, edges []Edge) drawing {
	index := map[string]int{}
	for i, n := range nodes {
		index[n.ID] = i
	}
	var known []Edge
	for _, e := range edges {
		_, from := index[e.From]
		_, to := index[e.To]
		if from && to && e.From != e.To {
			known = append(known, e)
		}
	}
	cycle := closing(nodes, known, index)
	closingBack(known, cycle)
	layers := layerOf(nodes, known, cycle, index)
	slots, chains := spread(nodes, known, cycle, layers, index)
	columns := columnsOf(slots)
	uncross(columns)
	settle(columns)
	return measure(nodes, slots, chains, cycle, columns)
}

// closing finds the edges that lead back into their own past.
func closing(nodes []Node, edges []Edge, index map[string]int) map[Edge]bool {
	next := make([][]Edge, len(nodes))
	for _, e := range edges {
		if !e.Back {
			next[index[e.From]] = append(next[index[e.From]], e)
		}
	}
	const (
		fresh = iota
		open
		done
	)
	mark := make([]int, len(nodes))
	back := map[Edge]bool{}
	var visit func(i int)
	visit = func(i int) {
		mark[i] = open
		for _, e := range next[i] {
			switch j := index[e.To]; mark[j] {
			case open:
				back[e] = true
			case fresh:
				visit(j)
			}
		}
		mark[i] = done
	}
	for i := range nodes {
		if mark[i] == fresh {
			visit(i)
		}
	}
	return back
}

// closingBack adds the edges from earlier dates that close a circle with what is there: such a
// circle is none in time.
func closingBack(edges []Edge, out map[Edge]bool) {
	next := map[string][]string{}
	for _, e := range edges {
		if !e.Back && !out[e] {
			next[e.From] = append(next[e.From], e.To)
		}
	}
	for _, e := range edges {
		switch {
		case !e.Back:
		case leads(next, e.To, e.From):
			out[e] = true
		default:
			next[e.From] = append(next[e.From], e.To)
		}
	}
}

// leads reports whether there is a way from one node to another.
func leads(next map[string][]string, from, to string) bool {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			return true
		}
		for _, n := range next[queue[0]] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return false
}

// circle reports whether an edge closes a circle on one date.
func (d drawing) circle() bool {
	for e := range d.cycle {
		if !e.Back {
			return true
		}
	}
	return false
}

// back reports whether any edge is about earlier dates.
func (d drawing) back() bool {
	return slices.ContainsFunc(d.routes, func(r route) bool { return r.Back })
}

// layerOf gives each node the length of the longest way to it, and pulls sources
// to their first consumer.
func layerOf(nodes []Node, edges []Edge, cycle map[Edge]bool, index map[string]int) []int {
	layer := make([]int, len(nodes))
	for range nodes {
		moved := false
		for _, e := range edges {
			from, to := index[e.From], index[e.To]
			if !cycle[e] && layer[to] < layer[from]+1 {
				layer[to], moved = layer[from]+1, true
			}
		}
		if !moved {
			break
		}
	}
	first := make([]int, len(nodes))
	hasUp := make([]bool, len(nodes))
	for i := range first {
		first[i] = math.MaxInt
	}
	for _, e := range edges {
		if cycle[e] {
			continue
		}
		from, to := index[e.From], index[e.To]
		first[from] = min(first[from], layer[to])
		hasUp[to] = true
	}
	for i := range layer {
		if !hasUp[i] && first[i] != math.MaxInt {
			layer[i] = first[i] - 1
		}
	}
	return layer
}

// chain is the way of one edge over the layers.
type chain struct {
	edge  Edge
	slots []*slot
}

// spread makes a slot for each node and for each layer that an edge passes.
func spread(nodes []Node, edges []Edge, cycle map[Edge]bool, layers []int, index map[string]int) ([]*slot, []chain) {
	var slots []*slot
	for i := range nodes {
		slots = append(slots, &slot{node: i, layer: layers[i]})
	}
	var chains []chain
	for _, e := range edges {
		from, to := slots[index[e.From]], slots[index[e.To]]
		way := []*slot{from}
		for l := from.layer + 1; !cycle[e] && l < to.layer; l++ {
			bend := &slot{node: -1, layer: l}
			slots = append(slots, bend)
			way = append(way, bend)
		}
		way = append(way, to)
		for i := 1; !cycle[e] && i < len(way); i++ {
			way[i-1].right = append(way[i-1].right, way[i])
			way[i].left = append(way[i].left, way[i-1])
		}
		chains = append(chains, chain{edge: e, slots: way})
	}
	return slots, chains
}

func columnsOf(slots []*slot) [][]*slot {
	var columns [][]*slot
	for _, s := range slots {
		for len(columns) <= s.layer {
			columns = append(columns, nil)
		}
		s.order = len(columns[s.layer])
		columns[s.layer] = append(columns[s.layer], s)
	}
	return columns
}

// uncross orders each column by the mean place of its neighbours, there and back.
func uncross(columns [][]*slot) {
	for sweep := range sweeps {
		for c := range columns {
			if sweep%2 == 1 {
				c = len(columns) - 1 - c
			}
			weight := map[*slot]float64{}
			for _, s := range columns[c] {
				near := s.left
				if sweep%2 == 1 {
					near = s.right
				}
				weight[s] = float64(s.order)
				if len(near) > 0 {
					weight[s] = meanOf(near, func(n *slot) float64 { return float64(n.order) })
				}
			}
			sort.SliceStable(columns[c], func(i, j int) bool { return weight[columns[c][i]] < weight[columns[c][j]] })
			for i, s := range columns[c] {
				s.order = i
			}
		}
	}
}

func meanOf(slots []*slot, value func(*slot) float64) float64 {
	sum := 0.0
	for _, s := range slots {
		sum += value(s)
	}
	return sum / float64(len(slots))
}

func (s *slot) height() float64 {
	if s.node < 0 {
		return 10
	}
	return nodeHeight
}

// settle gives every slot a y near its neighbours without touching the next one.
func settle(columns [][]*slot) {
	for _, column := range columns {
		y := 0.0
		for _, s := range column {
			s.y = y + s.height()/2
			y += s.height() + rowGap
		}
	}
	for sweep := range sweeps {
		for c := range columns {
			if sweep%2 == 1 {
				c = len(columns) - 1 - c
			}
			near := func(s *slot) []*slot {
				if sweep%2 == 1 {
					return s.right
				}
				return s.left
			}
			spaced(columns[c], near)
		}
	}
}

// spaced moves a column to the wishes of its slots, keeping their order and their
// distance: neighbours that would collide form a block that takes their mean wish.
func spaced(column []*slot, near func(*slot) []*slot) {
	type block struct {
		first, last int
		sum         float64 // of wish minus offset inside the block
		size        float64
	}
	offset := make([]float64, len(column))
	for i := 1; i < len(column); i++ {
		offset[i] = offset[i-1] + (column[i-1].height()+column[i].height())/2 + rowGap
	}
	var blocks []block
	for i, s := range column {
		wish := s.y
		if n := near(s); len(n) > 0 {
			wish = meanOf(n, func(n *slot) float64 { return n.y })
		}
		blocks = append(blocks, block{first: i, last: i, sum: wish - offset[i], size: 1})
		for len(blocks) > 1 {
			a, b := blocks[len(blocks)-2], blocks[len(blocks)-1]
			if a.sum/a.size <= b.sum/b.size {
				break
			}
			blocks = append(blocks[:len(blocks)-2], block{a.first, b.last, a.sum + b.sum, a.size + b.size})
		}
	}
	for _, b := range blocks {
		for i := b.first; i <= b.last; i++ {
			column[i].y = b.sum/b.size + offset[i]
		}
	}
}

// measure turns slots into places in a box that begins at 0,0.
func measure(nodes []Node, slots []*slot, chains []chain, cycle map[Edge]bool, columns [][]*slot) drawing {
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, s := range slots {
		top, bottom = min(top, s.y-s.height()/2), max(bottom, s.y+s.height()/2)
	}
	if len(slots) == 0 {
		top, bottom = 0, 0
	}
	x := func(s *slot) float64 { return margin + float64(s.layer)*(nodeWidth+layerGap) }
	y := func(s *slot) float64 { return s.y - top + margin }
	d := drawing{cycle: cycle, states: make(map[string]string, len(nodes)), height: bottom - top + 2*margin}
	if len(cycle) > 0 {
		d.height += bowRoom
	}
	d.width = 2*margin + float64(len(columns))*(nodeWidth+layerGap) - layerGap
	for i := range nodes {
		d.states[nodes[i].ID] = nodes[i].Status.State
		d.nodes = append(d.nodes, placed{Node: nodes[i], x: x(slots[i]), y: y(slots[i]) - nodeHeight/2})
	}
	for _, c := range chains {
		r := route{Edge: c.edge}
		for i, s := range c.slots {
			switch {
			case i == 0:
				r.points = append(r.points, [2]float64{x(s) + nodeWidth, y(s)})
			case i == len(c.slots)-1:
				r.points = append(r.points, [2]float64{x(s), y(s)})
			default:
				r.points = append(r.points, [2]float64{x(s), y(s)}, [2]float64{x(s) + nodeWidth, y(s)})
			}
		}
		d.routes = append(d.routes, r)
	}
	return d
}

// upstreamFirst orders nodes for the list: by layer, then from the top.
func (d drawing) upstreamFirst() []Node {
	sorted := slices.Clone(d.nodes)
	sort.SliceStable(sorted, func(i, j int) bool {
		if sorted[i].x != sorted[j].x {
			return sorted[i].x < sorted[j].x
		}
		return sorted[i].y < sorted[j].y
	})
	var nodes []Node
	for _, p := range sorted {
		nodes = append(nodes, p.Node)
	}
	return nodes
}
