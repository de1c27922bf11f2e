// Package web is the dashboard with its five figures, the picture of dependencies,
// the search of the top bar, and the same figures for programs.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Handlers answers the routes of figures and of the search. All fields must be set.
type Handlers struct {
	Reader *board.Reader
	Search *board.Search
	Stale  Stale // nil: nothing is known of it
	Now    func() time.Time
	// NoWrites is why the database takes no writes, in its words; "" = it takes them. nil: nothing is known of it.
	NoWrites func() string
	// Unreached is since when the broker reaches no worker, and why: a Redis is away or takes no writes. Zero: nothing of
	// the kind is known. nil: nothing is ever known of it.
	Unreached func(ctx context.Context) (since time.Time, said string, err error)
	Workers   Workers  // nil: nothing is known of them
	Broker    Presence // nil: nothing is known of it
	// Untaken is since when a fire is due that nobody takes, for longer than it takes to take one; zero: there is none. nil:
	// nothing is ever known of it.
	Untaken func(ctx context.Context) (since time.Time, err error)
}

// Presence tells whether a broker is active anywhere.
type Presence interface {
	Present(ctx context.Context) (bool, error)
}

// Workers are the processes that run tasks.
type Workers interface {
	// List reads all workers, lost ones too.
	List(ctx context.Context) ([]domain.Worker, error)
}

// Stale tells which instances began on what an upstream has made anew since.
type Stale interface {
	Stale(ctx context.Context, instances []domain.ID) (map[domain.ID]domain.StaleMark, error)
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{
		{Method: "GET", Path: "/", Action: domain.ActInstanceRead, Handler: h.dashboard},
		{Method: "GET", Path: "/dag", Action: domain.ActJobRead, Handler: h.graph},
		{Method: "GET", Path: "/search", Action: domain.ActProjectRead, Handler: h.search},
		{Method: "GET", Path: "/api/v1/dashboard", Action: domain.ActInstanceRead, Handler: h.apiDashboard,
			Doc: httpx.Doc{Summary: "The five figures of today; one that can't be read is null", Answer: apiDay{}}},
		{Method: "GET", Path: "/api/v1/dag", Action: domain.ActJobRead, Handler: h.apiGraph,
			Doc: httpx.Doc{Summary: "The dependencies as they were on a business date, how each job stood on it, and what is otherwise today", Answer: apiGraph{},
				Query: []httpx.Param{{Name: "biz_date", Text: "today, or the last date on which anything ran, without it"}, {Name: "job", Text: "the neighbourhood of this job"}, {Name: "failing", Kind: "boolean", Text: "what failed and what waits for it"}}}},
	}
}

// read gives today's figures. What could not be read is missing in them and logged:
// the page shows the rest.
func (h *Handlers) read(c echo.Context) board.Day {
	ctx := c.Request().Context()
	d, err := h.Reader.Read(ctx, h.Now(), httpx.Visible(ctx, domain.ActInstanceRead))
	if err != nil && ctx.Err() == nil {
		slog.Warn("a figure of the dashboard could not be read; the next refresh tries again", "error", err)
	}
	return d
}

// madeToday is the list of the instances that the figures of a day count.
func madeToday(d board.Day, pairs ...string) string {
	q := url.Values{"made_from": {d.From.Format(time.RFC3339)}, "made_to": {d.To.Format(time.RFC3339)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "/instances?" + q.Encode()
}

func jobURL(id domain.ID) string { return "/jobs/" + id.String() }

func instanceURL(id domain.ID) string { return "/instances/" + id.String() }

// apiDay is the figures of one day. A figure that could not be read is null.
type apiDay struct {
	Day        string       `json:"day"`
	Zone       string       `json:"zone"`
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Instances  *apiMade     `json:"instances"`
	Failures   *apiFailures `json:"failures"`
	Delay      *apiDelay    `json:"delay"`
	Longest    []apiLong    `json:"longest"` // longest first
	TopFailing []apiFailing `json:"topFailing"`
}

// apiMade counts the instances made on the day; those that have not ended stand apart.
type apiMade struct {
	Total     int64     `json:"total"`
	Waiting   int64     `json:"waiting"`
	Queued    int64     `json:"queued"`
	Executing int64     `json:"executing"`
	Retrying  int64     `json:"retrying"`
	Hours     []apiHour `json:"hours"`
}

// apiHour is one hour of the day.
type apiHour struct {
	At     time.Time `json:"at"`
	Made   int64     `json:"made"`
	Failed int64     `json:"failed"`
}

// apiFailures counts those that stand as failed.
type apiFailures struct {
	Total int64   `json:"total"`
	Rate  float64 `json:"rate"` // of those that ended
}

// apiDelay is the mean delay of first starts.
type apiDelay struct {
	MeanMs int64 `json:"meanMs"`
	Starts int64 `json:"starts"`
}

// apiLong is one of the longest runs.
type apiLong struct {
	Instance   domain.ID `json:"instance"`
	Job        string    `json:"job"`
	DurationMs int64     `json:"durationMs"`
}

// apiFailing is one of the jobs that failed most.
type apiFailing struct {
	ID     domain.ID `json:"id"`
	Job    string    `json:"job"`
	Failed int64     `json:"failed"`
	Blocks int       `json:"blocks"` // jobs that depend on it
}

func (h *Handlers) apiDashboard(c echo.Context) error {
	d := h.read(c)
	out := apiDay{Day: d.Date.String(), Zone: d.Zone.String(), From: d.From, To: d.To}
	if m := d.Instances; m != nil {
		out.Instances = &apiMade{m.Total, m.Waiting, m.Queued, m.Executing, m.Retrying, make([]apiHour, len(m.Hours))}
		for i, hour := range m.Hours {
			out.Instances.Hours[i] = apiHour(hour)
		}
	}
	if d.Failures != nil {
		out.Failures = &apiFailures{d.Failures.Total, d.Failures.Rate}
	}
	if d.Delay != nil {
		out.Delay = &apiDelay{d.Delay.Mean.Milliseconds(), d.Delay.Starts}
	}
	if d.Longest != nil {
		out.Longest = make([]apiLong, len(d.Longest))
	}
	for i, l := range d.Longest {
		out.Longest[i] = apiLong{l.Instance.ID, l.Job.Key.String(), l.Took.Milliseconds()}
	}
	if d.Top != nil {
		out.TopFailing = make([]apiFailing, len(d.Top))
	}
	for i, f := range d.Top {
		out.TopFailing[i] = apiFailing{f.Job.ID, f.Job.Key.String(), f.Failed, f.Blocks}
	}
	return c.JSON(http.StatusOK, out)
}
