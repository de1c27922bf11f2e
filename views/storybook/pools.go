package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/pools"
	"github.com/axsched/ax/views/ui"
)

func poolStories() []Story {
	return []Story{
		{"pools", func(s layout.Shell) templ.Component { return pools.List(poolList(s)) }},
		{"pools-empty", func(s layout.Shell) templ.Component {
			return pools.List(pools.ListPage{Shell: s, New: ui.Action{Denied: word(s.Lang, "This needs the permission pool.write.", "这需要权限 pool.write。")}})
		}},
		{"pools-error", func(s layout.Shell) templ.Component {
			return pools.List(pools.ListPage{Shell: s, Project: "pay", Error: word(s.Lang, "There is no project pay.", "没有项目 pay。")})
		}},
		{"pool", func(s layout.Shell) templ.Component { return pools.Edit(poolPage(s, 0)) }},
		{"pool-paused", func(s layout.Shell) templ.Component { return pools.Edit(poolPage(s, 1)) }},
		{"pool-over", func(s layout.Shell) templ.Component { return pools.Edit(poolPage(s, 2)) }},
		{"pool-overtaken", func(s layout.Shell) templ.Component {
			p := poolPage(s, 0)
			p.Form.Limit, p.Error = "5", word(s.Lang, "Pool warehouse was changed meanwhile: its limit is 3 now.", "资源池 warehouse 已被别人修改：现在的上限是 3。")
			return pools.Edit(p)
		}},
		{"pool-viewer", func(s layout.Shell) templ.Component {
			p := poolPage(s, 0)
			p.Describe, p.Save, p.Delete = false, ui.Action{Denied: word(s.Lang, "This needs the permission pool.limit.", "这需要权限 pool.limit。")}, ui.Action{Denied: word(s.Lang, "This needs the permission pool.write.", "这需要权限 pool.write。")}
			return pools.Edit(p)
		}},
		{"pool-new", func(s layout.Shell) templ.Component { return pools.Edit(newPool(s)) }},
		{"pool-wrong", func(s layout.Shell) templ.Component {
			p := newPool(s)
			p.Form.Name, p.Form.Limit = "ware house", "-1"
			p.Errors = []ui.FieldError{{Field: "limit", Message: word(s.Lang, "A limit is a whole number from 0 (paused) to 100000, not -1.", "上限是 0（暂停）到 100000 的整数，不能是 -1。")}}
			return pools.Edit(p)
		}},
	}
}

func poolRows(s layout.Shell) []pools.Row {
	return []pools.Row{
		{Name: "warehouse", Project: "default", Title: word(s.Lang, "Order warehouse: three heavy queries at once", "订单仓库：同时最多三个大查询"), URL: "/pools/default%2Fwarehouse", Limit: 3, Used: 3, Waiting: 1240, Jobs: 14, Changed: ago(30 * time.Hour)},
		{Name: "bank_gateway", Project: "default", Title: word(s.Lang, "Closed for maintenance until 04:00", "维护中，04:00 前停用"), URL: "/pools/default%2Fbank_gateway", Limit: 0, Used: 1, Waiting: 36, Jobs: 5, Changed: ago(20 * time.Minute)},
		{Name: "risk_gpu", Project: "risk", URL: "/pools/risk%2Frisk_gpu", Limit: 2, Used: 5, Waiting: 100_000, More: true, Jobs: 210, Changed: ago(3 * time.Minute)},
		{Name: "mail", Project: "risk", URL: "/pools/risk%2Fmail", Limit: 50, Used: 12, Jobs: 1, Changed: ago(900 * time.Hour)},
	}
}

func poolList(s layout.Shell) pools.ListPage {
	return pools.ListPage{Shell: s, Rows: poolRows(s), Projects: []ui.Option{{Value: "default", Text: "default"}, {Value: "risk", Text: "risk"}}, New: ui.Action{URL: "/pools/new"}}
}

func poolPage(s layout.Shell, row int) pools.EditPage {
	r := poolRows(s)[row]
	p := pools.EditPage{Shell: s, Row: r, Form: pools.Form{Limit: fmt.Sprint(r.Limit), Title: r.Title, Ver: "4"}, Save: ui.Action{URL: r.URL}, Delete: ui.Action{URL: r.URL + "/delete"}, Describe: true}
	for i := range r.Used {
		j, label := sampleJobs()[i], "executing"
		if i == 1 {
			label = "orphan"
		}
		p.Holders = append(p.Holders, pools.Holder{Instance: ui.Ref{ID: j.id, URL: "/instances/1"}, BizDate: "2026-11-26", Status: ui.Status{State: "running", Label: label}, Since: ago(time.Duration(i+1) * 7 * time.Minute)})
	}
	for i, j := range sampleJobs()[3:min(3+r.Waiting, 9)] {
		p.Waiters = append(p.Waiters, pools.Holder{Instance: ui.Ref{ID: j.id, URL: "/instances/1"}, BizDate: "2026-11-26", Status: ui.Status{State: "running", Label: "held_pool"}, Since: ago(time.Duration(90-i*11) * time.Minute)})
	}
	p.HoldURL, p.WaitURL = "/instances?pool="+r.Name+"&place=holds", "/instances?pool="+r.Name+"&place=waits"
	for _, j := range sampleJobs()[:5] {
		p.JobNames = append(p.JobNames, j.ref(s.Lang))
	}
	return p
}

func newPool(s layout.Shell) pools.EditPage {
	return pools.EditPage{Shell: s, Form: pools.Form{Project: "default"}, Projects: poolList(s).Projects, Save: ui.Action{URL: "/pools"}, Describe: true, Key: "k7"}
}
