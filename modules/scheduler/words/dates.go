package words

import (
	"github.com/axsched/ax/modules/scheduler/cron"
)

func (w speaker) weekday(n int) string { return w.say("weekday." + number(n)) }
func (w speaker) month(n int) string   { return w.say("month." + number(n)) }
func (w speaker) day(n int) string     { return w.say("day." + number(n)) }

// days says the dates. It is empty for each day of the year beside times that go round
// the day.
func (w speaker) days(f cron.Fields, allDay bool) string {
	byMonth, byWeek := restricted(f)
	months := w.months(f.Months)
	switch {
	case !byMonth && !byWeek && len(f.Months) < 12 && allDay:
		return w.say("daily.round", "months", w.monthNames(f.Months))
	case !byMonth && !byWeek && len(f.Months) < 12:
		return w.say("daily.in", "months", w.monthNames(f.Months))
	case !byMonth && !byWeek && allDay:
		return ""
	case !byMonth && !byWeek:
		return w.say("daily")
	case byMonth && byWeek && f.Both:
		return w.say("both", "days", w.say("dom", "list", w.dom(f), "months", months), "weekdays", w.join(w.weekdays(f.Weekdays), "or"))
	case byMonth && byWeek:
		return w.say("either", "days", w.say("dom", "list", w.dom(f), "months", months), "weekdays", w.list(w.weekdays(f.Weekdays)), "in", w.in(f.Months))
	case byMonth:
		return w.byMonth(f, months)
	}
	return w.week(f)
}

// restricted tells which of the day fields leaves days out.
func restricted(f cron.Fields) (byMonth, byWeek bool) {
	byMonth, byWeek = len(f.Days) < 31, len(f.Weekdays) < 7 || f.Nth != 0
	if !f.Both && !(byMonth && byWeek) {
		return false, false // either will do, and one of them takes all
	}
	return byMonth, byWeek
}

func (w speaker) byMonth(f cron.Fields, months string) string {
	if len(f.Days) == 1 && len(f.Months) == 1 && len(f.FromLast)+len(f.Nearest) == 0 && !f.LastWorkday {
		key := "date"
		if f.Years != nil {
			key = "date.in"
		}
		return w.say(key, "month", w.month(f.Months[0]), "n", f.Days[0])
	}
	return w.say("dom", "list", w.dom(f), "months", months)
}

// months says which months a day belongs to.
func (w speaker) months(months []int) string {
	if len(months) == 12 {
		return w.say("months.each")
	}
	return w.say("months.some", "list", w.monthNames(months))
}

func (w speaker) monthNames(months []int) string { return w.told(rows(months), w.month) }

// dom lists the days of a month.
func (w speaker) dom(f cron.Fields) string {
	var items []string
	for _, s := range stretches(f.Days) {
		switch {
		case s == stretch{1, 31, 2}:
			items = append(items, w.say("dom.odd"))
		case s == stretch{2, 30, 2}:
			items = append(items, w.say("dom.even"))
		case s.step > 1:
			items = append(items, w.say("dom.steps", "from", w.day(s.from), "to", w.day(s.to), "step", number(s.step)))
		case s.from < s.to:
			items = append(items, w.say("dom.range", "from", w.day(s.from), "to", w.day(s.to)))
		default:
			items = append(items, w.say("dom.one", "day", w.day(s.from)))
		}
	}
	for _, n := range f.Nearest {
		items = append(items, w.say("dom.nearest", "day", w.day(n)))
	}
	for _, n := range f.FromLast {
		if n == 0 {
			items = append(items, w.say("dom.last"))
		} else {
			items = append(items, w.say("dom.before_last", "n", n))
		}
	}
	if f.LastWorkday {
		items = append(items, w.say("dom.last_workday"))
	}
	return w.list(items)
}

// week says the days of the week, with the months that they are limited to.
func (w speaker) week(f cron.Fields) string {
	if f.Nth != 0 {
		nth := w.say("nth." + number(f.Nth))
		return w.say("week.nth", "nth", nth, "weekday", w.weekday(f.Weekdays[0]), "months", w.months(f.Months))
	}
	in := w.in(f.Months)
	items := w.weekdays(f.Weekdays)
	if len(items) == 1 && len(f.Weekdays) > 1 {
		return w.say("week.range", "list", items[0], "in", in)
	}
	return w.say("week.list", "list", w.list(items), "in", in)
}

// in limits days of the week to months.
func (w speaker) in(months []int) string {
	if len(months) == 12 {
		return ""
	}
	return w.say("week.in", "list", w.monthNames(months))
}

// weekdays are single days and rows of three and more, the week beginning with Monday.
func (w speaker) weekdays(days []int) []string {
	monday := make([]int, 0, len(days))
	for _, d := range days {
		if d != 0 {
			monday = append(monday, d)
		}
	}
	if len(monday) < len(days) {
		monday = append(monday, 7)
	}
	var items []string
	for _, s := range rows(monday) {
		if s.from < s.to {
			items = append(items, w.say("set.range", "from", w.weekday(s.from%7), "to", w.weekday(s.to%7)))
		} else {
			items = append(items, w.weekday(s.from%7))
		}
	}
	return items
}
