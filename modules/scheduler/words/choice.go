package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// Choice is the choice of the form that a schedule fits: writing it again fires at the same
// instants. What fits none is ChoiceOwn. A moment that the form can't show, as one with a
// fraction of a second or within an hour that comes twice, is ChoiceOnce with an instant
// of RFC 3339.
func (Wording) Choice(s domain.Schedule, zone *time.Location) domain.Choice {
	switch s.Kind {
	case domain.ScheduleCron:
		parsed, err := cron.Parse(s.Expr, cron.Dialect(s.Dialect))
		if err != nil {
			break
		}
		if every, ok := parsed.Every(); ok {
			return domain.Choice{Kind: domain.ChoiceEvery, Every: shortDuration(every)}
		}
		if c, ok := fits(parsed.Fields()); ok {
			return c
		}
	case domain.ScheduleEvery:
		return domain.Choice{Kind: domain.ChoiceEvery, Every: shortDuration(time.Duration(s.EveryMs) * time.Millisecond)}
	case domain.ScheduleAt:
		return domain.Choice{Kind: domain.ChoiceOnce, At: moment(time.UnixMilli(s.AtMs), zone)}
	default:
		return domain.Choice{Kind: domain.ChoiceNone}
	}
	return domain.Choice{Kind: domain.ChoiceOwn, Cron: s.Expr}
}

func moment(at time.Time, zone *time.Location) string {
	at = at.In(zone)
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		text := at.Format(layout)
		if again, err := time.ParseInLocation(layout, text, zone); err == nil && again.Equal(at) && shownOnce(at, text, layout) {
			return text
		}
	}
	return at.Format(time.RFC3339Nano)
}

// shownOnce tells whether the wall clock shows the text at that instant only, within some hours.
func shownOnce(at time.Time, text, layout string) bool {
	for shift := -3 * time.Hour; shift <= 3*time.Hour; shift += 15 * time.Minute {
		if shift != 0 && at.Add(shift).Format(layout) == text {
			return false
		}
	}
	return true
}

// shortDuration writes a distance in one unit where one will do.
func shortDuration(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return d.String()
}

// fits finds the choice of an expression.
func fits(f cron.Fields) (domain.Choice, bool) {
	if !slices.Equal(f.Seconds, []int{0}) || f.Years != nil || len(f.Months) < 12 {
		return domain.Choice{}, false
	}
	byMonth, byWeek := restricted(f)
	if f.Interval {
		if byMonth || byWeek || len(f.Hours) < 24 {
			return domain.Choice{}, false
		}
		return withinHours(f.Minutes)
	}
	if len(f.Minutes) > 1 || len(f.Hours) > 1 {
		return domain.Choice{}, false
	}
	c, ok := byDay(f, byMonth, byWeek)
	c.Time = fmt.Sprintf("%02d:%02d", f.Hours[0], f.Minutes[0])
	return c, ok
}

// withinHours is each n minutes, or one minute of each hour.
func withinHours(minutes []int) (domain.Choice, bool) {
	if len(minutes) == 1 {
		return domain.Choice{Kind: domain.ChoiceHourly, Minute: number(minutes[0])}, true
	}
	step := minutes[1] - minutes[0]
	var want []int
	for v := 0; v < 60; v += step {
		want = append(want, v)
	}
	return domain.Choice{Kind: domain.ChoiceMinutes, Minutes: number(step)}, slices.Equal(minutes, want)
}

func byDay(f cron.Fields, byMonth, byWeek bool) (domain.Choice, bool) {
	special := len(f.FromLast) + len(f.Nearest)
	if f.LastWorkday {
		special++
	}
	switch {
	case byMonth && byWeek:
		return domain.Choice{}, false
	case byWeek && f.Nth == 0 && slices.Equal(f.Weekdays, []int{1, 2, 3, 4, 5}):
		return domain.Choice{Kind: domain.ChoiceWorkdays}, true
	case byWeek && f.Nth == 0:
		c := domain.Choice{Kind: domain.ChoiceWeekly}
		for _, d := range f.Weekdays {
			c.Weekdays = append(c.Weekdays, number(d))
		}
		return c, true
	case byWeek:
		nth := number(f.Nth)
		if f.Nth == cron.LastOfMonth {
			nth = "last"
		}
		return domain.Choice{Kind: domain.ChoiceNth, Nth: nth, Weekday: number(f.Weekdays[0])}, true
	case !byMonth:
		return domain.Choice{Kind: domain.ChoiceDaily}, true
	case special == 0 && len(f.Days) == 1:
		return domain.Choice{Kind: domain.ChoiceMonthly, Day: number(f.Days[0])}, true
	case special == 1 && len(f.Days) == 0 && slices.Equal(f.FromLast, []int{0}):
		return domain.Choice{Kind: domain.ChoiceMonthEnd}, true
	case special == 1 && len(f.Days) == 0 && f.LastWorkday:
		return domain.Choice{Kind: domain.ChoiceEndWorkday}, true
	}
	return domain.Choice{}, false
}

// Written is the key of the job file that a choice becomes, cron, every or at, and its
// value; both empty for ChoiceNone. A field that can't be written is returned by its name
// in the form, with the catalog key of what is wrong in place of the value.
func (Wording) Written(c domain.Choice) (key, value, wrong string) {
	switch c.Kind {
	case domain.ChoiceNone, "":
		return "", "", ""
	case domain.ChoiceOnce:
		return asTyped("at", c.At, "at")
	case domain.ChoiceEvery:
		return asTyped("every", c.Every, "every")
	case domain.ChoiceOwn:
		return asTyped("cron", c.Cron, "cron")
	case domain.ChoiceMinutes:
		n, ok := whole(c.Minutes, 1, 59)
		if !ok {
			return "", "choice.minutes_wrong", "minutes"
		}
		if n == 1 {
			return "cron", "* * * * *", ""
		}
		return "cron", fmt.Sprintf("*/%d * * * *", n), ""
	case domain.ChoiceHourly:
		n, ok := whole(c.Minute, 0, 59)
		if !ok {
			return "", "choice.minute_wrong", "minute"
		}
		return "cron", fmt.Sprintf("%d * * * *", n), ""
	}
	if !c.Kind.Timed() {
		return "", "choice.kind_wrong", "when"
	}
	return timed(c)
}

func asTyped(key, value, field string) (string, string, string) {
	if value = strings.TrimSpace(value); value == "" {
		return "", "choice." + key + "_empty", field
	}
	return key, value, ""
}

func whole(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil && n >= least && n <= most
}

// timed writes what fires at one time of a day.
func timed(c domain.Choice) (key, value, wrong string) {
	hour, minute, cut := strings.Cut(strings.TrimSpace(c.Time), ":")
	h, okH := whole(hour, 0, 23)
	m, okM := whole(minute, 0, 59)
	if !cut || !okH || !okM {
		return "", "choice.time_wrong", "time"
	}
	switch c.Kind {
	case domain.ChoiceDaily:
		return "cron", fmt.Sprintf("%d %d * * *", m, h), ""
	case domain.ChoiceWorkdays:
		return "cron", fmt.Sprintf("%d %d * * 1-5", m, h), ""
	case domain.ChoiceMonthEnd:
		return "cron", fmt.Sprintf("0 %d %d L * ?", m, h), ""
	case domain.ChoiceEndWorkday:
		return "cron", fmt.Sprintf("0 %d %d LW * ?", m, h), ""
	case domain.ChoiceMonthly:
		day, ok := whole(c.Day, 1, 31)
		if !ok {
			return "", "choice.day_wrong", "day"
		}
		return "cron", fmt.Sprintf("%d %d %d * *", m, h, day), ""
	case domain.ChoiceWeekly:
		days, ok := weekdays(c.Weekdays)
		if !ok {
			return "", "choice.weekdays_wrong", "weekdays"
		}
		return "cron", fmt.Sprintf("%d %d * * %s", m, h, days), ""
	}
	day, ok := whole(c.Weekday, 0, 6)
	nth, last := whole(c.Nth, 1, 5)
	switch {
	case !ok:
		return "", "choice.weekday_wrong", "weekday"
	case c.Nth == "last":
		return "cron", fmt.Sprintf("0 %d %d ? * %dL", m, h, day+1), ""
	case !last:
		return "", "choice.nth_wrong", "nth"
	}
	return "cron", fmt.Sprintf("0 %d %d ? * %d#%d", m, h, day+1, nth), ""
}

// weekdays writes days of the week, the week beginning with Monday; all of them are *.
func weekdays(texts []string) (string, bool) {
	var set [7]bool
	for _, text := range texts {
		n, ok := whole(text, 0, 6)
		if !ok {
			return "", false
		}
		set[n] = true
	}
	var out []string
	for i := range 7 {
		if day := (i + 1) % 7; set[day] {
			out = append(out, number(day))
		}
	}
	if len(out) == 7 {
		return "*", true
	}
	return strings.Join(out, ","), len(out) > 0
}
