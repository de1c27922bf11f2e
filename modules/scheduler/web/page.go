package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/views/ledger"
	"github.com/axsched/ax/views/ui"
)

const (
	pageAccounts = 50
	shownReasons = 4
	shownAbsent  = 12
)

func (h *Handlers) ledgerPage(c echo.Context) error {
	p := ledger.Page{Shell: httpx.Shell(c)}
	err := h.fill(c, &p)
	if err == nil {
		return httpx.Render(c, http.StatusOK, ledger.Books(p))
	}
	status, text, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	p.Error, p.Rows, p.Detail = text, nil, nil
	return httpx.Render(c, status, ledger.Books(p))
}

// view is what of the address says which part of the books is shown.
type view struct {
	rng, from, to, job, state string
	unbalanced                bool
}

// address is that of the page with the view, from a cursor on.
func (v view) address(cursor string) string {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("range", v.rng)
	if v.rng == "own" {
		set("from", v.from)
		set("to", v.to)
	}
	set("job", v.job)
	set("state", v.state)
	set("cursor", cursor)
	if v.unbalanced {
		q.Set("only", "unbalanced")
	}
	return "/ledger?" + q.Encode()
}

func (h *Handlers) fill(c echo.Context, p *ledger.Page) error {
	ctx := c.Request().Context()
	v := view{rng: c.QueryParam("range"), from: c.QueryParam("from"), to: c.QueryParam("to"), job: strings.TrimSpace(c.QueryParam("job")), state: c.QueryParam("state")}
	first, last, err := v.days(ctx)
	p.Filter = ledger.Filter{Range: v.rng, From: dateOnly(v.from), To: dateOnly(v.to), Job: v.job}
	p.Ranges, p.ClearURL = ranges(v), view{rng: v.rng, from: v.from, to: v.to}.address("")
	if err != nil {
		return err
	}
	if v.unbalanced, err = only(c); err != nil {
		return err
	}
	p.Filter.Unbalanced = v.unbalanced
	q := scheduler.LedgerQuery{From: first.Start(i18n.Zone(ctx)), To: last.AddDays(1).Start(i18n.Zone(ctx)), Limit: pageAccounts, Unbalanced: v.unbalanced}
	p.Span = i18n.DateTime(ctx, q.From) + " – " + i18n.DateTime(ctx, q.To)
	s, err := h.about(ctx, v.job)
	if err != nil {
		return err
	}
	if q.Job, q.Projects = s.job.ID, s.projects; q.Job != 0 {
		p.Namesakes = namesakes(v, s.others)
		return h.fillJob(c, p, v, s.job, q)
	}
	return h.fillJobs(c, p, v, q)
}

// days are the first and the last day shown, both counted; the view gets them too.
func (v *view) days(ctx context.Context) (first, last domain.BizDate, err error) {
	today := domain.BizDateOf(i18n.Now(ctx), i18n.Zone(ctx))
	if v.rng == "" && v.from+v.to != "" {
		v.rng = "own" // a link that names days and no range means these days
	}
	switch v.rng {
	case "yesterday":
		first, last = today.AddDays(-1), today.AddDays(-1)
	case "week":
		first, last = today.AddDays(-6), today
	case "own":
		if first, err = day("from", v.from); err != nil {
			return first, last, err
		}
		if v.to == "" {
			v.to = v.from
		}
		last, err = day("to", v.to)
		return first, last, err
	default:
		v.rng, first, last = "today", today, today
	}
	v.from, v.to = first.String(), last.String()
	return first, last, nil
}

func day(field, text string) (domain.BizDate, error) {
	d, err := domain.ParseBizDate(text)
	if err != nil {
		return d, domain.Fail(domain.Invalid, "%v", err).At(field).Coded("ledger.bad_date", "date", text)
	}
	return d, nil
}

// dateOnly is what a field for dates may hold.
func dateOnly(text string) string {
	if _, err := domain.ParseBizDate(text); err != nil {
		return ""
	}
	return text
}

func ranges(v view) []ledger.Range {
	out := []ledger.Range{{Key: "today"}, {Key: "yesterday"}, {Key: "week"}}
	for i := range out {
		to := v
		to.rng, out[i].Active = out[i].Key, v.rng == out[i].Key
		out[i].URL = to.address("")
	}
	return out
}

// fillJobs shows a page of all jobs.
func (h *Handlers) fillJobs(c echo.Context, p *ledger.Page, v view, q scheduler.LedgerQuery) error {
	cursor := c.QueryParam("cursor")
	if _, err := httpx.ReadCursor(cursor, &q.After); err != nil {
		return err
	}
	if cursor != "" {
		p.Pager.FirstURL = v.address("")
	}
	found, err := h.Books.Ledger(c.Request().Context(), q)
	if err != nil {
		return err
	}
	if p.Rows, err = h.rows(c.Request().Context(), found.Jobs, v); err != nil || found.Next == 0 {
		return err
	}
	next, err := httpx.Cursor(found.Next)
	p.Partial, p.Pager.NextURL = true, v.address(next)
	return err
}

// fillJob shows the balance of one job and its fires that made no instance.
func (h *Handlers) fillJob(c echo.Context, p *ledger.Page, v view, job domain.Job, q scheduler.LedgerQuery) error {
	ctx := c.Request().Context()
	if job.DeletedAt.IsZero() {
		p.Filter.Job = job.Spec.Key().String()
	}
	found, err := h.Books.Ledger(ctx, q)
	if err != nil {
		return err
	}
	if p.Rows, err = h.rows(ctx, found.Jobs, v); err != nil {
		return err
	}
	p.Detail = &ledger.Detail{Tabs: tabs(ctx, v, found.Jobs[0])}
	f := scheduler.FiresQuery{Job: q.Job, From: q.From, To: q.To, Limit: firesPage, States: unfired}
	if v.state != "" {
		if f.States, err = states(v.state); err != nil {
			return err
		}
	}
	var after int64
	given, err := httpx.ReadCursor(c.QueryParam("cursor"), &after)
	if err != nil {
		return err
	}
	if f.After = domain.FromMillis(after); given {
		p.Pager.FirstURL = v.address("")
	}
	rows, more, err := h.Books.Fires(ctx, f)
	if err != nil {
		return err
	}
	for _, r := range rows {
		p.Detail.Fires = append(p.Detail.Fires, fireOf(ctx, r))
	}
	if more {
		next, err := httpx.Cursor(domain.Millis(rows[len(rows)-1].Expected))
		p.Pager.NextURL = v.address(next)
		return err
	}
	return nil
}

// namesakes lead to the same view of the other jobs of the name.
func namesakes(v view, others []domain.JobName) []ui.Namesake {
	var out []ui.Namesake
	for _, n := range others {
		v.job = n.ID.String()
		out = append(out, ui.Namesake{ID: v.job, URL: v.address(""), Gone: n.DeletedAt})
	}
	return out
}

// unfired are the states in which a due fire made no instance that ran.
var unfired = []scheduler.FireState{scheduler.FireSkipped, scheduler.FireMissed, scheduler.FireAbsent}

func tabs(ctx context.Context, v view, a scheduler.Account) []ui.Tab {
	counts := map[string]int{"": a.Skipped + a.Missed + a.Absent, "missed": a.Missed, "skipped": a.Skipped, "absent": a.Absent}
	words := map[string]string{"": "unfired", "missed": "missed", "skipped": "skipped", "absent": "absent"}
	var out []ui.Tab
	for _, state := range []string{"", "missed", "skipped", "absent"} {
		to := v
		to.state = state
		out = append(out, ui.Tab{Text: i18n.T(ctx, "ledger.tab."+words[state]), URL: to.address(""), Count: int64(counts[state]), Active: v.state == state, Alarm: state == "absent"})
	}
	return out
}

func fireOf(ctx context.Context, r scheduler.FireRow) ledger.Fire {
	f := ledger.Fire{Expected: r.Expected, BizDate: r.BizDate.String(), State: string(r.State), Reason: reasonWords(ctx, r.Reason)}
	if r.Instance != 0 {
		f.URL = "/instances/" + r.Instance.String()
	}
	return f
}

// rows are the accounts as the page shows them.
func (h *Handlers) rows(ctx context.Context, accounts []scheduler.Account, v view) ([]ledger.Account, error) {
	names, err := h.namesOf(ctx, accounts)
	if err != nil {
		return nil, err
	}
	out := make([]ledger.Account, len(accounts))
	for i, a := range accounts {
		to := v
		to.job, to.unbalanced, to.state = a.Job.String(), false, ""
		r := ledger.Account{Job: ui.Ref{ID: a.Job.String()}, URL: to.address(""), Planned: a.Planned, Fired: a.Fired, Skipped: a.Skipped, Missed: a.Missed,
			Pending: a.Pending, Absent: a.Absent, Unplanned: a.Unplanned, Untaken: a.Untaken, AbsentFires: a.AbsentFires[:min(len(a.AbsentFires), shownAbsent)]}
		if n, ok := names[a.Job]; ok {
			r.Job = ui.Ref{ID: n.Key.String(), Title: n.Title, Gone: n.DeletedAt}
			if n.DeletedAt.IsZero() {
				r.TodoURL = "/jobs/" + a.Job.String()
			}
		}
		for _, reason := range a.Reasons[:min(len(a.Reasons), shownReasons)] {
			r.Reasons = append(r.Reasons, ledger.Reason{Kind: string(reason.Kind), Text: reasonWords(ctx, reason.Reason), Fires: reason.Fires})
		}
		r.More = len(a.Reasons) - len(r.Reasons)
		r.Refused = refusedWords(ctx, a.Refused)
		out[i] = r
	}
	return out, nil
}

func refusedWords(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case domain.Is(err, domain.TooLarge):
		return httpx.Say(ctx, err)
	}
	return i18n.T(ctx, "ledger.unreadable", "error", err.Error())
}

var (
	fireOnce = regexp.MustCompile(`^misfire: fire_once took (\S+) of that day$`)
	overlap  = regexp.MustCompile(`^an earlier instance of the job is unfinished`)
)

// reasonWords says a stored reason in the reader's language; one that is not known stays
// as it is written.
func reasonWords(ctx context.Context, reason string) string {
	switch reason {
	case plan.ReasonOld:
		return i18n.T(ctx, "ledger.why.old")
	case plan.ReasonPolicy:
		return i18n.T(ctx, "ledger.why.policy")
	case plan.ReasonPaused:
		return i18n.T(ctx, "ledger.why.paused")
	}
	if m := fireOnce.FindStringSubmatch(reason); m != nil {
		return i18n.T(ctx, "ledger.why.fire_once", "clock", m[1])
	}
	if overlap.MatchString(reason) {
		return i18n.T(ctx, "ledger.why.overlap")
	}
	return reason
}
