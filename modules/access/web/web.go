// Package web is access's pages (login, set-up, the reader's choices, the audit
// trail) and its API (tokens, the own account, users, projects, audit).
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
		{Method: "GET", Path: "/audit", Action: domain.ActAuditRead, Handler: h.auditPage},

		{Method: "GET", Path: "/api/v1/audit", Action: domain.ActAuditRead, Handler: h.apiAudit},
		{Method: "GET", Path: "/api/v1/projects", Action: domain.ActProjectRead, Handler: h.apiProjects},
		{Method: "GET", Path: "/api/v1/me", Action: httpx.AnyAccount, Handler: h.apiMe},
		{Method: "PUT", Path: "/api/v1/me/password", Action: httpx.AnyAccount, Handler: h.apiMyPassword},
		{Method: "GET", Path: "/api/v1/tokens", Action: httpx.AnyAccount, Handler: h.apiTokens},
		{Method: "POST", Path: "/api/v1/tokens", Action: httpx.AnyAccount, Creating: true, Handler: h.apiCreateToken},
		{Method: "DELETE", Path: "/api/v1/tokens/:id", Action: httpx.AnyAccount, Handler: h.apiRevokeToken},
		{Method: "GET", Path: "/api/v1/users", Action: domain.ActUserAdmin, Handler: h.apiUsers},
		{Method: "POST", Path: "/api/v1/users", Action: domain.ActUserAdmin, Creating: true, Handler: h.apiCreateUser},
		{Method: "PUT", Path: "/api/v1/users/:name", Action: domain.ActUserAdmin, Handler: h.apiChangeUser},
		{Method: "POST", Path: "/api/v1/users/:name/roles", Action: domain.ActUserAdmin, Creating: true, Handler: h.apiGrant},
		{Method: "DELETE", Path: "/api/v1/users/:name/roles", Action: domain.ActUserAdmin, Handler: h.apiRevoke},
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
