package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// missedAt is where a list of missed fires goes on.
type missedAt struct {
	From int64     `json:"f"`
	Gap  domain.ID `json:"g"`
}

// missedOf reads the query of the list; with a job, that is returned too.
func (h *Handlers) missedOf(ctx context.Context, q url.Values) (Missed, domain.Job, error) {
	m := Missed{Skipped: q.Get("kind") == "skipped"}
	var job domain.Job
	var err error
	if kind := q.Get("kind"); kind != "" && kind != "missed" && kind != "skipped" {
		return m, job, domain.Fail(domain.Invalid, "there is no kind %q", kind).At("kind").WithHint("missed or skipped").Coded("backfill.bad_choice", "given", kind)
	}
	if m.From, err = date("from", q.Get("from")); err != nil {
		return m, job, err
	}
	if m.To, err = date("to", q.Get("to")); err != nil {
		return m, job, err
	}
	if seen := httpx.Visible(ctx, domain.ActJobRead); !seen.All {
		m.Projects = append([]domain.ID{}, seen.IDs...)
	}
	if name := q.Get("job"); name != "" {
		if job, err = h.job(ctx, name, domain.ActJobRead); err != nil {
			return m, job, err
		}
		m.Job = job.ID
	}
	var at missedAt
	if _, err := httpx.ReadCursor(q.Get("cursor"), &at); err != nil {
		return m, job, err
	}
	m.Before = domain.MissedDay{Gap: at.Gap, From: domain.FromMillis(at.From)}
	return m, job, nil
}

// missed reads one page of the list, without jobs that were deleted, and its cursor.
func (h *Handlers) missed(ctx context.Context, m Missed) (days []domain.MissedDay, names map[domain.ID]domain.JobName, cursor string, err error) {
	found, next, err := h.Past.Missed(ctx, m)
	if err != nil {
		return nil, nil, "", err
	}
	ids := make([]domain.ID, len(found))
	for i, d := range found {
		ids[i] = d.Job
	}
	if names, err = h.Jobs.NamesOf(ctx, ids); err != nil {
		return nil, nil, "", err
	}
	for _, d := range found {
		if n, ok := names[d.Job]; ok && n.DeletedAt.IsZero() {
			days = append(days, d)
		}
	}
	if next.Gap != 0 {
		cursor, err = httpx.Cursor(missedAt{domain.Millis(next.From), next.Gap})
	}
	return days, names, cursor, err
}

func (h *Handlers) apiMissed(c echo.Context) error {
	ctx := c.Request().Context()
	limit, err := httpx.Limit(c, apiPage, apiMaxPage)
	if err != nil {
		return err
	}
	m, _, err := h.missedOf(ctx, c.QueryParams())
	if err != nil {
		return err
	}
	m.Limit = limit
	days, names, cursor, err := h.missed(ctx, m)
	if err != nil {
		return err
	}
	out := missedDoc{Missed: make([]missedDay, len(days)), Cursor: cursor}
	for i, d := range days {
		kind := "missed"
		if d.Skipped {
			kind = "skipped"
		}
		out.Missed[i] = missedDay{Job: names[d.Job].Key.String(), BizDate: d.BizDate.String(), First: stamp(d.From), Last: stamp(d.To), Fires: d.Fires, Open: d.Open, Kind: kind, Reason: d.Reason}
	}
	return c.JSON(http.StatusOK, out)
}

func (h *Handlers) apiPaused(c echo.Context) error {
	ctx := c.Request().Context()
	j, err := h.pathJob(c, domain.ActJobRead)
	if err != nil {
		return err
	}
	p, err := h.Past.Asleep(ctx, j.ID)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, pauseDoc{Paused: !j.Enabled, Since: stamp(p.Since), Fires: p.Fires, More: p.More, From: p.First.String(), To: p.Last.String()})
}
