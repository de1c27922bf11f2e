package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/scheduler"
)

// calendarFiles are calendars read from files, by project and name, for commands that work offline.
type calendarFiles map[domain.JobKey]*domain.Calendar

// Named reads one; NotFound if no file has it.
func (c calendarFiles) Named(_ context.Context, project, name string) (*domain.Calendar, error) {
	if found := c[domain.JobKey{Project: project, Name: name}]; found != nil {
		return found, nil
	}
	return nil, domain.Fail(domain.NotFound, "no file holds calendar %s", name)
}

// readCalendar reads a calendar file; one that does not say its name is called by its file.
func (p *process) readCalendar(path string) (*domain.Calendar, string, error) {
	name, text, err := p.calendarText(path)
	if err != nil {
		return nil, "", err
	}
	sheet, problems := calendar.Read(name, text, "")
	if len(problems) > 0 {
		p.note("%s", renderProblems(calendarProblems(problems)))
		return nil, "", fmt.Errorf("%s is no calendar that could be applied", path)
	}
	out := sheet.Calendar(nil)
	if out.Name == "" {
		out.Name, _, _ = strings.Cut(name, ".")
	}
	out.ID, out.Version = 1, 1 // what a gate is told by
	project := sheet.Project
	if project == "" {
		project = domain.DefaultProject
	}
	return out, project, nil
}

func (p *process) readCalendars(paths []string) (calendarFiles, error) {
	out := calendarFiles{}
	for _, path := range paths {
		c, project, err := p.readCalendar(path)
		if err != nil {
			return nil, err
		}
		out[domain.JobKey{Project: project, Name: c.Name}] = c
	}
	return out, nil
}

// foretell tells the next fires of jobs by the calendars at hand, in place, and names the jobs whose
// calendar is in none of the files.
func foretell(parsed []job.Parsed, calendars calendarFiles, opts job.Options) (job.Problems, map[domain.JobKey]string, error) {
	unknown := map[domain.JobKey]string{}
	var known []job.Parsed
	var at []int
	for i, j := range parsed {
		use := j.Spec.Calendar
		if use.IsZero() {
			continue
		}
		if calendars[domain.JobKey{Project: j.Spec.Project, Name: use.Name}] == nil {
			unknown[j.Spec.Key()] = use.Name
			continue
		}
		known, at = append(known, j), append(at, i)
	}
	d := job.Definitions{Now: func() time.Time { return opts.Now }, Schedules: opts.Schedules, Calendars: calendars}
	problems, err := d.Foretell(context.Background(), known)
	for n, i := range at {
		parsed[i] = known[n]
	}
	return problems, unknown, err
}

// gating is the flags of next about a calendar, and what they come to.
type gating struct {
	file, on, otherwise string
	use                 domain.CalendarUse
}

// gated are the fires of an expression that a calendar lets happen; it notes the use of that.
func (p *process) gated(g *gating, s domain.Schedule, zone *time.Location, from time.Time, n int) ([]domain.Coming, error) {
	use := domain.CalendarUse{On: domain.GateDay(g.on), Else: domain.GateElse(g.otherwise)}
	switch use.On {
	case domain.GateWorkday, domain.GateRestday:
	default:
		return nil, usage("--on %s: it is workday or restday", g.on)
	}
	switch use.Else {
	case domain.ElseSkip, domain.ElseNext, domain.ElsePrevious:
	default:
		return nil, usage("--else %s: it is skip, next or previous", g.otherwise)
	}
	c, _, err := p.readCalendar(g.file)
	if err != nil {
		return nil, err
	}
	use.Name = c.Name
	g.use = use
	return scheduler.Times{}.Coming(domain.JobSpec{Schedule: s, Timezone: zone.String(), BizDate: domain.BizDateT, Calendar: use}, c, from, n)
}

// passedOver says which days a calendar passed over before a fire, and from where it moved it.
func passedOver(c domain.Coming) []string {
	var out []string
	for _, d := range c.Passed {
		days := d.Day.String()
		if d.Label != "" {
			days += " " + d.Label
		}
		if d.To.IsZero() {
			out = append(out, english("fire.skipped", map[string]string{"days": days}))
		} else {
			out = append(out, english("fire.moved_to", map[string]string{"days": days, "date": d.To.String()}))
		}
	}
	return out
}
