// Package web is the pages of definitions (list, one job, editor) and their API.
// It parses, asks whether the caller may, calls the use cases of job and shows what
// came of it; it judges no definition itself.
package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Fires tells when jobs are due; jobs that are not, or paused, are absent.
type Fires interface {
	NextFires(ctx context.Context, jobs []domain.ID) (map[domain.ID]time.Time, error)
	// Coming shows the next n of each, as they will be taken.
	Coming(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.Coming, error)
}

// Days reads the latest instances of jobs by business date, newest first, at most n
// of each job.
type Days interface {
	LatestDays(ctx context.Context, jobs []domain.ID, n int) (map[domain.ID][]domain.JobDay, error)
}

// Instances reads instances; unknown ids are absent.
type Instances interface {
	ByIDs(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error)
}

// Pauses tells what lies in the pause of a job.
type Pauses interface {
	Asleep(ctx context.Context, job domain.ID) (domain.Pause, error)
}

// Handlers answers the routes of definitions. All fields must be set.
type Handlers struct {
	Jobs      *job.Definitions
	Fires     Fires
	Days      Days
	Instances Instances
	Pauses    Pauses // nil: pages tell nothing of pauses
	Words     Wording
}

// maxApply bounds the body of an apply, in bytes.
const maxApply = 8 << 20

// Routes is the table. What starts a job, /jobs/:id/trigger, belongs to instances.
func (h *Handlers) Routes() []httpx.Route {
	read, write := domain.ActJobRead, domain.ActJobWrite
	return []httpx.Route{
		{Method: "GET", Path: "/jobs", Action: read, Handler: h.list},
		{Method: "GET", Path: "/jobs/new", Action: write, Handler: h.newPage},
		{Method: "POST", Path: "/jobs/new", Action: write, MaxBody: maxApply, Handler: h.saveNew},
		{Method: "POST", Path: "/jobs/check", Action: read, MaxBody: maxApply, Handler: h.check},
		{Method: "GET", Path: "/jobs/:id", Action: read, Handler: h.show},
		{Method: "GET", Path: "/jobs/:id/edit", Action: write, Handler: h.editPage},
		{Method: "POST", Path: "/jobs/:id/edit", Action: write, MaxBody: maxApply, Handler: h.saveEdit},
		{Method: "POST", Path: "/jobs/:id/pause", Action: domain.ActJobPause, Handler: h.pausing(false)},
		{Method: "POST", Path: "/jobs/:id/resume", Action: domain.ActJobPause, Handler: h.pausing(true)},
		{Method: "POST", Path: "/jobs/:id/delete", Action: domain.ActJobDelete, Handler: h.remove},

		{Method: "POST", Path: "/api/v1/apply", Action: write, MaxBody: maxApply, Handler: h.apiApply,
			Doc: httpx.Doc{Summary: "Take job files, all or nothing and in any order; with problems 422 and nothing changed", Body: applyCall{}, Answer: apiApplied{}}},
		{Method: "POST", Path: "/api/v1/validate", Action: read, MaxBody: maxApply, Handler: h.apiValidate,
			Doc: httpx.Doc{Summary: "Judge job files against what is there, and write nothing", Body: validateCall{}, Answer: apiChecked{}}},
		{Method: "GET", Path: "/api/v1/next", Action: read, Handler: h.apiNext,
			Doc: httpx.Doc{Summary: "When a cron expression fires", Answer: apiFires{}, Query: []httpx.Param{{Name: "expr"}, {Name: "dialect", Text: "unix, seconds or quartz; empty: as the expression looks"}, {Name: "tz", Text: "IANA name; empty: the configured zone"}, {Name: "n", Kind: "integer", Text: "how many, 1 to 100; 5"}, {Name: "from", Text: "strictly after this instant; empty: now"}}}},
		{Method: "GET", Path: "/api/v1/jobs", Action: read, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Jobs, by name", Answer: apiJobs{}, Query: []httpx.Param{{Name: "project"}, {Name: "q", Text: "part of name, title or owner"}, {Name: "enabled", Kind: "boolean"}, {Name: "limit", Kind: "integer", Text: "1 to 1000; 100"}, {Name: "cursor"}}}},
		{Method: "GET", Path: "/api/v1/jobs/:job", Action: read, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One job, by [project/]name (encoded) or id, with its text and versions", Answer: apiWhole{}}},
		{Method: "GET", Path: "/api/v1/jobs/:job/versions/:n", Action: read, Handler: h.apiVersion,
			Doc: httpx.Doc{Summary: "The text of one version", Answer: apiVersionText{}}},
		{Method: "POST", Path: "/api/v1/jobs/:job/pause", Action: domain.ActJobPause, Handler: h.apiPausing(false),
			Doc: httpx.Doc{Summary: "Stop firing; what runs goes on", Answer: apiJob{}}},
		{Method: "POST", Path: "/api/v1/jobs/:job/resume", Action: domain.ActJobPause, Handler: h.apiPausing(true),
			Doc: httpx.Doc{Summary: "Fire again, from the next planned time on", Answer: apiJob{}}},
		{Method: "DELETE", Path: "/api/v1/jobs/:job", Action: domain.ActJobDelete, Handler: h.apiDelete,
			Doc: httpx.Doc{Summary: "Delete a job; 409 with the names of those that depend on it"}},
	}
}

// named reads the job that the path names, [project/]name or id, for an action. A job
// in a project that the caller has no role in answers like one that is not there.
func (h *Handlers) named(c echo.Context, param string, action domain.Action) (domain.Job, error) {
	ctx := c.Request().Context()
	name := c.Param(param)
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	j, err := h.Jobs.Get(ctx, name)
	if err != nil {
		return j, err
	}
	err = httpx.Allow(ctx, j.ProjectID, action)
	if domain.Is(err, domain.NotFound) {
		err = domain.Fail(domain.NotFound, "there is no job %q", name).Coded("error.no_job", "job", name)
	}
	return j, err
}

// allow asks whether the caller may save jobs in a project.
func allow(ctx context.Context, project domain.ID) error {
	return httpx.Allow(ctx, project, domain.ActJobWrite)
}

// maySecrets asks whether the caller may save jobs that use secrets of a project.
func maySecrets(ctx context.Context, project domain.ID) error {
	return httpx.Allow(ctx, project, domain.ActSecretUse)
}

const (
	shownFires    = 5
	shownVersions = 100
	stripLength   = 14
)

func queryText(s string) string { return url.QueryEscape(s) }

func noContent(c echo.Context) error { return c.NoContent(http.StatusNoContent) }
