// Package web is the page of incidents and its API: they look, and close by hand.
package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/incidents"
	"github.com/axsched/ax/views/ui"
)

// Handlers answers the routes of incidents. All fields must be set.
type Handlers struct {
	Reader *incident.Reader
	Closer *incident.Closer
}

// Routes is the table. Whoever may look at instances of a project sees its incidents,
// and those of the system.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/incidents", Action: domain.ActInstanceRead, Handler: h.page},
		{Method: "POST", Path: "/incidents/:id/close", Action: domain.ActIncidentClose, Creating: true, Handler: h.closeForm},
		{Method: "POST", Path: "/api/v1/incidents/:id/close", Action: domain.ActIncidentClose, Handler: h.apiClose,
			Doc: httpx.Doc{Summary: "Close an incident by hand; what is still wrong is opened anew", Body: closeCall{}, Answer: apiIncident{}}},
		{Method: "GET", Path: "/api/v1/incidents", Action: domain.ActInstanceRead, Handler: h.api,
			Doc: httpx.Doc{Summary: "Incidents, the open ones first", Answer: apiIncidents{}, Query: []httpx.Param{
				{Name: "kind", Text: "only of this kind"}, {Name: "project", Text: "only of this project"},
				{Name: "state", Text: "open or closed"}, {Name: "id", Text: "only this one"}, {Name: "limit", Kind: "integer"}, {Name: "cursor"}}}},
	}
}

const pageSize = 50

// query reads what page and API share, and asks for one row more than wanted, by which
// both know whether there is more.
func query(c echo.Context, limit int) (incident.Query, error) {
	q := incident.Query{Seen: httpx.Visible(c.Request().Context(), domain.ActInstanceRead), Project: c.QueryParam("project"), Kind: c.QueryParam("kind"),
		State: c.QueryParam("state"), Limit: limit + 1}
	if text := c.QueryParam("id"); text != "" {
		id, err := domain.ParseID(text)
		if err != nil {
			return q, err
		}
		q.ID = id
	}
	_, err := httpx.ReadCursor(c.QueryParam("cursor"), &q.After)
	return q, err
}

// list reads a page and makes the cursor of what comes after it.
func (h *Handlers) list(c echo.Context, limit int) (found []domain.Incident, names map[domain.ID]string, next string, err error) {
	q, err := query(c, limit)
	if err != nil {
		return nil, nil, "", err
	}
	found, names, err = h.Reader.List(c.Request().Context(), q)
	if err != nil || len(found) <= limit {
		return found, names, "", err
	}
	found = found[:limit]
	next, err = httpx.Cursor(store.PlaceOf(found[limit-1]))
	return found, names, next, err
}

func (h *Handlers) page(c echo.Context) error {
	ctx := c.Request().Context()
	seen := httpx.Visible(ctx, domain.ActInstanceRead)
	p := incidents.ListPage{Shell: httpx.Shell(c), ClearURL: "/incidents", Open: h.Reader.OpenCount(seen),
		Filter: incidents.Filter{Kind: c.QueryParam("kind"), Project: c.QueryParam("project"), State: c.QueryParam("state"), ID: c.QueryParam("id")}}
	for _, k := range domain.IncidentKinds {
		p.Kinds = append(p.Kinds, ui.Option{Value: string(k), Text: incident.Title(ctx, k)})
	}
	projects, err := h.Reader.ProjectNames(ctx, seen)
	if err != nil {
		return err
	}
	for _, name := range projects {
		p.Projects = append(p.Projects, ui.Option{Value: name, Text: name})
	}
	found, names, next, err := h.list(c, pageSize)
	if err != nil {
		status, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		p.Error = text
		return httpx.Render(c, status, incidents.List(p))
	}
	if err := h.channels(ctx, &p); err != nil {
		return err
	}
	if p.Filter.ID != "" && len(found) == 1 {
		p.Close, p.Key = closable(ctx, found[0]), rand.Text()
	}
	p.Pager = pager(c, next)
	for _, i := range found {
		p.Rows = append(p.Rows, row(ctx, i, names))
	}
	return httpx.Render(c, http.StatusOK, incidents.List(p))
}

func row(ctx context.Context, i domain.Incident, names map[domain.ID]string) incidents.Row {
	r := incidents.Row{ID: i.ID.String(), Title: incident.Title(ctx, i.Kind), Said: incident.Said(ctx, i), Subject: subject(ctx, i), Project: names[i.ProjectID],
		Opened: i.OpenedAt, Last: i.LastAt, Ended: i.ResolvedAt, Over: incident.Over(ctx, i), Count: i.Count}
	if i.Example != 0 {
		r.Example = ui.Ref{ID: i.Example.String(), URL: "/instances/" + i.Example.String()}
	}
	return r
}

// subject leads to what the incident is about, where that has a page.
func subject(ctx context.Context, i domain.Incident) ui.Ref {
	r := ui.Ref{ID: incident.Subject(ctx, i)}
	switch {
	case i.Kind == domain.IncidentCalendarEnds:
		r.URL = "/calendars/" + url.PathEscape(i.Subject)
	case i.ProjectID != domain.EveryProject:
		r.URL = "/jobs/" + url.PathEscape(i.Subject)
	case i.Kind == domain.IncidentWorkerLost || i.Kind == domain.IncidentNoTarget:
		r.URL = "/workers"
	}
	return r
}

func pager(c echo.Context, next string) ui.Pager {
	var p ui.Pager
	here := c.Request().URL
	at := func(cursor string) string {
		v := here.Query()
		v.Del("cursor")
		if cursor != "" {
			v.Set("cursor", cursor)
		}
		return (&url.URL{Path: here.Path, RawQuery: v.Encode()}).String()
	}
	if c.QueryParam("cursor") != "" {
		p.FirstURL = at("")
	}
	if next != "" {
		p.NextURL = at(next)
	}
	return p
}

// apiIncidents is a page of incidents, the open ones first.
type apiIncidents struct {
	Incidents []apiIncident `json:"incidents"`
	Cursor    string        `json:"cursor"` // "" at the end
	// Channels are the roads by which notices go out; none: nobody is told.
	Channels []apiChannel `json:"channels"`
}

// apiIncident is one thing that is or was wrong.
type apiIncident struct {
	ID         domain.ID           `json:"id"`
	Kind       domain.IncidentKind `json:"kind"`
	Subject    string              `json:"subject"` // [project/]job or calendar, or the name of a worker or a process
	Project    string              `json:"project"` // "" = it is about the system
	Open       bool                `json:"open"`
	OpenedAt   time.Time           `json:"openedAt"`
	LastAt     time.Time           `json:"lastAt"`
	Count      int64               `json:"count"`
	Example    domain.ID           `json:"example"`    // instance that showed it last; "" = none
	Message    string              `json:"message"`    // what was said of it last
	ResolvedAt *time.Time          `json:"resolvedAt"` // null: open
	Recovery   domain.Recovery     `json:"recovery"`   // why it is over; "" = open
	EndedBy    string              `json:"endedBy"`    // who closed it by hand; "" = nobody
	EndedWhy   string              `json:"endedWhy"`
	NoticedAt  *time.Time          `json:"noticedAt"` // when a notice was last written; null: none was
}

func shape(ctx context.Context, i domain.Incident, names map[domain.ID]string) apiIncident {
	out := apiIncident{ID: i.ID, Kind: i.Kind, Subject: incident.Subject(ctx, i), Project: names[i.ProjectID], Open: i.Open(), OpenedAt: i.OpenedAt, LastAt: i.LastAt,
		Count: i.Count, Example: i.Example, Message: incident.Said(ctx, i), Recovery: i.Recovery,
		EndedBy: i.EndedBy, EndedWhy: i.EndedWhy}
	if !i.Open() {
		out.ResolvedAt = &i.ResolvedAt
	}
	if !i.NoticedAt.IsZero() {
		out.NoticedAt = &i.NoticedAt
	}
	return out
}

func (h *Handlers) api(c echo.Context) error {
	limit, err := httpx.Limit(c, pageSize, 500)
	if err != nil {
		return err
	}
	found, names, next, err := h.list(c, limit)
	if err != nil {
		return err
	}
	ctx := i18n.With(c.Request().Context(), i18n.English)
	channels, err := h.Reader.Channels(ctx)
	if err != nil {
		return err
	}
	out := apiIncidents{Incidents: make([]apiIncident, len(found)), Cursor: next, Channels: channelsOf(channels)}
	for n, i := range found {
		out.Incidents[n] = shape(ctx, i, names)
	}
	return c.JSON(http.StatusOK, out)
}
