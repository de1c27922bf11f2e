// Package web is the page of workers and its API.
package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/fleet"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
	"github.com/axsched/ax/views/workers"
)

// Handlers answers the routes of workers. All fields must be set.
type Handlers struct {
	Drains fleet.Drains
	// Start is the command that starts a worker for this center, without any secret.
	Start string
	// Deaf is since when no worker can be heard, and why: the Redis through which they are heard is away or takes no
	// writes. Zero: nothing of the kind is known.
	Deaf func(ctx context.Context) (since time.Time, said string, err error)
	Now  func() time.Time
	// Offers are the types that targets which are up announce, by their word.
	Offers func(ctx context.Context) (map[string]domain.TypeOffer, error)
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/workers", Action: domain.ActWorkerRead, Handler: h.list},
		{Method: "POST", Path: "/workers/:name/drain", Action: domain.ActWorkerDrain, Handler: h.draining(true)},
		{Method: "POST", Path: "/workers/:name/resume", Action: domain.ActWorkerDrain, Handler: h.draining(false)},
		{Method: "GET", Path: "/api/v1/workers", Action: domain.ActWorkerRead, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Workers, the lost ones last", Answer: apiWorkers{}}},
		{Method: "GET", Path: "/api/v1/types", Action: domain.ActWorkerRead, Handler: h.apiTypes,
			Doc: httpx.Doc{Summary: "Executor types that are announced, and what they take", Answer: apiTypes{}}},
		{Method: "POST", Path: "/api/v1/workers/:name/drain", Action: domain.ActWorkerDrain, Handler: h.apiDrain,
			Doc: httpx.Doc{Summary: "Ask a worker to take no more, or to go on", Body: drainCall{}, Answer: apiWorker{}}},
	}
}

// apiWorkers is all workers, the lost ones last.
type apiWorkers struct {
	Workers []apiWorker `json:"workers"`
	Cursor  string      `json:"cursor"` // always "": workers are few
	Deaf    *apiDeaf    `json:"deaf"`   // null: nothing is known that keeps workers from being heard
}

// apiDeaf is why no worker is heard: all that is told of them is as they were last heard.
type apiDeaf struct {
	Since time.Time `json:"since"`
	Said  string    `json:"said"`
}

// apiWorker is one worker as it was last seen.
type apiWorker struct {
	Name      string              `json:"name"`
	Boot      int64               `json:"boot"`
	State     domain.WorkerState  `json:"state"` // available, refusing (its clock is too far off or its disk takes no writes), draining, silent (not heard for 6 s, or none can be heard) or lost
	Host      string              `json:"host"`
	IP        string              `json:"ip"`
	Version   string              `json:"version"`
	Types     []string            `json:"types"`
	Tags      []string            `json:"tags"`
	Lanes     map[domain.Lane]int `json:"lanes"` // threads
	Cores     int                 `json:"cores"`
	Running   int                 `json:"running"` // by its last heartbeat
	SkewMs    int64               `json:"skewMs"`  // its clock minus Redis'
	MeanMs    int64               `json:"meanMs"`  // five-minute mean duration; 0 = nothing ran
	StartedAt time.Time           `json:"startedAt"`
	SeenAt    time.Time           `json:"seenAt"`
	LostAt    *time.Time          `json:"lostAt"`     // null: not lost
	Refusing  *time.Time          `json:"refusingAt"` // since when it refuses work; null: it does not
	Disk      string              `json:"disk"`       // why its journal cannot be written; "": it can. Of a lost one, what it said last
	Drain     bool                `json:"drain"`      // a person asked it to take no more
	Plugins   []apiPlugin         `json:"plugins"`    // of a worker that is not lost
}

func shape(w domain.Worker, standing domain.WorkerState, told domain.Catalog) apiWorker {
	out := apiWorker{Name: w.Name, Boot: w.Boot, State: standing, Host: w.Host, IP: w.IP, Version: w.Version, Types: append([]string{}, w.Types...),
		Tags: append([]string{}, w.Tags...), Lanes: map[domain.Lane]int{}, Cores: w.Cores, Running: w.Running, SkewMs: w.Skew.Milliseconds(),
		MeanMs: w.Mean.Milliseconds(), StartedAt: w.Started, SeenAt: w.SeenAt, Drain: w.Drain, Disk: w.Disk, Plugins: make([]apiPlugin, len(told.Plugins))}
	for i, p := range told.Plugins {
		out.Plugins[i] = apiPlugin{p.Name, p.Version, append([]string{}, p.Types...), p.State, p.Fault}
	}
	for _, lane := range domain.Lanes {
		out.Lanes[lane] = w.Lanes[lane]
	}
	if !w.LostAt.IsZero() {
		out.LostAt = &w.LostAt
	}
	if !w.RefusingAt.IsZero() {
		out.Refusing = &w.RefusingAt
	}
	return out
}

// seen is all workers at a moment, and why none is heard.
type seen struct {
	workers []domain.Worker
	now     time.Time
	since   time.Time // none is heard; zero: that is not known
	said    string

	catalogs map[string]domain.Catalog // by worker; of another life of it: none
}

// catalog is what a worker told of its types in its present life.
func (s seen) catalog(w domain.Worker) domain.Catalog {
	if c := s.catalogs[w.Name]; c.Boot == w.Boot && w.State != domain.WorkerGone {
		return c
	}
	return domain.Catalog{}
}

func (s seen) standing(w domain.Worker) domain.WorkerState {
	return w.StandingAt(s.now, !s.since.IsZero())
}

// deaf reads whether any worker can be heard now.
func (h *Handlers) deaf(ctx context.Context) (s seen, err error) {
	s.now = h.Now()
	s.since, s.said, err = h.Deaf(ctx)
	return s, err
}

// read gives all workers, the lost ones last, each half by name.
func (h *Handlers) read(ctx context.Context) (seen, error) {
	s, err := h.deaf(ctx)
	if err != nil {
		return s, err
	}
	if s.workers, err = h.Drains.Store.List(ctx); err != nil {
		return s, err
	}
	s.catalogs, err = h.Drains.Store.Catalogs(ctx)
	lost := func(w domain.Worker) int {
		if w.State == domain.WorkerGone {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.workers, func(a, b domain.Worker) int { return cmp.Compare(lost(a), lost(b)) })
	return s, err
}

func (h *Handlers) apiList(c echo.Context) error {
	all, err := h.read(c.Request().Context())
	if err != nil {
		return err
	}
	out := apiWorkers{Workers: make([]apiWorker, len(all.workers))}
	for i, w := range all.workers {
		out.Workers[i] = shape(w, all.standing(w), all.catalog(w))
	}
	if !all.since.IsZero() {
		out.Deaf = &apiDeaf{all.since.UTC(), all.said}
	}
	return c.JSON(http.StatusOK, out)
}

// set asks the worker that the path names. Workers belong to no project, so this
// needs a role that holds in all of them.
func (h *Handlers) set(c echo.Context, drain bool) (domain.Worker, error) {
	ctx := c.Request().Context()
	if err := httpx.Allow(ctx, domain.EveryProject, domain.ActWorkerDrain); err != nil {
		return domain.Worker{}, err
	}
	name := c.Param("name")
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	return h.Drains.Set(ctx, name, drain)
}

// drainCall is the body of a drain.
type drainCall struct {
	Drain *bool `json:"drain"`
}

func (h *Handlers) apiDrain(c echo.Context) error {
	var in drainCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if in.Drain == nil {
		return domain.Fail(domain.Invalid, "this says neither true nor false").At("drain").WithHint(`send {"drain": true}, or false to resume`)
	}
	w, err := h.set(c, *in.Drain)
	if err != nil {
		return err
	}
	s, err := h.deaf(c.Request().Context())
	if err != nil {
		return err
	}
	all, err := h.Drains.Store.Catalogs(c.Request().Context())
	if err != nil {
		return err
	}
	s.catalogs = all
	return c.JSON(http.StatusOK, shape(w, s.standing(w), s.catalog(w)))
}

func (h *Handlers) draining(drain bool) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := h.set(c, drain); err != nil {
			return err
		}
		return httpx.Redirect(c, "/workers")
	}
}

func (h *Handlers) list(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := h.read(ctx)
	if err != nil {
		return err
	}
	p := workers.ListPage{Shell: httpx.Shell(c), Start: h.Start}
	if !all.since.IsZero() {
		p.Deaf = i18n.T(ctx, "workers.deaf", "at", i18n.DateTime(ctx, all.since)+" "+i18n.ZoneName(ctx, all.since), "said", i18n.Retell(ctx, all.said))
	}
	may := httpx.Can(ctx, domain.EveryProject, domain.ActWorkerDrain)
	denied := i18n.T(ctx, "http.denied", "action", string(domain.ActWorkerDrain))
	for _, w := range all.workers {
		r := row(w, all.standing(w))
		r.Described, r.Plugins = described(ctx, all.catalog(w))
		path := "/workers/" + url.PathEscape(w.Name)
		switch {
		case w.State == domain.WorkerGone && !w.Drain: // it takes nothing
		case !may:
			r.Drain = ui.Action{Denied: denied}
		case w.Drain:
			r.Resume = ui.Action{URL: path + "/resume"}
		default:
			r.Drain = ui.Action{URL: path + "/drain"}
		}
		p.Rows = append(p.Rows, r)
	}
	return httpx.Render(c, http.StatusOK, workers.List(p))
}

func row(w domain.Worker, standing domain.WorkerState) workers.Row {
	r := workers.Row{Name: w.Name, Availability: string(standing), Host: w.Host, IP: w.IP, Boot: w.Boot, Version: w.Version, Types: w.Types, Tags: w.Tags,
		Running: w.Running, Cores: w.Cores, Mean: w.Mean, Heartbeat: w.SeenAt, Skew: w.Skew, SkewRefused: w.State != domain.WorkerGone && w.Skew.Abs() > domain.MaxSkew, RefusingSince: w.RefusingAt, Disk: w.Disk, LostSince: w.LostAt}
	for _, lane := range domain.Lanes {
		r.Lanes = append(r.Lanes, workers.Lane{Name: string(lane), Busy: -1, Threads: w.Lanes[lane]})
	}
	return r
}
