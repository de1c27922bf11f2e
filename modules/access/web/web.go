// Package web is access's pages (login, set-up, the own account, projects, the audit trail) and its API (tokens, the own account, users, projects, audit).
package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/views/auth"
)

// Handlers answers access's routes.
type Handlers struct {
	Access *access.Access
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/login", Action: httpx.Public, Handler: h.loginPage},
		{Method: "POST", Path: "/login", Action: httpx.Public, Handler: h.login},
		{Method: "POST", Path: "/logout", Action: httpx.Public, Handler: h.logout},
		{Method: "GET", Path: "/setup", Action: httpx.Public, Handler: h.setupPage},
		{Method: "POST", Path: "/setup", Action: httpx.Public, Handler: h.setup},
		{Method: "POST", Path: "/prefs", Action: httpx.Public, Handler: h.prefs},
		{Method: "GET", Path: "/profile", Action: httpx.AnyAccount, Handler: h.profilePage},
		{Method: "POST", Path: "/profile/password", Action: httpx.AnyAccount, Handler: h.password},
		{Method: "POST", Path: "/profile/tokens", Action: httpx.AnyAccount, Creating: true, Handler: h.makeToken},
		{Method: "POST", Path: "/profile/tokens/:id/revoke", Action: httpx.AnyAccount, Handler: h.revokeToken},
		{Method: "GET", Path: "/projects", Action: domain.ActProjectRead, Handler: h.projectsPage},
		{Method: "GET", Path: "/projects/:project", Action: domain.ActProjectRead, Handler: h.projectPage},
		{Method: "POST", Path: "/projects/:project", Action: domain.ActProjectNetworks, Handler: h.networksForm},
		{Method: "GET", Path: "/audit", Action: domain.ActAuditRead, Handler: h.auditPage},

		{Method: "GET", Path: "/api/v1/audit", Action: domain.ActAuditRead, Handler: h.apiAudit,
			Doc: httpx.Doc{Summary: "The audit trail, newest first", Answer: apiAudits{}, Query: []httpx.Param{{Name: "who"}, {Name: "action"}, {Name: "object", Text: "its beginning"}, {Name: "from", Text: "a date in your zone"}, {Name: "to", Text: "a date in your zone"}, {Name: "limit", Kind: "integer"}, {Name: "cursor"}}}},
		{Method: "GET", Path: "/api/v1/projects", Action: domain.ActProjectRead, Handler: h.apiProjects,
			Doc: httpx.Doc{Summary: "Projects that you have a role in", Answer: apiProjects{}}},
		{Method: "GET", Path: "/api/v1/projects/:project", Action: domain.ActProjectRead, Handler: h.apiProject,
			Doc: httpx.Doc{Summary: "One project", Answer: apiProject{}}},
		{Method: "PUT", Path: "/api/v1/projects/:project/networks", Action: domain.ActProjectNetworks, Handler: h.apiNetworks,
			Doc: httpx.Doc{Summary: "Say which private networks and loopback addresses tasks of the project may connect to; the whole list", Body: networksCall{}, Answer: apiProject{}}},
		{Method: "GET", Path: "/api/v1/me", Action: httpx.AnyAccount, Handler: h.apiMe,
			Doc: httpx.Doc{Summary: "Who you are and what roles you have", Answer: apiUser{}}},
		{Method: "PUT", Path: "/api/v1/me/password", Action: httpx.AnyAccount, Handler: h.apiMyPassword,
			Doc: httpx.Doc{Summary: "Change your password; all your sessions end", Body: passwordCall{}}},
		{Method: "GET", Path: "/api/v1/tokens", Action: httpx.AnyAccount, Handler: h.apiTokens,
			Doc: httpx.Doc{Summary: "Your tokens, without their secrets", Answer: apiTokens{}}},
		{Method: "POST", Path: "/api/v1/tokens", Action: httpx.AnyAccount, Creating: true, Handler: h.apiCreateToken,
			Doc: httpx.Doc{Summary: "Make a token; its secret is told this once", Body: tokenCall{}, Answer: apiToken{}, Status: http.StatusCreated}},
		{Method: "DELETE", Path: "/api/v1/tokens/:id", Action: httpx.AnyAccount, Handler: h.apiRevokeToken,
			Doc: httpx.Doc{Summary: "Revoke a token"}},
		{Method: "GET", Path: "/api/v1/users", Action: domain.ActUserAdmin, Handler: h.apiUsers,
			Doc: httpx.Doc{Summary: "Accounts with their roles", Answer: apiUsers{}}},
		{Method: "POST", Path: "/api/v1/users", Action: domain.ActUserAdmin, Creating: true, Handler: h.apiCreateUser,
			Doc: httpx.Doc{Summary: "Make an account", Body: userCall{}, Answer: apiUser{}, Status: http.StatusCreated}},
		{Method: "PUT", Path: "/api/v1/users/:name", Action: domain.ActUserAdmin, Handler: h.apiChangeUser,
			Doc: httpx.Doc{Summary: "Disable or enable an account, or set its password", Body: changeCall{}}},
		{Method: "POST", Path: "/api/v1/users/:name/roles", Action: domain.ActUserAdmin, Creating: true, Handler: h.apiGrant,
			Doc: httpx.Doc{Summary: "Give a role", Body: apiRole{}, Answer: apiRole{}, Status: http.StatusCreated}},
		{Method: "DELETE", Path: "/api/v1/users/:name/roles", Action: domain.ActUserAdmin, Handler: h.apiRevoke,
			Doc: httpx.Doc{Summary: "Take a role away", Query: []httpx.Param{{Name: "project", Text: "empty: every project"}, {Name: "role"}}}},
	}
}

// loginPage shows the form, or takes the token of a one-time link.
func (h *Handlers) loginPage(c echo.Context) error {
	secret := c.QueryParam("token")
	next := httpx.LocalPath(c.QueryParam("next"))
	if secret != "" && c.Request().Method == http.MethodGet {
		acc, err := h.Access.UseLoginLink(c.Request().Context(), secret)
		if err != nil {
			return h.showLogin(c, "", next, err)
		}
		return enter(c, acc.ID, next)
	}
	if domain.PrincipalOf(c.Request().Context()).Known() {
		return httpx.Redirect(c, next)
	}
	return h.showLogin(c, "", next, nil)
}

func (h *Handlers) showLogin(c echo.Context, name, next string, err error) error {
	page := auth.LoginPage{Shell: httpx.Shell(c), Name: name, Next: next}
	page.Shell.Path = "/login"
	status := http.StatusOK
	if err != nil {
		var ok bool
		if status, page.Error, ok = httpx.Explain(c, err); !ok {
			return err
		}
	}
	return httpx.Render(c, status, auth.Login(page))
}

func (h *Handlers) login(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	ctx, next := c.Request().Context(), httpx.LocalPath(form.Get("next"))
	acc, err := h.Access.Login(ctx, form.Get("name"), form.Get("password"), domain.OriginOf(ctx).Remote)
	if err != nil {
		return h.showLogin(c, form.Get("name"), next, err)
	}
	return enter(c, acc.ID, next)
}

func enter(c echo.Context, account domain.ID, next string) error {
	if err := httpx.Login(c, account); err != nil {
		return err
	}
	return httpx.Redirect(c, next)
}

func (h *Handlers) logout(c echo.Context) error {
	if err := httpx.Logout(c); err != nil {
		return err
	}
	return httpx.Redirect(c, "/login")
}

func (h *Handlers) setupPage(c echo.Context) error {
	secret := c.QueryParam("token")
	open, err := h.Access.SetupOpen(c.Request().Context(), secret)
	if err != nil {
		return err
	}
	page := auth.SetupPage{Shell: httpx.Shell(c), Token: secret, Name: "admin", NoToken: !open}
	status := http.StatusOK
	if !open {
		status = http.StatusForbidden
		page.Shell.Path = "/setup"
	}
	return httpx.Render(c, status, auth.Setup(page))
}

func (h *Handlers) setup(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	secret, name := form.Get("token"), form.Get("name")
	var acc access.Account
	if form.Get("password") != form.Get("repeat") {
		err = domain.Fail(domain.Invalid, "the two passwords differ").At("repeat").Coded("access.passwords_differ")
	} else {
		acc, err = h.Access.Setup(c.Request().Context(), secret, name, form.Get("password"))
	}
	if err == nil {
		return enter(c, acc.ID, "/")
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	open, oerr := h.Access.SetupOpen(c.Request().Context(), secret)
	if oerr != nil {
		return oerr
	}
	page := auth.SetupPage{Shell: httpx.Shell(c), Token: secret, Name: name, NoToken: !open, Errors: map[string]string{httpx.FieldOf(err): text}}
	page.Shell.Path = "/setup"
	return httpx.Render(c, status, auth.Setup(page))
}

// prefs remembers language, theme and zone, in cookies and in the account.
func (h *Handlers) prefs(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	lang, zone := form.Get("lang"), form.Get("zone")
	if err := httpx.SetPrefs(c, lang, form.Get("theme"), zone); err != nil {
		return err
	}
	if lang != "" || zone != "" {
		if err := h.Access.SetProfile(c.Request().Context(), lang, zone); err != nil {
			return err
		}
	}
	return httpx.Redirect(c, httpx.LocalPath(form.Get("next")))
}
