// Package web is the API and the pages of the scheduler's books: planned fires against
// what became of them. It decides nothing; the balance is that of scheduler.Plans.
package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/scheduler"
)

// Books balances planned fires; *scheduler.Plans does.
type Books interface {
	Ledger(ctx context.Context, q scheduler.LedgerQuery) (scheduler.Ledger, error)
	Fires(ctx context.Context, q scheduler.FiresQuery) (rows []scheduler.FireRow, more bool, err error)
}

// Jobs knows definitions, also of jobs that were deleted.
type Jobs interface {
	// InHistory reads the job that a name means where the past is looked at: [project/]name
	// of the one that is there, else of the one deleted last, or an id; others are those of
	// the same name.
	InHistory(ctx context.Context, name string) (j domain.Job, others []domain.JobName, err error)
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
	span := []httpx.Param{{Name: "from", Text: "RFC 3339; fires at it count"}, {Name: "to", Text: "RFC 3339; fires at it do not count"}}
	return []httpx.Route{
		{Method: "GET", Path: "/ledger", Action: domain.ActJobRead, Handler: h.ledgerPage},
		{Method: "GET", Path: "/api/v1/ledger", Action: domain.ActJobRead, Handler: h.apiLedger,
			Doc: httpx.Doc{Summary: "The books: what was planned = fired + skipped + missed", Answer: apiLedger{},
				Query: slices.Concat([]httpx.Param{{Name: "job", Text: "[project/]name or id; empty: all. A name means the job that is there, else the one deleted last"}}, span, []httpx.Param{
					{Name: "only", Text: "unbalanced: jobs with fires that are not accounted for"}, {Name: "limit", Kind: "integer"},
					{Name: "cursor", Text: "that of the page before; the books end where it is empty, and a page may be short before"}})}},
		{Method: "GET", Path: "/api/v1/ledger/fires", Action: domain.ActJobRead, Handler: h.apiFires,
			Doc: httpx.Doc{Summary: "A job's planned fires one by one", Answer: apiFires{},
				Query: slices.Concat([]httpx.Param{{Name: "job", Text: "[project/]name or id"}}, span, []httpx.Param{
					{Name: "state", Text: "fired, skipped, missed, pending, absent, or several with commas; empty: all"}, {Name: "limit", Kind: "integer"}, {Name: "cursor"}})}},
	}
}

// subject is what the books are asked about: a job with the others of its name, or
// without a job every project of the caller, of which nil are all.
type subject struct {
	job      domain.Job
	others   []domain.JobName
	projects []domain.ID
}

// about is the subject that a name means, if the caller may see it.
func (h *Handlers) about(ctx context.Context, name string) (s subject, err error) {
	if name == "" {
		if seen := httpx.Visible(ctx, domain.ActJobRead); !seen.All {
			s.projects = append([]domain.ID{}, seen.IDs...)
		}
		return s, nil
	}
	if s.job, s.others, err = h.Jobs.InHistory(ctx, name); err != nil {
		return subject{}, err
	}
	return s, httpx.Allow(ctx, s.job.ProjectID, domain.ActJobRead)
}

// namesOf are the names of the jobs of accounts.
func (h *Handlers) namesOf(ctx context.Context, accounts []scheduler.Account) (map[domain.ID]domain.JobName, error) {
	ids := make([]domain.ID, len(accounts))
	for i, a := range accounts {
		ids[i] = a.Job
	}
	return h.Jobs.NamesOf(ctx, ids)
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

// states reads fire states, separated by commas; none are all.
func states(text string) ([]scheduler.FireState, error) {
	if text == "" {
		return nil, nil
	}
	var out []scheduler.FireState
	for word := range strings.SplitSeq(text, ",") {
		s := scheduler.FireState(strings.TrimSpace(word))
		if !slices.Contains(scheduler.FireStates, s) {
			return nil, domain.Fail(domain.Invalid, "a planned fire is never %q", word).At("state").WithHint("write fired, skipped, missed, pending or absent").
				Coded("ledger.no_state", "state", word)
		}
		out = append(out, s)
	}
	return out, nil
}
