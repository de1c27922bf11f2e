package job

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// The bounds of every:.
const (
	minEvery = 100 * time.Millisecond
	maxEvery = 36500 * 24 * time.Hour // 100 years
)

// previews is how many fires are shown with a job.
const previews = 5

func (d *draft) timezone(e entry) {
	s, ok := d.text(e)
	if !ok {
		return
	}
	if s == "" || s == "Local" {
		d.add(e.at, e.path, idZoneUnknown, hintZone, "value", s)
		return
	}
	if _, err := d.opts.Schedules.Zone(s); err != nil {
		d.add(e.at, e.path, idZoneUnknown, hintZone, "value", clip(s))
		return
	}
	d.spec.Timezone = s
}

// schedule judges cron, every, at, dialect and timezone together.
func (d *draft) schedule() {
	dialect, hasDialect := d.given["dialect"]
	if _, cron := d.given["cron"]; hasDialect && !cron {
		d.add(dialect.keyAt, dialect.path, idDialectAlone, "")
	}
	var one *entry
	for _, key := range []string{"cron", "every", "at"} {
		e, ok := d.given[key]
		if !ok {
			continue
		}
		if one != nil {
			d.add(e.keyAt, e.path, idScheduleTwo, "", "key", key, "other", one.key)
			return
		}
		one = &e
	}
	if one == nil {
		d.spec.Schedule.Dialect = ""
		return
	}
	zone, err := d.opts.Schedules.Zone(d.spec.Timezone)
	if err != nil {
		d.add(one.at, "job.timezone", idZoneUnknown, hintZone, "value", clip(d.spec.Timezone))
		return
	}
	switch one.key {
	case "cron":
		d.cron(*one, zone)
	case "every":
		d.every(*one, zone)
	case "at":
		d.at(*one, zone)
	}
}

func (d *draft) cron(e entry, zone *time.Location) {
	expr, ok := d.text(e)
	if !ok {
		return
	}
	s := domain.Schedule{Kind: domain.ScheduleCron, Expr: strings.TrimSpace(expr), Dialect: d.spec.Schedule.Dialect}
	dialect, next, err := d.opts.Schedules.Check(s, zone, d.opts.Now, previews)
	var where Positioned
	switch {
	case errors.As(err, &where):
		lead := len(expr) - len(strings.TrimLeft(expr, " \t\n"))
		d.add(d.placeIn(e, where.Offset()+lead), e.path, idCronWrong, "", "reason", err.Error(), "value", clip(expr))
		_ = errors.As(err, &d.problems[len(d.problems)-1].Reason)
	case err != nil:
		d.add(e.at, e.path, idCronWrong, "", "reason", err.Error(), "value", clip(expr))
	case len(next) == 0:
		d.add(e.at, e.path, idCronNever, hintCronNever, "value", clip(expr), "zone", d.spec.Timezone)
	default:
		s.Dialect = dialect
		d.spec.Schedule, d.parsed.Next = s, next
		d.caution(e, s, zone)
	}
}

// caution warns of what people may not expect of a schedule.
func (d *draft) caution(e entry, s domain.Schedule, zone *time.Location) {
	for _, c := range d.opts.Schedules.Cautions(s, zone, d.opts.Now) {
		args := make([]string, 0, 2*len(c.Args))
		for name, value := range c.Args {
			args = append(args, name, value)
		}
		d.warn(e.at, e.path, "cron."+c.ID, cautionHint("cron."+c.ID), args...)
	}
}

// cautionHint is the hint beside a caution.
func cautionHint(id string) string {
	switch id {
	case idCronShortMonths:
		return hintCronLastDay
	case idCronRestartsMinute, idCronRestartsHour, idCronRestartsDay, idCronRestartsMonth, idCronRestartsYear:
		return hintCronRhythm
	case idCronEither:
		return hintCronEither
	case idCronLeapDay, idCronShortLast, idCronOften, idCronMadeUp, idCronSkipped, idCronOnce, idCronTwice:
		// They say it all.
	}
	return ""
}

func (d *draft) every(e entry, zone *time.Location) {
	text, ok := d.text(e)
	if !ok {
		return
	}
	every, err := duration(text)
	switch {
	case err != nil || strings.HasPrefix(text, "+"):
		d.add(e.at, e.path, idEveryWrong, hintEvery, "value", clip(text))
		return
	case every < minEvery || every > maxEvery:
		d.add(e.at, e.path, idEveryRange, "", "value", clip(text), "min", "100ms", "max", "36500d")
		return
	case every%time.Millisecond != 0:
		d.add(e.at, e.path, idEveryGrain, "", "value", clip(text))
		return
	}
	d.timed(e, domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: every.Milliseconds()}, zone)
}

// duration is Go's, and whole days besides. Days beyond the bound stay beyond it.
func duration(text string) (time.Duration, error) {
	days, isDays := strings.CutSuffix(text, "d")
	if !isDays || !decimal.MatchString(days) {
		return time.ParseDuration(text)
	}
	n, err := strconv.Atoi(days)
	if err != nil || n > 36500 {
		return maxEvery + 1, nil
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// at reads one instant: RFC 3339, or date and time in the job's zone.
func (d *draft) at(e entry, zone *time.Location) {
	text, ok := d.text(e)
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	twice := false
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if err == nil {
			break
		}
		if at, err = time.ParseInLocation(layout, text, zone); err != nil {
			continue
		}
		if at.Format(layout) != text {
			d.add(e.at, e.path, idAtGap, "", "value", clip(text), "zone", d.spec.Timezone)
			return
		}
		at, twice = firstShown(at)
	}
	if err != nil {
		d.add(e.at, e.path, idAtWrong, hintAt, "value", clip(text))
		return
	}
	if twice {
		d.warn(e.at, e.path, idAtTwice, "", "value", clip(text), "zone", d.spec.Timezone, "first", at.Format(time.RFC3339))
	}
	if !at.After(d.opts.Now) {
		d.warn(e.at, e.path, idAtPast, "", "value", clip(text))
		d.spec.Schedule = domain.Schedule{Kind: domain.ScheduleAt, AtMs: at.UnixMilli()}
		return
	}
	d.timed(e, domain.Schedule{Kind: domain.ScheduleAt, AtMs: at.UnixMilli()}, zone)
}

// firstShown is the first instant at which the clock of the zone of at shows what it shows at at, as for a cron, and
// whether it shows that twice: when it is set back, by no more than three hours anywhere.
func firstShown(at time.Time) (first time.Time, twice bool) {
	const most, step = 3 * time.Hour, 15 * time.Minute
	for shift := -most; shift <= most; shift += step {
		if other := at.Add(shift); shift != 0 && other.Format(time.DateTime) == at.Format(time.DateTime) {
			if shift < 0 {
				at = other
			}
			return at, true
		}
	}
	return at, false
}

// timed asks the scheduler about a schedule that reads well.
func (d *draft) timed(e entry, s domain.Schedule, zone *time.Location) {
	_, next, err := d.opts.Schedules.Check(s, zone, d.opts.Now, previews)
	if err != nil {
		d.add(e.at, e.path, idScheduleWrong, "", "key", e.key, "reason", err.Error())
		return
	}
	d.spec.Schedule, d.parsed.Next = s, next
	d.caution(e, s, zone)
}
