// Package web is the pages of calendars (list, year, single days, upload with what it changes) and their API. It parses,
// asks whether the caller may, calls the use cases and shows what came of it; it judges no day itself.
package web

import (
	"context"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
)

// Handlers answers the routes of calendars. All fields must be set.
type Handlers struct {
	Calendars *calendar.Calendars
	Zone      *time.Location // by which "today" is told where no reader's zone is at hand
}

// maxUpload bounds the body of an apply: the largest file, every byte of it escaped.
const maxUpload = 8 * calendar.MaxBytes

// shownVersions is how many versions are listed.
const shownVersions = 50

// Routes is the table. Whoever may read the jobs of a project may read its calendars.
func (h *Handlers) Routes() []httpx.Route {
	read, write := domain.ActJobRead, domain.ActCalendarWrite
	return append(h.pages(), []httpx.Route{
		{Method: "GET", Path: "/api/v1/calendars", Action: read, Handler: h.apiList,
			Doc: httpx.Doc{Summary: "Calendars of working days, by project and name", Answer: apiCalendars{}, Query: []httpx.Param{{Name: "project", Text: "only of this project"}}}},
		{Method: "POST", Path: "/api/v1/calendars", Action: write, MaxBody: maxUpload, Handler: h.apiApply,
			Doc: httpx.Doc{Summary: "Take a calendar as YAML (the whole), CSV or ICS (the days of their years), whole or not at all; with problems 422 and nothing changed", Body: applyCall{}, Answer: apiApplied{}}},
		{Method: "GET", Path: "/api/v1/calendars/:calendar", Action: read, Handler: h.apiShow,
			Doc: httpx.Doc{Summary: "One calendar, by [project/]name (encoded) or id, with its days, text, versions and jobs", Answer: apiWhole{}}},
		{Method: "PUT", Path: "/api/v1/calendars/:calendar/days/:days", Action: write, Handler: h.apiSetDays,
			Doc: httpx.Doc{Summary: "Say of one day, or of each of a stretch first..last, that it is worked, off, or as the weekly rest days have it", Body: dayCall{}, Answer: apiApplied{}}},
		{Method: "DELETE", Path: "/api/v1/calendars/:calendar", Action: write, Handler: h.apiDelete,
			Doc: httpx.Doc{Summary: "Delete a calendar; 409 with their names while jobs live by it", Query: []httpx.Param{{Name: "base", Kind: "integer", Text: "the version that was seen; empty: whatever is there"}}}},
	}...)
}

// named reads the calendar that the path names, for an action. One in a project that the caller
// has no role in answers like one that is not there.
func (h *Handlers) named(c echo.Context, action domain.Action) (calendar.Found, error) {
	ctx := c.Request().Context()
	name := c.Param("calendar")
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	return h.find(ctx, name, action)
}

func (h *Handlers) find(ctx context.Context, name string, action domain.Action) (calendar.Found, error) {
	f, err := h.Calendars.Find(ctx, name)
	if err != nil {
		return f, err
	}
	if err := httpx.Allow(ctx, f.ProjectID, action); domain.Is(err, domain.NotFound) {
		return calendar.Found{}, calendar.Missing(name)
	} else if err != nil {
		return calendar.Found{}, err
	}
	return f, nil
}

// allow asks whether the caller may save calendars in a project.
func allow(ctx context.Context, project domain.ID) error {
	return httpx.Allow(ctx, project, domain.ActCalendarWrite)
}

func (h *Handlers) today() domain.BizDate { return domain.BizDateOf(h.Calendars.Now(), h.Zone) }
