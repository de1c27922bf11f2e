package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/secret"
	"github.com/axsched/ax/views/secrets"
	"github.com/axsched/ax/views/ui"
)

// shownJobs is how many of the jobs that name a secret its page shows.
const shownJobs = 20

// pathOf is the page of a secret; its name always stands with that of its project, so that no secret is taken for
// another page.
func pathOf(project, name string) string { return "/secrets/" + url.PathEscape(project+"/"+name) }

func (h *Handlers) listPage(c echo.Context) error {
	ctx := c.Request().Context()
	p := secrets.ListPage{Shell: httpx.Shell(c), Project: c.QueryParam("project"), NoKey: h.noKey(c)}
	projects, err := h.projects(ctx, domain.ActSecretRead)
	if err != nil {
		return err
	}
	p.Projects = projects
	if p.New.URL = "/secrets/new"; httpx.Visible(ctx, domain.ActSecretWrite).Empty() {
		p.New = ui.Action{Denied: denied(ctx)}
	}
	status, err := h.fillList(c, &p)
	if err != nil {
		return err
	}
	return httpx.Render(c, status, secrets.List(p))
}

func (h *Handlers) fillList(c echo.Context, p *secrets.ListPage) (int, error) {
	ctx := c.Request().Context()
	seen, err := h.seen(ctx, p.Project)
	var found []secret.View
	if err == nil {
		found, err = h.Secrets.List(ctx, seen)
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

// noKey says why nothing can be kept; "" = it can.
func (h *Handlers) noKey(c echo.Context) string {
	if err := h.Secrets.Seal.Ready(); err != nil {
		_, text, _ := httpx.Explain(c, err)
		return text
	}
	return ""
}

func rowOf(v secret.View) secrets.Row {
	return secrets.Row{Name: v.Name, Project: v.Project, URL: pathOf(v.Project, v.Name), Version: v.Version, Jobs: v.Jobs, ChangedBy: v.UpdatedBy, Changed: v.UpdatedAt}
}

func denied(ctx context.Context) string {
	return i18n.T(ctx, "http.denied", "action", string(domain.ActSecretWrite))
}

// projects are those in which the reader may do the action, by name.
func (h *Handlers) projects(ctx context.Context, action domain.Action) ([]ui.Option, error) {
	names, err := h.Secrets.Projects.Names(ctx)
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
	return h.showNew(c, secrets.EditPage{Form: secrets.Form{Project: domain.DefaultProject, Name: c.QueryParam("name")}}, http.StatusOK)
}

func (h *Handlers) showNew(c echo.Context, p secrets.EditPage, status int) error {
	projects, err := h.projects(c.Request().Context(), domain.ActSecretWrite)
	if err != nil {
		return err
	}
	p.Shell, p.Projects, p.Save, p.NoKey = httpx.Shell(c), projects, ui.Action{URL: "/secrets"}, h.noKey(c)
	return httpx.Render(c, status, secrets.Edit(p))
}

func (h *Handlers) makeForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	p := secrets.EditPage{Form: formOf(form)}
	_, err = h.Secrets.Set(c.Request().Context(), secret.Change{Project: p.Form.Project, Name: p.Form.Name, Value: typed(form), New: true, Reason: p.Form.Reason}, httpx.Allow)
	if err == nil {
		return httpx.Redirect(c, pathOf(p.Form.Project, p.Form.Name))
	}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	return h.showNew(c, p, status)
}

func formOf(q url.Values) secrets.Form {
	text := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return secrets.Form{Project: text("project"), Name: text("name"), Reason: text("reason"), Version: text("version")}
}

// typed is the value as it was typed: browsers send the ends of lines as CR LF.
func typed(q url.Values) string { return strings.ReplaceAll(q.Get("value"), "\r\n", "\n") }

// faultOf puts what is wrong into the page; what only the edge may answer comes back.
func faultOf(c echo.Context, p *secrets.EditPage, err error) (int, error) {
	var own *domain.Error
	if errors.As(err, &own) && (own.Kind == domain.NotFound || own.Kind == domain.Denied) {
		return 0, err
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return 0, err
	}
	if field := httpx.FieldOf(err); slices.Contains([]string{"name", "value"}, field) {
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
	return h.show(c, key, secrets.EditPage{}, http.StatusOK)
}

// show is the page of a secret as it stands.
func (h *Handlers) show(c echo.Context, key domain.SecretKey, p secrets.EditPage, status int) error {
	ctx := c.Request().Context()
	v, err := h.Secrets.Get(ctx, key)
	if err != nil {
		return err
	}
	names, err := h.Secrets.Jobs.NameSecret(ctx, key, shownJobs)
	if err != nil {
		return err
	}
	for _, name := range names {
		p.JobNames = append(p.JobNames, ui.Ref{ID: name, URL: "/jobs/" + url.PathEscape(domain.JobKey{Project: v.Project, Name: name}.String())})
	}
	if p.Form.Version == "" || status == http.StatusConflict { // who saw the conflict may repeat it on what is there now
		p.Form.Version = strconv.Itoa(v.Version)
	}
	page := pathOf(v.Project, v.Name)
	p.Row, p.CreatedBy, p.Created = rowOf(v), v.CreatedBy, v.CreatedAt
	p.Save, p.Delete, p.NoKey = ui.Action{URL: page}, ui.Action{URL: page + "/delete"}, h.noKey(c)
	if !httpx.Can(ctx, key.Project, domain.ActSecretWrite) {
		p.Save, p.Delete = ui.Action{Denied: denied(ctx)}, ui.Action{Denied: denied(ctx)}
	}
	p.Shell = httpx.Shell(c)
	return httpx.Render(c, status, secrets.Edit(p))
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
	p := secrets.EditPage{Form: formOf(form)}
	base, err := strconv.Atoi(p.Form.Version)
	if err != nil || base <= 0 {
		err = domain.Fail(domain.Invalid, "the form does not say from which version of the secret it began").Coded("secret.no_version")
	} else {
		_, err = h.Secrets.Set(c.Request().Context(), secret.Change{Project: pathKey(c).Project, Name: key.Name, Value: typed(form), Base: base, Known: true, Reason: p.Form.Reason}, httpx.Allow)
	}
	if err == nil {
		return httpx.Redirect(c, c.Request().URL.EscapedPath())
	}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	return h.show(c, key, p, status)
}

func (h *Handlers) deleteForm(c echo.Context) error {
	key, err := h.named(c)
	if err != nil {
		return err
	}
	if err = h.Secrets.Delete(c.Request().Context(), key, "", httpx.Allow); err == nil {
		return httpx.Redirect(c, "/secrets")
	}
	p := secrets.EditPage{}
	status, err := faultOf(c, &p, err)
	if err != nil {
		return err
	}
	return h.show(c, key, p, status)
}
