package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/backfills"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func backfillStories() []Story {
	return []Story{
		{"backfills", func(s layout.Shell) templ.Component { return backfills.List(backfillList(s)) }},
		{"backfills-empty", func(s layout.Shell) templ.Component {
			return backfills.List(backfills.ListPage{Shell: s, New: ui.Action{URL: "/backfills/new"}})
		}},
		{"backfill-new", func(s layout.Shell) templ.Component { return backfills.New(backfillForm(s)) }},
		{"backfill-wrong", func(s layout.Shell) templ.Component {
			p := backfillForm(s)
			p.Form.From, p.Form.To, p.Form.NotBetween = "2026-11-20", "2026-11-02", "all day"
			p.Errors = []ui.FieldError{{Field: "to", Message: word(s.Lang, "The last date lies before the first.", "结束日期早于开始日期。")},
				{Field: "notBetween", Message: word(s.Lang, "all day is no part of a day: write it like 08:00-20:00.", "all day 不是一天中的时段：请写成 08:00-20:00 这样。")}}
			return backfills.New(p)
		}},
		{"backfill-preview", func(s layout.Shell) templ.Component { return backfills.New(backfillPreview(s)) }},
		{"backfill-preview-forced", func(s layout.Shell) templ.Component { return backfills.New(backfillForced(s)) }},
		{"backfill-preview-nothing", func(s layout.Shell) templ.Component {
			p := backfillPreview(s)
			v := p.Preview
			v.Runs, v.Make, v.Again, v.Leave, v.Dates, v.Steps, v.Estimate, v.Effects, v.Warnings = 0, 0, 0, 3, 0, 0, 0, nil, nil
			v.Items = v.Items[4:5]
			return backfills.New(p)
		}},
		{"backfill-running", func(s layout.Shell) templ.Component { return backfills.Show(backfillShow(s, "running")) }},
		{"backfill-paused", func(s layout.Shell) templ.Component { return backfills.Show(backfillShow(s, "paused")) }},
		{"backfill-done", func(s layout.Shell) templ.Component { return backfills.Show(backfillShow(s, "done")) }},
		{"missed", func(s layout.Shell) templ.Component { return backfills.Missed(missedList(s, true)) }},
		{"missed-all", func(s layout.Shell) templ.Component { return backfills.Missed(missedList(s, false)) }},
		{"missed-empty", func(s layout.Shell) templ.Component { return backfills.Missed(backfills.MissedPage{Shell: s}) }},
	}
}

func backfillTabs(s layout.Shell) []ui.Tab {
	var out []ui.Tab
	for i, t := range [][2]string{{"All", "全部"}, {"Running", "进行中"}, {"Paused", "已暂停"}, {"Stopping", "停止中"}, {"Stopped", "已停止"}, {"Done", "已完成"}} {
		out = append(out, ui.Tab{Text: word(s.Lang, t[0], t[1]), URL: "#", Count: -1, Active: i == 0})
	}
	return out
}

func backfillList(s layout.Shell) backfills.ListPage {
	p := backfills.ListPage{Shell: s, Tabs: backfillTabs(s), New: ui.Action{URL: "/backfills/new"}, Pager: ui.Pager{NextURL: "#"}}
	for i, state := range []string{"running", "paused", "stopping", "done", "stopped", "done"} {
		j := sampleJobs()[i+1]
		p.Rows = append(p.Rows, backfills.Row{URL: "/backfills/1", Job: ui.Ref{ID: j.id}, Reach: []string{"alone", "downstream", "alone", "upstream", "alone", "alone"}[i], From: "2026-09-28", To: "2026-11-26",
			State: state, Runs: 60, Ended: []int{23, 12, 40, 60, 31, 60}[i], Failed: []int{0, 1, 0, 2, 0, 0}[i], CreatedBy: "lin", CreatedAt: ago(time.Duration(i*i+1) * 40 * time.Minute)})
	}
	p.Rows[5].From = p.Rows[5].To
	return p
}

func backfillForm(s layout.Shell) backfills.NewPage {
	p := backfills.NewPage{Shell: s, Key: "k", Form: backfills.Form{Job: "order_stat_daily", Reach: "alone", From: "2026-11-18", To: "2026-11-24", Wanted: "missing", Degree: "1", Order: "old", Failure: "stop"}}
	for _, j := range sampleJobs() {
		p.Names = append(p.Names, j.id)
	}
	return p
}

func backfillPreview(s layout.Shell) backfills.NewPage {
	p := backfillForm(s)
	p.Hash, p.Form.NotBetween = "h", "08:00-20:00"
	why := func(en, zh string) string { return word(s.Lang, en, zh) }
	v := &backfills.Preview{Job: ui.Ref{ID: "order_stat_daily"}, Runs: 6, Make: 5, Again: 1, Leave: 1, Dates: 6, Steps: 6, Degree: 1, Estimate: 117 * time.Second, NotBetween: "08:00-20:00", Zone: "Asia/Shanghai",
		Start: ui.Action{URL: "/backfills"}, Warnings: []string{why("2 runs of order_stat_daily will wait: sync_pay_daily is not in the list and has no success on their dates.", "order_stat_daily 有 2 次运行会等待：sync_pay_daily 不在清单里，并且在这些日期没有成功。")},
		Effects: []backfills.Effect{{Kind: "back", Job: ui.Ref{ID: "fin_report_month"}, BizDate: "2026-11-23", URL: "#", Because: "order_stat_daily"}}}
	for i := range 7 {
		it := backfills.Item{No: i + 1, Step: i + 1, Job: ui.Ref{ID: "order_stat_daily", URL: "#"}, BizDate: fmt.Sprintf("2026-11-%d", 18+i), Expected: time.Date(2026, 11, 18+i, 18, 0, 0, 0, time.UTC),
			Does: "make", Version: 7, Why: why("planned by the schedule in force then", "按当时生效的调度")}
		switch i {
		case 0, 1:
			it.Why = why("planned by the present definition: no schedule was in force then", "当时没有生效的调度，按现在的定义")
		case 4:
			it.Does, it.Why, it.Step, it.Was, it.URL = "leave", why("it has succeeded", "已经成功"), 0, ui.Status{State: "success"}, "#"
		case 5:
			it.Step = 5
			it.Does, it.Why, it.Was, it.URL, it.Version = "again", why("it ended without success", "未成功结束"), ui.Status{State: "failed", Label: "timeout"}, "#", 6
		}
		v.Items = append(v.Items, it)
	}
	v.Items[6].Step = 6
	p.Preview = v
	return p
}

func backfillForced(s layout.Shell) backfills.NewPage {
	p := backfillPreview(s)
	p.Changed, p.Form.Wanted, p.Form.Reach = true, "all", "downstream"
	v := p.Preview
	v.Runs, v.Make, v.Again, v.Forced, v.Leave, v.Dates, v.Steps, v.InDates, v.MoreItems, v.NotBetween = 1240, 1100, 140, 96, 12, 31, 31, true, 1245, ""
	v.Estimate = 7*time.Hour + 12*time.Minute
	v.Effects = append(v.Effects, backfills.Effect{Kind: "stale", Job: ui.Ref{ID: "risk_score_daily"}, BizDate: "2026-11-20", URL: "#", Because: "order_stat_daily"})
	v.MoreEffects = 41
	v.Start = ui.Action{Denied: word(s.Lang, "It executes again what succeeded: until approvals exist that takes an admin of each project in the list.", "会再次执行已成功的：在审批功能之前需要清单中每个项目的管理员。")}
	return p
}

func backfillShow(s layout.Shell, state string) backfills.ShowPage {
	p := backfills.ShowPage{Shell: s, ID: "1", Row: backfillList(s).Rows[0], Wanted: word(s.Lang, "What has not succeeded", "尚未成功的"), Degree: 8, Order: word(s.Lang, "Oldest date first", "从最早的日期开始"),
		Failure: word(s.Lang, "Pause", "暂停"), NotBetween: "08:00-20:00", Zone: "Asia/Shanghai", Reason: word(s.Lang, "the bank's files of these days came late", "这些天的银行文件到得晚"), Estimate: 21 * time.Minute,
		Params: []backfills.Param{{Name: "source", Value: "order_archive"}}}
	p.Row.State = state
	counts := map[string][]int{"running": {8, 0, 29, 23, 4, 0, 0}, "paused": {0, 1, 36, 23, 4, 0, 0}, "done": {0, 2, 0, 58, 4, 0, 0}}[state]
	names := [][3]string{{"running", "Running", "运行中"}, {"failed", "Failed", "失败"}, {"waiting", "Waiting", "等待"}, {"success", "Success", "成功"}, {"left", "Left alone", "保持不动"}, {"killed", "Killed", "已终止"}, {"dropped", "Dropped", "未启动"}}
	p.Tabs = []ui.Tab{{Text: word(s.Lang, "All", "全部"), URL: "#", Count: 64, Active: true}}
	for i, n := range names {
		p.Counts = append(p.Counts, backfills.Count{State: n[0], N: counts[i]})
		if counts[i] > 0 {
			p.Tabs = append(p.Tabs, ui.Tab{Text: word(s.Lang, n[1], n[2]), URL: "#", Count: int64(counts[i]), Alarm: n[0] == "failed"})
		}
	}
	p.Row.Ended, p.Row.Failed = counts[1]+counts[3], counts[1]
	switch state {
	case "running":
		p.PauseIt, p.StopIt = ui.Action{URL: "/p"}, ui.Action{URL: "/s"}
	case "paused":
		p.ResumeIt, p.StopIt = ui.Action{URL: "/r"}, ui.Action{URL: "/s"}
		p.Pause = word(s.Lang, "Paused because order_stat_daily 2026-11-21 ended without success. Look at it, put it right, then resume.", "order_stat_daily 2026-11-21 未成功结束，已暂停。请查看并修复，然后恢复。")
	default:
		p.FinishedAt = ago(3 * time.Minute)
	}
	p.Items = backfillPreview(s).Preview.Items
	for i := range p.Items {
		it := &p.Items[i]
		it.State = []string{"success", "success", "success", "failed", "left", "running", "waiting"}[i]
		switch it.State {
		case "success":
			it.Now = ui.Status{State: "success"}
		case "failed":
			it.Now = ui.Status{State: "failed", Label: "error"}
		case "running":
			it.Now = ui.Status{State: "running", Label: "executing"}
		}
	}
	p.Pager = ui.Pager{NextURL: "#"}
	return p
}

func missedList(s layout.Shell, one bool) backfills.MissedPage {
	p := backfills.MissedPage{Shell: s, Picks: one, Backfill: ui.Action{URL: "/backfills/new"}, Filtered: one, Tabs: []ui.Tab{
		{Text: word(s.Lang, "Missed", "漏触发"), URL: "#", Count: -1, Active: true}, {Text: word(s.Lang, "Skipped by policy", "按策略跳过"), URL: "#", Count: -1}}}
	reason := word(s.Lang, "older than 7 days", "超过 7 天")
	for i := range 6 {
		j := sampleJobs()[i%3+3]
		if one {
			j = sampleJobs()[3]
			p.Job = j.id
		}
		d := backfills.MissedDay{Job: ui.Ref{ID: j.id, Title: j.title(s.Lang), URL: "#"}, BizDate: fmt.Sprintf("2026-11-%d", 16-i), First: ago(time.Duration(11+i) * 24 * time.Hour), Fires: 1, Open: 1, Reason: reason, BackfillURL: "#"}
		d.Last = d.First
		if j.id == "order_status_rt" {
			d.Fires, d.Open, d.Last = 288, 287, d.First.Add(24*time.Hour-5*time.Minute)
		}
		p.Rows = append(p.Rows, d)
	}
	return p
}
