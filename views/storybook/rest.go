package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/audit"
	"github.com/axsched/ax/views/dag"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
	"github.com/axsched/ax/views/workers"
)

func graphStories() []Story {
	return []Story{
		{"dag", func(s layout.Shell) templ.Component { return dag.Graph(graphPage(s)) }},
		{"dag-selected", func(s layout.Shell) templ.Component {
			p := graphPage(s)
			p.Selected = &dag.Panel{
				Job: sampleJobs()[5].ref(s.Lang), Status: statusOf('f'), Why: word(s.Lang, "All 3 attempts ended with an error.", "3 次执行全部出错。"),
				Facts: []dag.Fact{{Name: word(s.Lang, "Attempts", "执行次数"), Value: "3 / 3"}, {Name: word(s.Lang, "Target", "执行目标"), Value: "worker-03"}},
				Error: "exit 2 · FileNotFoundError: channel_b/20261126.csv", Instance: "/instances/1", Log: "/instances/1?tab=log", FromHere: ui.Action{URL: "/backfills/new"},
				Blocks: []ui.Ref{{ID: "pay_fee_calc", URL: "#"}, {ID: "fin_settlement", URL: "#"}},
			}
			return dag.Graph(p)
		}},
		{"dag-list", func(s layout.Shell) templ.Component {
			p := graphPage(s)
			p.AsList = true
			return dag.Graph(p)
		}},
		{"dag-then", func(s layout.Shell) templ.Component { return dag.Graph(pastGraph(s)) }},
		{"dag-then-list", func(s layout.Shell) templ.Component {
			p := pastGraph(s)
			p.AsList = true
			return dag.Graph(p)
		}},
		{"dag-empty", func(s layout.Shell) templ.Component {
			return dag.Graph(dag.GraphPage{Shell: s, BizDate: "2026-11-27", PageURL: "/dag", NewJob: ui.Action{URL: "/jobs/new"}})
		}},
		{"dag-too-many", func(s layout.Shell) templ.Component {
			return dag.Graph(dag.GraphPage{Shell: s, BizDate: "2026-11-27", PageURL: "/dag", Cut: word(s.Lang, "These are more than 1,000 jobs", "任务超过 1,000 个")})
		}},
		{"dag-cycle", func(s layout.Shell) templ.Component {
			p := graphPage(s)
			p.Nodes, p.Edges = p.Nodes[:4], []dag.Edge{{From: "sync_order_daily", To: "sync_pay_daily"}, {From: "sync_pay_daily", To: "sync_refund_daily"}, {From: "sync_refund_daily", To: "sync_order_daily"}}
			return dag.Graph(p)
		}},
	}
}

// pastGraph is a date that has passed: some did not run, and some are otherwise today.
func pastGraph(s layout.Shell) dag.GraphPage {
	p := graphPage(s)
	p.Basis = word(s.Lang, "As it was on 2026-11-26: what ran is drawn by the version that ran, all else as it was defined at the end of that day (Asia/Shanghai).",
		"2026-11-26 当时的样子：运行过的按其实际运行的版本绘制，其余按当天结束时的定义绘制（Asia/Shanghai）。")
	last := len(p.Nodes) - 1
	p.Nodes[last].Said, p.Nodes[last].Absent = word(s.Lang, "Not planned", "未计划"), "unplanned"
	p.Nodes[0].Status, p.Nodes[0].Said, p.Nodes[0].Absent = ui.Status{}, word(s.Lang, "Missed: older than 7 days", "错过 1 次：调度器处理时已超过 7 天"), "missed"
	p.Nodes[1].Instance, p.Nodes[1].Since = "/instances/1", word(s.Lang, "v3; today v5", "v3，现为 v5")
	p.Nodes[2].Gone, p.Nodes[2].Since = true, word(s.Lang, "v1; deleted since", "v1，此后已删除")
	p.Edges[0].Gone = true
	p.Changes = dag.Changes{Count: 60, More: 57, List: []dag.Change{{Kind: "changed", Text: p.Nodes[1].ID + ": " + p.Nodes[1].Since}, {Kind: "gone", Text: p.Nodes[2].ID + ": " + p.Nodes[2].Since},
		{Kind: "new", Text: word(s.Lang, "order_stat_daily depends on sync_channel_daily today", "order_stat_daily 现依赖 sync_channel_daily")}}}
	return p
}

func graphPage(s layout.Shell) dag.GraphPage {
	p := dag.GraphPage{Shell: s, BizDate: "2026-11-26", PageURL: "/dag"}
	for i, j := range sampleJobs() {
		n := dag.Node{ID: j.id, Title: j.title(s.Lang), Status: j.last(), URL: "?job=" + j.id}
		if i == 10 {
			n.Status = ui.Status{State: "cancelled", Label: "upstream_failed"}
		}
		p.Nodes = append(p.Nodes, n)
		p.JobNames = append(p.JobNames, j.id)
	}
	more := []struct {
		id, en, zh string
		st         ui.Status
	}{
		{"pay_fee_calc", "Fee calculation", "手续费计算", ui.Status{State: "cancelled", Label: "upstream_failed"}},
		{"fin_settlement", "Merchant settlement", "商户结算", ui.Status{State: "cancelled", Label: "upstream_failed"}},
		{"mail_daily_digest", "Daily digest mail", "日报邮件", ui.Status{State: "running", Label: "waiting_deps"}},
		{"growth_coupon_push", "Coupon push", "优惠券推送", ui.Status{State: "running", Label: "queued"}},
		{"growth_funnel", "Conversion funnel", "转化漏斗", ui.Status{}},
	}
	for _, m := range more {
		p.Nodes = append(p.Nodes, dag.Node{ID: m.id, Title: word(s.Lang, m.en, m.zh), Status: m.st, URL: "?job=" + m.id})
	}
	for _, e := range [][2]string{
		{"sync_order_daily", "order_stat_daily"}, {"sync_pay_daily", "order_stat_daily"}, {"sync_pay_daily", "pay_reconcile"}, {"sync_refund_daily", "pay_reconcile"},
		{"pay_reconcile", "pay_fee_calc"}, {"pay_reconcile", "fin_settlement"}, {"pay_fee_calc", "fin_settlement"}, {"fin_settlement", "fin_report_month"},
		{"fin_settlement", "mail_daily_digest"}, {"order_stat_daily", "risk_feature_build"}, {"order_stat_daily", "growth_funnel"}, {"risk_feature_build", "risk_score_daily"},
		{"risk_score_daily", "growth_coupon_push"}, {"stock_snapshot", "stock_alert"}, {"order_stat_daily", "mail_daily_digest"}, {"stock_snapshot", "mail_daily_digest"},
		{"order_status_rt", "order_stat_daily"},
	} {
		p.Edges = append(p.Edges, dag.Edge{From: e[0], To: e[1]})
	}
	return p
}

func workerStories() []Story {
	return []Story{
		{"workers", func(s layout.Shell) templ.Component { return workers.List(workersPage(s)) }},
		{"workers-empty", func(s layout.Shell) templ.Component {
			return workers.List(workers.ListPage{Shell: s, Start: "ax --mode=worker --data /var/lib/ax --redis redis://10.0.0.5:6379"})
		}},
	}
}

func workersPage(s layout.Shell) workers.ListPage {
	p := workers.ListPage{Shell: s, Key: "k4"}
	for i := range 5 {
		r := workers.Row{
			Name: fmt.Sprintf("worker-%02d", i+3), Availability: "available", Host: fmt.Sprintf("batch-%d.internal", i+1), IP: fmt.Sprintf("10.0.3.%d", 11+i), Boot: int64(41 + i), Version: "1.0.0",
			Types: []string{"shell", "http", "python"}, Tags: []string{"zone:a", "gpu"}[:1+i%2], Running: 3 + i*2, Cores: 8, Score: 0.21 + float64(i)*0.13, Mean: time.Duration(9+i*7) * time.Second,
			Heartbeat: ago(time.Duration(i*300) * time.Millisecond), Skew: time.Duration(i*12-20) * time.Millisecond, RunningURL: "/instances?target=x", Drain: ui.Action{URL: "/workers/drain"},
			Lanes: []workers.Lane{{Name: "high", Busy: 1 + i%2, Threads: 4}, {Name: "default", Busy: 2 + i, Threads: 8, Queued: i * 3}, {Name: "low", Busy: 0, Threads: 2}},
		}
		switch i {
		case 1:
			r.Availability, r.Disk, r.RefusingSince = "refusing", "disk full (no space left on device)", ago(2*time.Minute)
		case 2:
			r.Availability, r.Drain, r.Resume = "draining", ui.Action{}, ui.Action{URL: "/workers/resume"}
		case 3:
			r.Availability, r.Skew, r.SkewRefused, r.RefusingSince = "refusing", 6200*time.Millisecond, true, ago(4*time.Minute)
		case 4:
			r.Availability, r.LostSince, r.Heartbeat, r.Drain = "lost", ago(4*time.Minute), ago(4*time.Minute), ui.Action{}
			r.Held = word(s.Lang, "It held 11 tasks: 9 were sent to other workers, 2 are orphans.", "它持有 11 个任务：9 个已改派其他节点，2 个成为孤儿实例。")
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

func auditStories() []Story {
	return []Story{
		{"audit", func(s layout.Shell) templ.Component { return audit.List(auditPage(s)) }},
		{"audit-empty", func(s layout.Shell) templ.Component { return audit.List(audit.ListPage{Shell: s}) }},
	}
}

func auditPage(s layout.Shell) audit.ListPage {
	l := s.Lang
	p := audit.ListPage{Shell: s, Pager: ui.Pager{NextURL: "?after=1"}, Actions: []ui.Option{{Value: "job.save", Text: word(l, "saved a job", "保存任务")}}}
	row := func(i int, who, via, action string, object ui.Ref) audit.Row {
		return audit.Row{ID: fmt.Sprint(i), At: ago(time.Duration(i*23) * time.Minute), Who: who, Via: via, From: "10.0.8.15", Action: action, Object: object}
	}
	j := sampleJobs()
	p.Rows = []audit.Row{
		row(1, "Li Wei", "page", word(l, "saved version 12", "保存版本 12"), j[3].ref(l)),
		row(2, "Ana Souza", "CLI", word(l, "rerun", "重跑"), j[5].ref(l)),
		row(3, "周韵", "API", word(l, "tried to delete", "尝试删除"), j[0].ref(l)),
		row(4, "lin", "page", word(l, "logged in", "登录"), ui.Ref{ID: "lin"}),
	}
	p.Rows[0].Before, p.Rows[0].After = "timeout: 60", "timeout: 120\nretry:\n  times: 2"
	p.Rows[2].Refused = true
	return p
}
