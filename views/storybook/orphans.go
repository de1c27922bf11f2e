package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func orphanStories() []Story {
	return []Story{
		{"orphans", func(s layout.Shell) templ.Component { return instances.Orphans(orphansPage(s)) }},
		{"orphans-settled", func(s layout.Shell) templ.Component {
			p := orphansPage(s)
			p.Rows, p.Done = p.Rows[2:], 2
			p.Left = []instances.Left{{Name: "pay_reconcile 2026-11-26", URL: "/instances/1", Why: word(s.Lang, "It is no orphan any more (success), and was left as it is.", "它已不是孤儿实例（success），未做改动。")},
				{Name: "7304", Why: word(s.Lang, "There is no instance 7304.", "没有实例 7304。")}}
			return instances.Orphans(p)
		}},
		{"orphans-without-reason", func(s layout.Shell) templ.Component {
			p := orphansPage(s)
			p.FormError = word(s.Lang, "Say why: the reason is kept.", "请填写原因，原因会被保留。")
			p.Open, p.As, p.Picked = true, "rerun", map[string]bool{p.Rows[0].Pick: true, p.Rows[1].Pick: true}
			return instances.Orphans(p)
		}},
		{"orphans-viewer", func(s layout.Shell) templ.Component {
			p := orphansPage(s)
			p.Settle = ui.Action{Denied: word(s.Lang, "This needs the permission orphan.settle.", "需要 orphan.settle 权限。")}
			return instances.Orphans(p)
		}},
		{"orphans-empty", func(s layout.Shell) templ.Component { return instances.Orphans(instances.OrphansPage{Shell: s}) }},
		{"instance-orphan", func(s layout.Shell) templ.Component {
			p := runningInstance(s, "dispatch")
			p.Status = ui.Status{State: "running", Label: "orphan"}
			p.Why = word(s.Lang, "worker-07 was lost while it ran; the job says on_worker_lost: hold, so a person must say what happened.", "运行期间 worker-07 失联；任务设置了 on_worker_lost: hold，需要人工确认结果。")
			p.Progress = -1
			p.Settle, p.Verdicts, p.LostAttempt = ui.Action{URL: "/instances/7301/settle"}, verdicts(s.Lang, false), "7302"
			return instances.Show(p)
		}},
	}
}

func verdicts(lang string, admin bool) []instances.Verdict {
	all := []instances.Verdict{
		{Value: "rerun", Text: word(lang, "It did not run: run it again", "没有执行：再执行一次"), Help: word(lang, "The same run goes to a worker again, as a new attempt. No retry is spent. If it did run after all, it runs twice.", "同一轮次以新的执行次重新下发，不计入重试。如果其实已经执行过，就会执行两次。")},
		{Value: "failed", Text: word(lang, "It failed", "失败了"), Help: word(lang, "The instance fails; downstream that waits for it is cancelled, and it can be rerun.", "该实例记为失败，等待它的下游会被取消，之后可以重跑。")},
		{Value: "success", Text: word(lang, "It ran: mark success", "已执行：标记成功"), Help: word(lang, "The instance succeeds and downstream is released, on your word alone.", "该实例记为成功并放行下游，仅以你的确认为准。")},
	}
	if !admin {
		all[2].Denied = word(lang, "Until approvals exist it takes an admin.", "在审批功能就绪之前只有管理员可以操作。")
	}
	return all
}

func orphansPage(s layout.Shell) instances.OrphansPage {
	p := instances.OrphansPage{Shell: s, Key: "k8", Settle: ui.Action{URL: "/orphans/settle"}, Choices: verdicts(s.Lang, true), Pager: ui.Pager{NextURL: "?c=1"}}
	for i, j := range sampleJobs()[3:8] {
		p.Rows = append(p.Rows, instances.Orphan{Pick: fmt.Sprintf("73%02d.81%02d", i, i), URL: "/instances/1", LogURL: "/instances/1?tab=log", Job: j.ref(s.Lang), BizDate: "2026-11-26", Run: 1 + i/4,
			Attempt: 1 + i%2, Target: ui.Ref{ID: fmt.Sprintf("worker-%02d", i+3), URL: "/workers"}, Started: ago(time.Duration(40+i) * time.Minute), Lost: ago(time.Duration(12+i) * time.Minute),
			Note: fmt.Sprintf("worker worker-%02d (boot 4%d) has been silent for 10s", i+3, i)})
	}
	return p
}
