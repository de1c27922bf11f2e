package httpx

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/static"
)

// Assets is the route of the embedded files, whose names carry their hash.
func Assets() Route {
	return Route{Method: http.MethodGet, Path: static.Prefix + "*", Action: Public, Bare: true, Handler: func(c echo.Context) error {
		a, ok := static.Lookup(c.Param("*"), c.Request().Header.Get("Accept-Encoding"))
		if !ok {
			return domain.Fail(domain.NotFound, "there is no such file")
		}
		h := c.Response().Header()
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Vary", "Accept-Encoding")
		if a.Encoding != "" {
			h.Set("Content-Encoding", a.Encoding)
		}
		return c.Blob(http.StatusOK, a.ContentType, a.Data)
	}}
}
