package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// The units in which a date is shifted. All are of the calendar, never hours: a month on is
// the same day, or the last of a month without it.
const (
	unitDay     = "d"
	unitWorkday = "wd"
	unitWeek    = "w"
	unitMonth   = "m"
	unitYear    = "y"
)

// The words that lead to an end of the month.
const (
	monthStart = "month_start"
	monthEnd   = "month_end"
)

const (
	maxSteps    = 8
	maxShift    = 10_000
	maxWorkdays = 1000
)

// step is one change of a date: a shift, or a word.
type step struct {
	n    int
	unit string // or monthStart, monthEnd
}

var shiftShape = regexp.MustCompile(`^([+-])\s*([0-9]+)\s*([A-Za-z]*)$`)

// parseShift reads like -1d, +2w, -3wd.
func parseShift(text string) (step, bool) {
	m := shiftShape.FindStringSubmatch(text)
	if m == nil {
		return step{}, false
	}
	n, err := strconv.Atoi(m[2])
	most := maxShift
	switch m[3] {
	case unitDay, unitWeek, unitMonth, unitYear:
	case unitWorkday:
		most = maxWorkdays
	default:
		return step{}, false
	}
	if err != nil || n > most {
		return step{}, false
	}
	if m[1] == "-" {
		n = -n
	}
	return step{n: n, unit: m[3]}, true
}

// parsePipe reads what stands after biz_date: steps, and at the end a format.
func (e *expr) parsePipe(items []string, args map[string]string) *Issue {
	if len(items) > maxSteps {
		return &Issue{ID: IDShift, Hint: HintShift, Args: args}
	}
	for i, item := range items {
		item = strings.TrimSpace(item)
		switch {
		case item == monthStart || item == monthEnd:
			e.steps = append(e.steps, step{unit: item})
		case strings.HasPrefix(item, "+") || strings.HasPrefix(item, "-"):
			s, ok := parseShift(item)
			if !ok {
				return &Issue{ID: IDShift, Hint: HintShift, Args: args}
			}
			e.steps = append(e.steps, s)
		case i == len(items)-1 && goodFormat(item, false):
			e.format = item
		default:
			return &Issue{ID: IDFormat, Hint: HintFormat, Args: args, Word: item, Near: []string{monthStart, monthEnd}}
		}
	}
	return nil
}

// countsWorkdays tells whether the job's calendar matters.
func (e *expr) countsWorkdays() bool {
	for _, s := range e.steps {
		if s.unit == unitWorkday {
			return true
		}
	}
	return false
}

// bizDate fills biz_date in. It fails where a step leaves the years that a date can be written in.
func (v values) bizDate(e *expr) (string, error) {
	d := v.BizDate
	if d.IsZero() {
		return "", fmt.Errorf("{{biz_date}}: this run has none")
	}
	var calendar *domain.Calendar
	if e.countsWorkdays() && v.Workdays != nil {
		var err error
		if calendar, err = v.Workdays(); err != nil {
			return "", fmt.Errorf("{{biz_date}}: %w", err)
		}
	}
	for _, s := range e.steps {
		if d = s.from(d, calendar); !d.Writable() {
			return "", fmt.Errorf("{{biz_date}}: going %+d%s from %s leaves the years 0001 to 9999", s.n, s.unit, v.BizDate)
		}
	}
	if e.format == "" {
		return d.String(), nil
	}
	year, month, day := d.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Format(layout(e.format, false)), nil
}

func (s step) from(d domain.BizDate, calendar *domain.Calendar) domain.BizDate {
	switch s.unit {
	case unitDay:
		return d.AddDays(s.n)
	case unitWorkday:
		return calendar.AddWorkdays(d, s.n)
	case unitWeek:
		return d.AddDays(7 * s.n)
	case unitMonth:
		return d.AddMonths(s.n)
	case unitYear:
		return d.AddMonths(12 * s.n)
	case monthStart:
		return d.MonthStart()
	}
	return d.MonthEnd()
}
