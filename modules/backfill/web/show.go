package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/kit/zone"
	"github.com/axsched/ax/views/backfills"
	"github.com/axsched/ax/views/ui"
)

func (h *Handlers) showPage(c echo.Context) error {
	b, err := h.backfill(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	p := backfills.ShowPage{ID: b.ID.String(), Row: rowOf(b), Wanted: i18n.T(ctx, "backfill.wanted."+string(b.Wanted)), Degree: b.Degree, InDates: b.Reach != plan.Alone,
		Order: i18n.T(ctx, "backfill.order."+word(b.NewestFirst, "new", "old")), Failure: i18n.T(ctx, "backfill.failure."+word(b.GoesOn, "go_on", "stop")),
		NotBetween: b.Not.String(), Zone: b.Zone, Params: params(b), Reason: b.Reason, Estimate: b.Estimate, FinishedAt: b.FinishedAt, Waits: waitsFor(ctx, b)}
	if b.State == plan.Paused {
		p.Pause = i18n.T(ctx, "backfill.paused_by."+string(b.Pause), "who", b.PauseBy)
	}
	for _, s := range plan.ItemStates {
		p.Counts = append(p.Counts, backfills.Count{State: string(s), N: b.Counts.Of(s)})
	}
	h.offer(ctx, &p, b)
	if err := h.fillItems(ctx, &p, b, c.QueryParams()); err != nil {
		return err
	}
	p.Shell = httpx.Shell(c)
	return httpx.Render(c, http.StatusOK, backfills.Show(p))
}

func word(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// waitsFor says why nothing begins, where that is not plain.
func waitsFor(ctx context.Context, b plan.Backfill) string {
	loc, err := zone.Load(b.Zone)
	switch {
	case b.State == plan.Stopping && b.Kills:
		return i18n.T(ctx, "backfill.stopping_kills")
	case b.State == plan.Stopping:
		return i18n.T(ctx, "backfill.stopping_waits")
	case b.State == plan.Running && b.Counts.Waiting > 0 && err == nil && b.Not.Holds(i18n.Now(ctx), loc):
		return i18n.T(ctx, "backfill.window_waits", "time", b.Not.String(), "zone", b.Zone)
	}
	return ""
}

// offer sets the buttons that fit its state.
func (h *Handlers) offer(ctx context.Context, p *backfills.ShowPage, b plan.Backfill) {
	may := func(verb string) ui.Action {
		if !httpx.Can(ctx, b.ProjectID, domain.ActBackfillControl) {
			return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActBackfillControl))}
		}
		return ui.Action{URL: backfillURL(b.ID) + "/" + verb}
	}
	switch b.State {
	case plan.Running:
		p.PauseIt, p.StopIt = may("pause"), may("stop")
	case plan.Paused:
		p.ResumeIt, p.StopIt = may("resume"), may("stop")
	case plan.Stopping:
		if !b.Kills {
			p.StopIt = may("stop")
		}
	}
}

// fillItems shows one page of the items of a state.
func (h *Handlers) fillItems(ctx context.Context, p *backfills.ShowPage, b plan.Backfill, q url.Values) error {
	state := plan.ItemState(q.Get("state"))
	if state != "" && !slices.Contains(plan.ItemStates, state) {
		state = ""
	}
	here := backfillURL(b.ID)
	p.Tabs = []ui.Tab{{Text: i18n.T(ctx, "backfill.all"), URL: here, Count: int64(b.Counts.Works() + b.Counts.Left), Active: state == ""}}
	for _, s := range plan.ItemStates {
		if n := b.Counts.Of(s); n > 0 || s == state {
			p.Tabs = append(p.Tabs, ui.Tab{Text: i18n.T(ctx, "backfill.item."+string(s)), URL: withQuery(here, "state", string(s)), Count: int64(n), Active: s == state, Alarm: s == plan.ItemFailed})
		}
	}
	after := 0
	given, err := httpx.ReadCursor(q.Get("cursor"), &after)
	if err != nil {
		return err
	}
	items, err := h.Backfills.Store.Items(ctx, b.ID, state, after, itemsShown+1)
	if err != nil {
		return err
	}
	if given {
		p.Pager.FirstURL = withQuery(here, "state", string(state))
	}
	if len(items) > itemsShown {
		items = items[:itemsShown]
		next, err := httpx.Cursor(items[itemsShown-1].No)
		if err != nil {
			return err
		}
		p.Pager.NextURL = withQuery(here, "state", string(state), "cursor", next)
	}
	return h.standing(ctx, p, items)
}

// standing adds how the instances of items stand.
func (h *Handlers) standing(ctx context.Context, p *backfills.ShowPage, items []plan.Item) error {
	ids := make([]domain.ID, 0, len(items))
	for _, it := range items {
		if it.Instance != 0 && it.State != plan.ItemWaiting && it.State != plan.ItemDropped {
			ids = append(ids, it.Instance)
		}
	}
	ins, err := h.Instances.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	for _, it := range items {
		shown := itemOf(ctx, it)
		if in, ok := ins[it.Instance]; ok {
			shown.Now = statusOf(in.Status)
		}
		p.Items = append(p.Items, shown)
	}
	return nil
}
