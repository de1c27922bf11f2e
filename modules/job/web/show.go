package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/jobs"
	"github.com/axsched/ax/views/ui"
)

func (h *Handlers) show(c echo.Context) error {
	j, err := h.named(c, "id", domain.ActJobRead)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := jobs.JobPage{Shell: httpx.Shell(c), Tab: c.QueryParam("tab"), Job: refOf(j), Type: j.Spec.Exec.Type, Enabled: j.Enabled, Owner: j.Owner, Topics: j.Spec.Topics,
		Schedule: h.scheduleWords(ctx, j.Spec), Cautions: h.cautions(ctx, j.Spec), Expr: writtenExpr(j.Spec.Schedule), Zone: j.Spec.Timezone, Version: j.Version, Text: j.Source,
		Facts: facts(ctx, j.Spec), GraphURL: "/dag?job=" + queryText(j.Spec.Key().String()), Key: rand.Text()}
	here := jobURL(j.ID)
	p.TabURLs = map[string]string{"overview": here, "instances": "/instances?job=" + queryText(j.Spec.Key().String()), "deps": here + "?tab=deps",
		"versions": here + "?tab=versions", "yaml": here + "?tab=yaml"}
	if p.Tab == "" || p.Tab == "instances" || p.TabURLs[p.Tab] == "" {
		p.Tab = "overview"
	}
	h.offer(ctx, &p, j)
	for _, fill := range []func(context.Context, *jobs.JobPage, domain.Job) error{h.fillPause, h.fillFires, h.fillRuns, h.fillDeps, h.fillVersions} {
		if err := fill(ctx, &p, j); err != nil {
			return err
		}
	}
	if n := c.QueryParam("version"); n != "" && p.Tab == "yaml" {
		if err := h.fillOldText(ctx, &p, j, n); err != nil {
			return err
		}
	}
	return httpx.Render(c, http.StatusOK, jobs.Job(p))
}

// offer sets the buttons.
func (h *Handlers) offer(ctx context.Context, p *jobs.JobPage, j domain.Job) {
	here := jobURL(j.ID)
	p.Edit = action(ctx, j, domain.ActJobWrite, here+"/edit")
	p.Pause = action(ctx, j, domain.ActJobPause, here+flag(j.Enabled, "/pause", "/resume"))
	p.Delete = action(ctx, j, domain.ActJobDelete, here+"/delete")
	p.Backfill = action(ctx, j, domain.ActBackfillStart, "/backfills/new?job="+queryText(j.Spec.Key().String()))
	p.Trigger = jobs.TriggerForm{Action: triggerAction(ctx, j, here+"/trigger"), BizDate: h.today(ctx, j.Spec)}
	if len(j.Spec.Inputs) > 0 {
		p.Trigger.Page = here + "/run"
	}
}

func flag(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// today is the date that a fire now would have; none where that can't be told, so that
// the start itself says why.
func (h *Handlers) today(ctx context.Context, s domain.JobSpec) string {
	day, err := h.Jobs.BizDateNow(ctx, s)
	if err != nil {
		return ""
	}
	return day.String()
}

func (h *Handlers) fillFires(ctx context.Context, p *jobs.JobPage, j domain.Job) error {
	coming, err := h.Fires.Coming(ctx, []domain.ID{j.ID}, shownFires)
	if err != nil {
		return err
	}
	p.Next = shownComing(ctx, coming[j.ID])
	p.NoNext = i18n.T(ctx, flag(j.Enabled, noNext(j.Spec), "schedule.no_next_paused"))
	return nil
}

// fillRuns shows the latest instance of each of the latest dates.
func (h *Handlers) fillRuns(ctx context.Context, p *jobs.JobPage, j domain.Job) error {
	found, err := h.Days.LatestDays(ctx, []domain.ID{j.ID}, stripLength)
	if err != nil {
		return err
	}
	days := found[j.ID]
	p.Runs, p.Average, p.Last = strip(days), average(days), status(lastOf(days).Status)
	ids := make([]domain.ID, len(days))
	for i, d := range days {
		ids[i] = d.Instance
	}
	all, err := h.Instances.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		in, ok := all[id]
		if !ok {
			continue
		}
		row := jobs.InstanceRow{URL: instanceURL(id), BizDate: in.BizDate.String(), Status: status(in.Status), Why: shortWhy(in), Expected: in.Expected, Started: in.StartedAt, Attempts: in.Attempts}
		if !in.StartedAt.IsZero() && !in.FinishedAt.IsZero() {
			row.Duration = max(in.FinishedAt.Sub(in.StartedAt), 0)
		}
		row.Delay, _ = in.Delay()
		p.Instances = append(p.Instances, row)
	}
	return nil
}

// shortWhy is the message of what did not succeed.
func shortWhy(in domain.Instance) string {
	if in.State != domain.Failed && in.State != domain.Cancelled {
		return ""
	}
	line, _, _ := strings.Cut(in.Message, "\n")
	return line
}

func (h *Handlers) fillDeps(ctx context.Context, p *jobs.JobPage, j domain.Job) error {
	up, down, err := h.Jobs.Neighbours(ctx, j.ID)
	if err != nil {
		return err
	}
	seen := httpx.Visible(ctx, domain.ActJobRead)
	ids := []domain.ID{}
	for _, n := range append(append([]job.Neighbour{}, up...), down...) {
		ids = append(ids, n.Job.ID)
	}
	days, err := h.Days.LatestDays(ctx, ids, 1)
	if err != nil {
		return err
	}
	show := func(n job.Neighbour) jobs.Dep {
		rule := ui.DepRule{Check: n.Rule.Check, Require: n.Rule.Require}
		rule.Set, rule.N, rule.Unit = n.Rule.BizDate.Parts()
		d := jobs.Dep{Job: ui.Ref{ID: n.Job.Key.String()}, Rule: rule.In(ctx)}
		if !n.Rule.FirstDate.IsZero() {
			d.Rule += " · " + i18n.T(ctx, "dep.first_date", "date", n.Rule.FirstDate.String())
		}
		if seen.Has(n.Job.ProjectID) {
			last := lastOf(days[n.Job.ID])
			d.Job.Title, d.Job.URL, d.Status, d.BizDate = n.Job.Title, jobURL(n.Job.ID), status(last.Status), last.BizDate.String()
		}
		return d
	}
	var blocking []string
	for _, n := range up {
		p.Up = append(p.Up, show(n))
	}
	for _, n := range down {
		if seen.Has(n.Job.ProjectID) {
			p.Down = append(p.Down, show(n))
			blocking = append(blocking, n.Job.Key.String())
		}
	}
	if len(blocking) > 0 && p.Delete.URL != "" {
		p.Delete = ui.Action{Denied: i18n.T(ctx, "error.depended_on", "job", p.Job.ID, "n", len(blocking), "jobs", strings.Join(blocking, ", "))}
	}
	return nil
}

func (h *Handlers) fillVersions(ctx context.Context, p *jobs.JobPage, j domain.Job) error {
	if p.Tab != "versions" {
		return nil
	}
	all, err := h.Jobs.Store.Versions(ctx, j.ID, shownVersions)
	if err != nil {
		return err
	}
	for i, v := range all {
		row := jobs.Version{No: v.Version, At: v.CreatedAt, By: v.CreatedBy, Current: v.Version == j.Version, URL: jobURL(j.ID) + "?tab=yaml&version=" + strconv.Itoa(v.Version)}
		if i+1 < len(all) {
			row.Change = strings.Join(job.Changed(all[i+1].Spec, v.Spec), ", ")
		}
		p.Versions = append(p.Versions, row)
	}
	return nil
}

func (h *Handlers) fillOldText(ctx context.Context, p *jobs.JobPage, j domain.Job, n string) error {
	no, err := strconv.Atoi(n)
	if err != nil || no < 1 {
		return domain.Fail(domain.NotFound, "job %s has no version %q", j.Name, n)
	}
	v, err := h.Jobs.Store.Version(ctx, j.ID, no)
	if err == nil {
		p.Text, p.Version = v.Source, v.Version
	}
	return err
}

// facts are the settings that a definition leads to, those not given too.
func facts(ctx context.Context, s domain.JobSpec) []jobs.Fact {
	say := func(key string, args ...any) string { return i18n.T(ctx, key, args...) }
	seconds := func(n int) string { return i18n.Duration(ctx, time.Duration(n)*time.Second) }
	timeout := jobs.Fact{Name: say("fact.timeout"), Value: seconds(s.TimeoutSec)}
	if !s.TimeoutGiven {
		timeout.Note = say("check.timeout_default")
	}
	retry := jobs.Fact{Name: say("fact.retry"), Value: say("fact.no_retry")}
	if s.Retry.Times > 0 {
		waits := make([]string, len(s.Retry.BackoffSec))
		for i, n := range s.Retry.BackoffSec {
			waits[i] = seconds(n)
		}
		retry.Value, retry.Note = say("fact.retries", "n", s.Retry.Times), strings.Join(waits, ", ")
	}
	out := []jobs.Fact{timeout, retry, {Name: say("fact.misfire"), Value: say("misfire." + string(s.Misfire))}, {Name: say("fact.overlap"), Value: say("overlap." + string(s.Overlap))},
		{Name: say("fact.biz_date"), Value: string(s.BizDate)}, {Name: say("fact.lane"), Value: say("lane." + string(s.Priority))}, {Name: say("fact.lost"), Value: say("lost." + string(s.OnWorkerLost))}}
	if !s.Calendar.IsZero() {
		out = append(out, calendarFact(ctx, s.Calendar))
	}
	if s.Pool != "" {
		out = append(out, jobs.Fact{Name: say("fact.pool"), Value: s.Pool, URL: "/pools/" + url.PathEscape(s.Project+"/"+s.Pool)})
	}
	if s.Idempotent {
		out = append(out, jobs.Fact{Name: say("fact.idempotent"), Value: say("fact.idempotent_yes"), Note: say("fact.idempotent_note")})
	}
	if len(s.Tags) > 0 {
		out = append(out, jobs.Fact{Name: say("fact.tags"), Value: strings.Join(s.Tags, ", ")})
	}
	if s.Shards > 1 {
		out = append(out, jobs.Fact{Name: say("fact.shards"), Value: strconv.Itoa(s.Shards)})
	}
	if s.Broadcast {
		out = append(out, jobs.Fact{Name: say("fact.shards"), Value: say("fact.broadcast"), Note: say("fact.broadcast_note")})
	}
	out = append(out, handed(ctx, s)...)
	if s.QueueTimeoutSec > 0 {
		out = append(out, jobs.Fact{Name: say("fact.queue_timeout"), Value: seconds(s.QueueTimeoutSec)})
	}
	if s.DepsTimeoutSec > 0 {
		out = append(out, jobs.Fact{Name: say("fact.deps_timeout"), Value: seconds(s.DepsTimeoutSec)})
	}
	return out
}

// handed says what the job is given and what it hands over.
func handed(ctx context.Context, s domain.JobSpec) (out []jobs.Fact) {
	if len(s.Inputs) > 0 {
		names := make([]string, len(s.Inputs))
		for i, in := range s.Inputs {
			names[i] = in.Name
		}
		out = append(out, jobs.Fact{Name: i18n.T(ctx, "fact.inputs"), Value: strings.Join(names, ", ")})
	}
	if len(s.Outputs) > 0 {
		out = append(out, jobs.Fact{Name: i18n.T(ctx, "fact.outputs"), Value: strings.Join(s.Outputs, ", ")})
	}
	return out
}

// calendarFact says how a job lives by its calendar.
func calendarFact(ctx context.Context, u domain.CalendarUse) jobs.Fact {
	f := jobs.Fact{Name: i18n.T(ctx, "fact.calendar"), Value: u.Name, Note: i18n.T(ctx, "gate."+string(u.On))}
	if u.On != domain.GateAny {
		f.Note += i18n.T(ctx, "gate.else."+string(u.Else))
	}
	return f
}

func (h *Handlers) pausing(on bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		j, err := h.named(c, "id", domain.ActJobPause)
		if err != nil {
			return err
		}
		form, err := httpx.Form(c)
		if err != nil {
			return err
		}
		if _, err := h.Jobs.SetEnabled(c.Request().Context(), j.ID, on, strings.TrimSpace(form.Get("reason"))); err != nil {
			return err
		}
		return httpx.Redirect(c, jobURL(j.ID))
	}
}

func (h *Handlers) remove(c echo.Context) error {
	j, err := h.named(c, "id", domain.ActJobDelete)
	if err != nil {
		return err
	}
	if err := h.Jobs.Delete(c.Request().Context(), j.ID); err != nil {
		return err
	}
	return httpx.Redirect(c, "/jobs")
}
