package storybook

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/instances"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

const sampleTrace = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

func instanceStories() []Story {
	tab := func(name string) func(s layout.Shell) templ.Component {
		return func(s layout.Shell) templ.Component { return instances.Show(runningInstance(s, name)) }
	}
	return []Story{
		{"instances", func(s layout.Shell) templ.Component { return instances.List(instancesList(s)) }},
		{"instances-quiet", func(s layout.Shell) templ.Component {
			p := instancesList(s)
			p.Rows, p.Pager, p.Filter = nil, ui.Pager{}, instances.Filter{State: "failed"}
			p.Quiet = word(s.Lang, "Nothing has failed since 2026-11-25 03:10.", "自 2026-11-25 03:10 以来没有失败。")
			return instances.List(p)
		}},
		{"instances-partial", func(s layout.Shell) templ.Component {
			p := instancesList(s)
			p.Rows, p.Filter = p.Rows[:2], instances.Filter{Job: "pay_reconcile"}
			p.Pager = ui.Pager{NextURL: "?c=1", FirstURL: "?", PartialUntil: ago(4 * time.Hour)}
			return instances.List(p)
		}},
		{"instances-none-so-far", func(s layout.Shell) templ.Component {
			p := instancesList(s)
			p.Rows, p.Filter = nil, instances.Filter{Label: "worker_lost"}
			p.Pager = ui.Pager{NextURL: "?c=1", PartialUntil: ago(4 * time.Hour)}
			return instances.List(p)
		}},
		{"instance", tab("log")},
		{"instance-long-log", func(s layout.Shell) templ.Component {
			p := runningInstance(s, "log")
			p.Log.StreamURL = "/log?n=20000"
			return instances.Show(p)
		}},
		{"instance-dispatch", tab("dispatch")},
		{"instance-params", tab("params")},
		{"instance-deps", tab("deps")},
		{"instance-history", tab("history")},
		{"instance-failed", func(s layout.Shell) templ.Component { return instances.Show(failedInstance(s)) }},
		{"instance-shards", func(s layout.Shell) templ.Component { return instances.Show(splitInstance(s)) }},
		{"instance-result", func(s layout.Shell) templ.Component {
			p := runningInstance(s, "params")
			p.Status, p.Why, p.Kill, p.Progress = ui.Status{State: "success"}, word(s.Lang, "It succeeded after 6 min 41 s.", "运行 6 分 41 秒后成功。"), ui.Action{}, -1
			p.Result = []instances.Param{{Name: "file", Value: "s3://reports/2026-11-26/scores.parquet"}, {Name: "rows", Value: "48211"}, {Name: "top", Value: `[{"id":9007199254740993,"score":0.98}]`}}
			p.ResultMore = 3
			return instances.Show(p)
		}},
		{"instance-deps-missing", func(s layout.Shell) templ.Component { return instances.Show(dependentInstance(s)) }},
		{"instance-waiting", func(s layout.Shell) templ.Component { return instances.Show(waitingInstance(s)) }},
	}
}

func instancesList(s layout.Shell) instances.ListPage {
	p := instances.ListPage{
		Shell: s, ClearURL: "/instances", Pager: ui.Pager{NextURL: "?after=1"},
		Labels: []ui.Option{{Value: "timeout", Text: word(s.Lang, "timed out", "超时")}},
	}
	for i, key := range []string{"waiting", "queued", "executing", "retrying", "failed", "success", "cancelled"} {
		p.Chips = append(p.Chips, instances.Chip{Key: key, URL: "?state=" + key, Count: []int64{18, 42, 131, 3, 37, 12231, 24}[i]})
	}
	statuses := []ui.Status{
		{State: "running", Label: "executing"}, {State: "running", Label: "waiting_deps"}, {State: "failed", Label: "timeout"}, {State: "success"},
		{State: "running", Label: "queued"}, {State: "retrying", Label: "backoff"}, {State: "cancelled", Label: "upstream_failed"}, {State: "running", Label: "orphan"},
		{State: "success"}, {State: "failed", Label: "error"}, {State: "success"},
	}
	for i, j := range sampleJobs() {
		row := instances.Row{
			ID: fmt.Sprint(i), URL: "/instances/1", Job: j.ref(s.Lang), BizDate: "2026-11-27", Status: statuses[i], Trigger: "cron",
			Expected: ago(time.Duration(i*7+1) * time.Minute), Trace: sampleTrace,
		}
		if g := statuses[i].Group(); g != "waiting" && g != "queued" {
			row.Started, row.Duration, row.Delay = row.Expected.Add(380*time.Millisecond), j.average, 380*time.Millisecond
			row.Target, row.Attempt = ui.Ref{ID: "worker-07", URL: "/workers"}, 1
		}
		switch i {
		case 1:
			row.Why = word(s.Lang, "Waits for sync_order_daily of 2026-11-27 (running)", "等待 sync_order_daily 2026-11-27（运行中）")
		case 2:
			row.Why, row.Attempt = word(s.Lang, "Killed after its time-out of 5 min", "超过 5 分超时后被终止"), 3
		case 7:
			row.Why = word(s.Lang, "Its worker is lost; a person must say what happened", "执行节点失联，需要人工确认结果")
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

func baseInstance(s layout.Shell, job int, tab string) instances.ShowPage {
	j := sampleJobs()[job]
	p := instances.ShowPage{
		Shell: s, ID: "7301", Job: j.ref(s.Lang), BizDate: "2026-11-26", Trigger: "cron", Version: 12, Expected: ago(7 * time.Minute), Trace: sampleTrace,
		Timeout: 20 * time.Minute, Tab: tab, TabURLs: map[string]string{}, GraphURL: "/dag", Key: "k3", Progress: -1,
	}
	for _, t := range []string{"log", "dispatch", "params", "deps", "history"} {
		p.TabURLs[t] = "?tab=" + t
	}
	return p
}

func runningInstance(s layout.Shell, tab string) instances.ShowPage {
	p := baseInstance(s, 9, tab)
	start := p.Expected.Add(386 * time.Millisecond)
	p.Status = ui.Status{State: "running", Label: "executing"}
	p.Why = word(s.Lang, "It runs on worker-07 since 10:35:40 and last reported 1 s ago.", "自 10:35:40 起在 worker-07 上运行，1 秒前有心跳。")
	p.Started, p.Delay, p.HasDelay, p.Elapsed, p.Usual, p.Progress, p.Estimate = start, 386*time.Millisecond, true, 6*time.Minute+41*time.Second, 10*time.Minute+48*time.Second, 62, true
	p.Target = ui.Ref{ID: "worker-07", URL: "/workers"}
	p.Kill = ui.Action{URL: "/instances/7301/kill"}
	p.Steps = stepsTo(s.Lang, 9)
	p.Runs = []instances.Run{{No: 1, Reason: word(s.Lang, "first", "首次"), Status: p.Status, Trace: sampleTrace, Attempts: []instances.Attempt{
		attempt(1, ui.Status{State: "failed", Label: "worker_lost"}, "worker-03", start.Add(-30*time.Second), "", word(s.Lang, "no heartbeat for 10 s", "10 秒没有心跳")),
		attempt(2, p.Status, "worker-07", start, "", ""),
	}}}
	p.Runs[0].Attempts[1].Selected = true
	p.Runs[0].Attempts[1].Finished = time.Time{}
	p.Log = instances.Log{Live: true, StreamURL: "/log?n=0", RangeURL: "/log", RawURL: "/log.txt", Lines: sampleLines(start, 421)}
	p.Command = "python3 score.py --date {{biz_date}} --buckets 640\nAX_BIZ_DATE=2026-11-26  DB_PASSWORD=******"
	p.Params = []instances.Param{{Name: "source", Value: "order_table", Origin: word(s.Lang, "job", "任务")}, {Name: "date", Value: "2026-11-26", Origin: word(s.Lang, "trigger", "触发时")}}
	p.Up, p.Down = neighbourDeps(s.Lang)
	p.History = []instances.Event{
		{At: start.Add(-18 * time.Second), Who: "broker", Text: word(s.Lang, "worker-03 was lost; the attempt was withdrawn", "worker-03 失联，已收回该次执行"), Note: word(s.Lang, "no retry spent", "不计入重试")},
		{At: start.Add(2 * time.Minute), Who: "Ana Souza", Text: word(s.Lang, "looked at the log", "查看日志")},
	}
	return p
}

func attempt(no int, status ui.Status, target string, start time.Time, code, message string) instances.Attempt {
	return instances.Attempt{
		No: no, URL: fmt.Sprintf("?attempt=%d", no), Status: status, Target: ui.Ref{ID: target, URL: "/workers"},
		Dispatched: start.Add(-21 * time.Millisecond), Acked: start.Add(-12 * time.Millisecond), Granted: start.Add(-9 * time.Millisecond), Started: start,
		Finished: start.Add(26 * time.Second), ExitCode: code, Message: message,
	}
}

func sampleLines(start time.Time, last int64) []instances.Line {
	var lines []instances.Line
	for no := last - 60; no <= last; no++ {
		l := instances.Line{No: no, At: start.Add(time.Duration(no) * 950 * time.Millisecond), Stream: "stdout", Text: fmt.Sprintf("chunk %d/640 scored in %d ms (rows=18,820, cache_hit=0.97)", no, 380+no%40)}
		switch no % 10 {
		case 6:
			l.Stream, l.Text = "stderr", fmt.Sprintf("slow query 2.31s: select uid, score from risk_score where biz_date='2026-11-26' and bucket=%d", no)
		case 9:
			l.Text = fmt.Sprintf("写入 risk_score 分桶 %d 完成，\x1b[32m18,820\x1b[0m 行 https://example.com/run/%d", no, no)
		}
		lines = append(lines, l)
	}
	return lines
}

// stepsTo is the chain from due to done with the first n steps done.
func stepsTo(lang string, n int) []instances.Step {
	texts := []string{
		word(lang, "enabled", "任务已启用"), word(lang, "due at 10:35:00", "10:35:00 到点"), word(lang, "instance made, exactly once", "已生成实例（唯一）"),
		word(lang, "2 of 2 dependencies met", "2 个依赖全部满足"), word(lang, "queued in lane default", "已进入默认通道"), word(lang, "a worker with type python has room", "有支持 python 且有空位的节点"),
		word(lang, "acknowledged after 9 ms", "9 毫秒后确认"), word(lang, "granted", "已授权"), word(lang, "started, clock within 5 s", "已开始，时钟偏差在 5 秒内"), word(lang, "reported", "已上报"),
	}
	var steps []instances.Step
	for i, t := range texts {
		mark := "open"
		if i < n {
			mark = "done"
		}
		steps = append(steps, instances.Step{Mark: mark, Text: t})
	}
	return steps
}

func neighbourDeps(lang string) (up, down []instances.Dep) {
	rule := word(lang, "same business date, success", "同一业务日期，成功")
	up = []instances.Dep{
		{Job: sampleJobs()[0].ref(lang), BizDate: "2026-11-26", Rule: rule, Met: true, Status: statusOf('s'), URL: "/instances/2"},
		{Job: sampleJobs()[3].ref(lang), BizDate: "2026-11-26", Rule: rule, Met: true, Status: statusOf('s'), URL: "/instances/3", Note: word(lang, "2 of 24 fires were missed: backfill or mark", "24 次计划中有 2 次错过：请补数或标记")},
	}
	down = []instances.Dep{
		{Job: sampleJobs()[8].ref(lang), BizDate: "2026-11-26", Rule: rule, Status: ui.Status{State: "running", Label: "waiting_deps"}, URL: "/instances/4"},
		{Job: sampleJobs()[10].ref(lang), BizDate: "2026-11-26", Rule: rule},
	}
	return up, down
}

func failedInstance(s layout.Shell) instances.ShowPage {
	p := baseInstance(s, 5, "log")
	start := p.Expected.Add(402 * time.Millisecond)
	p.Status = ui.Status{State: "failed", Label: "error"}
	p.Why = word(s.Lang, "All 3 attempts ended with an error; the last one with exit code 2. It blocks 5 jobs downstream.", "3 次执行全部出错，最后一次退出码 2；已挡住 5 个下游任务。")
	p.Started, p.Finished, p.Delay, p.HasDelay, p.Elapsed, p.Usual = start, start.Add(26*time.Minute), 402*time.Millisecond, true, 26*time.Minute, 9*time.Minute
	p.Target = ui.Ref{ID: "worker-03", URL: "/workers"}
	p.Timeout, p.TimeoutDefault = time.Minute, true
	p.Rerun, p.FromHere = ui.Action{URL: "/instances/1/rerun"}, ui.Action{URL: "/backfills/new"}
	p.RerunNote = word(s.Lang, "At its success the 5 cancelled jobs downstream are brought back. Nothing that succeeded runs again.", "成功后会恢复被取消的 5 个下游任务；已成功的不会重复执行。")
	p.Stale = word(s.Lang, "sync_pay_daily ran again after it.", "上游 sync_pay_daily 在此之后又重新执行过。")
	failed := ui.Status{State: "failed", Label: "error"}
	p.Runs = []instances.Run{
		{No: 1, Status: failed, Trace: sampleTrace, Attempts: []instances.Attempt{attempt(1, failed, "worker-03", start, "2", "FileNotFoundError"), attempt(2, failed, "worker-05", start.Add(time.Minute), "2", "")}},
		{No: 2, Reason: word(s.Lang, "rerun by Ana Souza", "Ana Souza 重跑"), Status: failed, Trace: sampleTrace, Attempts: []instances.Attempt{attempt(3, failed, "worker-03", start.Add(20*time.Minute), "2", "FileNotFoundError: channel_b/20261126.csv")}},
	}
	p.Runs[1].Attempts[0].Selected = true
	p.Log = instances.Log{RawURL: "/log.txt", Lines: sampleLines(start, 61), Cut: word(s.Lang, "3,412 lines in the middle were not kept (limit 2 MB).", "中间 3,412 行未保留（上限 2 MB）。")}
	return p
}

func waitingInstance(s layout.Shell) instances.ShowPage {
	p := baseInstance(s, 3, "log")
	p.Status = ui.Status{State: "running", Label: "waiting_deps"}
	p.Why = word(s.Lang, "Waits for sync_pay_daily of 2026-11-26, which is waiting to retry until 10:52.", "等待 sync_pay_daily 2026-11-26，它将在 10:52 重试。")
	p.Steps = stepsTo(s.Lang, 3)
	p.Steps[3] = instances.Step{Mark: "blocked", Text: word(s.Lang, "1 of 2 dependencies met", "2 个依赖满足了 1 个"), Note: "sync_pay_daily · 2026-11-26"}
	p.Kill = ui.Action{URL: "/instances/1/kill"}
	p.Rerun = ui.Action{Denied: word(s.Lang, "It has not ended yet.", "尚未结束，不能重跑。")}
	p.Log = instances.Log{Reason: word(s.Lang, "Not dispatched yet, so there is no output.", "尚未下发，因此没有输出。")}
	return p
}

// dependentInstance waits for a month of days of which some are missing, and for a job of which nothing is planned.
func dependentInstance(s layout.Shell) instances.ShowPage {
	p, j := waitingInstance(s), sampleJobs()
	p.Tab = "deps"
	p.Why = word(s.Lang, "Waits for sync_order_daily of 2026-10-01 – 2026-10-31: 29 of 31, missing 2026-10-17 and 2026-10-30.", "等待 sync_order_daily 2026-10-01 – 2026-10-31：31 次中完成 29 次，缺 2026-10-17、2026-10-30。")
	month := instances.Dep{Job: j[0].ref(s.Lang), URL: "/instances?job=sync_order_daily", BizDate: "2026-10-01 – 2026-10-31", Status: ui.Status{State: "running", Label: "executing"},
		Rule:  word(s.Lang, "the month before · success · all planned fires", "上个月 · 成功 · 全部计划触发"),
		State: word(s.Lang, "29 of 31, missing 2026-10-17 and 2026-10-30", "31 次中完成 29 次，缺 2026-10-17、2026-10-30")}
	for d := 1; d <= 31; d++ {
		x := instances.DepPart{Kind: "done", Text: fmt.Sprintf("%02d", d), Title: fmt.Sprintf("2026-10-%02d", d) + word(s.Lang, " (success)", "（成功）"), URL: "/instances/1"}
		switch d {
		case 17:
			x.Kind, x.Title, x.URL = "missed", "2026-10-17"+word(s.Lang, " (missed)", "（错过）"), ""
		case 30:
			x.Kind, x.Title = "open", "2026-10-30"+word(s.Lang, " (running)", "（运行中）")
		}
		month.Parts = append(month.Parts, x)
	}
	p.Up = []instances.Dep{
		{Job: j[1].ref(s.Lang), URL: "/instances/1", BizDate: "2026-11-26", Met: true, Status: ui.Status{State: "success"}, Rule: word(s.Lang, "the same date · success · all planned fires", "同一日期 · 成功 · 全部计划触发")},
		month,
		{Job: ui.Ref{ID: "payments/settle_interbank"}, BizDate: "2026-11-25", Rule: word(s.Lang, "the working day before · success · all planned fires", "上一个工作日 · 成功 · 全部计划触发"),
			Warning: word(s.Lang, "Nothing is planned that could ever meet it.", "没有任何计划能满足它。")},
	}
	p.Down = []instances.Dep{{Job: j[9].ref(s.Lang), URL: "/instances/1", BizDate: "2026-11-26", Status: ui.Status{State: "running", Label: "waiting_deps"}, Rule: word(s.Lang, "the same date · success · all planned fires", "同一日期 · 成功 · 全部计划触发")}}
	return p
}

// splitInstance runs in shards, of which some have ended and one waits for its retry.
func splitInstance(s layout.Shell) instances.ShowPage {
	p := baseInstance(s, 9, "log")
	p.Status = ui.Status{State: "running", Label: "executing"}
	p.Why = word(s.Lang, "Its run is split into 8 shards: 2 × running, executing; 5 × succeeded.", "本轮拆成 8 个分片：2 × 运行中，执行中；5 × 成功。")
	p.Started = p.Expected.Add(386 * time.Millisecond)
	p.Runs = []instances.Run{{No: 1, Reason: word(s.Lang, "first", "首次"), Status: p.Status, Trace: sampleTrace}}
	p.Log = instances.Log{RawURL: "/log.txt", Lines: sampleLines(p.Started, 61)}
	for i, status := range []ui.Status{{State: "failed", Label: "timeout"}, {State: "running", Label: "executing"}, {State: "retrying", Label: "backoff"}, {State: "success"}, {State: "success"}} {
		shard := instances.Shard{No: i, URL: "/instances/1", Status: status, Target: ui.Ref{ID: fmt.Sprintf("worker-0%d", i), URL: "/workers"}, Attempts: 1, Started: p.Started, Elapsed: time.Duration(i+1) * time.Minute}
		if i == 0 {
			shard.Message = word(s.Lang, "timed out after 20 min", "超过 20 分后被终止")
		}
		p.Shards = append(p.Shards, shard)
		p.LogShards = append(p.LogShards, instances.ShardTab{No: i, URL: "/instances/1", Status: status, Selected: i == 0})
	}
	p.MoreShards = 3
	return p
}
