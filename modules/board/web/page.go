package web

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	view "github.com/axsched/ax/views/board"
	"github.com/axsched/ax/views/ui"
)

func (h *Handlers) dashboard(c echo.Context) error {
	ctx, d := c.Request().Context(), h.read(c)
	p := view.DashboardPage{Shell: httpx.Shell(c), Day: d.Date.String(), DayZone: zoneName(d), Empty: !d.Ever, Verdict: h.verdict(ctx, d)}
	if !httpx.Visible(ctx, domain.ActJobWrite).Empty() {
		p.NewJob = ui.Action{URL: "/jobs/new"}
	}
	p.Instances, p.Failures, p.Delay = madeFigure(d), failuresFigure(d), delayFigure(d)
	if d.Longest != nil {
		p.Longest = &view.LongestFigure{URL: madeToday(d)}
		for _, l := range d.Longest {
			p.Longest.Runs = append(p.Longest.Runs, view.LongRun{Job: ui.Ref{ID: l.Job.Key.String(), Title: l.Job.Title, URL: instanceURL(l.Instance.ID)},
				Status: status(l.Instance.Status), Duration: l.Took})
		}
	}
	if d.Top != nil {
		p.Top = &view.TopFigure{URL: madeToday(d, "state", "failed")}
		for _, f := range d.Top {
			p.Top.Jobs = append(p.Top.Jobs, view.FailingJob{Job: ui.Ref{ID: f.Job.Key.String(), Title: f.Job.Title, URL: jobURL(f.Job.ID)}, Failed: f.Failed,
				URL: madeToday(d, "state", "failed", "job", f.Job.ID.String()), Runs: strip(f.Days), Blocks: f.Blocks})
		}
	}
	return httpx.Render(c, http.StatusOK, view.Dashboard(p))
}

func zoneName(d board.Day) string {
	name, offset := d.Zone.String(), i18n.Offset(d.From)
	if name == offset {
		return name
	}
	return name + " (" + offset + ")"
}

func hours(in []board.Hour) []view.Hour {
	out := make([]view.Hour, len(in))
	for i, h := range in {
		out[i] = view.Hour{Label: h.At.Format("15:04"), Done: h.Made, Failed: h.Failed}
	}
	return out
}

func madeFigure(d board.Day) *view.InstancesFigure {
	m := d.Instances
	if m == nil {
		return nil
	}
	out := &view.InstancesFigure{URL: madeToday(d), Total: m.Total, Waiting: m.Waiting, Queued: m.Queued, Executing: m.Executing, Hours: hours(m.Hours)}
	if m.HasBefore && m.Before > 0 {
		out.HasChange, out.Change = true, float64(m.Total-m.Before)/float64(m.Before)
	}
	return out
}

func failuresFigure(d board.Day) *view.FailuresFigure {
	if d.Failures == nil || d.Instances == nil {
		return nil
	}
	return &view.FailuresFigure{URL: madeToday(d, "state", "failed"), Total: d.Failures.Total, Rate: d.Failures.Rate, Hours: hours(d.Instances.Hours)}
}

func delayFigure(d board.Day) *view.DelayFigure {
	if d.Delay == nil {
		return nil
	}
	out := &view.DelayFigure{URL: madeToday(d), Mean: d.Delay.Mean, From: d.From, To: d.To}
	for _, p := range d.Delay.Points {
		out.Points = append(out.Points, view.DelayPoint{At: p.At, Mean: p.Mean, Empty: p.Starts == 0})
	}
	return out
}

func status(s domain.Status) ui.Status {
	return ui.Status{State: string(s.State), Label: string(s.Label)}
}

// strip is the days as bars, oldest first.
func strip(days []domain.JobDay) []ui.Run {
	out := make([]ui.Run, 0, len(days))
	for _, d := range slices.Backward(days) {
		out = append(out, ui.Run{Status: status(d.Status), BizDate: d.BizDate.String(), Duration: d.Took(), URL: instanceURL(d.Instance)})
	}
	return out
}
