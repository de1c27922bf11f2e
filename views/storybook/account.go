package storybook

import (
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/profile"
	"github.com/axsched/ax/views/search"
	"github.com/axsched/ax/views/ui"
)

func accountStories() []Story {
	return []Story{
		{"profile", func(s layout.Shell) templ.Component { return profile.Profile(profilePage(s)) }},
		{"profile-made", func(s layout.Shell) templ.Component {
			p := profilePage(s)
			p.Made = &profile.Made{Name: "laptop", Secret: "ax_ZQ5WJ3K7XN2VYB4RMTCD6HFGPA"}
			return profile.Profile(p)
		}},
		{"profile-refused", func(s layout.Shell) templ.Component {
			p := profilePage(s)
			p.Tokens = nil
			p.PasswordErrors = map[string]string{"old": word(s.Lang, "This is not the password in force.", "当前密码不正确。")}
			p.TokenName, p.TokenError = "", word(s.Lang, "A token's name has 1 to 100 characters.", "令牌名称为 1 到 100 个字符。")
			return profile.Profile(p)
		}},
		{"search", func(s layout.Shell) templ.Component {
			s.Query = "order"
			p := search.Page{Shell: s, Text: "order", AllJobs: "/jobs?q=order", Workers: []ui.Ref{{ID: "order-batch-01", URL: "/workers#worker-order-batch-01"}}}
			for _, j := range sampleJobs()[:5] {
				p.Jobs = append(p.Jobs, j.ref(s.Lang))
			}
			return search.Results(p)
		}},
		{"search-nothing", func(s layout.Shell) templ.Component {
			s.Query = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"
			return search.Results(search.Page{Shell: s, Text: s.Query})
		}},
		{"search-empty", func(s layout.Shell) templ.Component { return search.Results(search.Page{Shell: s}) }},
	}
}

func profilePage(s layout.Shell) profile.Page {
	return profile.Page{Shell: s, URL: "https://ax.example.com", Key: "k9",
		Roles: []profile.Role{{Role: "admin"}, {Project: "payments", Role: "operator"}},
		Tokens: []profile.Token{
			{ID: "7", Name: "laptop", Created: ago(40 * 24 * time.Hour), Expires: ago(-50 * 24 * time.Hour)},
			{ID: "8", Name: "nightly-deploy-of-the-warehouse-team", Created: ago(400 * 24 * time.Hour), Expires: ago(35 * 24 * time.Hour), Expired: true},
			{ID: "9", Name: "CI", Created: ago(3 * time.Hour)},
		}}
}
