// Package web is the pages of pools and their API.
package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/pool"
)

// Instances reads who has a place and who wants one.
type Instances interface {
	// InPool reads instances that have a place in a pool, oldest first.
	InPool(ctx context.Context, key domain.PoolKey, limit int) ([]domain.Instance, error)
	// WaitForPool reads instances that wait for a place in a pool, the longest waiting first.
	WaitForPool(ctx context.Context, key domain.PoolKey, limit int) ([]domain.Instance, error)
}

// Handlers answers the routes of pools. All fields must be set.
type Handlers struct {
	Pools     *pool.Pools
	Instances Instances
}

// Routes is the table. A change asks for the right that it needs once it is known what changes.
func (h *Handlers) Routes() []httpx.Route {
	const read, limit, write = domain.ActPoolRead, domain.ActPoolLimit, domain.ActPoolWrite
	return []httpx.Route{
		{Method: "GET", Path: "/pools", Action: read, Handler: h.listPage},
		{Method: "GET", Path: "/pools/new", Action: write, Handler: h.newPage},
		{Method: "POST", Path: "/pools", Action: write, Creating: true, Handler: h.makeForm},
		{Method: "GET", Path: "/pools/:pool", Action: read, Handler: h.showPage},
		{Method: "POST", Path: "/pools/:pool", Action: limit, Handler: h.changeForm},
		{Method: "POST", Path: "/pools/:pool/delete", Action: write, Handler: h.deleteForm},

		{Method: "GET", Path: "/api/v1/pools", Action: read, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Pools with how they are used, by project and name", Answer: poolsDoc{}, Query: []httpx.Param{{Name: "project", Text: "only of this project"}}}},
		{Method: "GET", Path: "/api/v1/pools/:pool", Action: read, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One pool, by [project/]name (encoded)", Answer: poolDoc{}}},
		{Method: "PUT", Path: "/api/v1/pools/:pool", Action: limit, Handler: h.apiSet,
			Doc: httpx.Doc{Summary: "Make a pool or change one, by [project/]name (encoded); what runs goes on under a lower limit; 0 pauses it", Body: setCall{}, Answer: poolDoc{}}},
		{Method: "DELETE", Path: "/api/v1/pools/:pool", Action: write, Handler: h.apiDelete,
			Doc: httpx.Doc{Summary: "Delete a pool; 409 while jobs name it, with their names, or instances are in it"}},
	}
}

// poolsDoc is all pools in sight.
type poolsDoc struct {
	Pools  []poolDoc `json:"pools"`
	Cursor string    `json:"cursor"` // always "": pools are few
}

// poolDoc is one pool.
type poolDoc struct {
	Name      string    `json:"name"` // [project/]name
	Project   string    `json:"project"`
	Title     string    `json:"title"`
	Limit     int       `json:"limit"`   // 0: paused
	Used      int       `json:"used"`    // instances that have a place; more than the limit after it was lowered
	Waiting   int       `json:"waiting"` // instances that wait for one; not counted beyond 100000 over all pools listed
	Jobs      int       `json:"jobs"`    // that name it
	Ver       int64     `json:"ver"`     // raised by each change; give it back to change only what you saw
	UpdatedAt time.Time `json:"updatedAt"`
}

func docOf(v pool.View) poolDoc {
	return poolDoc{Name: keyOf(v).String(), Project: v.Project, Title: v.Title, Limit: v.Limit, Used: v.Used, Waiting: v.Waiting, Jobs: v.Jobs, Ver: v.Ver, UpdatedAt: v.UpdatedAt}
}

// keyOf is the name of a pool with that of its project.
func keyOf(v pool.View) domain.JobKey { return domain.JobKey{Project: v.Project, Name: v.Name} }

// named finds the key of the pool that the path names. One of a project that the caller has no
// role in answers like one that is not there.
func (h *Handlers) named(c echo.Context) (domain.PoolKey, error) {
	ctx, key := c.Request().Context(), pathKey(c)
	id, err := h.Pools.Projects.ByName(ctx, key.Project)
	if err == nil {
		err = httpx.Allow(ctx, id, domain.ActPoolRead)
	}
	return domain.PoolKey{Project: id, Name: key.Name}, outOfSight(err, key)
}

// pathKey is the name in the path with that of its project.
func pathKey(c echo.Context) domain.JobKey {
	name := c.Param("pool")
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	return domain.ParseJobKey(name)
}

// outOfSight makes one error of all reasons for which a pool is not to be seen.
func outOfSight(err error, key domain.JobKey) error {
	if domain.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "there is no pool %q in a project %q that you may see", key.Name, key.Project).Coded("pool.none", "name", key.Name)
	}
	return err
}

// seen are the projects whose pools a list shows; named restricts it to one.
func (h *Handlers) seen(ctx context.Context, named string) (domain.ProjectSet, error) {
	if named == "" {
		return httpx.Visible(ctx, domain.ActPoolRead), nil
	}
	id, err := h.Pools.Projects.ByName(ctx, named)
	if err == nil {
		err = httpx.Allow(ctx, id, domain.ActPoolRead)
	}
	return domain.ProjectSet{IDs: []domain.ID{id}}, err
}

func (h *Handlers) apiList(c echo.Context) error {
	ctx := c.Request().Context()
	seen, err := h.seen(ctx, c.QueryParam("project"))
	if err != nil {
		return err
	}
	found, err := h.Pools.List(ctx, seen)
	if err != nil {
		return err
	}
	out := poolsDoc{Pools: make([]poolDoc, len(found))}
	for i, v := range found {
		out.Pools[i] = docOf(v)
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

func (h *Handlers) answer(c echo.Context, key domain.PoolKey) error {
	v, err := h.Pools.Get(c.Request().Context(), key)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, docOf(v))
}

// setCall is the body of a change; what is left out stays as it is.
type setCall struct {
	Limit  *int    `json:"limit,omitempty"` // required for a new pool; 0 pauses it
	Title  *string `json:"title,omitempty"`
	Ver    int64   `json:"ver,omitempty"` // change it only if it is still this one
	Reason string  `json:"reason,omitempty"`
}

func (h *Handlers) apiSet(c echo.Context) error {
	key := pathKey(c)
	var in setCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	set, err := h.Pools.Set(c.Request().Context(), pool.Change{Project: key.Project, Name: key.Name, Limit: in.Limit, Title: in.Title, Base: in.Ver, Reason: in.Reason}, httpx.Allow)
	if err != nil {
		return outOfSight(err, key)
	}
	return h.answer(c, set.Key())
}

func (h *Handlers) apiDelete(c echo.Context) error {
	ctx := c.Request().Context()
	key, err := h.named(c)
	if err != nil {
		return err
	}
	if err := h.Pools.Delete(ctx, key, "", httpx.Allow); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
