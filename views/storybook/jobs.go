package storybook

import (
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func jobStories() []Story {
	tab := func(name string) func(s layout.Shell) templ.Component {
		return func(s layout.Shell) templ.Component { return jobs.Job(jobPage(s, name)) }
	}
	return []Story{
		{"jobs", func(s layout.Shell) templ.Component { return jobs.List(jobsList(s)) }},
		{"jobs-empty", func(s layout.Shell) templ.Component {
			return jobs.List(jobs.ListPage{Shell: s, New: ui.Action{URL: "/jobs/new"}, Import: ui.Action{URL: "/jobs/new?mode=yaml"}})
		}},
		{"jobs-nothing-matches", func(s layout.Shell) templ.Component {
			p := jobsList(s)
			p.Rows, p.Filter, p.Pager = nil, jobs.Filter{Query: "refnud", Enabled: "true"}, ui.Pager{}
			return jobs.List(p)
		}},
		{"jobs-error", func(s layout.Shell) templ.Component {
			text := word(s.Lang, "The list could not be read: the database did not answer within 3 s.", "列表读取失败：数据库 3 秒内没有响应。")
			return jobs.List(jobs.ListPage{Shell: s, Error: text})
		}},
		{"job", tab("overview")},
		{"job-deps", tab("deps")},
		{"job-versions", tab("versions")},
		{"job-yaml", tab("yaml")},
		{"job-paused", func(s layout.Shell) templ.Component {
			p := jobPage(s, "overview")
			p.Enabled, p.Next, p.Instances, p.Runs, p.Last = false, nil, nil, nil, ui.Status{}
			p.Paused = word(s.Lang, "Paused by Ana Souza 2 h ago: “channel B changes its files”. It does not fire until somebody resumes it.", "Ana Souza 于 2 小时前暂停：「渠道 B 正在更换文件格式」。恢复前不会触发。")
			p.NoNext = word(s.Lang, "None while it is paused.", "暂停期间没有。")
			p.Delete = ui.Action{Denied: word(s.Lang, "Two jobs depend on it: fin_settlement, mail_daily_digest.", "被两个任务依赖：fin_settlement、mail_daily_digest。")}
			return jobs.Job(p)
		}},
		{"job-trigger-refused", func(s layout.Shell) templ.Component {
			p := jobPage(s, "overview")
			p.Trigger.Open, p.Trigger.Params = true, "source order_table"
			p.Trigger.Errors = []ui.FieldError{{Field: "params", Message: word(s.Lang, "Line 1 has no “=”. Write source=order_table.", "第 1 行缺少「=」，应写成 source=order_table。")}}
			return jobs.Job(p)
		}},
	}
}

func jobsList(s layout.Shell) jobs.ListPage {
	p := jobs.ListPage{
		Shell: s, Total: 1284, Enabled: 1251, ClearURL: "/jobs",
		New: ui.Action{URL: "/jobs/new"}, Import: ui.Action{URL: "/jobs/new?mode=yaml"},
		Views: []ui.Tab{
			{Text: word(s.Lang, "All jobs", "全部任务"), URL: "/jobs", Count: 1284, Active: true},
			{Text: word(s.Lang, "Enabled", "已启用"), URL: "/jobs?enabled=true", Count: 1251},
			{Text: word(s.Lang, "Paused", "已暂停"), URL: "/jobs?enabled=false", Count: 33},
		},
		Projects: []ui.Option{{Value: "default", Text: "default"}, {Value: "finance", Text: "finance"}},
		Pager:    ui.Pager{NextURL: "/jobs?cursor=x"},
	}
	for i, j := range sampleJobs() {
		row := jobs.Row{
			Job: j.ref(s.Lang), Type: j.kind, Enabled: true, Schedule: word(s.Lang, j.everyEN, j.everyZH), Expr: j.expr, Next: now().Add(j.next),
			Runs: j.runs(), Last: j.last(), LastAt: ago(time.Duration(i*37+3) * time.Minute), LastURL: "/instances/1", Average: j.average, Owner: j.owner,
			Trigger: ui.Action{URL: j.ref("").URL + "#trigger"}, Logs: ui.Action{URL: "/instances/1"},
		}
		if i == 3 {
			row.Trigger = ui.Action{Denied: word(s.Lang, "Needs the role operator; an admin grants it.", "需要 operator 角色，由管理员授权。")}
		}
		if i == 6 {
			row.Enabled = false
		}
		if i == 7 {
			row.Invalid = word(s.Lang, "Definition invalid since version 13: unknown key “cron_expr”", "自版本 13 起定义无效：未知的键 cron_expr")
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

const sampleYAML = `version: v1
job:
  name: order_stat_daily
  title: 订单日统计
  # runs after both syncs of the same business date
  cron: "0 2 * * *"
  deps:
    - name: sync_order_daily
      biz_date: current
      check: success
    - name: sync_pay_daily
      biz_date: current
      check: success
  exec:
    type: shell
    command: python3 run_stat.py --date {{biz_date}}
  retry:
    times: 2
    interval: 60
  timeout: 120
`

func jobPage(s layout.Shell, tab string) jobs.JobPage {
	j := sampleJobs()[3]
	l := s.Lang
	p := jobs.JobPage{
		Shell: s, Tab: tab, Job: j.ref(l), Type: j.kind, Enabled: true, Schedule: word(l, j.everyEN, j.everyZH), Expr: j.expr, Zone: "Asia/Shanghai (UTC+8)",
		Cautions: []string{word(l, "On 2027-03-28 clocks in Europe/Berlin go from 02:00 to 03:00: 02:00 is skipped, and the job fires at 03:00 instead, once.", "2027-03-28，Europe/Berlin 的时钟从 02:00 拨到 03:00：02:00 被跳过，任务改在 03:00 触发一次。")},
		Next:     fires(), Owner: "Li Wei", Topics: []string{"orders"}, Version: 12, Text: sampleYAML, Runs: j.runs(), Last: j.last(), Average: j.average,
		TabURLs: map[string]string{}, GraphURL: "/dag?job=order_stat_daily", Key: "k1",
		Trigger: jobs.TriggerForm{Action: ui.Action{URL: "/jobs/x/trigger"}, BizDate: "2026-11-27"},
		Edit:    ui.Action{URL: "/jobs/x/edit"}, Pause: ui.Action{URL: "/jobs/x/pause"}, Delete: ui.Action{URL: "/jobs/x/delete"},
	}
	for _, t := range []string{"overview", "instances", "deps", "versions", "yaml"} {
		p.TabURLs[t] = "?tab=" + t
	}
	p.Facts = []jobs.Fact{
		{Name: word(l, "Time-out", "超时"), Value: word(l, "2 min", "2 分")},
		{Name: word(l, "Retry", "重试"), Value: word(l, "2 ×, after 60 s", "2 次，间隔 60 秒")},
		{Name: word(l, "Missed fires", "错过触发"), Value: word(l, "fire once", "补一次"), Note: word(l, "the latest of each business date", "每个业务日期取最近一次")},
		{Name: word(l, "Overlap", "重叠"), Value: word(l, "queue", "排队")},
		{Name: word(l, "Lane", "优先级"), Value: word(l, "default", "默认")},
	}
	for i := range 6 {
		day := now().AddDate(0, 0, -i)
		at := time.Date(day.Year(), day.Month(), day.Day(), 2, 0, 0, 0, shanghai())
		row := jobs.InstanceRow{URL: "/instances/1", BizDate: at.Format(time.DateOnly), Status: statusOf("ssfsss"[i]), Expected: at, Started: at.Add(380 * time.Millisecond), Duration: 19 * time.Second, Delay: 380 * time.Millisecond, Attempts: 1}
		if i == 2 {
			row.Why, row.Attempts = word(l, "exit 2: FileNotFoundError: channel_b/20261125.csv", "退出码 2：FileNotFoundError: channel_b/20261125.csv"), 3
		}
		p.Instances = append(p.Instances, row)
	}
	rule := word(l, "same business date, success, all planned fires", "同一业务日期，全部计划触发成功")
	for _, i := range []int{0, 1} {
		p.Up = append(p.Up, jobs.Dep{Job: sampleJobs()[i].ref(l), Rule: rule, Status: statusOf('s'), BizDate: "2026-11-27"})
	}
	for _, i := range []int{8, 9, 10} {
		p.Down = append(p.Down, jobs.Dep{Job: sampleJobs()[i].ref(l), Rule: rule, Status: sampleJobs()[i].last(), BizDate: "2026-11-27"})
	}
	for i := range 3 {
		p.Versions = append(p.Versions, jobs.Version{No: 12 - i, At: ago(time.Duration(i*50+3) * time.Hour), By: "Li Wei", Change: []string{"timeout", "deps", "exec, title"}[i], Current: i == 0, URL: "?tab=yaml&version=1"})
	}
	return p
}

func goodCheck(lang string) jobs.CheckResult {
	return jobs.CheckResult{Checked: true, Jobs: 1, Schedule: word(lang, "At 02:00 every day", "每天 02:00"), Expr: "0 2 * * *", Dialect: "unix", Zone: "Asia/Shanghai (UTC+8)", Next: fires(), Timeout: 2 * time.Minute}
}

func editStories() []Story {
	return []Story{
		{"edit-yaml", func(s layout.Shell) templ.Component {
			p := editPage(s, "yaml")
			p.Job, p.BaseVersion = sampleJobs()[3].ref(s.Lang), 12
			p.ModeURLs["form"] = ""
			p.Check = badCheck(s.Lang)
			return jobs.Edit(p)
		}},
		{"edit-conflict", func(s layout.Shell) templ.Component {
			p := editPage(s, "yaml")
			p.Job, p.BaseVersion = sampleJobs()[3].ref(s.Lang), 12
			p.Conflict = word(s.Lang, "Ana Souza saved version 13 while you were editing version 12. Your text is kept; look at hers before you save.", "你编辑版本 12 期间，Ana Souza 保存了版本 13。你的内容已保留，请先查看再保存。")
			p.ConflictURL = "/jobs/x?tab=yaml&version=13"
			p.Check = goodCheck(s.Lang)
			return jobs.Edit(p)
		}},
		{"edit-form", func(s layout.Shell) templ.Component {
			p := editPage(s, "form")
			p.Form = jobs.ShortForm{Name: "order_stat_daily", Title: "订单日统计", DefaultZone: "Asia/Shanghai", When: jobs.When{Kind: "workdays", Time: "07:30"}, Deps: "sync_ordr_daily\nsync_pay_daily", Command: "python3 run_stat.py --date {{biz_date}}", Timeout: "12O"}
			p.Form.Errors = []ui.FieldError{
				{Field: "deps", Message: word(s.Lang, "There is no job sync_ordr_daily. Did you mean sync_order_daily?", "依赖 sync_ordr_daily 不存在，是否指 sync_order_daily？")},
				{Field: "timeout", Message: word(s.Lang, "A whole number of seconds from 1 to 86,400 is wanted.", "必须是 1–86400 之间的整数秒。")},
			}
			p.Check = badCheck(s.Lang)
			return jobs.Edit(p)
		}},
		{"edit-new", func(s layout.Shell) templ.Component {
			p := editPage(s, "form")
			p.Form = jobs.ShortForm{DefaultZone: "Asia/Shanghai", When: jobs.When{Kind: "daily", Time: "02:00"}}
			return jobs.Edit(p)
		}},
		{"edit-schedule", func(s layout.Shell) templ.Component {
			p := editPage(s, "form")
			p.Job, p.BaseVersion = sampleJobs()[3].ref(s.Lang), 12
			p.Form = jobs.ShortForm{Name: "order_stat_daily", Title: "订单日统计", Saved: true, Beyond: []string{"deps", "retry", "params"}, Deps: "sync_order_daily\nsync_pay_daily", Command: "python3 run_stat.py",
				Timezone: "Europe/Berlin", DefaultZone: "UTC", When: jobs.When{Kind: "nth_weekday", Time: "02:30", Nth: "last", Weekday: "0"}}
			p.Check = goodCheck(s.Lang)
			p.Check.Schedule, p.Check.Expr, p.Check.Dialect, p.Check.Zone = word(s.Lang, "At 02:30 on the last Sunday of each month", "每月最后一个周日 02:30"), "0 30 2 ? * 1L", "quartz", "Europe/Berlin"
			p.Check.Next = lastSundays()
			p.Check.NextWas = word(s.Lang, "The next fire was 2026-11-28 02:00:00 Europe/Berlin (UTC+1). After this change it is 2026-11-29 02:30:00 Europe/Berlin (UTC+1).",
				"原下一次触发为 2026-11-28 02:00:00 Europe/Berlin (UTC+1)，修改后为 2026-11-29 02:30:00 Europe/Berlin (UTC+1)。")
			p.Check.Problems = []jobs.Problem{{Path: "job.cron", Warning: true, Message: word(s.Lang, "On 2027-03-28 clocks in Europe/Berlin go from 02:00 to 03:00: 02:30 is skipped, and the job fires at 03:00 instead, once.",
				"2027-03-28，Europe/Berlin 的时钟从 02:00 拨到 03:00：02:30 被跳过，任务改在 03:00 触发一次。")}}
			return jobs.Edit(p)
		}},
		{"edit-schedule-wrong", func(s layout.Shell) templ.Component {
			p := editPage(s, "form")
			p.Form = jobs.ShortForm{Name: "order_stat_daily", DefaultZone: "UTC", When: jobs.When{Kind: "cron", Cron: "75 7 * * 1-5"}}
			text := word(s.Lang, "The cron expression can't be read: cron (unix): minute field, position 1: 75 is outside 0-59", "cron 表达式无法识别：cron（unix）：分字段第 1 位：75 不在 0-59 之内")
			p.Form.Errors = []ui.FieldError{{Field: "cron", Message: text}}
			p.Check = jobs.CheckResult{Checked: true, Problems: []jobs.Problem{{Line: 4, Column: 10, Path: "job.cron", Message: text}}}
			return jobs.Edit(p)
		}},
	}
}

func editPage(s layout.Shell, mode string) jobs.EditPage {
	return jobs.EditPage{
		Shell: s, Mode: mode, ModeURLs: map[string]string{"form": "?mode=form", "yaml": "?mode=yaml"}, Text: sampleYAML,
		CheckURL: "", SaveURL: "/jobs/new", CancelURL: "/jobs", JobNames: []string{"sync_order_daily", "sync_pay_daily"}, Key: "k2",
	}
}

func badCheck(lang string) jobs.CheckResult {
	c := goodCheck(lang)
	c.Problems = []jobs.Problem{
		{Line: 8, Column: 13, Path: "job.deps[0].name", Message: word(lang, "There is no job sync_ordr_daily.", "依赖 sync_ordr_daily 不存在。"), Hint: word(lang, "Did you mean sync_order_daily?", "是否指 sync_order_daily？"), Excerpt: "    - name: sync_ordr_daily\n            ^"},
		{Line: 20, Column: 12, Path: "job.timeout", Message: word(lang, "timeout must be a whole number of seconds from 1 to 86,400.", "timeout 必须是 1–86400 之间的整数。"), Excerpt: "  timeout: 12O\n           ^"},
		{Line: 18, Column: 12, Path: "job.retry.times", Message: word(lang, "More than 3 retries hide real faults.", "重试超过 3 次容易掩盖真正的问题。"), Warning: true},
	}
	c.TimeoutAdvice = word(lang, "P95 of the last 30 runs is 68 s; 102–136 s is advised.", "近 30 次 P95 为 68 秒，建议 102–136 秒。")
	return c
}
