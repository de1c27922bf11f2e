package httpx

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/layout"
)

// awayRetry is when to ask again a process that carries no pages at the moment.
const awayRetry = 2 * time.Second

// Away answers for a process without pages: it is starting, or its database is away, which outage tells.
// It asks no store.
func Away(outage func() Outage) http.Handler {
	e := echo.New()
	assets := Assets()
	e.GET(assets.Path, assets.Handler)
	e.RouteNotFound("/*", func(c echo.Context) error { return answerAway(c, outage()) })
	return e
}

func answerAway(c echo.Context, o Outage) error {
	id := rand.Text()
	h := c.Response().Header()
	setHeaders(h, &scope{id: id})
	h.Set("Retry-After", strconv.Itoa(int(awayRetry.Seconds())))
	path := c.Request().URL.Path
	if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/executor/") || c.Request().Header.Get(echo.HeaderAuthorization) != "" {
		f := failure{Kind: string(domain.Unavailable), Message: "AX is starting, and has no pages yet; /readyz says what it waits for", RequestID: id, Store: o.Store}
		f.away(o)
		return c.JSON(http.StatusServiceUnavailable, map[string]failure{"error": f})
	}
	now := time.Now().UTC()
	lang := pickLanguage(c, "")
	c.SetRequest(c.Request().WithContext(i18n.WithClock(i18n.With(c.Request().Context(), lang), now, time.UTC)))
	page := layout.FailurePage{Shell: layout.Shell{Lang: lang, Now: now, Zone: time.UTC}, Status: http.StatusServiceUnavailable, RequestID: id}
	ctx := c.Request().Context()
	page.Text = i18n.T(ctx, "failure.503.starting")
	if o.Store != "" {
		page.Text = o.page(ctx)
	}
	if fromHTMX(c) {
		return Render(c, http.StatusServiceUnavailable, alert(page))
	}
	return Render(c, http.StatusServiceUnavailable, layout.Failure(page))
}
