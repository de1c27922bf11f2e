package httpx

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/views/layout"
)

// pickReader settles language, zone and theme: profile, then cookie, then what the
// browser says. It may run more than once.
func (r *Router) pickReader(c echo.Context, sc *scope) error {
	lang := pickLanguage(c, sc.caller.Language)
	zone := r.o.Zone
	for _, name := range []string{cookie(c, cookieZone), sc.caller.Timezone} {
		if z, err := LoadZone(name); err == nil {
			zone = z
		}
	}
	if t := cookie(c, cookieTheme); t == "light" || t == "dark" {
		sc.theme = t
	}
	ctx := i18n.WithClock(i18n.With(c.Request().Context(), lang), r.o.Now().UTC(), zone)
	c.SetRequest(c.Request().WithContext(ctx))
	return nil
}

// pickLanguage gives pages the language that their reader chose. A program's answers
// do not change with what a person chose for pages: the call itself says what it wants.
func pickLanguage(c echo.Context, profile string) string {
	if !strings.HasPrefix(c.Request().URL.Path, "/api/") {
		for _, lang := range []string{profile, cookie(c, cookieLang)} {
			if i18n.Supported(lang) {
				return lang
			}
		}
	}
	return i18n.Pick(c.Request().Header.Get("Accept-Language"))
}

// LoadZone gives the zone of an IANA name. "" and "Local" are Invalid.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" || len(name) > 64 {
		return nil, domain.Fail(domain.Invalid, "there is no time zone %q", name).At("zone")
	}
	z, err := zone.Load(name)
	if err != nil {
		return nil, domain.Fail(domain.Invalid, "there is no time zone %q", name).At("zone").WithHint("use a name such as Asia/Shanghai")
	}
	return z, nil
}

const prefsAge = 365 * 24 * time.Hour

// SetPrefs remembers the reader's choices in cookies; "" leaves one as it is.
// Values other than the known are Invalid and nothing is set.
func SetPrefs(c echo.Context, lang, theme, zone string) error {
	sc := scopeOf(c.Request().Context())
	if lang != "" && !i18n.Supported(lang) {
		return domain.Fail(domain.Invalid, "there is no language %q", lang).At("lang").WithHint("en or zh-CN")
	}
	if theme != "" && !slices.Contains([]string{"auto", "light", "dark"}, theme) {
		return domain.Fail(domain.Invalid, "there is no theme %q", theme).At("theme").WithHint("auto, light or dark")
	}
	if zone != "" {
		if _, err := LoadZone(zone); err != nil {
			return err
		}
	}
	for name, v := range map[string]string{cookieLang: lang, cookieTheme: theme, cookieZone: zone} {
		if v != "" {
			sc.setCookie(c, name, v, prefsAge)
		}
	}
	return nil
}

// Shell is the frame for the page being made, filled for the caller. It may set a
// cookie, so call it before anything is written. Every page may add to it.
func Shell(c echo.Context) layout.Shell {
	ctx := c.Request().Context()
	sc := scopeOf(ctx)
	o := sc.router.o
	s := layout.Shell{
		Lang: i18n.Lang(ctx), Theme: sc.theme, Now: i18n.Now(ctx), Zone: i18n.Zone(ctx), CSRF: CSRF(c),
		Path: c.Request().URL.RequestURI(), Environment: o.Environment, Version: o.Version,
		User: layout.User{Name: sc.caller.Name}, Zones: offeredZones(i18n.Zone(ctx).String()),
	}
	if o.Nav != nil {
		s.Nav = []layout.NavItem{}
	}
	for _, n := range o.Nav {
		seen := Visible(ctx, n.Action)
		if seen.Empty() {
			continue
		}
		item := layout.NavItem{Page: n.Page, URL: n.URL}
		if n.Count != nil {
			item.Count = n.Count(seen)
		}
		s.Nav = append(s.Nav, item)
	}
	if o.Degraded != nil {
		s.Degraded = o.Degraded(ctx)
	}
	return s
}

// offeredZones is one zone for most places, with the one in use.
func offeredZones(used string) []string {
	zones := []string{"UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Singapore", "Asia/Kolkata", "Asia/Dubai", "Europe/London", "Europe/Berlin",
		"Europe/Moscow", "America/Sao_Paulo", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Australia/Sydney"}
	if !slices.Contains(zones, used) {
		zones = append([]string{used}, zones...)
	}
	return zones
}

// LocalPath is path if it leads to a place within AX, else "/". It is what keeps
// "next" from sending people elsewhere.
func LocalPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return "/"
	}
	return path
}

// BaseURL is where the caller reaches AX, as its own address has it, without a path:
// for lines to copy, not for anything that must be true.
func BaseURL(c echo.Context) string {
	if scopeOf(c.Request().Context()).secure {
		return "https://" + c.Request().Host
	}
	return "http://" + c.Request().Host
}

// Redirect sends the browser to a place within AX, also from an htmx request.
func Redirect(c echo.Context, path string) error {
	if fromHTMX(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, path)
}

func fromHTMX(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }
