package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/profile"
)

// saidAfter are the toasts of what led back to the page, by the address' "saved".
var saidAfter = map[string]string{"look": "profile.saved_look", "password": "profile.saved_password", "token": "profile.revoked"}

// profilePage shows the caller's own account.
func (h *Handlers) profilePage(c echo.Context) error {
	p, err := h.profile(c)
	if err != nil {
		return err
	}
	p.Path = "/profile"
	if key, ok := saidAfter[c.QueryParam("saved")]; ok {
		p.Toasts = append(p.Toasts, layout.Toast{Kind: "success", Text: i18n.T(c.Request().Context(), key)})
	}
	return httpx.Render(c, http.StatusOK, profile.Profile(p))
}

// profile reads what the page shows.
func (h *Handlers) profile(c echo.Context) (profile.Page, error) {
	ctx := c.Request().Context()
	p := profile.Page{Shell: httpx.Shell(c), URL: httpx.BaseURL(c), Key: rand.Text()}
	p.Path = "/profile"
	roles, err := h.roles(ctx, domain.PrincipalOf(ctx).ID)
	if err != nil {
		return p, err
	}
	for _, r := range roles {
		p.Roles = append(p.Roles, profile.Role{Project: r.Project, Role: string(r.Role)})
	}
	tokens, err := h.Access.Tokens(ctx)
	for _, t := range tokens {
		p.Tokens = append(p.Tokens, profile.Token{ID: t.ID.String(), Name: t.Name, Created: t.CreatedAt, Expires: t.ExpiresAt,
			Expired: !t.ExpiresAt.IsZero() && !i18n.Now(ctx).Before(t.ExpiresAt)})
	}
	return p, err
}

// password changes the caller's own password. All sessions end, and this browser gets
// a new one.
func (h *Handlers) password(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if form.Get("password") != form.Get("repeat") {
		err = domain.Fail(domain.Invalid, "the two passwords differ").At("repeat").Coded("access.passwords_differ")
	} else {
		err = h.Access.ChangePassword(ctx, form.Get("old"), form.Get("password"))
	}
	if err == nil {
		return enter(c, domain.PrincipalOf(ctx).ID, "/profile?saved=password")
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	p, perr := h.profile(c)
	if perr != nil {
		return perr
	}
	p.PasswordErrors = map[string]string{httpx.FieldOf(err): text}
	return httpx.Render(c, status, profile.Profile(p))
}

// makeToken makes a token and shows its secret, this once. The same form sent again
// makes no second one, and shows none.
func (h *Handlers) makeToken(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	made := profile.Made{Name: form.Get("name")}
	err = httpx.OncePage(c, func(ctx context.Context) (string, error) {
		expires, err := expiry(form.Get("days"), i18n.Now(ctx))
		if err == nil {
			_, made.Secret, err = h.Access.CreateToken(ctx, made.Name, expires)
		}
		return "/profile#tokens", err
	}, func() error {
		p, err := h.profile(c)
		if err != nil {
			return err
		}
		p.Made = &made
		c.Response().Header().Set("Cache-Control", "no-store")
		return httpx.Render(c, http.StatusOK, profile.Profile(p))
	})
	if err == nil {
		return nil
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	p, perr := h.profile(c)
	if perr != nil {
		return perr
	}
	p.TokenName, p.TokenError = made.Name, text
	return httpx.Render(c, status, profile.Profile(p))
}

// expiry is when a token ends that lives so many days; 0 days are for ever.
func expiry(days string, now time.Time) (time.Time, error) {
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > 3650 {
		return time.Time{}, domain.Fail(domain.Invalid, "%q is no number of days from 0 to 3650", days).At("days")
	}
	if n == 0 {
		return time.Time{}, nil
	}
	return now.AddDate(0, 0, n).Truncate(time.Millisecond), nil
}

// revokeToken ends one of the caller's tokens.
func (h *Handlers) revokeToken(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	if err := h.Access.RevokeToken(c.Request().Context(), id); err != nil {
		return err
	}
	return httpx.Redirect(c, "/profile?saved=token#tokens")
}
