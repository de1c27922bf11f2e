// Package web is the API of the scheduler's books: planned fires against what became
// of them. It decides nothing; the balance is that of scheduler.Plans.
package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/scheduler"
)

// Books balances planned fires; *scheduler.Plans does.
type Books interface {
	Ledger(ctx context.Context, projects []domain.ID, job domain.ID, from, to time.Time) (scheduler.Ledger, error)
}

// Jobs knows definitions, also of jobs that were deleted.
type Jobs interface {
	// Find reads a job by [project/]name, or by its id, then also a deleted one.
	Find(ctx context.Context, name string) (domain.Job, error)
	// NamesOf reads the names of jobs; unknown ids are absent.
	NamesOf(ctx context.Context, jobs []domain.ID) (map[domain.ID]domain.JobName, error)
}

// Handlers answers the routes of the books. Both fields must be set.
type Handlers struct {
	Books Books
	Jobs  Jobs
}

// Routes is the table.
func (h *Handlers) Routes() []httpx.Route {
	return []httpx.Route{{Method: "GET", Path: "/api/v1/ledger", Action: domain.ActJobRead, Handler: h.apiLedger,
		Doc: httpx.Doc{Summary: "The books: what was planned = fired + skipped + missed", Answer: apiLedger{},
			Query: []httpx.Param{{Name: "job", Text: "[project/]name or id; empty: all"}, {Name: "from", Text: "RFC 3339"}, {Name: "to", Text: "RFC 3339"}}}}}
}

// apiLedger is the answer: the accounts of the fires in [from, to).
type apiLedger struct {
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Now      time.Time    `json:"now"` // as of which pending was judged
	Balanced bool         `json:"balanced"`
	Jobs     []apiAccount `json:"jobs"`
}

// apiAccount is one job's: planned = fired + skipped + missed + pending, and absent
// when it does not balance.
type apiAccount struct {
	ID          domain.ID      `json:"id"`
	Job         string         `json:"job"`
	Planned     int            `json:"planned"`
	Fired       int            `json:"fired"`
	Skipped     int            `json:"skipped"`
	Missed      int            `json:"missed"`
	Pending     int            `json:"pending"`
	Unplanned   int            `json:"unplanned"` // instances of schedules that were not in force
	Balanced    bool           `json:"balanced"`
	Reasons     map[string]int `json:"reasons"` // fires skipped or missed, by the reason
	AbsentCount int            `json:"absentCount"`
	Absent      []time.Time    `json:"absent"` // the first of them
}

func (h *Handlers) apiLedger(c echo.Context) error {
	ctx := c.Request().Context()
	from, err := moment(c, "from")
	if err != nil {
		return err
	}
	to, err := moment(c, "to")
	if err != nil {
		return err
	}
	job, projects, err := h.about(ctx, c.QueryParam("job"))
	if err != nil {
		return err
	}
	ledger, err := h.Books.Ledger(ctx, projects, job, from, to)
	if err != nil {
		return err
	}
	out, err := h.answer(ctx, ledger)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

// moment reads an RFC 3339 instant from the query. "+" means a blank there, so one
// that was not encoded is read as it was meant.
func moment(c echo.Context, name string) (time.Time, error) {
	text := strings.Replace(c.QueryParam(name), " ", "+", 1)
	t, err := time.Parse(time.RFC3339, text)
	if err == nil {
		return t, nil
	}
	return t, domain.Fail(domain.Invalid, "%q is no moment", text).At(name).WithHint("write it like 2026-02-03T04:05:06Z")
}

// about is the job of that name, if the caller may see it, or without a name every
// project of the caller; nil projects are all.
func (h *Handlers) about(ctx context.Context, name string) (job domain.ID, projects []domain.ID, err error) {
	if name == "" {
		if seen := httpx.Visible(ctx, domain.ActJobRead); !seen.All {
			projects = append([]domain.ID{}, seen.IDs...)
		}
		return 0, projects, nil
	}
	j, err := h.Jobs.Find(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	return j.ID, nil, httpx.Allow(ctx, j.ProjectID, domain.ActJobRead)
}

func (h *Handlers) answer(ctx context.Context, l scheduler.Ledger) (apiLedger, error) {
	ids := make([]domain.ID, len(l.Jobs))
	for i, a := range l.Jobs {
		ids[i] = a.Job
	}
	names, err := h.Jobs.NamesOf(ctx, ids)
	if err != nil {
		return apiLedger{}, err
	}
	out := apiLedger{From: l.From.UTC(), To: l.To.UTC(), Now: l.Now.UTC(), Balanced: l.Balanced, Jobs: make([]apiAccount, len(l.Jobs))}
	for i, a := range l.Jobs {
		out.Jobs[i] = accountOf(a, names)
	}
	return out, nil
}

func accountOf(a scheduler.Account, names map[domain.ID]domain.JobName) apiAccount {
	out := apiAccount{ID: a.Job, Job: a.Job.String(), Planned: a.Planned, Fired: a.Fired, Skipped: a.Skipped, Missed: a.Missed, Pending: a.Pending,
		Unplanned: a.Unplanned, Balanced: a.Balanced(), Reasons: map[string]int{}, AbsentCount: a.Absent, Absent: []time.Time{}}
	if n, ok := names[a.Job]; ok {
		out.Job = n.Key.String()
	}
	for _, r := range a.Reasons {
		out.Reasons[string(r.Kind)+": "+r.Reason] += r.Fires
	}
	for _, at := range a.AbsentFires {
		out.Absent = append(out.Absent, at.UTC())
	}
	return out
}
