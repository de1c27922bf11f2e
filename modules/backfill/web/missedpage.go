package web

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/backfills"
	"github.com/axsched/ax/views/ui"
)

func (h *Handlers) missedPage(c echo.Context) error {
	ctx := c.Request().Context()
	q := c.QueryParams()
	p := backfills.MissedPage{Job: q.Get("job"), From: q.Get("from"), To: q.Get("to")}
	p.Filtered = p.Job+p.From+p.To != ""
	for _, kind := range []string{"", "skipped"} {
		p.Tabs = append(p.Tabs, ui.Tab{Text: i18n.T(ctx, "missed.kind."+word(kind == "", "missed", kind)), URL: missedURL(q, kind, ""), Count: -1, Active: q.Get("kind") == kind})
	}
	p.Backfill = ui.Action{URL: "/backfills/new"}
	if httpx.Visible(ctx, domain.ActBackfillStart).Empty() {
		p.Backfill = ui.Action{Denied: i18n.T(ctx, "backfill.denied.missing")}
	}
	status := http.StatusOK
	if err := h.fillMissed(ctx, &p, q); err != nil {
		var ok bool
		if status, p.Error, ok = httpx.Explain(c, err); !ok {
			return err
		}
	}
	p.Shell = httpx.Shell(c)
	return httpx.Render(c, status, backfills.Missed(p))
}

func missedURL(q url.Values, kind, cursor string) string {
	return withQuery("/missed", "job", q.Get("job"), "from", q.Get("from"), "to", q.Get("to"), "kind", kind, "cursor", cursor)
}

func (h *Handlers) fillMissed(ctx context.Context, p *backfills.MissedPage, q url.Values) error {
	m, job, err := h.missedOf(ctx, q)
	if err != nil {
		return err
	}
	m.Limit, p.Picks = pageRows, job.ID != 0
	days, names, cursor, err := h.missed(ctx, m)
	if err != nil {
		return err
	}
	for _, d := range days {
		name := names[d.Job].Key.String()
		p.Rows = append(p.Rows, backfills.MissedDay{Job: ui.Ref{ID: name, Title: names[d.Job].Title, URL: "/jobs/" + d.Job.String()}, BizDate: d.BizDate.String(), First: d.From, Last: d.To,
			Fires: d.Fires, Open: d.Open, Reason: reasonWords(ctx, d.Reason), BackfillURL: withQuery("/backfills/new", "preview", "1", "job", name, "dates", d.BizDate.String(), "since", d.From.Format(time.RFC3339Nano), "until", d.To.Format(time.RFC3339Nano))})
	}
	if q.Get("cursor") != "" {
		p.Pager.FirstURL = missedURL(q, q.Get("kind"), "")
	}
	if cursor != "" {
		p.Pager.NextURL = missedURL(q, q.Get("kind"), cursor)
	}
	return nil
}

var fireOnce = regexp.MustCompile(`^misfire: fire_once took (\S+) of that day$`)

// reasonWords says a reason of the books in the reader's language; one that is not known
// stays as it is written.
func reasonWords(ctx context.Context, reason string) string {
	switch reason {
	case "older than 7 days":
		return i18n.T(ctx, "ledger.why.old")
	case "misfire: skip":
		return i18n.T(ctx, "ledger.why.policy")
	case "the job was paused, or its schedule taken away, before this fire was taken":
		return i18n.T(ctx, "ledger.why.paused")
	}
	if m := fireOnce.FindStringSubmatch(reason); m != nil {
		return i18n.T(ctx, "ledger.why.fire_once", "clock", m[1])
	}
	return reason
}
