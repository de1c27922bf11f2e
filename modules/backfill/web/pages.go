package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/backfills"
	"github.com/axsched/ax/views/ui"
)

// pages are the routes that people see.
func (h *Handlers) pages() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/backfills", Action: domain.ActInstanceRead, Handler: h.listPage},
		{Method: "GET", Path: "/backfills/new", Action: domain.ActInstanceRead, Handler: h.newPage},
		{Method: "POST", Path: "/backfills", Action: domain.ActInstanceRerun, Creating: true, Handler: h.startForm},
		{Method: "GET", Path: "/backfills/:id", Action: domain.ActInstanceRead, Handler: h.showPage},
		{Method: "POST", Path: "/backfills/:id/pause", Action: domain.ActBackfillControl, Handler: h.changeForm(h.Backfills.Pause)},
		{Method: "POST", Path: "/backfills/:id/resume", Action: domain.ActBackfillControl, Handler: h.changeForm(h.Backfills.Resume)},
		{Method: "POST", Path: "/backfills/:id/stop", Action: domain.ActBackfillControl, Handler: h.stopForm},
		{Method: "GET", Path: "/missed", Action: domain.ActJobRead, Handler: h.missedPage},
	}
}

const (
	pageRows   = 50
	itemsShown = 100 // of a started backfill, a page
	shownItems = 300 // of a preview
	offered    = 500 // names of jobs
)

func backfillURL(id domain.ID) string { return "/backfills/" + id.String() }

// newPage is the form, and with preview=1 what would run.
func (h *Handlers) newPage(c echo.Context) error {
	q := c.QueryParams()
	p := backfills.NewPage{Form: formOf(q)}
	if q.Get("preview") == "" {
		return h.showNew(c, p, http.StatusOK)
	}
	status, err := h.fillPreview(c.Request().Context(), &p, nil)
	if err != nil {
		return err
	}
	return h.showNew(c, p, status)
}

func (h *Handlers) showNew(c echo.Context, p backfills.NewPage, status int) error {
	ctx := c.Request().Context()
	names, err := h.Jobs.FirstNames(ctx, httpx.Visible(ctx, domain.ActInstanceRead), offered)
	if err != nil {
		return err
	}
	for _, n := range names {
		p.Names = append(p.Names, n.Key.String())
	}
	p.Shell, p.Key = httpx.Shell(c), rand.Text()
	return httpx.Render(c, status, backfills.New(p))
}

// fillPreview plans what the form asks for, unless that is given. What is wrong with the
// form goes into it.
func (h *Handlers) fillPreview(ctx context.Context, p *backfills.NewPage, planned *plan.Plan) (status int, err error) {
	if planned == nil {
		got, err := h.planned(ctx, p.Form)
		if err != nil {
			return faultOf(ctx, p, err)
		}
		planned = &got
	}
	p.Hash = planned.Hash
	v := previewOf(ctx, *planned)
	for _, project := range planned.Projects() {
		if action := planned.Request.Action(); !httpx.Can(ctx, project, action) {
			v.Start = ui.Action{Denied: i18n.T(ctx, "backfill.denied."+string(planned.Request.Wanted))}
		}
	}
	p.Preview = &v
	return http.StatusOK, nil
}

func (h *Handlers) planned(ctx context.Context, f backfills.Form) (plan.Plan, error) {
	a, err := askedOf(f)
	if err != nil {
		return plan.Plan{}, err
	}
	r, err := h.request(ctx, a)
	if err != nil {
		return plan.Plan{}, err
	}
	return h.Backfills.Preview(ctx, r)
}

// fields are the names of the form's fields that can be wrong.
var fields = []string{"job", "from", "to", "dates", "degree", "order", "notBetween", "params", "reason"}

// faultOf puts what is wrong into the page; what is no fault of the form comes back.
func faultOf(ctx context.Context, p *backfills.NewPage, err error) (int, error) {
	var own *domain.Error
	if !errors.As(err, &own) {
		return 0, err
	}
	text := httpx.Say(ctx, err)
	switch {
	case own.Kind == domain.Invalid && slices.Contains(fields, own.Field):
		p.Errors = append(p.Errors, ui.FieldError{Field: own.Field, Message: text})
	case own.Kind == domain.NotFound:
		p.Errors = append(p.Errors, ui.FieldError{Field: "job", Message: text})
	case own.Kind == domain.Invalid || own.Kind == domain.TooLarge:
		p.Error = text
	default:
		return 0, err
	}
	return http.StatusUnprocessableEntity, nil
}

// startForm starts what the preview showed; when that has changed, it shows what it is now.
func (h *Handlers) startForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	p := backfills.NewPage{Form: formOf(form)}
	err = httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		a, err := askedOf(p.Form)
		if err != nil {
			return "", err
		}
		r, err := h.request(ctx, a)
		if err != nil {
			return "", err
		}
		b, err := h.Backfills.Start(ctx, r, form.Get("hash"), allowed(ctx))
		return backfillURL(b.ID), err
	})
	if err == nil {
		return nil
	}
	ctx := c.Request().Context()
	var changed *backfill.Changed
	if errors.As(err, &changed) {
		p.Changed = true
		if _, err := h.fillPreview(ctx, &p, &changed.Plan); err != nil {
			return err
		}
		return h.showNew(c, p, http.StatusConflict)
	}
	status, err := faultOf(ctx, &p, err)
	if err != nil {
		return err
	}
	return h.showNew(c, p, status)
}

func (h *Handlers) listPage(c echo.Context) error {
	ctx := c.Request().Context()
	q := c.QueryParams()
	job, state := q.Get("job"), q.Get("state")
	p := backfills.ListPage{Job: job, Filtered: job+state != "", New: ui.Action{URL: "/backfills/new"}}
	p.Tabs = stateTabs(ctx, job, state)
	status := http.StatusOK
	if err := h.fillList(ctx, &p, q); err != nil {
		var ok bool
		if status, p.Error, ok = httpx.Explain(c, err); !ok {
			return err
		}
	}
	p.Shell = httpx.Shell(c)
	return httpx.Render(c, status, backfills.List(p))
}

func (h *Handlers) fillList(ctx context.Context, p *backfills.ListPage, q url.Values) error {
	f, err := h.filter(ctx, q.Get("job"), q.Get("state"))
	if err != nil {
		return err
	}
	given, err := httpx.ReadCursor(q.Get("cursor"), &f.After)
	if err != nil {
		return err
	}
	f.Limit = pageRows + 1
	found, err := h.Backfills.Store.List(ctx, f)
	if err != nil {
		return err
	}
	for _, b := range found[:min(len(found), pageRows)] {
		p.Rows = append(p.Rows, rowOf(b))
	}
	if given {
		p.Pager.FirstURL = listURL(q.Get("job"), q.Get("state"), "")
	}
	if len(found) > pageRows {
		next, err := httpx.Cursor(found[pageRows-1].ID)
		p.Pager.NextURL = listURL(q.Get("job"), q.Get("state"), next)
		return err
	}
	return nil
}

func listURL(job, state, cursor string) string {
	return withQuery("/backfills", "job", job, "state", state, "cursor", cursor)
}

// withQuery is a path with the pairs of names and values that are not empty.
func withQuery(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func stateTabs(ctx context.Context, job, state string) []ui.Tab {
	out := []ui.Tab{{Text: i18n.T(ctx, "backfill.all"), URL: listURL(job, "", ""), Count: -1, Active: state == ""}}
	for _, s := range plan.States {
		out = append(out, ui.Tab{Text: i18n.T(ctx, "backfill.state."+string(s)), URL: listURL(job, string(s), ""), Count: -1, Active: state == string(s)})
	}
	return out
}

// changeForm pauses or resumes.
func (h *Handlers) changeForm(do change) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		id, err := httpx.ParamID(c, "id")
		if err != nil {
			return err
		}
		form, err := httpx.Form(c)
		if err != nil {
			return err
		}
		if _, err := do(ctx, id, strings.TrimSpace(form.Get("reason")), controls(ctx)); err != nil {
			return err
		}
		return httpx.Redirect(c, backfillURL(id))
	}
}

func (h *Handlers) stopForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	return h.changeForm(func(ctx context.Context, id domain.ID, reason string, allow func(plan.Backfill) error) (plan.Backfill, error) {
		return h.Backfills.Stop(ctx, id, form.Get("kill") != "", reason, allow)
	})(c)
}
