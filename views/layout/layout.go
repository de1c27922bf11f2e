package layout

import (
	"context"
	"io"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
)

// Meta is what the frame must know of the page inside. Title is a catalog key;
// Name, if any, is the thing shown and goes before it. Nav is the NavItem's Page.
type Meta struct {
	Nav   string
	Title string
	Name  string
}

func (m Meta) title(ctx context.Context) string {
	text := i18n.T(ctx, m.Title)
	if m.Name != "" {
		text = m.Name + " · " + text
	}
	return text + " · AX"
}

// Page puts body into the frame, with the shell's language and clock in its context.
func Page(s Shell, m Meta, body templ.Component) templ.Component {
	return inContext(s, frame(s, m, body))
}

// Bare is a page without navigation: one card in the middle.
func Bare(s Shell, m Meta, body templ.Component) templ.Component {
	return inContext(s, bare(s, m, body))
}

// Fragment renders a part of a page as an answer of its own, in the shell's
// language and clock.
func Fragment(s Shell, body templ.Component) templ.Component { return inContext(s, body) }

func inContext(s Shell, inner templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		ctx = i18n.WithClock(i18n.With(ctx, s.Lang), s.Now, s.Zone)
		return inner.Render(ctx, w)
	})
}

type navGroup struct {
	title string
	items []navLink
}

type navLink struct {
	page, url, icon string
}

// navGroups are the pages that exist, in the order of the navigation.
func navGroups() []navGroup {
	return []navGroup{
		{items: []navLink{{page: "dashboard", url: "/", icon: "layout-dashboard"}}},
		{title: "nav.operate", items: []navLink{
			{page: "jobs", url: "/jobs", icon: "list-details"},
			{page: "instances", url: "/instances", icon: "player-play"},
			{page: "orphans", url: "/orphans", icon: "alert-triangle"},
			{page: "backfills", url: "/backfills", icon: "rotate-clockwise"},
			{page: "ledger", url: "/ledger", icon: "checklist"},
			{page: "calendars", url: "/calendars", icon: "calendar"},
			{page: "dag", url: "/dag", icon: "sitemap"},
			{page: "pools", url: "/pools", icon: "stack-2"},
			{page: "secrets", url: "/secrets", icon: "id"},
			{page: "workers", url: "/workers", icon: "server-2"},
			{page: "incidents", url: "/incidents", icon: "alert-triangle"},
		}},
		{title: "nav.govern", items: []navLink{
			{page: "projects", url: "/projects", icon: "topology-star-3"},
			{page: "audit", url: "/audit", icon: "history"},
		}},
	}
}

// shown is the entry as the shell wants it: no Nav means every page, at its usual place.
func (s Shell) shown(l navLink) (NavItem, bool) {
	if s.Nav == nil {
		return NavItem{Page: l.page, URL: l.url}, true
	}
	for _, n := range s.Nav {
		if n.Page == l.page {
			return n, true
		}
	}
	return NavItem{}, false
}

func (g navGroup) shownIn(s Shell) bool {
	for _, l := range g.items {
		if _, ok := s.shown(l); ok {
			return true
		}
	}
	return false
}

// bootTheme is the attribute that fixes a theme; "" leaves it to the system.
func (s Shell) bootTheme() string {
	if s.Theme == "light" || s.Theme == "dark" {
		return s.Theme
	}
	return ""
}

// nextTheme is what the theme button asks for.
func (s Shell) nextTheme() string {
	switch s.Theme {
	case "light":
		return "dark"
	case "dark":
		return "auto"
	}
	return "light"
}

func (s Shell) otherLang() string {
	if s.Lang == i18n.Chinese {
		return i18n.English
	}
	return i18n.Chinese
}

func (s Shell) zoneName() string {
	if s.Zone == nil {
		return time.UTC.String()
	}
	return s.Zone.String()
}

// initial is the first letter of the user's name, for the round badge.
func (u User) initial() string {
	for _, r := range u.Name {
		return string(r)
	}
	return "?"
}

func productionName(env string) bool {
	switch env {
	case "production", "prod", "生产":
		return true
	}
	return false
}
