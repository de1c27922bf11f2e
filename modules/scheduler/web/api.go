package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/scheduler"
)

// apiLedger is one page of accounts of the fires in [from, to). The books end where the
// cursor is empty.
type apiLedger struct {
	From     time.Time    `json:"from"`
	To       time.Time    `json:"to"`
	Now      time.Time    `json:"now"`      // as of which pending was judged
	Balanced bool         `json:"balanced"` // all on this page
	Jobs     []apiAccount `json:"jobs"`
	Cursor   string       `json:"cursor"`
	// Other jobs of the name asked for, which are not counted here.
	Namesakes []namesake `json:"namesakes"`
}

// namesake is another job of the same name; its id names it.
type namesake struct {
	ID        domain.ID  `json:"id"`
	DeletedAt *time.Time `json:"deletedAt"` // null: it is there
}

func namesakesOf(others []domain.JobName) []namesake {
	out := make([]namesake, len(others))
	for i, n := range others {
		out[i] = namesake{n.ID, gone(n.DeletedAt)}
	}
	return out
}

// gone is when a job was deleted, nil when it is there.
func gone(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// apiAccount is one job's: planned = fired + skipped + missed + pending, and absent
// when it does not balance.
type apiAccount struct {
	ID          domain.ID      `json:"id"`
	Job         string         `json:"job"`
	DeletedAt   *time.Time     `json:"deletedAt"` // null: the job is there
	Planned     int            `json:"planned"`
	Fired       int            `json:"fired"`
	Skipped     int            `json:"skipped"`
	Missed      int            `json:"missed"`
	Pending     int            `json:"pending"`
	Unplanned   int            `json:"unplanned"` // instances of schedules that were not in force
	Balanced    bool           `json:"balanced"`
	Reasons     map[string]int `json:"reasons"` // fires skipped or missed, by the reason
	AbsentCount int            `json:"absentCount"`
	Absent      []time.Time    `json:"absent"`  // the first of them
	Untaken     bool           `json:"untaken"` // no scheduler has come to the absent ones yet
	Refused     string         `json:"refused"` // why it could not be balanced; then no figure counts
}

const accountsPage = 100

func (h *Handlers) apiLedger(c echo.Context) error {
	ctx := c.Request().Context()
	q, others, err := h.readQuery(c)
	if err != nil {
		return err
	}
	ledger, err := h.Books.Ledger(ctx, q)
	if err != nil {
		return err
	}
	out, err := h.answer(ctx, ledger)
	if err != nil {
		return err
	}
	out.Namesakes = namesakesOf(others)
	return c.JSON(http.StatusOK, out)
}

func (h *Handlers) readQuery(c echo.Context) (q scheduler.LedgerQuery, others []domain.JobName, err error) {
	if q.From, err = moment(c, "from"); err != nil {
		return q, nil, err
	}
	if q.To, err = moment(c, "to"); err != nil {
		return q, nil, err
	}
	if q.Limit, err = httpx.Limit(c, accountsPage, scheduler.MaxAccounts); err != nil {
		return q, nil, err
	}
	if q.Unbalanced, err = only(c); err != nil {
		return q, nil, err
	}
	if _, err = httpx.ReadCursor(c.QueryParam("cursor"), &q.After); err != nil {
		return q, nil, err
	}
	s, err := h.about(c.Request().Context(), c.QueryParam("job"))
	q.Job, q.Projects = s.job.ID, s.projects
	return q, s.others, err
}

func only(c echo.Context) (unbalanced bool, err error) {
	switch text := c.QueryParam("only"); text {
	case "":
		return false, nil
	case "unbalanced":
		return true, nil
	default:
		return false, domain.Fail(domain.Invalid, "only %q is not known", text).At("only").WithHint("write only=unbalanced, or leave it away")
	}
}

func (h *Handlers) answer(ctx context.Context, l scheduler.Ledger) (apiLedger, error) {
	names, err := h.namesOf(ctx, l.Jobs)
	if err != nil {
		return apiLedger{}, err
	}
	out := apiLedger{From: l.From.UTC(), To: l.To.UTC(), Now: l.Now.UTC(), Balanced: l.Balanced, Jobs: make([]apiAccount, len(l.Jobs))}
	for i, a := range l.Jobs {
		out.Jobs[i] = accountOf(a, names)
	}
	if l.Next != 0 {
		out.Cursor, err = httpx.Cursor(l.Next)
	}
	return out, err
}

func accountOf(a scheduler.Account, names map[domain.ID]domain.JobName) apiAccount {
	out := apiAccount{ID: a.Job, Job: a.Job.String(), Planned: a.Planned, Fired: a.Fired, Skipped: a.Skipped, Missed: a.Missed, Pending: a.Pending,
		Unplanned: a.Unplanned, Balanced: a.Balanced(), Reasons: map[string]int{}, AbsentCount: a.Absent, Absent: []time.Time{}, Untaken: a.Untaken}
	if n, ok := names[a.Job]; ok {
		out.Job, out.DeletedAt = n.Key.String(), gone(n.DeletedAt)
	}
	for _, r := range a.Reasons {
		out.Reasons[string(r.Kind)+": "+r.Reason] += r.Fires
	}
	for _, at := range a.AbsentFires {
		out.Absent = append(out.Absent, at.UTC())
	}
	if a.Refused != nil {
		out.Refused = a.Refused.Error()
	}
	return out
}

// apiFires is one page of planned fires, in order.
type apiFires struct {
	Fires  []apiFire `json:"fires"`
	Cursor string    `json:"cursor"`
	// Other jobs of the name asked for, whose fires are not here.
	Namesakes []namesake `json:"namesakes"`
}

type apiFire struct {
	Expected time.Time `json:"expected"`
	BizDate  string    `json:"bizDate"`
	State    string    `json:"state"`
	Reason   string    `json:"reason"`   // of one skipped or missed
	Instance string    `json:"instance"` // "": it made none
}

const (
	firesPage = 100
	firesMost = 1000
)

func (h *Handlers) apiFires(c echo.Context) error {
	q, others, err := h.readFires(c)
	if err != nil {
		return err
	}
	rows, more, err := h.Books.Fires(c.Request().Context(), q)
	if err != nil {
		return err
	}
	out := apiFires{Fires: make([]apiFire, len(rows)), Namesakes: namesakesOf(others)}
	for i, r := range rows {
		out.Fires[i] = apiFire{Expected: r.Expected.UTC(), BizDate: r.BizDate.String(), State: string(r.State), Reason: r.Reason}
		if r.Instance != 0 {
			out.Fires[i].Instance = r.Instance.String()
		}
	}
	if more {
		if out.Cursor, err = httpx.Cursor(domain.Millis(rows[len(rows)-1].Expected)); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, out)
}

func (h *Handlers) readFires(c echo.Context) (q scheduler.FiresQuery, others []domain.JobName, err error) {
	if q.From, err = moment(c, "from"); err != nil {
		return q, nil, err
	}
	if q.To, err = moment(c, "to"); err != nil {
		return q, nil, err
	}
	if q.Limit, err = httpx.Limit(c, firesPage, firesMost); err != nil {
		return q, nil, err
	}
	if q.States, err = states(c.QueryParam("state")); err != nil {
		return q, nil, err
	}
	var after int64
	if _, err = httpx.ReadCursor(c.QueryParam("cursor"), &after); err != nil {
		return q, nil, err
	}
	q.After = domain.FromMillis(after)
	name := c.QueryParam("job")
	if name == "" {
		return q, nil, domain.Fail(domain.Invalid, "fires are listed of one job").At("job").WithHint("name it")
	}
	s, err := h.about(c.Request().Context(), name)
	q.Job = s.job.ID
	return q, s.others, err
}
