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

// Away answers for a process without pages: it is starting, or its database is away.
// It asks no store. why is for programs, in English; people read the page of status
// 503 in their language.
func Away(why string) http.Handler {
	e := echo.New()
	assets := Assets()
	e.GET(assets.Path, assets.Handler)
	e.RouteNotFound("/*", func(c echo.Context) error { return answerAway(c, why) })
	return e
}

func answerAway(c echo.Context, why string) error {
	id := rand.Text()
	h := c.Response().Header()
	setHeaders(h, &scope{id: id})
	h.Set("Retry-After", strconv.Itoa(int(awayRetry.Seconds())))
	path := c.Request().URL.Path
	if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/executor/") || c.Request().Header.Get(echo.HeaderAuthorization) != "" {
		return c.JSON(http.StatusServiceUnavailable, map[string]failure{"error": {Kind: string(domain.Unavailable), Message: why, RequestID: id}})
	}
	now := time.Now().UTC()
	lang := pickLanguage(c, "")
	c.SetRequest(c.Request().WithContext(i18n.WithClock(i18n.With(c.Request().Context(), lang), now, time.UTC)))
	page := layout.FailurePage{Shell: layout.Shell{Lang: lang, Now: now, Zone: time.UTC}, Status: http.StatusServiceUnavailable, RequestID: id}
	if fromHTMX(c) {
		page.Text = i18n.T(c.Request().Context(), "failure.503.text")
		return Render(c, http.StatusServiceUnavailable, alert(page))
	}
	return Render(c, http.StatusServiceUnavailable, layout.Failure(page))
}
