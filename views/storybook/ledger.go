package storybook

import (
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ledger"
	"github.com/axsched/ax/views/ui"
)

func ledgerStories() []Story {
	return []Story{
		{"ledger", func(s layout.Shell) templ.Component { return ledger.Books(ledgerPage(s)) }},
		{"ledger-absent", func(s layout.Shell) templ.Component {
			p := ledgerPage(s)
			p.Rows[1].Fired, p.Rows[1].Absent, p.Rows[1].Untaken = 20, 4, true
			p.Rows[4].Fired, p.Rows[4].Absent = 280, 8
			for i := range 4 {
				p.Rows[1].AbsentFires = append(p.Rows[1].AbsentFires, ago(time.Duration(4-i)*time.Hour))
				p.Rows[4].AbsentFires = append(p.Rows[4].AbsentFires, ago(time.Duration(90-5*i)*time.Minute))
			}
			p.Rows[2] = ledger.Account{Job: p.Rows[2].Job, URL: "#", Refused: word(s.Lang, "More than 100,000 planned fires: choose a shorter time.", "计划触发超过 100,000 次：请选择更短的时间。")}
			return ledger.Books(p)
		}},
		{"ledger-job", func(s layout.Shell) templ.Component { return ledger.Books(ledgerJob(s)) }},
		{"ledger-balanced", func(s layout.Shell) templ.Component {
			p := ledgerPage(s)
			p.Rows, p.Filter.Unbalanced, p.Pager = nil, true, ui.Pager{}
			return ledger.Books(p)
		}},
		{"ledger-empty", func(s layout.Shell) templ.Component {
			p := ledgerPage(s)
			p.Rows, p.Pager = nil, ui.Pager{}
			return ledger.Books(p)
		}},
		{"ledger-wrong", func(s layout.Shell) templ.Component {
			p := ledgerPage(s)
			p.Rows, p.Pager, p.Span, p.Filter.From = nil, ui.Pager{}, "", ""
			p.Error = word(s.Lang, "tomorrow is no date. Write it like 2026-02-03.", "tomorrow 不是日期，请写成 2026-02-03 的形式。")
			return ledger.Books(p)
		}},
	}
}

func ledgerPage(s layout.Shell) ledger.Page {
	p := ledger.Page{Shell: s, Filter: ledger.Filter{Range: "yesterday", From: "2026-11-26", To: "2026-11-26"}, Span: "2026-11-26 00:00:00 – 2026-11-27 00:00:00", ClearURL: "/ledger",
		Ranges: []ledger.Range{{Key: "today", URL: "?range=today"}, {Key: "yesterday", URL: "?range=yesterday", Active: true}, {Key: "week", URL: "?range=week"}}, Pager: ui.Pager{NextURL: "?cursor=1"}}
	planned := []int{1, 24, 1440, 1, 288, 1, 86400}
	for i, j := range sampleJobs()[:7] {
		p.Rows = append(p.Rows, ledger.Account{Job: j.ref(s.Lang), URL: "/ledger?job=1", Planned: planned[i], Fired: planned[i], TodoURL: "/jobs/1"})
	}
	p.Rows[2].Fired, p.Rows[2].Missed, p.Rows[2].Skipped, p.Rows[2].Unplanned = 1400, 37, 3, 2
	p.Rows[2].Reasons = []ledger.Reason{
		{Kind: "missed", Fires: 37, Text: word(s.Lang, "misfire: fire_once made up the one of 03:17 of that day", "错过触发策略 fire_once：当天只补了 03:17 那一次")},
		{Kind: "skipped", Fires: 3, Text: word(s.Lang, "an earlier instance was unfinished (overlap)", "上一个实例尚未结束（重叠策略）")},
	}
	p.Rows[2].More = 2
	p.Rows[6].Fired, p.Rows[6].Pending = 86000, 400
	return p
}

func ledgerJob(s layout.Shell) ledger.Page {
	p := ledgerPage(s)
	p.Rows, p.Filter.Job = p.Rows[2:3], "order_status_rt"
	d := &ledger.Detail{}
	for i, name := range []string{word(s.Lang, "All", "全部"), word(s.Lang, "Missed", "漏触发"), word(s.Lang, "Skipped", "跳过"), word(s.Lang, "Absent", "缺失")} {
		d.Tabs = append(d.Tabs, ui.Tab{Text: name, URL: "#", Count: []int64{40, 37, 3, 0}[i], Active: i == 0, Alarm: i == 3})
	}
	for i := range 12 {
		f := ledger.Fire{Expected: ago(time.Duration(12-i) * time.Minute), BizDate: "2026-11-26", State: "missed", Reason: p.Rows[0].Reasons[0].Text}
		switch i {
		case 4:
			f.State, f.Reason, f.URL = "skipped", p.Rows[0].Reasons[1].Text, "/instances/1"
		case 9:
			f.State, f.Reason = "absent", ""
		}
		d.Fires = append(d.Fires, f)
	}
	p.Detail = d
	return p
}
