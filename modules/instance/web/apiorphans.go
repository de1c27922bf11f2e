package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
)

// orphan is an instance whose worker was lost, with what is known of its attempt.
type orphan struct {
	brief
	Attempt  domain.ID `json:"attempt"` // the lost one
	Target   string    `json:"target"`
	HeardAt  stamp     `json:"heardAt"` // the last that anyone heard of it; null: that was not written down
	LostAt   stamp     `json:"lostAt"`  // when it came to count as lost
	Evidence string    `json:"evidence"`
}

// orphans is one page, newest first. The list ends where the cursor is empty; a page may
// be short before.
type orphans struct {
	Orphans []orphan `json:"orphans"`
	Cursor  string   `json:"cursor"`
}

func (h *Handlers) apiOrphans(c echo.Context) error {
	ctx := c.Request().Context()
	limit, err := httpx.Limit(c, apiPage, apiMaxPage)
	if err != nil {
		return err
	}
	found, err := h.list(ctx, orphansOf(c.QueryParams()), limit)
	if err != nil {
		return err
	}
	names, err := h.namesOf(ctx, found.ins...)
	if err != nil {
		return err
	}
	lost, err := h.targets(ctx, found.ins)
	if err != nil {
		return err
	}
	out := orphans{Orphans: make([]orphan, len(found.ins)), Cursor: found.next}
	for i, in := range found.ins {
		a := lost[in.AttemptID]
		heard, at := a.Lost()
		out.Orphans[i] = orphan{brief: briefOf(in, names), Attempt: in.AttemptID, Target: a.Target, HeardAt: stamp(heard), LostAt: stamp(at), Evidence: a.Message}
	}
	return c.JSON(http.StatusOK, out)
}

// verdictOne is the body of settling one orphan: as success, failed or rerun. With an
// attempt it is settled only while that is the lost one.
type verdictOne struct {
	As      string    `json:"as"`
	Reason  string    `json:"reason"`
	Attempt domain.ID `json:"attempt,omitempty"`
}

func (h *Handlers) apiSettleOne(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	var body verdictOne
	if err := httpx.ReadJSON(c, &body); err != nil {
		return err
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		v := instance.Verdict(body.As)
		in, err := h.Requests.SettleOne(ctx, instance.Pick{ID: id, Attempt: body.Attempt}, v, body.Reason, maySettle(ctx, v))
		if err != nil {
			return 0, nil, err
		}
		names, err := h.namesOf(ctx, in)
		return http.StatusOK, briefOf(in, names), err
	})
}

// verdictMany is the body of settling several orphans.
type verdictMany struct {
	Instances []picked `json:"instances"`
	As        string   `json:"as"`
	Reason    string   `json:"reason"`
}

type picked struct {
	ID      domain.ID `json:"id"`
	Attempt domain.ID `json:"attempt,omitempty"`
}

// settledMany tells what became of each, in the order in which they were named.
type settledMany struct {
	Settled int       `json:"settled"`
	Results []settled `json:"results"`
}

// settled is one of them: error is "" when it was settled, else why it was left as it is.
type settled struct {
	ID    domain.ID `json:"id"`
	State string    `json:"state"` // as it stands; "" when it may not be seen
	Label string    `json:"label"`
	Error string    `json:"error"`
}

func (h *Handlers) apiSettle(c echo.Context) error {
	var body verdictMany
	if err := httpx.ReadJSON(c, &body); err != nil {
		return err
	}
	picks := make([]instance.Pick, len(body.Instances))
	for i, p := range body.Instances {
		picks[i] = instance.Pick(p)
	}
	return httpx.Once(c, func(ctx context.Context) (int, any, error) {
		v := instance.Verdict(body.As)
		done, err := h.Requests.Settle(ctx, picks, v, body.Reason, maySettle(ctx, v))
		out := settledMany{Results: make([]settled, len(done))}
		for i, d := range done {
			out.Results[i] = settled{ID: d.ID, State: string(d.Instance.State), Label: string(d.Instance.Label)}
			if d.Err == nil {
				out.Settled++
			} else {
				out.Results[i].Error = d.Err.Error()
			}
		}
		return http.StatusOK, out, err
	})
}
