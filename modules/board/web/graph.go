package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

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
	date, err := dateOf(ctx, c.QueryParam("biz_date"))
	if err != nil {
		p.Error, status, date = httpx.Say(ctx, err), http.StatusUnprocessableEntity, today
	}
	g, err := h.Reader.Graph(ctx, board.Choice{Around: domain.ParseJobKey(p.Job), Named: p.Job != "", Failing: p.Failing}, date, today, seen)
	if err != nil {
		return err
	}
	p.BizDate, p.Basis = g.Date.String(), h.basis(ctx, g, today)
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
	draw(ctx, &p, g, stale)
	if p.Selected, err = h.panel(ctx, g, c.QueryParam("node"), seen); err != nil {
		return err
	}
	return httpx.Render(c, status, view.Graph(p))
}

// dateOf reads a business date; zero for an empty text.
func dateOf(ctx context.Context, text string) (domain.BizDate, error) {
	if text == "" {
		return domain.BizDate{}, nil
	}
	date, err := domain.ParseBizDate(text)
	if err != nil {
		return date, domain.Fail(domain.Invalid, "%q is no business date: it is written like 2026-02-03", text).At("biz_date").Coded("dag.no_date", "text", text)
	}
	return date, nil
}

// basis says as of when the graph is drawn.
func (h *Handlers) basis(ctx context.Context, g board.Graph, today domain.BizDate) string {
	return i18n.T(ctx, "dag.as."+asOf(g.Date, today), "day", g.Date.String(), "zone", h.Reader.Zone.String())
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

// draw makes nodes and edges of a graph, and what is otherwise today.
func draw(ctx context.Context, p *view.GraphPage, g board.Graph, stale map[domain.ID]string) {
	names := nodeIDs(g)
	for _, j := range g.Jobs {
		q := url.Values{"biz_date": {p.BizDate}, "node": {names[j.ID]}}
		for name, v := range map[string]string{"job": p.Job, "failing": flag(p.Failing, "1"), "view": flag(p.AsList, "list")} {
			if v != "" {
				q.Set(name, v)
			}
		}
		n := view.Node{ID: names[j.ID], Title: j.Title, Status: status(g.Days[j.ID].Status), Stale: stale[j.ID], URL: p.PageURL + "?" + q.Encode(),
			Said: said(ctx, g.Days[j.ID], g.Absent[j.ID]), Absent: string(g.Absent[j.ID].Kind)}
		if id := g.Days[j.ID].Instance; id != 0 {
			n.Instance = instanceURL(id)
		}
		if stand, other := g.Since.Versions[j.ID]; other {
			n.Since, n.Gone = sinceWords(ctx, stand), stand.Now == 0
		}
		p.Nodes = append(p.Nodes, n)
	}
	gone := map[domain.JobEdge]bool{}
	for _, e := range g.Since.GoneEdges {
		gone[e] = true
	}
	for _, e := range g.Edges {
		p.Edges = append(p.Edges, view.Edge{From: names[e.Up], To: names[e.Down], Back: e.Back, Gone: gone[e]})
	}
	p.Changes = changes(ctx, g, names)
}

// nodeIDs are the names of the jobs of a graph. Of two that bore one name on the date the later ones are told apart by their ids.
func nodeIDs(g board.Graph) map[domain.ID]string {
	names, taken := map[domain.ID]string{}, map[string]bool{}
	for _, j := range slices.Concat(g.Jobs, g.Since.NewJobs) {
		id := j.Key.String()
		if taken[id] {
			id = j.ID.String()
		}
		names[j.ID], taken[id] = id, true
	}
	return names
}

// said is why a job has no instance on the date, or why the one that it has was skipped; "" where its state says all.
func said(ctx context.Context, day domain.JobDay, a domain.Absence) string {
	switch {
	case day.Why != "":
		return i18n.T(ctx, "dag.absent.skipped", "n", 1, "reason", i18n.Retell(ctx, day.Why))
	case day.Instance != 0 || a.Kind == "":
		return ""
	}
	reason := i18n.Retell(ctx, a.Reason)
	if reason == "" {
		reason = i18n.T(ctx, "dag.absent.no_reason")
	}
	return i18n.T(ctx, "dag.absent."+string(a.Kind), "n", a.Fires, "reason", reason, "at", at(ctx, a.At))
}

func at(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return i18n.DateTime(ctx, t) + " " + i18n.ZoneName(ctx, t)
}

// sinceWords says of a job drawn how it stands today.
func sinceWords(ctx context.Context, s domain.JobThen) string {
	switch {
	case s.Then == 0:
		return i18n.T(ctx, "dag.since.made")
	case s.Now == 0:
		return i18n.T(ctx, "dag.since.deleted", "then", s.Then)
	}
	return i18n.T(ctx, "dag.since.version", "then", s.Then, "now", s.Now)
}

// mostChanges is how many changes a page lists one by one; the API lists all.
const mostChanges = 50

// changes lists what of the part is otherwise today: jobs and edges that are drawn no more, then those that were added.
func changes(ctx context.Context, g board.Graph, names map[domain.ID]string) view.Changes {
	out := view.Changes{Count: g.Since.Changes()}
	tell := func(kind, text string) {
		if len(out.List) < mostChanges {
			out.List = append(out.List, view.Change{Kind: kind, Text: text})
		}
	}
	for _, j := range g.Jobs {
		if stand, other := g.Since.Versions[j.ID]; other {
			tell(changeKind(stand), names[j.ID]+": "+sinceWords(ctx, stand))
		}
	}
	for _, e := range g.Since.GoneEdges {
		tell("gone", i18n.T(ctx, "dag.since.edge_gone", "up", names[e.Up], "down", names[e.Down]))
	}
	for _, j := range g.Since.NewJobs {
		tell("new", i18n.T(ctx, "dag.since.job_new", "job", names[j.ID]))
	}
	for _, e := range g.Since.NewEdges {
		tell("new", i18n.T(ctx, "dag.since.edge_new", "up", names[e.Up], "down", names[e.Down]))
	}
	out.More = out.Count - len(out.List)
	return out
}

func changeKind(s domain.JobThen) string {
	switch {
	case s.Then == 0:
		return "new"
	case s.Now == 0:
		return "gone"
	}
	return "changed"
}

func flag(on bool, value string) string {
	if on {
		return value
	}
	return ""
}

// panel is that of the node that the address names; nil: none.
func (h *Handlers) panel(ctx context.Context, g board.Graph, name string, seen domain.ProjectSet) (*view.Panel, error) {
	if name == "" {
		return nil, nil
	}
	n, ok, err := h.Reader.Node(ctx, g, domain.ParseJobKey(name), seen)
	if err != nil || !ok {
		return nil, err
	}
	panel := &view.Panel{Job: ui.Ref{ID: name, Title: n.Job.Title, URL: jobURL(n.Job.ID)}, Status: status(n.Day.Status), Why: said(ctx, n.Day, n.Absent)}
	if n.Stand.Job != 0 {
		panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_version"), Value: sinceWords(ctx, n.Stand)})
	}
	if !n.Day.Started.IsZero() {
		panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_started"), Value: i18n.DateTime(ctx, n.Day.Started)})
	}
	if took := n.Day.Took(); took > 0 {
		panel.Facts = append(panel.Facts, view.Fact{Name: i18n.T(ctx, "dag.fact_took"), Value: i18n.Duration(ctx, took)})
	}
	if n.Day.Instance != 0 {
		panel.Instance = instanceURL(n.Day.Instance)
		panel.FromHere = httpx.FromHere(ctx, n.Job, g.Date, n.Day.Status.State)
	}
	for _, down := range n.WaitingFor {
		panel.Blocks = append(panel.Blocks, ui.Ref{ID: down.Key.String(), Title: down.Title, URL: jobURL(down.ID)})
	}
	return panel, nil
}
