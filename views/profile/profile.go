package profile

import (
	"context"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
)

// lives are the days that a token may live.
var lives = []string{"30", "90", "365", "0"}

func lifeOptions(ctx context.Context) []ui.Option {
	out := make([]ui.Option, len(lives))
	for i, days := range lives {
		out[i] = ui.Option{Value: days, Text: i18n.T(ctx, "profile.life."+days)}
	}
	return out
}

func languageOptions() []ui.Option {
	var out []ui.Option
	for _, lang := range i18n.Langs() {
		out = append(out, ui.Option{Value: lang, Text: i18n.In(lang, "profile.language_name")})
	}
	return out
}

func themeOptions(ctx context.Context) []ui.Option {
	var out []ui.Option
	for _, theme := range []string{"auto", "light", "dark"} {
		out = append(out, ui.Option{Value: theme, Text: i18n.T(ctx, "profile.theme."+theme)})
	}
	return out
}

func zoneOptions(zones []string) []ui.Option {
	out := make([]ui.Option, len(zones))
	for i, z := range zones {
		out[i] = ui.Option{Value: z, Text: z}
	}
	return out
}

func (p Page) theme() string {
	if p.Theme == "" {
		return "auto"
	}
	return p.Theme
}

func (p Page) zone() string {
	if p.Zone == nil {
		return "UTC"
	}
	return p.Zone.String()
}

// lines are what a shell takes before it calls ax.
func lines(url, secret string) string { return "export AX_URL=" + url + " AX_TOKEN=" + secret }

func (r Role) where(ctx context.Context) string {
	if r.Project == "" {
		return i18n.T(ctx, "profile.every_project")
	}
	return r.Project
}
