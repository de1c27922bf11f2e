package httpx

import (
	"bytes"
	"io"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

func writeAll(w io.Writer, parts ...string) error {
	for _, p := range parts {
		if _, err := io.WriteString(w, p); err != nil {
			return err
		}
	}
	return nil
}

// Render answers with a page or a fragment. It is made whole before anything is
// sent, so that a failing view gives an error page and not half of one.
func Render(c echo.Context, status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(c.Request().Context(), &b); err != nil {
		return err
	}
	return c.Blob(status, "text/html; charset=utf-8", b.Bytes())
}

// Limit reads the query parameter "limit": def where there is none, at most most.
func Limit(c echo.Context, def, most int) (int, error) {
	text := c.QueryParam("limit")
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, domain.Fail(domain.Invalid, "%q is not a number from 1 to %d", text, most).At("limit")
	}
	return n, nil
}

// ParamID reads an id from the path. One that cannot be an id is NotFound.
func ParamID(c echo.Context, name string) (domain.ID, error) {
	id, err := domain.ParseID(c.Param(name))
	if err != nil {
		return 0, domain.Fail(domain.NotFound, "there is no such thing: %q is not an id", c.Param(name)).Coded("http.not_found")
	}
	return id, nil
}
