package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

const listPage = 50

func (h *Handlers) list(c echo.Context) error {
	ctx := c.Request().Context()
	p := jobs.ListPage{Shell: httpx.Shell(c), ClearURL: "/jobs",
		Filter: jobs.Filter{Query: c.QueryParam("q"), Project: c.QueryParam("project"), Enabled: c.QueryParam("enabled")}}
	if !httpx.Visible(ctx, domain.ActJobWrite).Empty() {
		p.New, p.Import = ui.Action{URL: "/jobs/new"}, ui.Action{URL: "/jobs/new?mode=yaml"}
	}
	var err error
	if p.Total, p.Enabled, err = h.Jobs.Count(ctx, httpx.Visible(ctx, domain.ActJobRead)); err != nil {
		return err
	}
	p.Views = views(ctx, p)
	if p.Projects, err = h.projectOptions(ctx); err != nil {
		return err
	}
	q, err := query(c, listPage)
	var rows []domain.Job
	if err == nil {
		rows, err = h.Jobs.List(ctx, q)
	}
	if err != nil {
		status, text, ok := httpx.Explain(c, err)
		if !ok {
			return err
		}
		p.Error = text
		return httpx.Render(c, status, jobs.List(p))
	}
	rows, next, err := page(rows, listPage)
	if err != nil {
		return err
	}
	p.Pager = pager(c, next)
	if p.Rows, err = h.rows(ctx, rows); err != nil {
		return err
	}
	return httpx.Render(c, http.StatusOK, jobs.List(p))
}

// views are the list's tabs: all, enabled, paused.
func views(ctx context.Context, p jobs.ListPage) []ui.Tab {
	tab := func(key, enabled string, count int64) ui.Tab {
		q := url.Values{}
		for name, v := range map[string]string{"q": p.Filter.Query, "project": p.Filter.Project, "enabled": enabled} {
			if v != "" {
				q.Set(name, v)
			}
		}
		return ui.Tab{Text: i18n.T(ctx, "jobs.view."+key), URL: (&url.URL{Path: "/jobs", RawQuery: q.Encode()}).String(), Count: count, Active: p.Filter.Enabled == enabled}
	}
	return []ui.Tab{tab("all", "", p.Total), tab("enabled", "true", p.Enabled), tab("paused", "false", p.Total-p.Enabled)}
}

// projectOptions are the projects that the caller may look into, by name.
func (h *Handlers) projectOptions(ctx context.Context) ([]ui.Option, error) {
	all, err := h.Jobs.Projects.Names(ctx)
	if err != nil {
		return nil, err
	}
	seen := httpx.Visible(ctx, domain.ActJobRead)
	var names []string
	for id, name := range all {
		if seen.Has(id) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := make([]ui.Option, len(names))
	for i, n := range names {
		out[i] = ui.Option{Value: n, Text: n}
	}
	return out, nil
}

func pager(c echo.Context, next string) ui.Pager {
	var p ui.Pager
	here := c.Request().URL
	at := func(cursor string) string {
		v := here.Query()
		v.Del("cursor")
		if cursor != "" {
			v.Set("cursor", cursor)
		}
		return (&url.URL{Path: here.Path, RawQuery: v.Encode()}).String()
	}
	if c.QueryParam("cursor") != "" {
		p.FirstURL = at("")
	}
	if next != "" {
		p.NextURL = at(next)
	}
	return p
}

func (h *Handlers) rows(ctx context.Context, all []domain.Job) ([]jobs.Row, error) {
	ids := idsOf(all)
	next, err := h.Fires.NextFires(ctx, ids)
	if err != nil {
		return nil, err
	}
	days, err := h.Days.LatestDays(ctx, ids, stripLength)
	if err != nil {
		return nil, err
	}
	out := make([]jobs.Row, len(all))
	for i, j := range all {
		of, last := days[j.ID], lastOf(days[j.ID])
		r := jobs.Row{Job: refOf(j), Type: j.Spec.Exec.Type, Enabled: j.Enabled, Schedule: h.scheduleWords(ctx, j.Spec), Cautions: h.cautions(ctx, j.Spec), Expr: writtenExpr(j.Spec.Schedule),
			Zone: j.Spec.Timezone, Next: next[j.ID], Runs: strip(of), Average: average(of), Owner: j.Owner, Trigger: triggerAction(ctx, j, jobURL(j.ID)+"#trigger")}
		if last.Instance != 0 {
			r.Last, r.LastURL, r.LastAt = status(last.Status), instanceURL(last.Instance), last.Started
			r.Logs = ui.Action{URL: r.LastURL}
			if !last.Finished.IsZero() {
				r.LastAt = last.Finished
			}
		}
		out[i] = r
	}
	return out, nil
}

func jobURL(id domain.ID) string { return "/jobs/" + id.String() }

func instanceURL(id domain.ID) string { return "/instances/" + id.String() }

func refOf(j domain.Job) ui.Ref {
	return ui.Ref{ID: j.Spec.Key().String(), Title: j.Title, URL: jobURL(j.ID)}
}

func status(s domain.Status) ui.Status {
	return ui.Status{State: string(s.State), Label: string(s.Label)}
}

// strip is the latest dates as bars, oldest first.
func strip(days []domain.JobDay) []ui.Run {
	out := make([]ui.Run, 0, len(days))
	for _, d := range slices.Backward(days) {
		out = append(out, ui.Run{Status: status(d.Status), BizDate: d.BizDate.String(), Duration: d.Took(), URL: instanceURL(d.Instance)})
	}
	return out
}

// average is the mean duration of the successes among the latest dates; 0 without any.
func average(days []domain.JobDay) time.Duration {
	var sum time.Duration
	var n time.Duration
	for _, d := range days {
		if d.State == domain.Success && d.Took() > 0 {
			sum, n = sum+d.Took(), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// noNext is the catalog's word for there being no next fire to show.
func noNext(s domain.JobSpec) string {
	if s.Trigger == domain.TriggerUpstream {
		return "schedule.upstream_next"
	}
	return "schedule.no_next"
}

// writtenExpr is the cron expression; an interval and a moment are said in words.
func writtenExpr(s domain.Schedule) string {
	if s.Kind == domain.ScheduleCron {
		return s.Expr
	}
	return ""
}

// denied says why a button does nothing.
func denied(ctx context.Context, action domain.Action) ui.Action {
	return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(action))}
}

// action is a button for whoever may, else the reason.
func action(ctx context.Context, j domain.Job, a domain.Action, url string) ui.Action {
	if httpx.Can(ctx, j.ProjectID, a) {
		return ui.Action{URL: url}
	}
	return denied(ctx, a)
}

func triggerAction(ctx context.Context, j domain.Job, url string) ui.Action {
	return action(ctx, j, domain.ActInstanceTrigger, url)
}
