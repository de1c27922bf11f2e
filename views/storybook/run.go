package storybook

import (
	"github.com/a-h/templ"

	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

func runStories() []Story {
	return []Story{
		{"run", func(s layout.Shell) templ.Component { return jobs.Run(runPage(s)) }},
		{"run-wrong", func(s layout.Shell) templ.Component {
			p := runPage(s)
			p.Paused = true
			p.Errors = []ui.FieldError{
				{Field: "params.mode", Message: word(s.Lang, "mode: half is none of full, delta.", "mode：half 不在 full, delta 之中。")},
				{Field: "params.rows", Message: word(s.Lang, "rows wants a number such as 12 or -0.5, not many.", "rows 须是 12 或 -0.5 这样的数字，不能是 many。")},
			}
			return jobs.Run(p)
		}},
		{"run-error", func(s layout.Shell) templ.Component {
			p := runPage(s)
			p.Error = word(s.Lang, "params and env hold 70021 bytes, more than the 65536 allowed.", "params 与 env 共 70021 字节，超过允许的 65536。")
			return jobs.Run(p)
		}},
	}
}

func runPage(s layout.Shell) jobs.RunPage {
	options := func(texts ...string) (out []ui.Option) {
		for _, t := range texts {
			out = append(out, ui.Option{Value: t, Text: t})
		}
		return out
	}
	return jobs.RunPage{Shell: s, Job: ui.Ref{ID: "order_load", Title: word(s.Lang, "Load of orders", "订单装载"), URL: "/jobs/order_load"}, Save: ui.Action{URL: "/jobs/order_load/run"},
		BizDate: "2026-11-26", Key: "key", Fields: []jobs.RunField{
			{Name: "mode", Label: word(s.Lang, "Way of loading", "装载方式"), Kind: "choice", Value: "delta", Options: options("full", "delta"), Help: word(s.Lang, "In the task as AX_PARAM_mode. Without one: delta", "任务内为 AX_PARAM_mode。 不填则为：delta")},
			{Name: "tables", Label: word(s.Lang, "Tables", "表"), Kind: "choice", Several: true, Values: []string{"orders"}, Options: options("orders", "payments", "refunds"), Required: true},
			{Name: "rows", Label: "rows", Kind: "number", Value: "9007199254740993"},
			{Name: "since", Label: word(s.Lang, "Since", "起始日期"), Kind: "date", Value: "2026-11-20"},
			{Name: "source", Label: word(s.Lang, "File", "文件"), Kind: "file", Value: "/data/orders 2026.csv", Required: true},
			{Name: "note", Label: word(s.Lang, "Note", "备注"), Kind: "text", Value: "line 1\nline 2"},
			{Name: "password", Label: word(s.Lang, "Password", "密码"), Kind: "choice", Options: options("db_prod", "db_test")},
		}}
}
