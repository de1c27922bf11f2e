// Package web is the pages and the API of instances: the list, one instance with
// its runs, attempts and output, and what people ask for: start, kill, rerun. It
// owns how instances look outside AX; it decides nothing about them.
package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Jobs knows definitions.
type Jobs interface {
	// Find reads a job by [project/]name or by its id.
	Find(ctx context.Context, name string) (domain.Job, error)
	// InHistory reads the job that a name means where the past is looked at: the one that
	// is there, else the one deleted last; others are those of the same name.
	InHistory(ctx context.Context, name string) (j domain.Job, others []domain.JobName, err error)
	// BizDateNow is the business date that a fire of a definition now would have.
	BizDateNow(ctx context.Context, spec domain.JobSpec) (domain.BizDate, error)
	// NamesOf reads the names of jobs, deleted ones too; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
}

// Projects finds projects by name.
type Projects interface {
	ByName(ctx context.Context, name string) (domain.ID, error)
}

// Handlers answers the routes of instances. All fields but Secrets must be set.
type Handlers struct {
	Records  *instance.Records
	Requests *instance.Requests
	Jobs     Jobs
	Projects Projects
	Secrets  Secrets // nil: there are none
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/instances", Action: domain.ActInstanceRead, Handler: h.listPage},
		{Method: "GET", Path: "/instances/:id", Action: domain.ActInstanceRead, Handler: h.showPage},
		{Method: "GET", Path: "/instances/:id/log", Action: domain.ActLogRead, Handler: h.olderLines},
		{Method: "POST", Path: "/instances/:id/kill", Action: domain.ActInstanceKill, Handler: h.killForm},
		{Method: "POST", Path: "/instances/:id/rerun", Action: domain.ActInstanceRerun, Creating: true, Handler: h.rerunForm},
		{Method: "POST", Path: "/instances/:id/settle", Action: domain.ActOrphanSettle, Creating: true, Handler: h.settleOneForm},
		{Method: "POST", Path: "/instances/:id/release", Action: domain.ActInstanceRelease, Handler: h.releaseForm},
		{Method: "GET", Path: "/orphans", Action: domain.ActInstanceRead, Handler: h.orphansPage},
		{Method: "POST", Path: "/orphans/settle", Action: domain.ActOrphanSettle, Creating: true, Handler: h.settleForm},
		{Method: "POST", Path: "/jobs/:job/trigger", Action: domain.ActInstanceTrigger, Creating: true, Handler: h.triggerForm},
		{Method: "GET", Path: "/jobs/:job/run", Action: domain.ActInstanceTrigger, Handler: h.runPage},
		{Method: "POST", Path: "/jobs/:job/run", Action: domain.ActInstanceTrigger, Creating: true, Handler: h.runForm},

		{Method: "GET", Path: "/api/v1/instances", Action: domain.ActInstanceRead, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Instances, newest first", Answer: briefs{}, Query: []httpx.Param{{Name: "job", Text: "[project/]name or id"}, {Name: "biz_date"}, {Name: "state", Text: "a state, or waiting, queued, executing"}, {Name: "label"}, {Name: "trace"}, {Name: "pool", Text: "[project/]name of a pool"}, {Name: "place", Text: "with pool: holds, those that have a place; waits, those that wait for one"}, {Name: "made_from"}, {Name: "made_to"}, {Name: "limit", Kind: "integer"}, {Name: "cursor", Text: "that of the page before; the list ends where it is empty, and a page may be short before"}}}},
		{Method: "GET", Path: "/api/v1/instances/:id", Action: domain.ActInstanceRead, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One instance with its runs and attempts", Answer: full{}}},
		{Method: "GET", Path: "/api/v1/instances/:id/why", Action: domain.ActInstanceRead, Handler: h.apiWhy,
			Doc: httpx.Doc{Summary: "Why it is not running, in one sentence", Answer: why{}}},
		{Method: "GET", Path: "/api/v1/instances/:id/logs", Action: domain.ActLogRead, Handler: h.apiLogs,
			Doc: httpx.Doc{Summary: "Lines of output after a number", Answer: logLines{}, Query: []httpx.Param{{Name: "attempt", Text: "empty: the one in force"}, {Name: "after", Kind: "integer"}, {Name: "limit", Kind: "integer"}}}},
		{Method: "GET", Path: "/api/v1/instances/:id/logs/stream", Action: domain.ActLogRead, Stream: true, Handler: h.apiStream,
			Doc: httpx.Doc{Summary: "Output as it comes, as server-sent events", Query: []httpx.Param{{Name: "attempt", Text: "empty: the one in force"}, {Name: "after", Kind: "integer"}}, Status: 200}},
		{Method: "GET", Path: "/api/v1/instances/:id/logs/raw", Action: domain.ActLogRead, Handler: h.apiRaw,
			Doc: httpx.Doc{Summary: "All output as text", Query: []httpx.Param{{Name: "attempt", Text: "empty: the one in force"}}, Status: 200}},
		{Method: "POST", Path: "/api/v1/instances/:id/kill", Action: domain.ActInstanceKill, Handler: h.apiKill,
			Doc: httpx.Doc{Summary: "Stop it, wherever it is", Body: asked{}, Answer: brief{}}},
		{Method: "POST", Path: "/api/v1/instances/:id/release", Action: domain.ActInstanceRelease, Handler: h.apiRelease,
			Doc: httpx.Doc{Summary: "Let an instance go on without what it still waits for; a reason is needed", Body: asked{}, Answer: brief{}}},
		{Method: "POST", Path: "/api/v1/instances/:id/rerun", Action: domain.ActInstanceRerun, Creating: true, Handler: h.apiRerun,
			Doc: httpx.Doc{Summary: "Open a new run on an instance that ended", Body: asked{}, Answer: brief{}, Status: 201}},
		{Method: "GET", Path: "/api/v1/orphans", Action: domain.ActInstanceRead, Handler: h.apiOrphans,
			Doc: httpx.Doc{Summary: "Instances whose worker was lost and whose job says on_worker_lost: hold", Answer: orphans{}, Query: []httpx.Param{{Name: "job", Text: "[project/]name or id"}, {Name: "limit", Kind: "integer"}, {Name: "cursor", Text: "that of the page before; the list ends where it is empty"}}}},
		{Method: "POST", Path: "/api/v1/orphans/settle", Action: domain.ActOrphanSettle, Creating: true, Handler: h.apiSettle,
			Doc: httpx.Doc{Summary: "Say what became of orphans; those that changed meanwhile are told and left alone", Body: verdictMany{}, Answer: settledMany{}}},
		{Method: "POST", Path: "/api/v1/instances/:id/settle", Action: domain.ActOrphanSettle, Creating: true, Handler: h.apiSettleOne,
			Doc: httpx.Doc{Summary: "Say what became of an orphan: success, failed, or rerun when it did not run", Body: verdictOne{}, Answer: brief{}}},
		{Method: "POST", Path: "/api/v1/jobs/:job/trigger", Action: domain.ActInstanceTrigger, Creating: true, Handler: h.apiTrigger,
			Doc: httpx.Doc{Summary: "Start a job by hand; it respects its dependencies", Body: start{}, Answer: started{}, Status: 201}},
	}
}

// instance reads the instance of the path, if the caller may do the action there.
func (h *Handlers) instance(c echo.Context, action domain.Action) (domain.Instance, error) {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return domain.Instance{}, err
	}
	in, err := h.Records.Store.Get(ctx, id)
	if err != nil {
		return in, err
	}
	return in, httpx.Allow(ctx, in.ProjectID, action)
}

// job reads the job of the path, which names it as [project/]name, encoded, or by
// its id, if the caller may do the action there.
func (h *Handlers) job(ctx context.Context, c echo.Context, action domain.Action) (domain.Job, error) {
	name := c.Param("job")
	if strings.Contains(name, "%") { // echo leaves it as it was sent when it holds an encoded slash
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	j, err := h.Jobs.Find(ctx, name)
	if err != nil {
		return j, err
	}
	return j, httpx.Allow(ctx, j.ProjectID, action)
}

// key is how a job is named outside: [project/]name.
func key(names map[domain.ID]domain.JobName, in domain.Instance) string {
	if n, ok := names[in.JobID]; ok {
		return n.Key.String()
	}
	return in.JobName
}

func (h *Handlers) namesOf(ctx context.Context, ins ...domain.Instance) (map[domain.ID]domain.JobName, error) {
	ids := make([]domain.ID, len(ins))
	for i, in := range ins {
		ids[i] = in.JobID
	}
	return h.Jobs.NamesOf(ctx, ids)
}
