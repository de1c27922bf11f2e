package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

type apiRole struct {
	Project string      `json:"project"` // "" = every project
	Role    access.Role `json:"role"`
}

type apiUser struct {
	ID       domain.ID `json:"id"`
	Name     string    `json:"name"`
	Disabled bool      `json:"disabled"`
	Roles    []apiRole `json:"roles"`
}

func (h *Handlers) roles(ctx context.Context, account domain.ID) ([]apiRole, error) {
	members, err := h.Access.Roles(ctx, account)
	if err != nil {
		return nil, err
	}
	out := make([]apiRole, len(members))
	for i, m := range members {
		out[i].Role = m.Role
		if m.ProjectID == domain.EveryProject {
			continue
		}
		p, err := h.Access.ProjectByID(ctx, m.ProjectID)
		if err != nil {
			return nil, err
		}
		out[i].Project = p.Name
	}
	return out, nil
}

func (h *Handlers) apiMe(c echo.Context) error {
	ctx := c.Request().Context()
	p := domain.PrincipalOf(ctx)
	roles, err := h.roles(ctx, p.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, apiUser{ID: p.ID, Name: p.Name, Roles: roles})
}

type passwordCall struct {
	Old      string `json:"old"`
	Password string `json:"password"`
}

func (h *Handlers) apiMyPassword(c echo.Context) error {
	var in passwordCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if err := h.Access.ChangePassword(c.Request().Context(), in.Old, in.Password); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// apiToken is a token; Secret is told once, at its making.
type apiToken struct {
	ID        domain.ID  `json:"id"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"`
	Secret    string     `json:"secret,omitempty"`
}

// Sealed is the token without its secret.
func (t apiToken) Sealed() any {
	t.Secret = ""
	return t
}

func shownToken(t access.Token, secret string) apiToken {
	out := apiToken{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, Secret: secret}
	if !t.ExpiresAt.IsZero() {
		out.ExpiresAt = &t.ExpiresAt
	}
	return out
}

type apiTokens struct {
	Tokens []apiToken `json:"tokens"`
	Cursor string     `json:"cursor"` // always ""
}

func (h *Handlers) apiTokens(c echo.Context) error {
	all, err := h.Access.Tokens(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]apiToken, len(all))
	for i, t := range all {
		out[i] = shownToken(t, "")
	}
	return c.JSON(http.StatusOK, apiTokens{Tokens: out})
}

type tokenCall struct {
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // not given: never
}

func (h *Handlers) apiCreateToken(c echo.Context) error {
	var in tokenCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		t, secret, err := h.Access.CreateToken(ctx, in.Name, in.ExpiresAt)
		return http.StatusCreated, shownToken(t, secret), err
	})
}

func (h *Handlers) apiRevokeToken(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	if err := h.Access.RevokeToken(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

type apiUsers struct {
	Users  []apiUser `json:"users"`
	Cursor string    `json:"cursor"` // always ""
}

func (h *Handlers) apiUsers(c echo.Context) error {
	ctx := c.Request().Context()
	if err := httpx.Allow(ctx, domain.EveryProject, domain.ActUserAdmin); err != nil {
		return err
	}
	all, err := h.Access.Accounts(ctx)
	if err != nil {
		return err
	}
	out := make([]apiUser, len(all))
	for i, a := range all {
		roles, err := h.roles(ctx, a.ID)
		if err != nil {
			return err
		}
		out[i] = apiUser{a.ID, a.Name, a.Disabled, roles}
	}
	return c.JSON(http.StatusOK, apiUsers{Users: out})
}

type userCall struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

func (h *Handlers) apiCreateUser(c echo.Context) error {
	var in userCall
	if err := httpx.Allow(c.Request().Context(), domain.EveryProject, domain.ActUserAdmin); err != nil {
		return err
	}
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		acc, err := h.Access.CreateAccount(ctx, in.Name, in.Password)
		return http.StatusCreated, apiUser{ID: acc.ID, Name: acc.Name, Roles: []apiRole{}}, err
	})
}

// changeCall changes what it gives.
type changeCall struct {
	Disabled *bool   `json:"disabled,omitempty"`
	Password *string `json:"password,omitempty"`
}

func (h *Handlers) apiChangeUser(c echo.Context) error {
	var in changeCall
	ctx := c.Request().Context()
	if err := httpx.Allow(ctx, domain.EveryProject, domain.ActUserAdmin); err != nil {
		return err
	}
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if err := h.Access.ChangeAccount(ctx, c.Param("name"), in.Password, in.Disabled); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// mayRule asks whether the caller may give and take roles in the named project, or
// in every project where none is named.
func (h *Handlers) mayRule(ctx context.Context, project string) error {
	if project == "" {
		return httpx.Allow(ctx, domain.EveryProject, domain.ActUserAdmin)
	}
	p, err := h.Access.ProjectByName(ctx, project)
	if err != nil {
		return err
	}
	return httpx.Allow(ctx, p.ID, domain.ActUserAdmin)
}

func (h *Handlers) apiGrant(c echo.Context) error {
	var in apiRole
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if err := h.mayRule(c.Request().Context(), in.Project); err != nil {
		return err
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		return http.StatusCreated, in, h.Access.Grant(ctx, c.Param("name"), in.Project, in.Role)
	})
}

func (h *Handlers) apiRevoke(c echo.Context) error {
	in := apiRole{Project: c.QueryParam("project"), Role: access.Role(c.QueryParam("role"))}
	ctx := c.Request().Context()
	if err := h.mayRule(ctx, in.Project); err != nil {
		return err
	}
	if err := h.Access.Revoke(ctx, c.Param("name"), in.Project, in.Role); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
