package domain

import (
	"strconv"
	"strings"
)

// BizDateRule derives an instance's biz_date from the day of its expected time in the
// job's zone. The rules that go by working days ask the job's calendar; without one
// Monday to Friday are worked. Its written form is canonical: equal rules are equal texts.
type BizDateRule string

// The rules with a name of their own. T-n and T+n are n days before and after, workday-n and
// workday+n the n-th working day before and after, n from 1 to MaxBizDateShift.
const (
	BizDateT              BizDateRule = "T"
	BizDateTMinus1        BizDateRule = "T-1"
	BizDateMonthStart     BizDateRule = "month_start"      // first day of the month of T
	BizDateMonthEnd       BizDateRule = "month_end"        // last day of the month of T
	BizDatePrevMonthStart BizDateRule = "prev_month_start" // first day of the month before
	BizDatePrevMonthEnd   BizDateRule = "prev_month_end"   // last day of the month before
	BizDatePrevWorkday    BizDateRule = "prev_workday"     // last working day before T, as workday-1
	BizDateNextWorkday    BizDateRule = "next_workday"     // first working day after T, as workday+1
)

// MaxBizDateShift is the largest n of T-n, T+n, workday-n and workday+n.
const MaxBizDateShift = 366

// BizDateRules lists the rules as a person would write them, for hints and choices.
func BizDateRules() []string {
	return []string{"T", "T-1", "T+1", "month_start", "month_end", "prev_month_start", "prev_month_end", "prev_workday", "next_workday", "workday-2", "workday+2"}
}

// ParseBizDateRule reads a rule; false when the text is none. workday-1 and workday+1 come back
// as prev_workday and next_workday.
func ParseBizDateRule(text string) (BizDateRule, bool) {
	r := BizDateRule(text)
	switch r {
	case "workday-1":
		return BizDatePrevWorkday, true
	case "workday+1":
		return BizDateNextWorkday, true
	}
	kind, _ := r.parts()
	return r, kind != ""
}

// parts takes a rule apart: T and workday come with their signed number, the others are
// their own kind; "" is no rule.
func (r BizDateRule) parts() (kind BizDateRule, n int) {
	switch r {
	case BizDateT, BizDateMonthStart, BizDateMonthEnd, BizDatePrevMonthStart, BizDatePrevMonthEnd:
		return r, 0
	case BizDatePrevWorkday:
		return "workday", -1
	case BizDateNextWorkday:
		return "workday", 1
	}
	for _, stem := range []string{"T", "workday"} {
		rest, ok := strings.CutPrefix(string(r), stem)
		if !ok || len(rest) < 2 || len(rest) > 4 || rest[0] != '-' && rest[0] != '+' || rest[1] == '0' || !digits(rest[1:]) {
			continue
		}
		if n, err := strconv.Atoi(rest); err == nil && n >= -MaxBizDateShift && n <= MaxBizDateShift {
			return BizDateRule(stem), n
		}
	}
	return "", 0
}

// Workdays tells whether the rule counts working days, so that a calendar matters to it.
func (r BizDateRule) Workdays() bool {
	kind, _ := r.parts()
	return kind == "workday"
}

// Of is the biz_date of a fire on a day, by the calendar (nil: Monday to Friday). What
// is no rule counts as T.
func (r BizDateRule) Of(day BizDate, c *Calendar) BizDate {
	if r == BizDateT {
		return day
	}
	switch kind, n := r.parts(); kind {
	case BizDateT:
		return day.AddDays(n)
	case "workday":
		return c.AddWorkdays(day, n)
	case BizDateMonthStart:
		return day.MonthStart()
	case BizDateMonthEnd:
		return day.MonthEnd()
	case BizDatePrevMonthStart:
		return day.MonthStart().AddMonths(-1)
	case BizDatePrevMonthEnd:
		return day.MonthStart().AddDays(-1)
	}
	return day
}

// Days is the days on which a fire is about the date: those from first to last, which
// are all the days d with Of(d) == date; false when there are none.
func (r BizDateRule) Days(date BizDate, c *Calendar) (first, last BizDate, ok bool) {
	switch kind, n := r.parts(); kind {
	case "workday":
		return workdayDays(date, n, c)
	case BizDateMonthStart:
		return date, date.MonthEnd(), date == date.MonthStart()
	case BizDateMonthEnd:
		return date.MonthStart(), date, date == date.MonthEnd()
	case BizDatePrevMonthStart:
		next := date.AddMonths(1)
		return next, next.MonthEnd(), date == date.MonthStart()
	case BizDatePrevMonthEnd:
		next := date.AddDays(1)
		return next, next.MonthEnd(), date == date.MonthEnd()
	default:
		day := date.AddDays(-n)
		return day, day, true
	}
}

// workdayDays inverts AddWorkdays: the days from which the n-th working day on is the date.
func workdayDays(date BizDate, n int, c *Calendar) (first, last BizDate, ok bool) {
	if !c.Workday(date) {
		return BizDate{}, BizDate{}, false
	}
	if n < 0 {
		w := date
		if n < -1 {
			w = c.AddWorkdays(date, -n-1)
		}
		return w.AddDays(1), c.AddWorkdays(w, 1), true
	}
	w := date
	if n > 1 {
		w = c.AddWorkdays(date, 1-n)
	}
	return c.AddWorkdays(w, -1), w.AddDays(-1), true
}
