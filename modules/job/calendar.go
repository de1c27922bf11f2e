package job

import (
	"context"
	"errors"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// bizDate reads the rule of business dates.
func (d *draft) bizDate(e entry) {
	s, ok := d.text(e)
	if !ok {
		return
	}
	if r, ok := domain.ParseBizDateRule(s); ok {
		d.spec.BizDate = r
		return
	}
	known := domain.BizDateRules()
	args := []string{"key", e.key, "value", clip(s), "known", strings.Join(known, ", ")}
	near := nearest(s, known)
	switch s {
	case "T-0", "T+0":
		near = string(domain.BizDateT)
	case "workday-0", "workday+0":
		near = "" // two letters off is a rule that means another day
	}
	if near != "" {
		d.add(e.at, e.path, idValueUnknown, hintMeant, append(args, "suggestion", near)...)
		return
	}
	d.add(e.at, e.path, idValueUnknown, hintBizDate, args...)
}

// calendar reads a name, or {name, on, else}.
func (d *draft) calendar(e entry) {
	use := domain.CalendarUse{On: domain.GateWorkday, Else: domain.ElseSkip}
	if _, plain := scalar(e.node); plain {
		if use.Name = d.name(e); use.Name != "" {
			d.spec.Calendar = use
		}
		return
	}
	children, ok := d.entries(e)
	if !ok {
		return
	}
	keys := map[string]entry{}
	for _, c := range children {
		keys[c.key] = c
		switch c.key {
		case "name":
			use.Name = d.name(c)
		case "on":
			take(d, c, &use.On, domain.GateWorkday, domain.GateRestday, domain.GateAny)
		case "else":
			take(d, c, &use.Else, domain.ElseSkip, domain.ElseNext, domain.ElsePrevious)
		default:
			d.unknownKey(c, idCalendarKey, []string{"name", "on", "else"})
		}
	}
	if _, named := keys["name"]; !named {
		d.add(e.at, e.path, idCalendarName, hintCalendarName)
		return
	}
	if other, given := keys["else"]; given && use.On == domain.GateAny {
		d.add(other.keyAt, other.path, idCalendarAny, "")
	}
	if use.Name != "" {
		d.spec.Calendar = use
	}
}

// gate judges calendar and schedule together. What the calendar lets through is not known
// here, so no next fires are told.
func (d *draft) gate() {
	use := d.spec.Calendar
	if use.IsZero() || use.On == domain.GateAny {
		return
	}
	e := d.given["calendar"]
	s := d.spec.Schedule
	interval := s.Kind == domain.ScheduleEvery || strings.HasPrefix(s.Expr, "@every")
	switch {
	case s.Kind == domain.ScheduleAt:
		d.add(e.at, e.path, idCalendarAt, hintCalendarAny, "calendar", use.Name)
	case interval && use.Else != domain.ElseSkip:
		path := e.path + ".else"
		d.add(d.At(path), path, idCalendarMove, hintCalendarMove, "value", string(use.Else))
	}
	d.parsed.Next = nil
}

// Calendars finds calendars.
type Calendars interface {
	// Named reads the version in force of a project's calendar; NotFound if there is none.
	Named(ctx context.Context, project, name string) (*domain.Calendar, error)
}

// coverAhead is how many days ahead a calendar should know the special days.
const coverAhead = 30

// Foretell judges jobs against the calendars that they name, and tells their next fires by these: Next
// and Coming of each.
func (d *Definitions) Foretell(ctx context.Context, parsed []Parsed) (Problems, error) {
	var out Problems
	for i := range parsed {
		p := &parsed[i]
		calendar, err := d.CalendarOf(ctx, p.Spec)
		if domain.Is(err, domain.NotFound) {
			out = append(out, p.problem("job.calendar", idCalendarMissing, hintCalendarMissing, pairs("calendar", p.Spec.Calendar.Name, "project", p.Spec.Project)))
			continue
		}
		if err != nil {
			return nil, err
		}
		if p.Spec.Schedule.Kind == domain.ScheduleNone || p.Spec.Schedule.Kind == domain.ScheduleAt && p.Spec.Schedule.AtMs <= d.Now().UnixMilli() {
			continue
		}
		if p.Coming, err = d.Schedules.Coming(p.Spec, calendar, d.Now(), previews); err != nil {
			out = append(out, p.problem("job.calendar", idCalendarWrong, "", pairs("calendar", p.Spec.Calendar.Name, "reason", err.Error())))
			continue
		}
		p.Next = nil
		for _, c := range p.Coming {
			p.Next = append(p.Next, c.At)
		}
		switch {
		case calendar == nil:
		case len(p.Coming) == 0:
			out = append(out, p.problem("job.calendar", idCalendarNever, "", pairs("calendar", calendar.Name)))
		default:
			soon := d.uncovered(p, calendar)
			p.Warnings, out = append(p.Warnings, soon...), append(out, soon...)
		}
	}
	return out, nil
}

// uncovered warns of a calendar that soon ends.
func (d *Definitions) uncovered(p *Parsed, calendar *domain.Calendar) Problems {
	today := domain.BizDateOf(d.Now(), p.Coming[0].At.Location())
	to := calendar.CoveredTo(today)
	if today.AddDays(coverAhead).Before(to) {
		return nil
	}
	id := idCalendarEnds
	if to.IsZero() {
		id, to = idCalendarUncovered, today
	}
	w := p.problem("job.calendar", id, hintCalendarEnds, pairs("calendar", calendar.Name, "date", to.String()))
	w.Warning = true
	return Problems{w}
}

// CalendarOf reads the version in force of the calendar that a definition names; nil where it
// names none.
func (d *Definitions) CalendarOf(ctx context.Context, spec domain.JobSpec) (*domain.Calendar, error) {
	switch {
	case spec.Calendar.IsZero():
		return nil, nil
	case d.Calendars == nil:
		return nil, domain.Fail(domain.NotFound, "there are no calendars here")
	}
	return d.Calendars.Named(ctx, spec.Project, spec.Calendar.Name)
}

// BizDateNow is the business date that a fire of the definition at this moment would have.
func (d *Definitions) BizDateNow(ctx context.Context, spec domain.JobSpec) (domain.BizDate, error) {
	zone, err := d.Schedules.Zone(spec.Timezone)
	if err != nil {
		return domain.BizDate{}, err
	}
	var calendar *domain.Calendar
	if spec.BizDate.Workdays() {
		if calendar, err = d.CalendarOf(ctx, spec); err != nil {
			return domain.BizDate{}, err
		}
	}
	return spec.BizDate.Of(domain.BizDateOf(d.Now(), zone), calendar), nil
}

// triggerFault turns what the scheduler refused into a problem of the file.
func (p Parsed) triggerFault(err error) (Problem, bool) {
	var never *domain.Error
	if !errors.As(err, &never) || never.Kind != domain.Invalid {
		return Problem{}, false
	}
	if never.Field == "calendar" {
		return p.problem("job.calendar", idCalendarWrong, "", pairs("calendar", p.Spec.Calendar.Name, "reason", never.Msg)), true
	}
	return p.problem("job."+never.Field, idScheduleWrong, "", pairs("key", never.Field, "reason", never.Msg)), true
}
