package storybook

import (
	"fmt"
	"math"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/auth"
	"github.com/axsched/ax/views/board"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func entryStories() []Story {
	return []Story{
		{"login", func(s layout.Shell) templ.Component { return auth.Login(auth.LoginPage{Shell: s, Next: "/jobs"}) }},
		{"login-refused", func(s layout.Shell) templ.Component {
			text := word(s.Lang, "User name or password is wrong. Two more tries before a pause of one minute.", "用户名或密码不正确，再错两次将暂停一分钟。")
			return auth.Login(auth.LoginPage{Shell: s, Name: "lin", Error: text})
		}},
		{"setup", func(s layout.Shell) templ.Component {
			text := word(s.Lang, "The two passwords differ.", "两次输入的密码不一致。")
			return auth.Setup(auth.SetupPage{Shell: s, Token: "t", Name: "admin", Errors: map[string]string{"repeat": text}})
		}},
		{"setup-used", func(s layout.Shell) templ.Component { return auth.Setup(auth.SetupPage{Shell: s, NoToken: true}) }},
		{"failure-403", func(s layout.Shell) templ.Component {
			return layout.Failure(layout.FailurePage{
				Shell: s, Status: 403, Need: word(s.Lang, "jobs: delete in project default", "项目 default：删除任务"),
				Grant: "Ana Souza, lin", RequestID: "01JDQ6Z7M2C9",
			})
		}},
		{"failure-404", func(s layout.Shell) templ.Component {
			return layout.Failure(layout.FailurePage{Shell: s, Status: 404})
		}},
		{"failure-500", func(s layout.Shell) templ.Component {
			s.User = layout.User{}
			return layout.Failure(layout.FailurePage{Shell: s, Status: 500, RequestID: "01JDQ6Z7M2C9"})
		}},
	}
}

func boardStories() []Story {
	return []Story{
		{"dashboard", func(s layout.Shell) templ.Component { return board.Dashboard(dashboard(s)) }},
		{"dashboard-empty", func(s layout.Shell) templ.Component {
			return board.Dashboard(board.DashboardPage{Shell: s, Day: "2026-11-27", DayZone: "Asia/Shanghai", Empty: true, NewJob: ui.Action{URL: "/jobs/new"}})
		}},
		{"dashboard-stuck", func(s layout.Shell) templ.Component {
			p := dashboard(s)
			p.Verdict = board.Verdict{Kind: "bad", Text: word(s.Lang, "Nothing new can run: none of the 2 workers alive takes work: worker-03 drains; worker-04 cannot write its journal (disk full). What is due waits. Schedules stand still: fires that are due are taken by no scheduler, the first since 2026-11-27 02:05:00 UTC.",
				"无法执行新的任务：存活的 2 个执行节点都不接收任务：worker-03 正在排空；worker-04 无法写入 journal（磁盘已满）。到期的任务只能等待。 调度已停滞：到期的触发没有调度器取走，最早的到期于 2026-11-27 02:05:00 UTC。"),
				Link: ui.Ref{Title: word(s.Lang, "See the workers", "查看执行节点"), URL: "/workers"}}
			return board.Dashboard(p)
		}},
		{"dashboard-empty-stuck", func(s layout.Shell) templ.Component {
			return board.Dashboard(board.DashboardPage{Shell: s, Day: "2026-11-27", DayZone: "Asia/Shanghai (UTC+8)", Empty: true, NewJob: ui.Action{URL: "/jobs/new"},
				Verdict: board.Verdict{Kind: "attention", Text: word(s.Lang, "Nothing can run: no worker is known. The page of workers says how to start one.", "无法执行任何任务：没有任何执行节点。启动方法见执行节点页面。"),
					Link: ui.Ref{Title: word(s.Lang, "See the workers", "查看执行节点"), URL: "/workers"}}})
		}},
		{"dashboard-degraded", func(s layout.Shell) templ.Component {
			s.Degraded = []layout.Notice{{
				Text:  word(s.Lang, "Redis is away: tasks are assigned later, none is lost.", "Redis 不可用：任务会延后下发，不会丢失。"),
				Since: ago(3 * time.Minute),
			}}
			s.StaleAt = ago(40 * time.Second)
			p := dashboard(s)
			p.Delay, p.Longest = nil, &board.LongestFigure{}
			p.Top = &board.TopFigure{}
			p.Verdict = board.Verdict{Kind: "good", Text: word(s.Lang, "Nothing has failed today.", "今天没有失败的任务。")}
			return board.Dashboard(p)
		}},
	}
}

func dashboard(s layout.Shell) board.DashboardPage {
	p := board.DashboardPage{Shell: s, Day: "2026-11-27", DayZone: "Asia/Shanghai (UTC+8)"}
	p.Verdict = board.Verdict{
		Kind: "attention", Link: ui.Ref{Title: word(s.Lang, "See failing chain", "查看失败链路"), URL: "/dag?failing=1"},
		Text: word(s.Lang, "Payment channel reconciliation failed 3 times in a row and blocks 5 jobs downstream.", "失败率 0.30%，低于 1% 阈值；但「支付渠道对账」连续失败 3 次，已挡住 5 个下游任务。"),
	}
	hours := sampleHours()
	p.Instances = &board.InstancesFigure{URL: "/instances", Total: 12486, Change: 0.042, HasChange: true, Waiting: 18, Queued: 42, Executing: 131, Hours: hours}
	p.Failures = &board.FailuresFigure{URL: "/instances?state=failed", Total: 37, Rate: 0.003, Hours: hours}
	p.Delay = sampleDelay()
	p.Longest = &board.LongestFigure{URL: "/instances?sort=duration", Runs: sampleLongest(s.Lang)}
	p.Top = sampleTop(s.Lang)
	return p
}

func sampleHours() []board.Hour {
	var hours []board.Hour
	for h := range 24 {
		hour := board.Hour{Label: fmt.Sprintf("%02d:00", h)}
		size := int64(900 + 500*math.Sin(float64(h*h)) + 300*math.Cos(float64(h)))
		if h < 11 {
			hour.Done, hour.Failed = size, []int64{2, 3, 11, 5, 4, 3, 2, 1, 2, 1, 3}[h]
		} else {
			hour.Planned = size
		}
		hours = append(hours, hour)
	}
	return hours
}

func sampleDelay() *board.DelayFigure {
	from := time.Date(2026, 11, 27, 0, 0, 0, 0, shanghai())
	f := &board.DelayFigure{URL: "/instances", Mean: 412 * time.Millisecond, P99: 1900 * time.Millisecond, Threshold: time.Second, From: from, To: from.Add(24 * time.Hour)}
	for i := range 43 {
		mean := 380 + 120*math.Sin(float64(i)/3) + 60*math.Sin(float64(i)*2.3)
		if i >= 8 && i < 12 {
			mean += 420
		}
		f.Points = append(f.Points, board.DelayPoint{
			At:   from.Add(time.Duration(i) * 15 * time.Minute),
			Mean: time.Duration(mean) * time.Millisecond, P99: time.Duration(mean*2+200+80*math.Cos(float64(i)*3)) * time.Millisecond,
		})
	}
	return f
}

func sampleLongest(lang string) []board.LongRun {
	long := func(i int, status ui.Status, d, usual time.Duration) board.LongRun {
		return board.LongRun{Job: sampleJobs()[i].ref(lang), Status: status, Duration: d, Usual: usual}
	}
	return []board.LongRun{
		long(10, statusOf('r'), 112*time.Minute, 65*time.Minute),
		long(8, statusOf('s'), 41*time.Minute, 38*time.Minute),
		long(5, statusOf('f'), 26*time.Minute, 9*time.Minute),
		long(6, statusOf('s'), 18*time.Minute, 17*time.Minute),
	}
}

func sampleTop(lang string) *board.TopFigure {
	top := &board.TopFigure{URL: "/instances?state=failed"}
	for _, f := range []struct {
		job    int
		n      int64
		blocks int
	}{{5, 14, 5}, {8, 8, 2}, {7, 6, 0}, {0, 5, 0}, {3, 4, 1}} {
		j := sampleJobs()[f.job]
		top.Jobs = append(top.Jobs, board.FailingJob{Job: j.ref(lang), Failed: f.n, URL: "/instances?job=" + j.id, Runs: j.runs(), Blocks: f.blocks})
	}
	return top
}
