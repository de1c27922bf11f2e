// Package web is the pages and the API of backfills: what would run, what runs, how
// far it is, and the fires that were missed. It decides nothing; the list is that of
// package plan.
package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Jobs knows definitions.
type Jobs interface {
	// Find reads a job by [project/]name or by its id.
	Find(ctx context.Context, name string) (domain.Job, error)
	// NamesOf reads the names of jobs, deleted ones too; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
	// FirstNames reads the first jobs of the projects by name, at most limit.
	FirstNames(ctx context.Context, seen domain.ProjectSet, limit int) ([]domain.JobName, error)
}

// Missed asks for planned fires that made no instance, newest first.
type Missed struct {
	Projects []domain.ID // nil: all
	Job      domain.ID
	From, To domain.BizDate
	Skipped  bool
	Before   domain.MissedDay
	Limit    int
}

// Past knows what schedules planned.
type Past interface {
	Missed(ctx context.Context, q Missed) (days []domain.MissedDay, next domain.MissedDay, err error)
	// Asleep tells how long a paused job has been paused, and what it would have planned since.
	Asleep(ctx context.Context, job domain.ID) (domain.Pause, error)
}

// Instances reads instances.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
}

// Handlers answers the routes of backfills. All fields must be set.
type Handlers struct {
	Backfills *backfill.Backfills
	Jobs      Jobs
	Past      Past
	Instances Instances
}

// Routes is the table. A start asks for the right that its own list needs.
func (h *Handlers) Routes() []httpx.Route {
	list := []httpx.Param{{Name: "limit", Kind: "integer"}, {Name: "cursor", Text: "that of the page before; the list ends where it is empty"}}
	return append(h.pages(), []httpx.Route{
		{Method: "POST", Path: "/api/v1/backfills/preview", Action: domain.ActInstanceRead, MaxBody: maxAsk, Handler: h.apiPreview,
			Doc: httpx.Doc{Summary: "What a backfill or a rerun of a date would do: the exact list, and the hash that a start gives", Body: asked{}, Answer: planDoc{}}},
		{Method: "POST", Path: "/api/v1/backfills", Action: domain.ActInstanceRerun, Creating: true, MaxBody: maxAsk, Handler: h.apiStart,
			Doc: httpx.Doc{Summary: "Start what a preview showed; 409 with the new preview when that has changed", Body: started{}, Answer: backfillDoc{}, Status: 201}},
		{Method: "GET", Path: "/api/v1/backfills", Action: domain.ActInstanceRead, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Backfills, newest first", Answer: backfillsDoc{}, Query: append([]httpx.Param{{Name: "job", Text: "[project/]name or id"}, {Name: "state", Text: "running, paused, stopping, stopped or done"}}, list...)}},
		{Method: "GET", Path: "/api/v1/backfills/:id", Action: domain.ActInstanceRead, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One backfill and how far it is", Answer: backfillDoc{}}},
		{Method: "GET", Path: "/api/v1/backfills/:id/items", Action: domain.ActInstanceRead, Handler: h.apiItems,
			Doc: httpx.Doc{Summary: "The items of a backfill, in order", Answer: itemsDoc{}, Query: append([]httpx.Param{{Name: "state", Text: "waiting, running, success, failed, killed, left or dropped"}}, list...)}},
		{Method: "POST", Path: "/api/v1/backfills/:id/pause", Action: domain.ActBackfillControl, Handler: h.apiPause,
			Doc: httpx.Doc{Summary: "Let nothing more begin; what runs goes on", Body: reasoned{}, Answer: backfillDoc{}}},
		{Method: "POST", Path: "/api/v1/backfills/:id/resume", Action: domain.ActBackfillControl, Handler: h.apiResume,
			Doc: httpx.Doc{Summary: "Let a paused backfill go on", Body: reasoned{}, Answer: backfillDoc{}}},
		{Method: "POST", Path: "/api/v1/backfills/:id/stop", Action: domain.ActBackfillControl, Handler: h.apiStop,
			Doc: httpx.Doc{Summary: "End a backfill; with kill what runs is ended too", Body: stopped{}, Answer: backfillDoc{}}},
		{Method: "GET", Path: "/api/v1/missed", Action: domain.ActJobRead, Handler: h.apiMissed,
			Doc: httpx.Doc{Summary: "Planned fires that made no instance and were not made up, by job and business date, newest first", Answer: missedDoc{},
				Query: append([]httpx.Param{{Name: "job", Text: "[project/]name or id; empty: all"}, {Name: "from", Text: "business date"}, {Name: "to", Text: "business date, counted"},
					{Name: "kind", Text: "missed, or skipped: those that policy passed over"}}, list...)}},
		{Method: "GET", Path: "/api/v1/jobs/:job/pause", Action: domain.ActJobRead, Handler: h.apiPaused,
			Doc: httpx.Doc{Summary: "Since when a job is paused, and how many fires lie in that time", Answer: pauseDoc{}}},
	}...)
}

// maxAsk is for a list of MaxItems dates.
const maxAsk = 1 << 20

// allowed asks whether the caller may do what a plan does, in every project that it touches.
func allowed(ctx context.Context) func(plan.Plan) error {
	return func(p plan.Plan) error {
		for _, project := range p.Projects() {
			if err := httpx.Allow(ctx, project, p.Request.Action()); err != nil {
				return err
			}
		}
		return nil
	}
}

// controls asks whether the caller may pause, resume and stop a backfill.
func controls(ctx context.Context) func(plan.Backfill) error {
	return func(b plan.Backfill) error { return httpx.Allow(ctx, b.ProjectID, domain.ActBackfillControl) }
}

// job reads a job that the caller may see.
func (h *Handlers) job(ctx context.Context, name string, action domain.Action) (domain.Job, error) {
	j, err := h.Jobs.Find(ctx, name)
	if err != nil {
		return j, err
	}
	if err := httpx.Allow(ctx, j.ProjectID, action); err != nil {
		return domain.Job{}, err
	}
	return j, nil
}

// pathJob is the job that the path names as [project/]name, encoded, or by its id.
func (h *Handlers) pathJob(c echo.Context, action domain.Action) (domain.Job, error) {
	name := c.Param("job")
	if strings.Contains(name, "%") { // echo leaves it as it was sent when it holds an encoded slash
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	return h.job(c.Request().Context(), name, action)
}

// backfill reads the one of the path, if the caller may see it.
func (h *Handlers) backfill(c echo.Context) (plan.Backfill, error) {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return plan.Backfill{}, err
	}
	b, err := h.Backfills.Store.Get(ctx, id)
	if err != nil {
		return b, err
	}
	return b, httpx.Allow(ctx, b.ProjectID, domain.ActInstanceRead)
}
