// Package web is the pages of secrets and their API. No answer has a value in it.
package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/secret"
)

// Handlers answers the routes of secrets. All fields must be set.
type Handlers struct {
	Secrets *secret.Secrets
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	const read, write = domain.ActSecretRead, domain.ActSecretWrite
	return []httpx.Route{
		{Method: "GET", Path: "/secrets", Action: read, Handler: h.listPage},
		{Method: "GET", Path: "/secrets/new", Action: write, Handler: h.newPage},
		{Method: "POST", Path: "/secrets", Action: write, Handler: h.makeForm},
		{Method: "GET", Path: "/secrets/:secret", Action: read, Handler: h.showPage},
		{Method: "POST", Path: "/secrets/:secret", Action: write, Handler: h.changeForm},
		{Method: "POST", Path: "/secrets/:secret/delete", Action: write, Handler: h.deleteForm},

		{Method: "GET", Path: "/api/v1/secrets", Action: read, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Secrets without their values, by project and name", Answer: secretsDoc{}, Query: []httpx.Param{{Name: "project", Text: "only of this project"}}}},
		{Method: "GET", Path: "/api/v1/secrets/:secret", Action: read, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One secret, by [project/]name (encoded), without its value", Answer: secretDoc{}}},
		{Method: "PUT", Path: "/api/v1/secrets/:secret", Action: write, Handler: h.apiSet,
			Doc: httpx.Doc{Summary: "Make a secret or give one a new value, by [project/]name (encoded); tasks granted from then on get it", Body: setCall{}, Answer: secretDoc{}}},
		{Method: "DELETE", Path: "/api/v1/secrets/:secret", Action: write, Handler: h.apiDelete,
			Doc: httpx.Doc{Summary: "Delete a secret; 409 while jobs name it, with their names"}},
	}
}

// secretsDoc is all secrets in sight.
type secretsDoc struct {
	Secrets []secretDoc `json:"secrets"`
	Cursor  string      `json:"cursor"` // always "": secrets are few
}

// secretDoc is one secret.
type secretDoc struct {
	Name      string    `json:"name"` // [project/]name
	Project   string    `json:"project"`
	Version   int       `json:"version"` // raised by each new value; give it back to change only what you saw
	Jobs      int       `json:"jobs"`    // that name it
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedBy string    `json:"updatedBy"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func docOf(v secret.View) secretDoc {
	return secretDoc{Name: keyOf(v).String(), Project: v.Project, Version: v.Version, Jobs: v.Jobs,
		CreatedBy: v.CreatedBy, CreatedAt: v.CreatedAt, UpdatedBy: v.UpdatedBy, UpdatedAt: v.UpdatedAt}
}

// keyOf is the name of a secret with that of its project.
func keyOf(v secret.View) domain.JobKey { return domain.JobKey{Project: v.Project, Name: v.Name} }

// named finds the key of the secret that the path names. One of a project that the caller has no role in answers like one
// that is not there.
func (h *Handlers) named(c echo.Context) (domain.SecretKey, error) {
	ctx, key := c.Request().Context(), pathKey(c)
	id, err := h.Secrets.Projects.ByName(ctx, key.Project)
	if err == nil {
		err = httpx.Allow(ctx, id, domain.ActSecretRead)
	}
	return domain.SecretKey{Project: id, Name: key.Name}, outOfSight(err, key)
}

// pathKey is the name in the path with that of its project.
func pathKey(c echo.Context) domain.JobKey {
	name := c.Param("secret")
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	return domain.ParseJobKey(name)
}

// outOfSight makes one error of all reasons for which a secret is not to be seen.
func outOfSight(err error, key domain.JobKey) error {
	if domain.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "there is no secret %q in a project %q that you may see", key.Name, key.Project).Coded("secret.none", "name", key.Name)
	}
	return err
}

// seen are the projects whose secrets a list shows; named restricts it to one.
func (h *Handlers) seen(ctx context.Context, named string) (domain.ProjectSet, error) {
	if named == "" {
		return httpx.Visible(ctx, domain.ActSecretRead), nil
	}
	id, err := h.Secrets.Projects.ByName(ctx, named)
	if err == nil {
		err = httpx.Allow(ctx, id, domain.ActSecretRead)
	}
	return domain.ProjectSet{IDs: []domain.ID{id}}, err
}

func (h *Handlers) apiList(c echo.Context) error {
	ctx := c.Request().Context()
	seen, err := h.seen(ctx, c.QueryParam("project"))
	if err != nil {
		return err
	}
	found, err := h.Secrets.List(ctx, seen)
	if err != nil {
		return err
	}
	out := secretsDoc{Secrets: make([]secretDoc, len(found))}
	for i, v := range found {
		out.Secrets[i] = docOf(v)
	}
	return c.JSON(http.StatusOK, out)
}

func (h *Handlers) apiShow(c echo.Context) error {
	key, err := h.named(c)
	if err != nil {
		return err
	}
	return h.answer(c, key)
}

func (h *Handlers) answer(c echo.Context, key domain.SecretKey) error {
	v, err := h.Secrets.Get(c.Request().Context(), key)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, docOf(v))
}

// setCall is the body of a change.
type setCall struct {
	Value   string `json:"value"`             // 4 characters to 16 KB; taken as it is, spaces and line ends too
	Version int    `json:"version,omitempty"` // change it only if it is still this one
	Reason  string `json:"reason,omitempty"`
}

func (h *Handlers) apiSet(c echo.Context) error {
	key := pathKey(c)
	var in setCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	set, err := h.Secrets.Set(c.Request().Context(), secret.Change{Project: key.Project, Name: key.Name, Value: in.Value, Base: in.Version, Reason: in.Reason}, httpx.Allow)
	if err != nil {
		return outOfSight(err, key)
	}
	return h.answer(c, set.Key())
}

func (h *Handlers) apiDelete(c echo.Context) error {
	key, err := h.named(c)
	if err != nil {
		return err
	}
	if err := h.Secrets.Delete(c.Request().Context(), key, "", httpx.Allow); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
