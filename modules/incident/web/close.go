package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/ui"
)

// closeCall is the body of an end by hand.
type closeCall struct {
	Reason string `json:"reason"`
}

// mayClose asks for the right in the incident's project; one of the system takes a role
// that holds in all of them.
func mayClose(ctx context.Context) func(domain.Incident) error {
	return func(i domain.Incident) error {
		if seen := httpx.Visible(ctx, domain.ActInstanceRead); i.ProjectID != domain.EveryProject && !seen.Has(i.ProjectID) {
			return domain.Fail(domain.NotFound, "there is no incident %s", i.ID).Coded("incident.none", "id", i.ID.String())
		}
		return httpx.Allow(ctx, i.ProjectID, domain.ActIncidentClose)
	}
}

// closable is what the reader may do with the one incident that is shown.
func closable(ctx context.Context, i domain.Incident) ui.Action {
	switch {
	case !i.Open():
		return ui.Action{}
	case i.Kind == domain.IncidentOrphan:
		return ui.Action{Denied: i18n.T(ctx, "incident.settle_first")}
	case !httpx.Can(ctx, i.ProjectID, domain.ActIncidentClose):
		return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActIncidentClose))}
	}
	return ui.Action{URL: "/incidents/" + i.ID.String() + "/close"}
}

func (h *Handlers) closeForm(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	return httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		_, err := h.Closer.Close(ctx, id, strings.TrimSpace(form.Get("reason")), mayClose(ctx))
		return "/incidents?" + url.Values{"id": {id.String()}}.Encode(), err
	})
}

func (h *Handlers) apiClose(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	var in closeCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	i, err := h.Closer.Close(ctx, id, strings.TrimSpace(in.Reason), mayClose(ctx))
	if err != nil {
		return err
	}
	names, err := h.Reader.Projects.Names(ctx)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, shape(i18n.With(ctx, i18n.English), i, names))
}
