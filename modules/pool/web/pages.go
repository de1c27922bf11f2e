package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/pool"
	"github.com/axsched/ax/views/pools"
	"github.com/axsched/ax/views/ui"
)

// How much a page names.
const (
	shownHolders = 50
	shownWaiters = 20
	shownJobs    = 20
)

// pathOf is the page of a pool; its name always stands with that of its project, so that no pool
// is taken for another page.
func pathOf(project, name string) string { return "/pools/" + url.PathEscape(project+"/"+name) }

func (h *Handlers) listPage(c echo.Context) error {
	ctx := c.Request().Context()
	p := pools.ListPage{Shell: httpx.Shell(c), Project: c.QueryParam("project")}
	projects, err := h.projects(ctx, domain.ActPoolRead)
	if err != nil {
		return err
	}
	p.Projects = projects
	if p.New.URL = "/pools/new"; httpx.Visible(ctx, domain.ActPoolWrite).Empty() {
		p.New = ui.Action{Denied: denied(ctx, domain.ActPoolWrite)}
	}
	status, err := h.fillList(c, &p)
	if err != nil {
		return err
	}
	return httpx.Render(c, status, pools.List(p))
}

func (h *Handlers) fillList(c echo.Context, p *pools.ListPage) (int, error) {
	ctx := c.Request().Context()
	seen, err := h.seen(ctx, p.Project)
	var found []pool.View
	if err == nil {
		found, err = h.Pools.List(ctx, seen)
	}
	if err != nil {
		status, text, ok := httpx.Explain(c, err)
		if !ok {
			return 0, err
		}
		p.Error = text
		return status, nil
	}
	for _, v := range found {
		p.Rows = append(p.Rows, rowOf(v))
	}
	return http.StatusOK, nil
}

func rowOf(v pool.View) pools.Row {
	return pools.Row{Name: v.Name, Title: v.Title, Project: v.Project, URL: pathOf(v.Project, v.Name), Limit: v.Limit, Used: v.Used, Waiting: v.Waiting,
		More: v.Waiting >= domain.MaxPoolWaiting, Jobs: v.Jobs, Changed: v.UpdatedAt}
}

func denied(ctx context.Context, action domain.Action) string {
	return i18n.T(ctx, "http.denied", "action", string(action))
}

// projects are those in which the reader may do the action, by name.
func (h *Handlers) projects(ctx context.Context, action domain.Action) ([]ui.Option, error) {
	names, err := h.Pools.Projects.Names(ctx)
	seen := httpx.Visible(ctx, action)
	var out []ui.Option
	for id, name := range names {
		if seen.Has(id) {
			out = append(out, ui.Option{Value: name, Text: name})
		}
	}
	slices.SortFunc(out, func(a, b ui.Option) int { return strings.Compare(a.Value, b.Value) })
	return out, err
}

func (h *Handlers) newPage(c echo.Context) error {
	return h.showNew(c, pools.EditPage{Form: pools.Form{Project: domain.DefaultProject}}, http.StatusOK)
}

func (h *Handlers) showNew(c echo.Context, p pools.EditPage, status int) error {
	projects, err := h.projects(c.Request().Context(), domain.ActPoolWrite)
	if err != nil {
		return err
	}
	p.Shell, p.Projects, p.Key, p.Describe, p.Save = httpx.Shell(c), projects, rand.Text(), true, ui.Action{URL: "/pools"}
	return httpx.Render(c, status, pools.Edit(p))
}

func (h *Handlers) makeForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	p := pools.EditPage{Form: formOf(form)}
	err = httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		change, err := changeOf(p.Form, domain.JobKey{Project: p.Form.Project, Name: p.Form.Name})
		if err != nil {
			return "", err
		}
		change.New = true
		_, err = h.Pools.Set(ctx, change, httpx.Allow)
		return pathOf(p.Form.Project, p.Form.Name), err
	})
	if err == nil {
		return nil
	}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	return h.showNew(c, p, status)
}

func formOf(q url.Values) pools.Form {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return pools.Form{Project: text("project"), Name: text("name"), Limit: text("limit"), Title: text("title"), Reason: text("reason"), Ver: text("ver")}
}

// changeOf is what a form asks for.
func changeOf(f pools.Form, key domain.JobKey) (pool.Change, error) {
	limit, err := strconv.Atoi(f.Limit)
	if err != nil {
		return pool.Change{}, pool.BadLimit(f.Limit)
	}
	return pool.Change{Project: key.Project, Name: key.Name, Limit: &limit, Title: &f.Title, Reason: f.Reason}, nil
}

// faultOf puts what is wrong into the page; what only the edge may answer comes back.
func faultOf(c echo.Context, p *pools.EditPage, err error) (int, error) {
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return 0, err
	}
	if field := httpx.FieldOf(err); slices.Contains([]string{"name", "limit", "title"}, field) {
		p.Errors = append(p.Errors, ui.FieldError{Field: field, Message: text})
	} else {
		p.Error = text
	}
	return status, nil
}

func (h *Handlers) showPage(c echo.Context) error {
	key, err := h.named(c)
	if err != nil {
		return err
	}
	return h.show(c, key, pools.EditPage{}, http.StatusOK)
}

// show is the page of a pool as it stands; a form that could not be taken stays as it was typed.
func (h *Handlers) show(c echo.Context, key domain.PoolKey, p pools.EditPage, status int) error {
	ctx := c.Request().Context()
	v, err := h.Pools.Get(ctx, key)
	if err != nil {
		return err
	}
	if err := h.fillUse(ctx, &p, v); err != nil {
		return err
	}
	if p.Form.Ver == "" || status == http.StatusConflict { // who saw the conflict may repeat it on what is there now
		p.Form.Ver = strconv.FormatInt(v.Ver, 10)
	}
	if p.Error == "" && len(p.Errors) == 0 {
		p.Form.Limit, p.Form.Title = strconv.Itoa(v.Limit), v.Title
	}
	page := pathOf(v.Project, v.Name)
	p.Save, p.Delete = ui.Action{URL: page}, ui.Action{URL: page + "/delete"}
	p.Describe = httpx.Can(ctx, key.Project, domain.ActPoolWrite)
	if !p.Describe {
		p.Delete = ui.Action{Denied: denied(ctx, domain.ActPoolWrite)}
	}
	if !httpx.Can(ctx, key.Project, domain.ActPoolLimit) {
		p.Save = ui.Action{Denied: denied(ctx, domain.ActPoolLimit)}
	}
	p.Shell = httpx.Shell(c)
	return httpx.Render(c, status, pools.Edit(p))
}

func (h *Handlers) fillUse(ctx context.Context, p *pools.EditPage, v pool.View) error {
	p.Row = rowOf(v)
	holders, err := h.Instances.InPool(ctx, v.Key(), shownHolders)
	if err != nil {
		return err
	}
	waiters, err := h.Instances.WaitForPool(ctx, v.Key(), shownWaiters)
	if err != nil {
		return err
	}
	for _, in := range holders {
		since := in.StartedAt
		if since.IsZero() {
			since = in.ReadyAt
		}
		p.Holders = append(p.Holders, holderOf(in, since))
	}
	for _, in := range waiters {
		p.Waiters = append(p.Waiters, holderOf(in, in.ReadyAt))
	}
	list := "/instances?" + url.Values{"pool": {keyOf(v).String()}}.Encode() + "&place="
	p.HoldURL, p.WaitURL = list+"holds", list+"waits"
	names, err := h.Pools.Jobs.NamePool(ctx, v.Key(), shownJobs)
	for _, name := range names {
		p.JobNames = append(p.JobNames, ui.Ref{ID: name, URL: "/jobs/" + url.PathEscape(domain.JobKey{Project: v.Project, Name: name}.String())})
	}
	return err
}

func holderOf(in domain.Instance, since time.Time) pools.Holder {
	return pools.Holder{Instance: ui.Ref{ID: in.JobName, URL: "/instances/" + in.ID.String()}, BizDate: in.BizDate.String(),
		Status: ui.Status{State: string(in.State), Label: string(in.Label)}, Since: since}
}

func (h *Handlers) changeForm(c echo.Context) error {
	key, err := h.named(c)
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := pools.EditPage{Form: formOf(form)}
	change, err := changeOf(p.Form, pathKey(c))
	if err == nil {
		if !form.Has("title") { // who may not describe it sends none
			change.Title = nil
		}
		change.Known = true
		if change.Base, err = strconv.ParseInt(p.Form.Ver, 10, 64); err != nil {
			err = domain.Fail(domain.Invalid, "the form does not say from which version of the pool it began").Coded("pool.no_ver")
		} else {
			_, err = h.Pools.Set(ctx, change, httpx.Allow)
		}
	}
	if err == nil {
		return httpx.Redirect(c, c.Request().URL.EscapedPath())
	}
	var own *domain.Error
	if errors.As(err, &own) && (own.Kind == domain.NotFound || own.Kind == domain.Denied) {
		return err
	}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	return h.show(c, key, p, status)
}

func (h *Handlers) deleteForm(c echo.Context) error {
	ctx := c.Request().Context()
	key, err := h.named(c)
	if err != nil {
		return err
	}
	if err = h.Pools.Delete(ctx, key, "", httpx.Allow); err == nil {
		return httpx.Redirect(c, "/pools")
	}
	if !domain.Is(err, domain.Conflict) {
		return err
	}
	p := pools.EditPage{}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	v, err := h.Pools.Get(ctx, key)
	if err != nil {
		return err
	}
	p.Form.Limit, p.Form.Title = strconv.Itoa(v.Limit), v.Title
	return h.show(c, key, p, status)
}
