package board

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Dashboard is the overview page.
func Dashboard(p DashboardPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "dashboard", Title: "dash.title"}, dashboard(p))
}

func instanceStacks(ctx context.Context, hours []Hour) []ui.Stack {
	var stacks []ui.Stack
	for _, h := range hours {
		stacks = append(stacks, ui.Stack{
			Title: i18n.T(ctx, "dash.hour", "hour", h.Label, "done", h.Done, "failed", h.Failed, "planned", h.Planned),
			Parts: []ui.Part{
				{Kind: "failed", Value: h.Failed},
				{Kind: "done", Value: max(h.Done-h.Failed, 0)},
				{Kind: "planned", Value: h.Planned},
			},
		})
	}
	return stacks
}

func failureStacks(ctx context.Context, hours []Hour) []ui.Stack {
	var stacks []ui.Stack
	for _, h := range hours {
		stacks = append(stacks, ui.Stack{
			Title: i18n.T(ctx, "dash.hour_failed", "hour", h.Label, "failed", h.Failed),
			Parts: []ui.Part{{Kind: "failed", Value: h.Failed}},
		})
	}
	return stacks
}

// hourTicks names every step-th hour, and the end of the day.
func hourTicks(hours []Hour, step int) []string {
	var ticks []string
	for i := 0; i < len(hours); i += step {
		ticks = append(ticks, hours[i].Label)
	}
	return append(ticks, "24:00")
}

// top is the ceiling of the delay picture.
func (f DelayFigure) top() time.Duration {
	highest := f.Threshold
	for _, p := range f.Points {
		highest = max(highest, p.Mean, p.P99)
	}
	return ui.NiceCeiling(max(highest, 10*time.Millisecond), time.Millisecond)
}

func (f DelayFigure) curves() []ui.Curve {
	span := f.To.Sub(f.From)
	var mean, slow []ui.Point
	for _, p := range f.Points {
		x := 0.0
		if span > 0 {
			x = float64(p.At.Sub(f.From)) / float64(span)
		}
		mean = append(mean, ui.Point{X: x, Y: float64(p.Mean), Gap: p.Empty})
		slow = append(slow, ui.Point{X: x, Y: float64(p.P99), Gap: p.Empty || p.P99 == 0})
	}
	return []ui.Curve{
		{Kind: "mean", Area: true, Points: mean},
		{Kind: "slow", Points: slow},
		{Kind: "mean", Points: mean},
	}
}

func (f DelayFigure) threshold() float64 {
	if f.Threshold <= 0 {
		return -1
	}
	return float64(f.Threshold)
}

func (f DelayFigure) yTicks(ctx context.Context) []string {
	top := f.top()
	return []string{i18n.Duration(ctx, top), i18n.Duration(ctx, top/2), "0"}
}

// xTicks are seven moments from From to To, in the reader's zone.
func (f DelayFigure) xTicks(ctx context.Context) []string {
	const steps = 6
	var ticks []string
	for i := range steps + 1 {
		at := f.From.Add(f.To.Sub(f.From) * time.Duration(i) / steps).In(i18n.Zone(ctx))
		text := at.Format("15:04")
		if i == steps && text == "00:00" {
			text = "24:00"
		}
		ticks = append(ticks, text)
	}
	return ticks
}

func longestOf(runs []LongRun) time.Duration {
	var longest time.Duration
	for _, r := range runs {
		longest = max(longest, r.Duration, r.Usual)
	}
	return longest
}

// usualText compares the longest run with what is usual for its job.
func usualText(ctx context.Context, r LongRun) string {
	if r.Usual <= 0 {
		return r.Job.Name()
	}
	usual := i18n.Duration(ctx, r.Usual)
	if r.Duration > r.Usual {
		over := i18n.Percent(float64(r.Duration-r.Usual) / float64(r.Usual))
		return i18n.T(ctx, "dash.over_usual", "usual", usual, "over", over)
	}
	return i18n.T(ctx, "dash.usual", "usual", usual)
}

func changeText(ctx context.Context, f InstancesFigure) string {
	if !f.HasChange {
		return i18n.T(ctx, "dash.by_hour")
	}
	sign := "+"
	if f.Change < 0 {
		sign = ""
	}
	return i18n.T(ctx, "dash.change", "change", sign+i18n.Percent(f.Change))
}

func mostFailed(jobs []FailingJob) int64 {
	var most int64
	for _, j := range jobs {
		most = max(most, j.Failed)
	}
	return most
}
