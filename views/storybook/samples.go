package storybook

import (
	"time"

	"github.com/axsched/ax/views/ui"
)

// word says a made-up text in the shell's language; made-up data is the one place
// where that is written beside the code.
func word(lang, en, zh string) string {
	if lang == "zh-CN" {
		return zh
	}
	return en
}

type sampleJob struct {
	id, en, zh, kind, expr, everyEN, everyZH, owner string
	pattern                                         string // of the last 14 results: s f r c w
	average                                         time.Duration
	next                                            time.Duration
}

func sampleJobs() []sampleJob {
	const m = time.Minute
	return []sampleJob{
		{"sync_order_daily", "Sync daily orders", "同步订单日表", "shell", "0 1 * * *", "Daily at 01:00", "每天 01:00", "周韵", "ssssfsssssssss", 12300 * time.Millisecond, 14*time.Hour + 17*m},
		{"sync_pay_daily", "Sync daily payments", "同步支付日表", "shell", "10 1 * * *", "Daily at 01:10, on working days of cn, else on the next one", "每天 01:10，逢日历 cn 的非工作日顺延到下一个工作日", "陈默", "ssssssssssssss", 3*m + 2*time.Second, 14*time.Hour + 27*m},
		{"sync_refund_daily", "Sync daily refunds", "同步退款日表", "shell", "15 1 * * *", "Daily at 01:15", "每天 01:15", "陈默", "ssssssssssssss", 5*m + 7*time.Second, 14*time.Hour + 32*m},
		{"order_stat_daily", "Daily order statistics", "订单日统计", "shell", "0 2 * * *", "Daily at 02:00", "每天 02:00", "Li Wei", "sssssssssssfss", 19500 * time.Millisecond, 15*time.Hour + 17*m},
		{"order_status_rt", "Order status sync", "订单状态同步", "http", "*/5 * * * *", "Every 5 minutes", "每 5 分钟", "王启明", "sssssscssssssr", 2*m + 25*time.Second, 2*m + 43*time.Second},
		{"pay_reconcile", "Payment channel reconciliation", "支付渠道对账", "python", "30 2 * * *", "Daily at 02:30", "每天 02:30", "Ana Souza", "fsssssfsssssff", 32600 * time.Millisecond, 15*time.Hour + 47*m},
		{"stock_snapshot", "Inventory snapshot", "库存快照", "sql", "0 0 * * *", "Daily at 00:00", "每天 00:00", "林晓", "ssssssssssssss", 4*m + 15*time.Second, 13*time.Hour + 17*m},
		{"stock_alert", "Low-stock alert", "低库存预警", "http", "*/15 * * * *", "Every 15 minutes", "每 15 分钟", "周韵", "ffsfssfssssfss", 58800 * time.Millisecond, 2*m + 43*time.Second},
		{"risk_feature_build", "Risk feature build", "风控特征构建", "python", "20 3 * * *", "Daily at 03:20", "每天 03:20", "Li Wei", "sfsssssffssfsw", 2*m + 48*time.Second, 16*time.Hour + 37*m},
		{"risk_score_daily", "Daily risk score", "风控评分", "python", "0 4 * * *", "Daily at 04:00", "每天 04:00", "Li Wei", "sssssssssssssr", 90 * time.Second, 17*time.Hour + 17*m},
		{"fin_report_month", "Monthly finance report", "财务月报", "sql", "0 6 1 * *", "Monthly on day 1 at 06:00", "每月 1 日 06:00", "Ana Souza", "sss", 41 * m, 3*24*time.Hour + 19*time.Hour},
	}
}

func (j sampleJob) title(lang string) string { return word(lang, j.en, j.zh) }

func (j sampleJob) ref(lang string) ui.Ref {
	return ui.Ref{ID: j.id, Title: j.title(lang), URL: "/jobs/default/" + j.id}
}

func statusOf(letter byte) ui.Status {
	switch letter {
	case 'f':
		return ui.Status{State: "failed", Label: "error"}
	case 'r':
		return ui.Status{State: "running", Label: "executing"}
	case 'c':
		return ui.Status{State: "cancelled", Label: "killed"}
	case 'w':
		return ui.Status{State: "retrying", Label: "backoff"}
	}
	return ui.Status{State: "success"}
}

func (j sampleJob) runs() []ui.Run {
	var runs []ui.Run
	for i := range len(j.pattern) {
		day := now().AddDate(0, 0, i-len(j.pattern)).Format(time.DateOnly)
		wobble := time.Duration(70+(i*37+len(j.id)*13)%60) * j.average / 100
		runs = append(runs, ui.Run{Status: statusOf(j.pattern[i]), BizDate: day, Duration: wobble})
	}
	return runs
}

func (j sampleJob) last() ui.Status { return statusOf(j.pattern[len(j.pattern)-1]) }

func fires() []ui.Fire {
	var all []ui.Fire
	first := time.Date(2026, 11, 28, 2, 0, 0, 0, shanghai())
	for i := range 5 {
		all = append(all, ui.Fire{At: first.AddDate(0, 0, i), BizDate: first.AddDate(0, 0, i).Format(time.DateOnly)})
	}
	return all
}

// lastSundays are the fires of 02:30 in Berlin on the last Sunday of a month; the last of them lies in the gap
// of the clocks and happens at its end.
func lastSundays() []ui.Fire {
	winter, summer := time.FixedZone("CET", 3600), time.FixedZone("CEST", 2*3600)
	all := make([]ui.Fire, 0, 5)
	for _, at := range []time.Time{
		time.Date(2026, 11, 29, 2, 30, 0, 0, winter), time.Date(2026, 12, 27, 2, 30, 0, 0, winter), time.Date(2027, 1, 31, 2, 30, 0, 0, winter),
		time.Date(2027, 2, 28, 2, 30, 0, 0, winter), time.Date(2027, 3, 28, 3, 0, 0, 0, summer),
	} {
		all = append(all, ui.Fire{At: at, BizDate: at.Format(time.DateOnly)})
	}
	return all
}

func ago(d time.Duration) time.Time { return now().Add(-d) }
