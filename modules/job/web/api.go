package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

// apiFile is one job file of a call.
type apiFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func files(in []apiFile) ([]job.File, error) {
	if len(in) == 0 {
		return nil, domain.Fail(domain.Invalid, "there is no file").At("files").WithHint(`send {"files": [{"name": "a.yaml", "text": "…"}]}`)
	}
	out := make([]job.File, len(in))
	for i, f := range in {
		out[i] = job.File(f)
	}
	return out, nil
}

// applyCall is the body of an apply.
type applyCall struct {
	Files  []apiFile `json:"files"`
	DryRun bool      `json:"dryRun"`
}

func (h *Handlers) apiApply(c echo.Context) error {
	var in applyCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	fs, err := files(in.Files)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	applied, problems, err := h.Jobs.Submit(ctx, job.Request{Files: fs, DryRun: in.DryRun, Allow: allow, MaySecrets: maySecrets, Seen: httpx.Visible(ctx, domain.ActJobRead)})
	if err != nil {
		return err
	}
	if faults := problems.Errors(); len(faults) > 0 {
		return refused(c, problems)
	}
	if !in.DryRun {
		if err := h.settleNext(ctx, applied); err != nil {
			return err
		}
	}
	out := apiApplied{Results: make([]apiResult, len(applied)), DryRun: in.DryRun}
	for i, a := range applied {
		out.Results[i] = resultOf(c, a, in.DryRun)
	}
	return c.JSON(http.StatusOK, out)
}

// settleNext replaces what the files promised by what their triggers will do: the grid
// of an interval begins when it is first saved, not when it is read.
func (h *Handlers) settleNext(ctx context.Context, applied []job.Applied) error {
	ids := make([]domain.ID, len(applied))
	for i, a := range applied {
		ids[i] = a.Job.ID
	}
	coming, err := h.Fires.Coming(ctx, ids, shownFires)
	if err != nil {
		return err
	}
	for i := range applied {
		applied[i].Coming = coming[ids[i]]
	}
	return nil
}

// apiApplied is the answer of an apply.
type apiApplied struct {
	Results []apiResult `json:"results"`
	DryRun  bool        `json:"dryRun"`
}

// apiResult is what became of one job. ID is empty for one that a dry run would make.
type apiResult struct {
	Job     string     `json:"job"`
	Change  job.Change `json:"change"`
	Version int        `json:"version"`
	ID      domain.ID  `json:"id"`
	// Kind is what makes it due: cron, every, at, upstream or none.
	Kind domain.ScheduleKind `json:"kind"`
	Next []time.Time         `json:"next"`
	// NextWas is when it was due next before the change; null unless that is another moment now.
	NextWas  *time.Time   `json:"nextWas"`
	Coming   []apiComing  `json:"coming"` // the same, with what the job's calendar makes of them
	Warnings []apiProblem `json:"warnings"`
}

func resultOf(c echo.Context, a job.Applied, dry bool) apiResult {
	out := apiResult{Job: a.Key.String(), Change: a.Change, Version: a.Job.Version, ID: a.Job.ID, Kind: kindOf(a.Job.Spec), Next: []time.Time{}, Coming: []apiComing{}, Warnings: problemsOf(c, a.Warnings)}
	if dry && a.Change == job.Created {
		out.ID = 0
	}
	if !a.NextWas.IsZero() {
		out.NextWas = &a.NextWas
	}
	if a.Job.Enabled {
		out.Next, out.Coming = momentsOf(a.Coming), comingOf(a.Coming)
	}
	return out
}

// apiChecked is what a text would mean; nothing is written.
type apiChecked struct {
	OK       bool         `json:"ok"`
	Problems []apiProblem `json:"problems"` // warnings too
	Jobs     []apiRead    `json:"jobs"`     // those that are sound by themselves
}

// apiRead is one job of a checked text.
type apiRead struct {
	Job          string      `json:"job"`
	Next         []time.Time `json:"next"`
	Coming       []apiComing `json:"coming"` // the same, with what the job's calendar makes of them
	Words        string      `json:"words"`  // the schedule as a sentence; what people may not expect of it are warnings
	Timezone     string      `json:"timezone"`
	Timeout      int         `json:"timeout"` // seconds
	TimeoutGiven bool        `json:"timeoutGiven"`
}

// validateCall is the body of a validation.
type validateCall struct {
	Files []apiFile `json:"files"`
}

func (h *Handlers) apiValidate(c echo.Context) error {
	var in validateCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	fs, err := files(in.Files)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	parsed, problems, err := h.Jobs.Check(ctx, fs, httpx.Visible(ctx, domain.ActJobRead))
	if err != nil {
		return err
	}
	out := apiChecked{OK: len(problems.Errors()) == 0, Problems: problemsOf(c, problems), Jobs: make([]apiRead, len(parsed))}
	for i, p := range parsed {
		out.Jobs[i] = apiRead{p.Spec.Key().String(), momentsOf(p.Coming), comingOf(p.Coming), h.scheduleWords(ctx, p.Spec), p.Spec.Timezone, p.Spec.TimeoutSec, p.Spec.TimeoutGiven}
	}
	return c.JSON(http.StatusOK, out)
}

// apiFires is when an expression fires.
type apiFires struct {
	Dialect  string      `json:"dialect"`
	Next     []time.Time `json:"next"`
	Words    string      `json:"words"`    // a sentence in the caller's language
	Cautions []string    `json:"cautions"` // what people may not expect of it
}

const maxFires = 100

func (h *Handlers) apiNext(c echo.Context) error {
	n, from := shownFires, h.Jobs.Now()
	if text := c.QueryParam("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxFires {
			return domain.Fail(domain.Invalid, "%q is not a number from 1 to %d", text, maxFires).At("n")
		}
	}
	if text := c.QueryParam("from"); text != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, text); err != nil {
			return domain.Fail(domain.Invalid, "%q is no moment", text).At("from").WithHint("write it like 2026-02-03T04:05:06Z")
		}
	}
	name := c.QueryParam("tz")
	if name == "" {
		name = h.Jobs.DefaultZone
	}
	zone, err := h.Jobs.Schedules.Zone(name)
	if err != nil {
		return domain.Fail(domain.Invalid, "there is no time zone %q", name).At("tz").WithHint("use a name such as Asia/Shanghai")
	}
	s := domain.Schedule{Kind: domain.ScheduleCron, Expr: c.QueryParam("expr"), Dialect: c.QueryParam("dialect")}
	dialect, next, err := h.Jobs.Schedules.Check(s, zone, from, n)
	if err != nil {
		return domain.Fail(domain.Invalid, "%v", err).At("expr")
	}
	if len(next) == 0 {
		return domain.Fail(domain.Invalid, "%q never fires", s.Expr).At("expr").WithHint("look for a day that no month has, or a year that is past")
	}
	ctx := c.Request().Context()
	return c.JSON(http.StatusOK, apiFires{dialect, next, h.Words.Sentence(i18n.Lang(ctx), s, zone, from), sayCautions(ctx, h.Jobs.Schedules.Cautions(s, zone, from))})
}

// apiPlace is the place in a list of jobs after which it goes on.
type apiPlace struct {
	Name string
	ID   domain.ID
}

// query reads the filter that page and API share, and one row more than asked for,
// by which both know whether there is more.
func query(c echo.Context, limit int) (job.Query, error) {
	q := job.Query{Seen: httpx.Visible(c.Request().Context(), domain.ActJobRead), Project: c.QueryParam("project"), Text: c.QueryParam("q"), Limit: limit + 1}
	if text := c.QueryParam("enabled"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return q, domain.Fail(domain.Invalid, "%q is neither true nor false", text).At("enabled")
		}
		q.Enabled = &on
	}
	var after apiPlace
	_, err := httpx.ReadCursor(c.QueryParam("cursor"), &after)
	q.AfterName, q.AfterID = after.Name, after.ID
	return q, err
}

// page cuts the extra row off and makes the cursor of what comes after.
func page(rows []domain.Job, limit int) ([]domain.Job, string, error) {
	if len(rows) <= limit {
		return rows, "", nil
	}
	rows = rows[:limit]
	last := rows[limit-1]
	cursor, err := httpx.Cursor(apiPlace{last.Name, last.ID})
	return rows, cursor, err
}

// apiJobs is one page of jobs.
type apiJobs struct {
	Jobs   []apiJob `json:"jobs"`
	Cursor string   `json:"cursor"`
}

func (h *Handlers) apiList(c echo.Context) error {
	limit, err := httpx.Limit(c, 100, 1000)
	if err != nil {
		return err
	}
	q, err := query(c, limit)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	rows, err := h.Jobs.List(ctx, q)
	if err != nil {
		return err
	}
	rows, cursor, err := page(rows, limit)
	if err != nil {
		return err
	}
	out, err := h.shapes(ctx, rows)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, apiJobs{out, cursor})
}

func (h *Handlers) apiShow(c echo.Context) error {
	j, err := h.named(c, "job", domain.ActJobRead)
	if err != nil {
		return err
	}
	out, err := h.whole(c.Request().Context(), j)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

func (h *Handlers) apiVersion(c echo.Context) error {
	j, err := h.named(c, "job", domain.ActJobRead)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.Param("n"))
	if err != nil || n < 1 {
		return domain.Fail(domain.NotFound, "job %s has no version %q", j.Name, c.Param("n"))
	}
	v, err := h.Jobs.Store.Version(c.Request().Context(), j.ID, n)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, apiVersionText{j.Spec.Key().String(), apiVersion{v.Version, v.CreatedBy, v.CreatedAt}, v.Source})
}

func (h *Handlers) apiPausing(on bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		j, err := h.named(c, "job", domain.ActJobPause)
		if err != nil {
			return err
		}
		ctx := c.Request().Context()
		if j, err = h.Jobs.SetEnabled(ctx, j.ID, on, ""); err != nil {
			return err
		}
		out, err := h.shapes(ctx, []domain.Job{j})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, out[0])
	}
}

func (h *Handlers) apiDelete(c echo.Context) error {
	j, err := h.named(c, "job", domain.ActJobDelete)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := h.Jobs.Delete(ctx, j.ID); err != nil {
		return h.withDependents(ctx, j, err)
	}
	return noContent(c)
}
