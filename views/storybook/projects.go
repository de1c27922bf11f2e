package storybook

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/projects"
	"github.com/axsched/ax/views/ui"
)

func projectStories() []Story {
	return []Story{
		{"projects", func(s layout.Shell) templ.Component {
			return projects.List(projects.ListPage{Shell: s, Rows: projectRows(s)})
		}},
		{"projects-empty", func(s layout.Shell) templ.Component { return projects.List(projects.ListPage{Shell: s}) }},
		{"project", func(s layout.Shell) templ.Component { return projects.Show(projectPage(s, 1)) }},
		{"project-viewer", func(s layout.Shell) templ.Component {
			p := projectPage(s, 1)
			p.Save = ui.Action{Denied: word(s.Lang, "This needs the permission project.networks.", "这需要权限 project.networks。")}
			return projects.Show(p)
		}},
		{"project-wrong", func(s layout.Shell) templ.Component {
			p := projectPage(s, 0)
			p.Networks += "\n0.0.0.0/0"
			p.Errors = []ui.FieldError{{Field: "networks", Message: word(s.Lang, "0.0.0.0/0 lies in the public network, which every project may reach. Name private networks only.",
				"0.0.0.0/0 在公网中，所有项目本来就能访问。这里只写内网网段。")}}
			return projects.Show(p)
		}},
	}
}

func projectRows(s layout.Shell) []projects.Row {
	return []projects.Row{
		{Name: "default", URL: "/projects/default", Networks: []string{"loopback"}},
		{Name: "pay", Title: word(s.Lang, "Payments and settlement", "支付与清结算"), URL: "/projects/pay", Networks: []string{"10.20.0.0/16", "10.21.4.17", "fd12:3456:789a::/48"}},
		{Name: "风控", Title: word(s.Lang, "Risk", "风险控制"), URL: "/projects/%E9%A3%8E%E6%8E%A7"},
	}
}

func projectPage(s layout.Shell, row int) projects.ShowPage {
	r := projectRows(s)[row]
	return projects.ShowPage{Shell: s, Row: r, Networks: strings.Join(r.Networks, "\n"), Save: ui.Action{URL: r.URL}}
}
