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

// mostOffered is how many names the filter offers to choose from; any other can be typed.
const mostOffered = 1000

func (h *Handlers) graph(c echo.Context) error {
	ctx := c.Request().Context()
	seen := httpx.Visible(ctx, domain.ActJobRead)
	p := view.GraphPage{Shell: httpx.Shell(c), Job: c.QueryParam("job"), Failing: c.QueryParam("failing") != "", AsList: c.QueryParam("view") == "list", PageURL: "/dag"}
	if !httpx.Visible(ctx, domain.ActJobWrite).Empty() {
		p.NewJob = ui.Action{URL: "/jobs/new"}
	}
	today, status := domain.BizDateOf(h.Now(), h.Reader.Zone), http.StatusOK
	var date domain.BizDate
	if text := c.QueryParam("biz_date"); text != "" {
		var err error
		if date, err = domain.ParseBizDate(text); err != nil {
			p.Error, status, date = i18n.T(ctx, "dag.no_date", "text", text), http.StatusUnprocessableEntity, today
		}
	}
	g, err := h.Reader.Graph(ctx, board.Choice{Around: domain.ParseJobKey(p.Job), Named: p.Job != "", Failing: p.Failing}, date, today, seen)
	if err != nil {
		return err
	}
	p.BizDate = g.Date.String()
	if g.Wanted > board.MostDrawn {
		p.Cut = i18n.T(ctx, "dag.cut", "n", board.MostDrawn)
	}
	offered, err := h.Reader.Jobs.FirstNames(ctx, seen, mostOffered)
	if err != nil {
		return err
	}
	for _, j := range offered {
		p.JobNames = append(p.JobNames, j.Key.String())
	}
	stale, err := h.stale(ctx, g)
	if err != nil {
		return err
	}
	draw(&p, g, stale)
	if p.Selected, err = h.panel(ctx, c.QueryParam("node"), g.Date, seen); err != nil {
		return err
	}
	return httpx.Render(c, status, view.Graph(p))
}

// stale says of jobs that their instance of the date began before its upstream ran again.
func (h *Handlers) stale(ctx context.Context, g board.Graph) (map[domain.ID]string, error) {
	ids := make([]domain.ID, 0, len(g.Days))
	for _, d := range g.Days {
		if d.Instance != 0 && !d.Started.IsZero() {
			ids = append(ids, d.Instance)
		}
	}
	if h.Stale == nil || len(ids) == 0 {
		return nil, nil
	}
	marks, err := h.Stale.Stale(ctx, ids)
	out := map[domain.ID]string{}
	for _, d := range g.Days {
		if m, ok := marks[d.Instance]; ok {
			out[d.Job] = i18n.T(ctx, "dep.stale", "job", m.Name, "date", m.BizDate.String(), "at", i18n.DateTime(ctx, m.At)+" "+i18n.ZoneName(ctx, m.At))
		}
	}
	return out, err
}

// draw makes nodes and edges of a graph.
func draw(p *view.GraphPage, g board.Graph, stale map[domain.ID]string) {
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
		p.Nodes = append(p.Nodes, view.Node{ID: id, Title: j.Title, Status: status(g.Days[j.ID].Status), Stale: stale[j.ID], URL: p.PageURL + "?" + q.Encode()})
	}
	for _, e := range g.Edges {
		p.Edges = append(p.Edges, view.Edge{From: names[e.Up], To: names[e.Down], Back: e.Back})
	}
}

func flag(on bool, value string) string {
	if on {
		return value
	}
	return ""
}

// panel is that of the node that the address names; nil: none.
func (h *Handlers) panel(ctx context.Context, name string, date domain.BizDate, seen domain.ProjectSet) (*view.Panel, error) {
	if name == "" {
		return nil, nil
	}
	n, ok, err := h.Reader.Node(ctx, domain.ParseJobKey(name), date, seen)
	if err != nil || !ok {
		return nil, err
	}
	panel := &view.Panel{Job: ui.Ref{ID: n.Job.Key.String(), Title: n.Job.Title, URL: jobURL(n.Job.ID)}, Status: status(n.Day.Status),
		Facts: []view.Fact{{Name: i18n.T(ctx, "dag.fact_date"), Value: date.String()}}}
	if !n.Day.Started.IsZero() {
		panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_started"), Value: i18n.DateTime(ctx, n.Day.Started)})
	}
	if took := n.Day.Took(); took > 0 {
		panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_took"), Value: i18n.Duration(ctx, took)})
	}
	if n.Day.Instance != 0 {
		panel.Instance = instanceURL(n.Day.Instance)
		panel.FromHere = httpx.FromHere(ctx, n.Job, date, n.Day.Status.State)
	}
	for _, down := range n.WaitingFor {
		panel.Blocks = append(panel.Blocks, ui.Ref{ID: down.Key.String(), Title: down.Title, URL: jobURL(down.ID)})
	}
	return panel, nil
}
