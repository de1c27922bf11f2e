package dag

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Graph is the page of dependencies.
func Graph(p GraphPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "dag", Title: "dag.title"}, graph(p, plan(p.Nodes, p.Edges)))
}

// contextOf is the line under the title.
func contextOf(ctx context.Context, p GraphPage) string {
	if p.Cut != "" {
		return i18n.T(ctx, "dag.context_cut", "day", p.BizDate)
	}
	return i18n.T(ctx, "dag.context", "day", p.BizDate, "jobs", len(p.Nodes), "edges", len(p.Edges))
}

func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func (d drawing) box() string { return "0 0 " + num(d.width) + " " + num(d.height) }

// path bends a route softly through its points. An edge that closes a circle
// goes back in one wide bow that reaches down to the given depth.
func (r route) path(depth float64) string {
	p := r.points
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", num(p[0][0]), num(p[0][1]))
	for i := 1; i < len(p); i++ {
		from, to := p[i-1], p[i]
		mid := (from[0] + to[0]) / 2
		if to[0] < from[0] {
			fmt.Fprintf(&b, "C%s %s %s %s %s %s", num(from[0]+90), num(bow(from[1], depth)), num(to[0]-90), num(bow(to[1], depth)), num(to[0]), num(to[1]))
			continue
		}
		if from[1] == to[1] {
			fmt.Fprintf(&b, "H%s", num(to[0]))
			continue
		}
		fmt.Fprintf(&b, "C%s %s %s %s %s %s", num(mid), num(from[1]), num(mid), num(to[1]), num(to[0]), num(to[1]))
	}
	return b.String()
}

// bow is where a curve from y must be pulled to so that its deepest point is at depth.
func bow(y, depth float64) float64 { return y + (depth-y)/0.75 }

// edgeState is the colour of an edge: that of what it waits for.
func edgeState(d drawing, e Edge) string {
	if d.cycle[e] && !e.Back {
		return "cycle"
	}
	return stateOr(d.states[e.From])
}

const (
	glyphInset = 4.0
	textInset  = 38
	titleRunes = 20
	idRunes    = 22
)

// cutText shortens a name to what fits into a node; wide runes count double.
func cutText(text string, room int) string {
	width := 0
	for i, r := range text {
		width++
		if r > 0x2e80 {
			width++
		}
		if width > room {
			return text[:i] + "…"
		}
	}
	return text
}

func nodeTitle(n Node) string {
	if n.Title == "" {
		return cutText(n.ID, titleRunes)
	}
	return cutText(n.Title, titleRunes)
}

func nodeName(ctx context.Context, n Node) string {
	say := func(key string, args ...any) string { return i18n.T(ctx, key, args...) }
	name := n.ID
	if n.Title != "" {
		name = n.Title + " (" + n.ID + ")"
	}
	text := name + ", " + nodeState(say, n)
	if n.Fires > 1 {
		text += ", " + i18n.T(ctx, "dag.fires", "n", n.Fires)
	}
	for _, more := range []string{n.Stale, n.Since} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// nodeState is the state of a node in words, or why it has none.
func nodeState(say func(key string, args ...any) string, n Node) string {
	switch {
	case n.Said == "":
		return ui.StatusText(say, n.Status)
	case n.Status.State == "":
		return n.Said
	}
	return ui.StatusText(say, n.Status) + ", " + n.Said
}

// near is the ids at the other ends of each node's edges.
type near struct{ up, down map[string][]string }

func neighboursOf(edges []Edge) near {
	n := near{map[string][]string{}, map[string][]string{}}
	for _, e := range edges {
		n.up[e.To], n.down[e.From] = append(n.up[e.To], e.From), append(n.down[e.From], e.To)
	}
	return n
}

// with is the page's address with one value changed.
func (p GraphPage) with(name, value string) string {
	q := url.Values{}
	set := func(k, v string) {
		if k == name {
			v = value
		}
		if v != "" {
			q.Set(k, v)
		}
	}
	set("biz_date", p.BizDate)
	set("job", p.Job)
	set("failing", flag(p.Failing, "1"))
	set("view", flag(p.AsList, "list"))
	return p.PageURL + "?" + q.Encode()
}

func flag(on bool, value string) string {
	if on {
		return value
	}
	return ""
}

// legend are the statuses that the picture can show.
func legend() []ui.Status {
	return []ui.Status{{State: "success"}, {State: "failed"}, {State: "running"}, {State: "retrying"}, {State: "cancelled"}}
}
