package web

import (
	"bytes"
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
)

const (
	apiPage    = 50
	apiMaxPage = 500
)

// briefs is one page of instances. The list ends where the cursor is empty: a page may
// be short before, when much had to be passed over to find what it has.
type briefs struct {
	Instances []brief    `json:"instances"`
	Cursor    string     `json:"cursor"`
	Namesakes []namesake `json:"namesakes"` // other jobs of the name asked for, whose instances are not here
}

// namesake is another job of the same name; its id names it.
type namesake struct {
	ID        domain.ID `json:"id"`
	DeletedAt stamp     `json:"deletedAt"` // null: it is there
}

func (h *Handlers) apiList(c echo.Context) error {
	ctx := c.Request().Context()
	limit, err := httpx.Limit(c, apiPage, apiMaxPage)
	if err != nil {
		return err
	}
	found, err := h.list(ctx, readFilter(c.QueryParams()), limit)
	if err != nil {
		return err
	}
	names, err := h.namesOf(ctx, found.ins...)
	if err != nil {
		return err
	}
	marks, err := h.stales(ctx, found.ins)
	if err != nil {
		return err
	}
	out := make([]brief, len(found.ins))
	for i, in := range found.ins {
		out[i] = briefOf(in, names)
		out[i].Stale = staleOf(marks[in.ID])
	}
	same := make([]namesake, len(found.others))
	for i, n := range found.others {
		same[i] = namesake{n.ID, stamp(n.DeletedAt)}
	}
	return c.JSON(http.StatusOK, briefs{out, found.next, same})
}

func (h *Handlers) apiShow(c echo.Context) error {
	in, err := h.instance(c, domain.ActInstanceRead)
	if err != nil {
		return err
	}
	answer, err := h.full(c.Request().Context(), in)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer)
}

func (h *Handlers) full(ctx context.Context, in domain.Instance) (full, error) {
	w, err := h.whole(ctx, in)
	if err != nil {
		return full{}, err
	}
	names, err := h.namesOf(ctx, in)
	if err != nil {
		return full{}, err
	}
	sent, err := h.targets(ctx, w.facts.Shards)
	if err != nil {
		return full{}, err
	}
	return fullOf(w, names, sent), nil
}

// why is why an instance isn't running, or how it ended.
type why struct {
	ID    domain.ID    `json:"id"`
	Why   string       `json:"why"`
	Code  string       `json:"code"`
	State domain.State `json:"state"`
	Label domain.Label `json:"label"`
}

func (h *Handlers) apiWhy(c echo.Context) error {
	ctx := c.Request().Context()
	in, err := h.instance(c, domain.ActInstanceRead)
	if err != nil {
		return err
	}
	facts, err := h.Records.Explain(ctx, in)
	if err != nil {
		return err
	}
	s := instance.Why(facts)
	return c.JSON(http.StatusOK, why{in.ID, s.English(), s.ID, in.State, in.Label})
}

// asked is the body of a kill or a rerun; no body is an empty one.
type asked struct {
	Reason string `json:"reason,omitempty"`
}

func readAsked(c echo.Context) (asked, error) {
	var a asked
	if len(bytes.TrimSpace(httpx.Body(c))) == 0 {
		return a, nil
	}
	return a, httpx.ReadJSON(c, &a)
}

func (h *Handlers) apiKill(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	a, err := readAsked(c)
	if err != nil {
		return err
	}
	in, err := h.Requests.Kill(ctx, id, a.Reason, mayKill(ctx))
	if err != nil {
		return err
	}
	return h.answerBrief(c, http.StatusOK, in)
}

func mayKill(ctx context.Context) func(domain.Instance) error {
	return func(in domain.Instance) error { return httpx.Allow(ctx, in.ProjectID, domain.ActInstanceKill) }
}

func mayRerun(ctx context.Context) func(domain.Instance) error {
	return func(in domain.Instance) error { return httpx.Allow(ctx, in.ProjectID, instance.RerunAction(in)) }
}

func (h *Handlers) answerBrief(c echo.Context, status int, in domain.Instance) error {
	names, err := h.namesOf(c.Request().Context(), in)
	if err != nil {
		return err
	}
	return c.JSON(status, briefOf(in, names))
}

func (h *Handlers) apiRerun(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	a, err := readAsked(c)
	if err != nil {
		return err
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		in, err := h.Requests.Rerun(ctx, id, a.Reason, mayRerun(ctx))
		if err != nil {
			return 0, nil, err
		}
		names, err := h.namesOf(ctx, in)
		return http.StatusCreated, briefOf(in, names), err
	})
}

// started is the answer to a start by hand.
type started struct {
	brief
	Params map[string]string `json:"params"` // the run's own
	Note   string            `json:"note,omitempty"`
}

// start is the body of a start by hand; no body is an empty one.
type start struct {
	BizDate *string           `json:"bizDate,omitempty"`
	Params  map[string]string `json:"params,omitempty"`
	Reason  string            `json:"reason,omitempty"`
}

func (h *Handlers) apiTrigger(c echo.Context) error {
	var body start
	if len(bytes.TrimSpace(httpx.Body(c))) > 0 {
		if err := httpx.ReadJSON(c, &body); err != nil {
			return err
		}
	}
	o := instance.TriggerOptions{Params: body.Params, Reason: body.Reason}
	if body.BizDate != nil && *body.BizDate != "" {
		d, err := domain.ParseBizDate(*body.BizDate)
		if err != nil {
			return domain.Fail(domain.Invalid, "%v", err).At("bizDate")
		}
		o.BizDate = d
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		j, err := h.job(ctx, c, domain.ActInstanceTrigger)
		if err != nil {
			return 0, nil, err
		}
		in, err := h.Requests.Trigger(ctx, j, o)
		if err != nil {
			return 0, nil, err
		}
		names, err := h.namesOf(ctx, in)
		answer := started{brief: briefOf(in, names), Params: in.Params}
		if !j.Enabled {
			answer.Note = i18n.In(i18n.English, "inst.paused_note")
		}
		return http.StatusCreated, answer, err
	})
}
