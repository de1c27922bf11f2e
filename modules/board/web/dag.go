package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// apiGraph is the graph of one business date. When more jobs were wanted than Most, there are none.
type apiGraph struct {
	BizDate string       `json:"bizDate"`
	Zone    string       `json:"zone"` // in which the date ends whose definitions are drawn
	AsOf    string       `json:"asOf"` // then, today, or planned: a date to come, as defined now
	Wanted  int          `json:"wanted"`
	Most    int          `json:"most"`
	Jobs    []apiNode    `json:"jobs"`
	Edges   []apiEdge    `json:"edges"`
	NewJobs []apiJobName `json:"newJobs"`  // in this part today, not on the date
	New     []apiEdge    `json:"newEdges"` // today, not on the date
}

type apiJobName struct {
	ID  domain.ID `json:"id"`
	Job string    `json:"job"`
}

// apiNode is a job on the date. It has an instance, or an absence where it is known why not.
type apiNode struct {
	apiJobName
	Title    string     `json:"title,omitempty"`
	Instance *domain.ID `json:"instance"`
	Version  int        `json:"version,omitempty"` // that is drawn; absent: it is today's
	State    string     `json:"state,omitempty"`
	Label    string     `json:"label,omitempty"`
	Started  *time.Time `json:"startedAt,omitempty"`
	Finished *time.Time `json:"finishedAt,omitempty"`
	Why      string     `json:"why,omitempty"` // the instance was skipped
	Absence  *apiAbsent `json:"absence,omitempty"`
	Since    string     `json:"since,omitempty"`      // changed, gone (deleted) or new (made) since the date
	Now      int        `json:"versionNow,omitempty"` // of one that has changed
}

// apiAbsent is why a job has no instance: unplanned, upstream, skipped, missed, pending or due.
type apiAbsent struct {
	Kind   string     `json:"kind"`
	Reason string     `json:"reason,omitempty"`
	Fires  int        `json:"fires"`
	First  *time.Time `json:"first,omitempty"`
}

// apiEdge leads from a job to one that depends on it.
type apiEdge struct {
	Up   domain.ID `json:"up"`
	Down domain.ID `json:"down"`
	Back bool      `json:"earlierDates"`   // only earlier dates of up are waited for
	Gone bool      `json:"gone,omitempty"` // defined no more
}

func (h *Handlers) apiGraph(c echo.Context) error {
	ctx := c.Request().Context()
	date, err := dateOf(ctx, c.QueryParam("biz_date"))
	if err != nil {
		return err
	}
	failing := c.QueryParam("failing")
	name, today := c.QueryParam("job"), domain.BizDateOf(h.Now(), h.Reader.Zone)
	choice := board.Choice{Around: domain.ParseJobKey(name), Named: name != "", Failing: failing != "" && failing != "false" && failing != "0"}
	g, err := h.Reader.Graph(ctx, choice, date, today, httpx.Visible(ctx, domain.ActJobRead))
	if err != nil {
		return err
	}
	out := apiGraph{BizDate: g.Date.String(), Zone: h.Reader.Zone.String(), AsOf: asOf(g.Date, today), Wanted: g.Wanted, Most: board.MostDrawn,
		Jobs: make([]apiNode, len(g.Jobs)), NewJobs: make([]apiJobName, len(g.Since.NewJobs)), New: apiEdges(g.Since.NewEdges, nil), Edges: apiEdges(g.Edges, g.Since.GoneEdges)}
	for i, j := range g.Jobs {
		out.Jobs[i] = apiNodeOf(g, j)
	}
	for i, j := range g.Since.NewJobs {
		out.NewJobs[i] = apiJobName{j.ID, j.Key.String()}
	}
	return c.JSON(http.StatusOK, out)
}

// asOf says as of when the graph of a date is drawn.
func asOf(date, today domain.BizDate) string {
	switch {
	case today.Before(date):
		return "planned"
	case date == today:
		return "today"
	}
	return "then"
}

func apiNodeOf(g board.Graph, j domain.JobName) apiNode {
	d := g.Days[j.ID]
	n := apiNode{apiJobName: apiJobName{j.ID, j.Key.String()}, Title: j.Title, Version: d.Version, State: string(d.State), Label: string(d.Label), Why: d.Why,
		Started: moment(d.Started), Finished: moment(d.Finished)}
	if d.Instance != 0 {
		n.Instance = &d.Instance
	} else if a := g.Absent[j.ID]; a.Kind != "" {
		n.Absence = &apiAbsent{string(a.Kind), a.Reason, a.Fires, moment(a.At)}
	}
	if stand, other := g.Since.Versions[j.ID]; other {
		n.Version, n.Now, n.Since = stand.Then, stand.Now, changeKind(stand)
	}
	return n
}

func apiEdges(edges, gone []domain.JobEdge) []apiEdge {
	left := map[domain.JobEdge]bool{}
	for _, e := range gone {
		left[e] = true
	}
	out := make([]apiEdge, len(edges))
	for i, e := range edges {
		out[i] = apiEdge{e.Up, e.Down, e.Back, left[e]}
	}
	return out
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
