package domain

import "strings"

// DepDates says which business dates of an upstream a dependency is about, from the date of
// the instance that waits. Its written form is canonical: equal rules are equal texts.
type DepDates string

// The rules with a name of their own. Others are current shifted, back or on, by days, weeks,
// months or years (current-1d, current+2w), and the whole week from Monday or month of such a
// date: week(current), month(current-1m).
const (
	DepCurrent     DepDates = "current"
	DepPrevWorkday DepDates = "prev_workday" // the last working day before
)

// MaxDepShift is the largest number in a shift.
const MaxDepShift = 366

// MaxDepDates is how many dates a set holds at most.
const MaxDepDates = 31

// DepDatesExamples lists rules as a person would write them, for hints.
func DepDatesExamples() []string {
	return []string{"current", "current-1d", "prev_workday", "week(current-1w)", "month(current-1m)"}
}

// ParseDepDates reads a rule; false when the text is none. day(current) and the like come back
// as the date alone, which they mean.
func ParseDepDates(text string) (DepDates, bool) {
	d := DepDates(strings.ReplaceAll(text, " ", ""))
	if inner, ok := strings.CutPrefix(string(d), "day("); ok {
		rest, closed := strings.CutSuffix(inner, ")")
		one := DepDates(rest)
		if set, _, _, ok := one.parts(); !closed || !ok || set != "" {
			return "", false
		}
		return one, true
	}
	_, _, _, ok := d.parts()
	return d, ok || d == DepPrevWorkday
}

// parts takes a rule other than prev_workday apart: the set around the date ("", week or
// month), and the shift of the date with its unit d, w, m or y (0: none).
func (d DepDates) parts() (set string, n int, unit byte, ok bool) {
	text := string(d)
	for _, s := range []string{"week", "month"} {
		if inner, is := strings.CutPrefix(text, s+"("); is {
			rest, closed := strings.CutSuffix(inner, ")")
			if !closed {
				return "", 0, 0, false
			}
			set, text = s, rest
			break
		}
	}
	shift, ok := strings.CutPrefix(text, string(DepCurrent))
	if !ok || shift == "" {
		return set, 0, 0, ok
	}
	last := len(shift) - 1
	if last < 2 || last > 4 || shift[0] != '-' && shift[0] != '+' || shift[1] == '0' || !digits(shift[1:last]) || !strings.Contains("dwmy", shift[last:]) {
		return "", 0, 0, false
	}
	n = atoi(shift[1:last])
	if n > MaxDepShift {
		return "", 0, 0, false
	}
	if shift[0] == '-' {
		n = -n
	}
	return set, n, shift[last], true
}

// Parts takes a rule apart for saying it: the set (day, week, month or workday), and the
// shift with its unit d, w, m or y.
func (d DepDates) Parts() (set string, n int, unit string) {
	if d == DepPrevWorkday {
		return "workday", -1, "d"
	}
	set, n, u, ok := d.parts()
	if !ok {
		return "", 0, ""
	}
	if set == "" {
		set = "day"
	}
	if n == 0 {
		return set, 0, ""
	}
	return set, n, string(u)
}

// Of is the first and the last date that an instance of the date waits for, by the calendar
// (nil: Monday to Friday). Months are those of the calendar: 2026-03-31 a month back is
// 2026-02-28. What is no rule counts as current.
func (d DepDates) Of(day BizDate, c *Calendar) (first, last BizDate) {
	if d == DepPrevWorkday {
		day = c.AddWorkdays(day, -1)
		return day, day
	}
	set, n, unit, _ := d.parts()
	switch unit {
	case 'd':
		day = day.AddDays(n)
	case 'w':
		day = day.AddDays(7 * n)
	case 'm':
		day = day.AddMonths(n)
	case 'y':
		day = day.AddMonths(12 * n)
	}
	switch set {
	case "week":
		monday := day.AddDays(-(int(day.Weekday()) + 6) % 7)
		return monday, monday.AddDays(6)
	case "month":
		return day.MonthStart(), day.MonthEnd()
	}
	return day, day
}

// Ahead is how many days a date of the set lies after the instance's own at most: below 0 the
// dependency only ever looks back. It may be more than the truth, never less.
func (d DepDates) Ahead() int {
	if d == DepPrevWorkday {
		return -1
	}
	set, n, unit, _ := d.parts()
	months := n
	switch unit {
	case 'd', 'w':
		if unit == 'w' {
			n *= 7
		}
		switch set {
		case "week":
			return n + 6
		case "month":
			return n + 30
		}
		return n
	case 'y':
		months = 12 * n
	}
	switch {
	case set == "month" && months < 0: // the end of an earlier month
		return -1 - 28*(-months-1)
	case months < 0:
		n = 28 * months
	default:
		n = 31 * months
	}
	switch set {
	case "week":
		return n + 6
	case "month":
		return n + 30
	}
	return n
}
