package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/audit"
	"github.com/axsched/ax/views/ui"
)

const auditPage = 50

// auditActions are those that the filter offers.
var auditActions = []string{"job.write", "job.pause", "job.resume", "job.delete", "instance.trigger", "instance.kill", "instance.rerun",
	"instance.rerun_success", "instance.release", "orphan.settle", "orphan.settle_success", "worker.drain", "login", "token.create", "token.revoke", "account.create", "account.disable", "account.password",
	"account.profile", "role.grant", "role.revoke", "project.create", "project.networks"}

// query reads the filter that page and API share, and one row more than asked for,
// by which both know whether there is more.
func query(c echo.Context, limit int) (access.AuditQuery, error) {
	ctx := c.Request().Context()
	q := access.AuditQuery{Projects: httpx.Visible(ctx, domain.ActAuditRead), Who: c.QueryParam("who"), Action: c.QueryParam("action"),
		Object: c.QueryParam("object"), Limit: limit + 1}
	var err error
	if q.From, err = day(ctx, "from", c.QueryParam("from"), 0); err != nil {
		return q, err
	}
	if q.To, err = day(ctx, "to", c.QueryParam("to"), 1); err != nil {
		return q, err
	}
	_, err = httpx.ReadCursor(c.QueryParam("cursor"), &q.Before)
	return q, err
}

// day is the first instant of a date in the reader's zone, plus days on.
func day(ctx context.Context, field, text string, plus int) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := domain.ParseBizDate(text)
	if err != nil {
		return time.Time{}, domain.Fail(domain.Invalid, "%v", err).At(field)
	}
	return d.AddDays(plus).Start(i18n.Zone(ctx)), nil
}

// page cuts the extra row off and makes the cursor of what comes after.
func page(rows []access.AuditRow, limit int) ([]access.AuditRow, string, error) {
	if len(rows) <= limit {
		return rows, "", nil
	}
	rows = rows[:limit]
	cursor, err := httpx.Cursor(rows[limit-1].ID)
	return rows, cursor, err
}

func (h *Handlers) auditPage(c echo.Context) error {
	ctx := c.Request().Context()
	p := audit.ListPage{Shell: httpx.Shell(c), ClearURL: "/audit", Filter: audit.Filter{Who: c.QueryParam("who"), Action: c.QueryParam("action"),
		Object: c.QueryParam("object"), From: c.QueryParam("from"), To: c.QueryParam("to")}}
	for _, a := range auditActions {
		p.Actions = append(p.Actions, ui.Option{Value: a, Text: actionWords(ctx, a)})
	}
	q, err := query(c, auditPage)
	if err != nil {
		status, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		p.Error = text
		return httpx.Render(c, status, audit.List(p))
	}
	rows, err := h.Access.Audit(ctx, q)
	if err != nil {
		return err
	}
	rows, next, err := page(rows, auditPage)
	if err != nil {
		return err
	}
	p.Pager = pager(c, next)
	for _, r := range rows {
		p.Rows = append(p.Rows, audit.Row{ID: r.ID.String(), At: r.At, Who: r.Actor, Via: viaWords(ctx, r.Via), From: r.Remote,
			Action: actionWords(ctx, r.Action), Object: objectRef(r.Object), Refused: !r.Allowed, Before: r.Before, After: r.After})
	}
	return httpx.Render(c, http.StatusOK, audit.List(p))
}

// objectRef leads to what a row is about, where it has a page.
func objectRef(object string) ui.Ref {
	r := ui.Ref{ID: object}
	kind, name, _ := strings.Cut(object, "/")
	switch kind {
	case "instance":
		r.URL = "/instances/" + url.PathEscape(name)
	case "job":
		r.URL = "/search?" + url.Values{"q": {name}}.Encode()
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

// actionWords says an action in the reader's language; one that the catalog lacks
// stays as it is written.
func actionWords(ctx context.Context, action string) string {
	if key := "action." + action; i18n.Has(i18n.Lang(ctx), key) {
		return i18n.T(ctx, key)
	}
	return action
}

func viaWords(ctx context.Context, via string) string {
	if key := "via." + via; i18n.Has(i18n.Lang(ctx), key) {
		return i18n.T(ctx, key)
	}
	return via
}

type apiAuditRow struct {
	ID        domain.ID `json:"id"`
	At        time.Time `json:"at"`
	ProjectID domain.ID `json:"projectId"`
	Who       string    `json:"who"`
	Via       string    `json:"via"`
	Remote    string    `json:"remote"`
	Action    string    `json:"action"`
	Object    string    `json:"object"`
	Allowed   bool      `json:"allowed"`
	Before    string    `json:"before"`
	After     string    `json:"after"`
}

type apiAudits struct {
	Audit  []apiAuditRow `json:"audit"`
	Cursor string        `json:"cursor"`
}

func (h *Handlers) apiAudit(c echo.Context) error {
	limit, err := httpx.Limit(c, auditPage, 500)
	if err != nil {
		return err
	}
	q, err := query(c, limit)
	if err != nil {
		return err
	}
	rows, err := h.Access.Audit(c.Request().Context(), q)
	if err != nil {
		return err
	}
	rows, next, err := page(rows, limit)
	if err != nil {
		return err
	}
	out := make([]apiAuditRow, len(rows))
	for i, r := range rows {
		out[i] = apiAuditRow{r.ID, r.At, r.ProjectID, r.Actor, r.Via, r.Remote, r.Action, r.Object, r.Allowed, r.Before, r.After}
	}
	return c.JSON(http.StatusOK, apiAudits{out, next})
}
