package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/calendars"
	"github.com/axsched/ax/views/ui"
)

// pages are the routes that people see.
func (h *Handlers) pages() []httpx.Route {
	read, write := domain.ActJobRead, domain.ActCalendarWrite
	return []httpx.Route{
		{Method: "GET", Path: "/calendars", Action: read, Handler: h.listPage},
		{Method: "GET", Path: "/calendars/new", Action: write, Handler: h.newPage},
		{Method: "POST", Path: "/calendars/new", Action: write, MaxBody: maxUpload, Handler: h.saveNew},
		{Method: "POST", Path: "/calendars/check", Action: write, MaxBody: maxUpload, Handler: h.check},
		{Method: "GET", Path: "/calendars/:calendar", Action: read, Handler: h.yearPage},
		{Method: "GET", Path: "/calendars/:calendar/edit", Action: write, Handler: h.editPage},
		{Method: "POST", Path: "/calendars/:calendar/edit", Action: write, MaxBody: maxUpload, Handler: h.saveEdit},
		{Method: "POST", Path: "/calendars/:calendar/delete", Action: write, Handler: h.deleteForm},
		{Method: "GET", Path: "/calendars/:calendar/day", Action: write, Handler: h.dayPage},
		{Method: "POST", Path: "/calendars/:calendar/day", Action: write, Handler: h.saveDay},
		{Method: "POST", Path: "/calendars/:calendar/day/check", Action: write, Handler: h.checkDay},
	}
}

func calendarURL(id domain.ID) string { return "/calendars/" + id.String() }

// todayOf is the day in the reader's zone.
func (h *Handlers) todayOf(ctx context.Context) domain.BizDate {
	return domain.BizDateOf(h.Calendars.Now(), i18n.Zone(ctx))
}

// may is an action of the reader in a project.
func may(ctx context.Context, project domain.ID, url string) ui.Action {
	if !httpx.Can(ctx, project, domain.ActCalendarWrite) {
		return ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActCalendarWrite))}
	}
	return ui.Action{URL: url}
}

func (h *Handlers) listPage(c echo.Context) error {
	ctx := c.Request().Context()
	today := h.todayOf(ctx)
	found, err := h.Calendars.List(ctx, httpx.Visible(ctx, domain.ActJobRead), today)
	if err != nil {
		return err
	}
	p := calendars.ListPage{Shell: httpx.Shell(c), New: ui.Action{URL: "/calendars/new"}}
	if httpx.Visible(ctx, domain.ActCalendarWrite).Empty() {
		p.New = ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActCalendarWrite))}
	}
	for _, l := range found {
		p.Rows = append(p.Rows, calendars.Row{Calendar: ui.Ref{ID: l.Key(), Title: l.Title, URL: calendarURL(l.ID)}, Years: years(l.Years), Special: l.Special, Jobs: l.Jobs,
			Version: l.Version, Changed: l.UpdatedAt, CoveredTo: l.CoveredTo.String(), Ends: calendar.Ends(l.CoveredTo, today)})
	}
	return httpx.Render(c, http.StatusOK, calendars.List(p))
}

// years are years as people write them: 2024–2026, 2030.
func years(all []int) string {
	var out []string
	for i := 0; i < len(all); {
		first, last := all[i], all[i]
		for i++; i < len(all) && all[i] == last+1; i++ {
			last = all[i]
		}
		text := strconv.Itoa(first)
		if last > first {
			text += "–" + strconv.Itoa(last)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (h *Handlers) yearPage(c echo.Context) error {
	f, err := h.named(c, domain.ActJobRead)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	here := calendarURL(f.ID)
	p := calendars.YearPage{Shell: httpx.Shell(c), Calendar: ui.Ref{ID: f.Key(), Title: f.Title, URL: here}, Project: f.Project, Version: f.Version, InForce: f.Version, InForceURL: here,
		Edit: may(ctx, f.ProjectID, here+"/edit"), Delete: may(ctx, f.ProjectID, here+"/delete"), Key: rand.Text()}
	days := f.Days
	if text := c.QueryParam("version"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return domain.Fail(domain.NotFound, "calendar %s has no version %q", f.Key(), text).Coded("http.not_found")
		}
		if days, err = h.Calendars.Version(ctx, f.ID, n); err != nil {
			return err
		}
		p.Version = n
	}
	if p.Edit.URL != "" && p.Version == f.Version {
		p.DayURL = here + "/day"
	}
	if err := h.fillYear(ctx, &p, days, c.QueryParam("year")); err != nil {
		return err
	}
	p.Text = calendar.Write(days, f.Project)
	if err := h.fillBelow(ctx, &p, f); err != nil {
		return err
	}
	return httpx.Render(c, http.StatusOK, calendars.Year(p))
}

// fillYear draws the year that is asked for, else the present one or the last that the calendar knows.
func (h *Handlers) fillYear(ctx context.Context, p *calendars.YearPage, days *domain.Calendar, asked string) error {
	today := h.todayOf(ctx)
	present, _, _ := today.Date()
	p.Year = present
	if !slices.Contains(days.Years, p.Year) && len(days.Years) > 0 {
		p.Year = days.Years[len(days.Years)-1]
	}
	if asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < calendar.FirstYear || n > calendar.LastYear {
			return domain.Fail(domain.Invalid, "%q is no year from %d to %d", asked, calendar.FirstYear, calendar.LastYear).At("year")
		}
		p.Year = n
	}
	at := func(year int) string {
		url := p.InForceURL + "?year=" + strconv.Itoa(min(max(year, calendar.FirstYear), calendar.LastYear))
		if p.Version != p.InForce {
			url += "&version=" + strconv.Itoa(p.Version)
		}
		return url
	}
	p.PrevURL, p.NextURL, p.Covered = at(p.Year-1), at(p.Year+1), slices.Contains(days.Years, p.Year)
	for _, y := range days.Years {
		p.Years = append(p.Years, ui.Tab{Text: strconv.Itoa(y), URL: at(y), Active: y == p.Year})
	}
	switch to := days.CoveredTo(today); {
	case to.IsZero():
		p.Unknown = present
	case calendar.Ends(to, today):
		p.Ends = to.String()
	}
	for d, off := range days.Rest {
		if off {
			p.Rest = append(p.Rest, time.Weekday(d))
		}
	}
	for no := time.January; no <= time.December; no++ {
		p.Months = append(p.Months, monthOf(p, days, no, today))
	}
	return nil
}

// monthOf draws a month and counts its days.
func monthOf(p *calendars.YearPage, days *domain.Calendar, no time.Month, today domain.BizDate) calendars.Month {
	first := domain.NewBizDate(p.Year, no, 1)
	m := calendars.Month{No: int(no)}
	week := [7]calendars.Day{}
	for d := first; !first.MonthEnd().Before(d); d = d.AddDays(1) {
		_, _, number := d.Date()
		day := calendars.Day{No: number, Date: d.String(), Kind: string(calendar.KindOf(days, d)), Label: days.Label(d), Today: d == today}
		if days.Workday(d) {
			p.Worked++
		} else {
			p.Off++
		}
		switch calendar.KindOf(days, d) {
		case calendar.Holiday:
			p.Holidays++
		case calendar.MakeUp:
			p.MakeUps++
		}
		if day.Special() {
			if n := len(m.Special); n > 0 && m.Special[n-1].Last == number-1 && m.Special[n-1].Kind == day.Kind && m.Special[n-1].Label == day.Label {
				m.Special[n-1].Last = number
			} else {
				m.Special = append(m.Special, calendars.Stretch{First: number, Last: number, Kind: day.Kind, Label: day.Label})
			}
		}
		column := (int(d.Weekday()) + 6) % 7
		week[column] = day
		if column == 6 || d == first.MonthEnd() {
			m.Weeks, week = append(m.Weeks, week), [7]calendars.Day{}
		}
	}
	return m
}

// shownUsers is how many jobs the page of a calendar lists.
const shownUsers = 100

// fillBelow lists who lives by the calendar and its versions.
func (h *Handlers) fillBelow(ctx context.Context, p *calendars.YearPage, f calendar.Found) error {
	users, err := h.Calendars.UserNames(ctx, f.ID)
	if err != nil {
		return err
	}
	p.More = max(0, len(users)-shownUsers)
	for _, u := range users[:min(len(users), shownUsers)] {
		p.Users = append(p.Users, refOf(u))
	}
	versions, err := h.Calendars.Store.Versions(ctx, f.ID, shownVersions)
	if err != nil {
		return err
	}
	for _, v := range versions {
		url := calendarURL(f.ID) + "?version=" + strconv.Itoa(v.Version)
		if v.Version == f.Version {
			url = calendarURL(f.ID)
		}
		p.Versions = append(p.Versions, calendars.Version{No: v.Version, URL: url, By: v.CreatedBy, At: v.CreatedAt, File: noteOf(ctx, v.Note), Shown: v.Version == p.Version, InForce: v.Version == f.Version})
	}
	return nil
}

func refOf(j domain.JobName) ui.Ref {
	return ui.Ref{ID: j.Key.String(), Title: j.Title, URL: "/jobs/" + j.ID.String()}
}

func (h *Handlers) deleteForm(c echo.Context) error {
	f, err := h.named(c, domain.ActCalendarWrite)
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	base, err := baseOf(form)
	if err != nil {
		return err
	}
	if err := h.Calendars.Delete(c.Request().Context(), f, &base); err != nil {
		return err
	}
	return httpx.Redirect(c, "/calendars")
}
