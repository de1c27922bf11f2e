package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/incidents"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func incidentStories() []Story {
	return []Story{
		{"incidents", func(s layout.Shell) templ.Component { return incidents.List(incidentsPage(s)) }},
		{"incidents-empty", func(s layout.Shell) templ.Component {
			return incidents.List(incidents.ListPage{Shell: s, Kinds: incidentKinds(s.Lang)})
		}},
		{"incidents-nothing-matches", func(s layout.Shell) templ.Component {
			p := incidentsPage(s)
			p.Rows, p.Pager, p.Filter = nil, ui.Pager{}, incidents.Filter{Kind: "clock", Project: "payments"}
			return incidents.List(p)
		}},
		{"incidents-error", func(s layout.Shell) templ.Component {
			p := incidentsPage(s)
			p.Rows, p.Pager, p.Filter = nil, ui.Pager{}, incidents.Filter{Kind: "clocks"}
			p.Error = word(s.Lang, "There is no kind of incident “clocks”.", "没有“clocks”这种问题。")
			return incidents.List(p)
		}},
	}
}

func incidentKinds(lang string) []ui.Option {
	return []ui.Option{{Value: "job_failed", Text: word(lang, "Job failed", "任务失败")}, {Value: "worker_lost", Text: word(lang, "Worker lost", "执行节点失联")},
		{Value: "clock", Text: word(lang, "Clock is off", "时钟偏差")}}
}

func incidentsPage(s layout.Shell) incidents.ListPage {
	l, j := s.Lang, sampleJobs()
	s.Nav = []layout.NavItem{{Page: "jobs", URL: "/jobs"}, {Page: "instances", URL: "/instances"}, {Page: "workers", URL: "/workers"}, {Page: "incidents", URL: "/incidents", Count: 6}}
	p := incidents.ListPage{Shell: s, Open: 6, ClearURL: "/incidents", Pager: ui.Pager{NextURL: "?cursor=1"}, Kinds: incidentKinds(l),
		Projects: []ui.Option{{Value: "default", Text: "default"}, {Value: "payments", Text: "payments"}}}
	add := func(title, said string, about ui.Ref, project string, open, last time.Duration, count int64) *incidents.Row {
		p.Rows = append(p.Rows, incidents.Row{ID: fmt.Sprint(len(p.Rows) + 1), Title: title, Said: said, Subject: about, Project: project, Opened: ago(open), Last: ago(last), Count: count})
		return &p.Rows[len(p.Rows)-1]
	}
	example := ui.Ref{ID: "381532084641923072", URL: "/instances/1"}
	add(word(l, "Job failed", "任务失败"), "exit code 2: FileNotFoundError: [Errno 2] No such file or directory: 'channel_b/20261126.csv' <b>", j[5].ref(l), "payments", 12*time.Minute, 2*time.Minute, 3).Example = example
	add(word(l, "Orphans wait for a decision", "孤儿实例等待处理"), "has been silent for 10s", j[8].ref(l), "default", 26*time.Minute, 26*time.Minute, 11).Example = example
	add(word(l, "Worker lost", "执行节点失联"), word(l, "It has gone silent. Its host: batch-5.internal.", "它已没有心跳。所在主机：batch-5.internal。"), ui.Ref{ID: "worker-07", URL: "/workers"}, "", 27*time.Minute, 27*time.Minute, 1)
	add(word(l, "Due fires are not taken", "到期的触发无人取走"), word(l, "12 triggers have been due for over a minute and no scheduler takes them; the first since 2026-11-27 02:05:00Z.", "12 个触发器到期超过一分钟，没有调度器取走；最早的到期于 2026-11-27 02:05:00Z。"), ui.Ref{ID: word(l, "the schedule", "调度")}, "", 35*time.Minute, 10*time.Second, 1)
	add(word(l, "No worker would run it", "没有执行节点肯运行"), word(l, "No worker offers all of the tags gpu, eu-west-1; those with its type: worker-03, worker-04, worker-05, ….", "没有执行节点具备全部标签 gpu, eu-west-1；类型相符的有：worker-03, worker-04, worker-05, …。"), j[9].ref(l), "default", 2*time.Hour, 5*time.Second, 1).Example = example
	add(word(l, "Clock is off", "时钟偏差"), word(l, "Its clock is +1m30s off the database's: it takes no fires until that is mended.", "它的时钟与数据库相差 +1m30s：校准之前不取任何触发。"), ui.Ref{ID: "center batch-1.internal pid 48121"}, "", 3*time.Hour, 4*time.Second, 1)
	redis := word(l, "Redis (transport and registry)", "Redis（传输与注册）")
	add(word(l, "Redis does not answer", "Redis 没有应答"), redis+word(l, " has not answered since 2026-11-27 02:05:00Z: dial tcp 10.20.30.40:6379: connect: connection refused. Until it does, nothing is sent to workers and none counts as lost.", "自 2026-11-27 02:05:00Z 起没有应答：dial tcp 10.20.30.40:6379: connect: connection refused。恢复之前不向执行节点下发任务，也不判定任何节点失联。"), ui.Ref{ID: redis}, "", 40*time.Minute, 2*time.Second, 1)
	r := add(word(l, "Job failed", "任务失败"), "timed out after 60s", j[7].ref(l), "default", 9*time.Hour, 8*time.Hour, 1204)
	r.Ended, r.Over, r.Example = ago(7*time.Hour), word(l, "the job has succeeded", "任务已成功"), example
	r = add(word(l, "Worker lost", "执行节点失联"), word(l, "It has gone silent. Its host: batch-2.internal.", "它已没有心跳。所在主机：batch-2.internal。"), ui.Ref{ID: "worker-04", URL: "/workers"}, "", 30*time.Hour, 30*time.Hour, 1)
	r.Ended, r.Over = ago(29*time.Hour), word(l, "the worker is back", "执行节点已恢复")
	r = add(word(l, "Database did not answer", "数据库曾没有应答"), word(l, "The database did not answer from 2026-11-26 22:10:04Z to 2026-11-26 22:10:51Z: bad connection. That is what center batch-1.internal pid 48121, center batch-2.internal pid 611 saw.", "数据库从 2026-11-26 22:10:04Z 到 2026-11-26 22:10:51Z 没有应答：bad connection。观察到的进程：center batch-1.internal pid 48121, center batch-2.internal pid 611。"), ui.Ref{ID: word(l, "the database", "数据库")}, "", 31*time.Hour, 31*time.Hour, 2)
	r.Ended, r.Over = ago(31*time.Hour-47*time.Second), word(l, "the database answers and takes writes again", "数据库又有应答并接受写入")
	p.Channels = []incidents.Channel{{Name: "webhook", Taken: ago(2 * time.Minute)}}
	return p
}
