package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/backfill"
	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/backfill/store"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

const (
	apiPage    = 50
	apiMaxPage = 500
	itemsPage  = 500
	itemsMost  = plan.MaxItems
)

func (h *Handlers) apiPreview(c echo.Context) error {
	ctx := c.Request().Context()
	var body asked
	if err := httpx.ReadJSON(c, &body); err != nil {
		return err
	}
	r, err := h.request(ctx, body)
	if err != nil {
		return err
	}
	p, err := h.Backfills.Preview(ctx, r)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, planDocOf(ctx, p))
}

// conflict is the answer to a start whose list has changed since its preview.
type conflict struct {
	Error struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
	Preview planDoc `json:"preview"`
}

func (h *Handlers) apiStart(c echo.Context) error {
	var body started
	if err := httpx.ReadJSON(c, &body); err != nil {
		return err
	}
	err := httpx.Once(c, func(ctx context.Context) (int, any, error) {
		r, err := h.request(ctx, body.asked)
		if err != nil {
			return 0, nil, err
		}
		b, err := h.Backfills.Start(ctx, r, body.Hash, allowed(ctx))
		return http.StatusCreated, backfillDocOf(b), err
	})
	var changed *backfill.Changed
	if !errors.As(err, &changed) {
		return err
	}
	var own *domain.Error
	errors.As(err, &own)
	answer := conflict{Preview: planDocOf(c.Request().Context(), changed.Plan)}
	answer.Error.Kind, answer.Error.Message, answer.Error.Hint = string(own.Kind), own.Msg, own.Hint
	return c.JSON(http.StatusConflict, answer)
}

func (h *Handlers) apiList(c echo.Context) error {
	ctx := c.Request().Context()
	limit, err := httpx.Limit(c, apiPage, apiMaxPage)
	if err != nil {
		return err
	}
	f, err := h.filter(ctx, c.QueryParam("job"), c.QueryParam("state"))
	if err != nil {
		return err
	}
	if _, err := httpx.ReadCursor(c.QueryParam("cursor"), &f.After); err != nil {
		return err
	}
	f.Limit = limit + 1
	found, err := h.Backfills.Store.List(ctx, f)
	if err != nil {
		return err
	}
	out := backfillsDoc{Backfills: []backfillDoc{}}
	for _, b := range found[:min(len(found), limit)] {
		out.Backfills = append(out.Backfills, backfillDocOf(b))
	}
	if len(found) > limit {
		if out.Cursor, err = httpx.Cursor(found[limit-1].ID); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, out)
}

// filter is the list's, of what the caller may see.
func (h *Handlers) filter(ctx context.Context, job, state string) (store.Filter, error) {
	f := store.Filter{Seen: httpx.Visible(ctx, domain.ActInstanceRead), State: plan.State(state)}
	if state != "" && !slices.Contains(plan.States, f.State) {
		return f, domain.Fail(domain.Invalid, "there is no state %q of a backfill", state).At("state").WithHint("running, paused, stopping, stopped or done").
			Coded("backfill.bad_choice", "given", state)
	}
	if job == "" {
		return f, nil
	}
	j, err := h.job(ctx, job, domain.ActInstanceRead)
	f.Job = j.ID
	return f, err
}

func (h *Handlers) apiShow(c echo.Context) error {
	b, err := h.backfill(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, backfillDocOf(b))
}

func (h *Handlers) apiItems(c echo.Context) error {
	b, err := h.backfill(c)
	if err != nil {
		return err
	}
	limit, err := httpx.Limit(c, itemsPage, itemsMost)
	if err != nil {
		return err
	}
	state := plan.ItemState(c.QueryParam("state"))
	if state != "" && !slices.Contains(plan.ItemStates, state) {
		return domain.Fail(domain.Invalid, "there is no state %q of an item", state).At("state").WithHint("waiting, running, success, failed, killed, left or dropped")
	}
	after := 0
	if _, err := httpx.ReadCursor(c.QueryParam("cursor"), &after); err != nil {
		return err
	}
	items, err := h.Backfills.Store.Items(c.Request().Context(), b.ID, state, after, limit+1)
	if err != nil {
		return err
	}
	out := itemsDoc{Items: itemDocs(c.Request().Context(), items[:min(len(items), limit)])}
	if len(items) > limit {
		if out.Cursor, err = httpx.Cursor(items[limit-1].No); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, out)
}

// reasoned is the body of a change; no body is an empty one.
type reasoned struct {
	Reason string `json:"reason,omitempty"`
}

// stopped is that of a stop.
type stopped struct {
	reasoned
	Kill bool `json:"kill,omitempty"` // what runs is ended too
}

func readOptional(c echo.Context, body any) error {
	if len(bytes.TrimSpace(httpx.Body(c))) == 0 {
		return nil
	}
	return httpx.ReadJSON(c, body)
}

func (h *Handlers) apiPause(c echo.Context) error { return h.apiChange(c, h.Backfills.Pause) }

func (h *Handlers) apiResume(c echo.Context) error { return h.apiChange(c, h.Backfills.Resume) }

type change func(ctx context.Context, id domain.ID, reason string, allow func(plan.Backfill) error) (plan.Backfill, error)

func (h *Handlers) apiChange(c echo.Context, do change) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	var body reasoned
	if err := readOptional(c, &body); err != nil {
		return err
	}
	b, err := do(ctx, id, body.Reason, controls(ctx))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, backfillDocOf(b))
}

func (h *Handlers) apiStop(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	var body stopped
	if err := readOptional(c, &body); err != nil {
		return err
	}
	b, err := h.Backfills.Stop(ctx, id, body.Kill, body.Reason, controls(ctx))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, backfillDocOf(b))
}
