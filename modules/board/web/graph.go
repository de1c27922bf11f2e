package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	view "github.com/axsched/ax/views/dag"
	"github.com/axsched/ax/views/ui"
)

// maxNodes is how many jobs one picture holds and can still be read.
const maxNodes = 300

func (h *Handlers) graph(c echo.Context) error {
	ctx := c.Request().Context()
	p := view.GraphPage{Shell: httpx.Shell(c), Job: c.QueryParam("job"), Failing: c.QueryParam("failing") != "", AsList: c.QueryParam("view") == "list", PageURL: "/dag"}
	if !httpx.Visible(ctx, domain.ActJobWrite).Empty() {
		p.NewJob = ui.Action{URL: "/jobs/new"}
	}
	date, status, asked := domain.BizDateOf(h.Now(), h.Reader.Zone), http.StatusOK, false
	if text := c.QueryParam("biz_date"); text != "" {
		given, err := domain.ParseBizDate(text)
		if err != nil {
			p.Error, status = i18n.T(ctx, "dag.no_date", "text", text), http.StatusUnprocessableEntity
		} else {
			date, asked = given, true
		}
	}
	choice := board.Choice{Around: domain.ParseJobKey(p.Job), Named: p.Job != "", Failing: p.Failing}
	g, err := h.Reader.Graph(ctx, date, httpx.Visible(ctx, domain.ActJobRead))
	if err == nil && !asked {
		date, g, err = h.lastRun(ctx, date, g, choice)
	}
	if err != nil {
		return err
	}
	p.BizDate = date.String()
	for _, j := range g.Jobs {
		p.JobNames = append(p.JobNames, j.Key.String())
	}
	shown := g.Choose(choice)
	if len(shown.Jobs) > maxNodes {
		p.Cut = i18n.T(ctx, "dag.cut", "all", len(shown.Jobs), "n", maxNodes)
		shown = shown.First(maxNodes)
	}
	draw(&p, shown)
	selectNode(ctx, &p, g, c.QueryParam("node"))
	return httpx.Render(c, status, view.Graph(p))
}

// lookBack is how many days a page that was asked for no date looks back.
const lookBack = 7

// lastRun is today's graph, or that of the last date in the days before on which
// anything of what is shown ran: an empty picture tells nobody anything.
func (h *Handlers) lastRun(ctx context.Context, today domain.BizDate, g board.Graph, choice board.Choice) (domain.BizDate, board.Graph, error) {
	whole := choice
	whole.Failing = false
	ran := func(g board.Graph) bool { return g.Choose(choice).Ran() || g.Choose(whole).Ran() }
	for back := 1; !ran(g) && back <= lookBack; back++ {
		date := today.AddDays(-back)
		before, err := h.Reader.Graph(ctx, date, httpx.Visible(ctx, domain.ActJobRead))
		if err != nil {
			return today, g, err
		}
		if ran(before) {
			return date, before, nil
		}
	}
	return today, g, nil
}

// draw makes nodes and edges of a graph.
func draw(p *view.GraphPage, g board.Graph) {
	names := map[domain.ID]string{}
	for _, j := range g.Jobs {
		id := j.Key.String()
		names[j.ID] = id
		q := url.Values{"biz_date": {p.BizDate}, "node": {id}}
		for name, v := range map[string]string{"job": p.Job, "failing": flag(p.Failing, "1"), "view": flag(p.AsList, "list")} {
			if v != "" {
				q.Set(name, v)
			}
		}
		p.Nodes = append(p.Nodes, view.Node{ID: id, Title: j.Title, Status: status(g.Days[j.ID].Status), URL: p.PageURL + "?" + q.Encode()})
	}
	for _, e := range g.Edges {
		p.Edges = append(p.Edges, view.Edge{From: names[e.Up], To: names[e.Down]})
	}
}

func flag(on bool, value string) string {
	if on {
		return value
	}
	return ""
}

// selectNode opens the panel of the node that the address names.
func selectNode(ctx context.Context, p *view.GraphPage, g board.Graph, name string) {
	if name == "" {
		return
	}
	for _, j := range g.Jobs {
		if j.Key.String() != name {
			continue
		}
		day := g.Days[j.ID]
		panel := &view.Panel{Job: ui.Ref{ID: name, Title: j.Title, URL: jobURL(j.ID)}, Status: status(day.Status),
			Facts: []view.Fact{{Name: i18n.T(ctx, "dag.fact_date"), Value: p.BizDate}}}
		if !day.Started.IsZero() {
			panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_started"), Value: i18n.DateTime(ctx, day.Started)})
		}
		if took := day.Took(); took > 0 {
			panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_took"), Value: i18n.Duration(ctx, took)})
		}
		if day.Instance != 0 {
			panel.Instance = instanceURL(day.Instance)
		}
		for _, down := range g.WaitingFor(j.ID) {
			panel.Blocks = append(panel.Blocks, ui.Ref{ID: down.Key.String(), Title: down.Title, URL: jobURL(down.ID)})
		}
		p.Selected = panel
		return
	}
}
