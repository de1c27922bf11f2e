package cron

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// wall is what a clock on a wall shows, and what a calendar beside it does.
type wall struct {
	second, minute, hour, day, month, year int
	weekday                                int // 0 = Sunday
	last                                   int // the month's last day
}

// wallAt is the wall of a clock that shows UTC.
func wallAt(sec int64) wall {
	t := time.Unix(sec, 0).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return wall{second, minute, hour, day, int(month), year, int(t.Weekday()), time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()}
}

// oracle is an expression read a second time, from the text alone, the way its dialect's
// manual says it in sentences. It shares nothing with the package, so that a fault must
// be made twice to pass. It reads what Parse has taken; of anything else it makes nonsense.
type oracle struct {
	seconds, minutes, hours, months, years map[int]bool // nil years: any

	day, weekday func(w wall) bool
	both         bool // a day must fit both fields
	interval     bool
}

func consult(expr string, dialect Dialect) oracle {
	for word, line := range map[string]string{"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
		"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *"} {
		if strings.TrimSpace(expr) == word {
			expr, dialect = line, Unix
		}
	}
	f := strings.Fields(strings.ToUpper(expr))
	if dialect == Unix {
		f = append([]string{"0"}, f...)
	}
	o := oracle{seconds: numbers(f[0], 0, 59), minutes: numbers(f[1], 0, 59), hours: numbers(f[2], 0, 23), months: numbers(f[4], 1, 12)}
	if len(f) == 7 && f[6] != "*" {
		o.years = numbers(f[6], 1970, 2199)
	}
	o.day, o.weekday = dayOfMonth(f[3]), dayOfWeek(f[5], dialect)
	o.both = strings.ContainsAny(f[3][:1]+f[5][:1], "*?")
	timeFields := f[:3]
	if dialect == Unix {
		timeFields = f[1:3]
	}
	for _, text := range timeFields {
		element, _, _ := strings.Cut(text, ",")
		o.interval = o.interval || strings.HasPrefix(element, "*") || strings.Contains(element, "/") && !strings.Contains(element, "-")
	}
	return o
}

// matches reports that everything the wall shows is asked for.
func (o oracle) matches(w wall) bool {
	return o.seconds[w.second] && o.minutes[w.minute] && o.hours[w.hour] && o.dateMatches(w)
}

func (o oracle) dateMatches(w wall) bool {
	if !o.months[w.month] || o.years != nil && !o.years[w.year] {
		return false
	}
	if o.both {
		return o.day(w) && o.weekday(w)
	}
	return o.day(w) || o.weekday(w)
}

// numbers spells a field of numbers and names out, one value after the other.
func numbers(text string, least, most int) map[int]bool {
	out := map[int]bool{}
	for _, element := range strings.Split(text, ",") {
		body, step, stepped := strings.Cut(element, "/")
		from, to, ranged := strings.Cut(body, "-")
		a, b := number(from), number(from)
		switch {
		case body == "*" || body == "?":
			a, b = least, most
		case ranged:
			b = number(to)
			if b < a && to == "SUN" && least == 0 {
				b = 7
			}
		case stepped:
			b = most
		}
		n := 1
		if stepped {
			n = number(step)
		}
		for i, v := 0, a; ; i, v = i+1, v+1 {
			if v > most {
				v = least // only a range that runs backwards comes here before its end
			}
			if i%n == 0 {
				out[v] = true
			}
			if v == b {
				break
			}
		}
	}
	return out
}

// number is a number, or the number of a name: months from 1, weekdays from 0.
func number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if i := slices.Index(strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"), text); i >= 0 {
		return i + 1
	}
	return slices.Index(strings.Fields("SUN MON TUE WED THU FRI SAT"), text)
}

// dayOfMonth asks of each element whether the day is the one it means.
func dayOfMonth(text string) func(wall) bool {
	var any []func(wall) bool
	for _, element := range strings.Split(text, ",") {
		switch {
		case element == "L":
			any = append(any, func(w wall) bool { return w.day == w.last })
		case element == "LW":
			any = append(any, func(w wall) bool { return w.day == workdayNear(w, w.last) })
		case strings.HasPrefix(element, "L-"):
			n := number(element[2:])
			any = append(any, func(w wall) bool { return w.day == w.last-n })
		case strings.HasSuffix(element, "W"):
			n := number(strings.TrimSuffix(element, "W"))
			any = append(any, func(w wall) bool { return n <= w.last && w.day == workdayNear(w, n) })
		default:
			set := numbers(element, 1, 31)
			any = append(any, func(w wall) bool { return set[w.day] })
		}
	}
	return func(w wall) bool {
		return slices.ContainsFunc(any, func(fits func(wall) bool) bool { return fits(w) })
	}
}

// workdayNear looks around a day of the wall's month for the nearest Monday to Friday.
func workdayNear(w wall, day int) int {
	for _, away := range []int{0, -1, 1, -2, 2} {
		d := day + away
		if weekday := ((w.weekday+d-w.day)%7 + 7) % 7; d >= 1 && d <= w.last && weekday >= 1 && weekday <= 5 {
			return d
		}
	}
	return 0
}

func dayOfWeek(text string, dialect Dialect) func(wall) bool {
	if dialect != Quartz {
		set := numbers(text, 0, 7)
		return func(w wall) bool { return set[w.weekday] || w.weekday == 0 && set[7] }
	}
	// Quartz counts Sunday as 1, names count it as 0 here.
	sunday0 := func(text string) int {
		if n, err := strconv.Atoi(text); err == nil {
			return n - 1
		}
		return number(text)
	}
	switch day, nth, is := strings.Cut(text, "#"); {
	case is:
		want, n := sunday0(day), number(nth)
		return func(w wall) bool { return w.weekday == want && (w.day-1)/7 == n-1 }
	case text == "L":
		return func(w wall) bool { return w.weekday == 6 }
	case strings.HasSuffix(text, "L"):
		want := sunday0(strings.TrimSuffix(text, "L"))
		return func(w wall) bool { return w.weekday == want && w.day+7 > w.last }
	}
	for i, name := range strings.Fields("SUN MON TUE WED THU FRI SAT") {
		text = strings.ReplaceAll(text, name, strconv.Itoa(i+1))
	}
	set := numbers(text, 1, 7)
	return func(w wall) bool { return set[w.weekday+1] }
}

// naive decides by brute force what Next finds by search. It knows the rules only as
// sentences: what the wall clock shows, what it showed before, what it left out.
type naive struct {
	o    oracle
	loc  *time.Location
	step int64 // seconds between the instants looked at
}

func (n naive) offset(sec int64) int64 {
	_, offset := time.Unix(sec, 0).In(n.loc).Zone()
	return int64(offset)
}

// fires reports whether the instant sec is a firing.
func (n naive) fires(sec int64) bool {
	shows := sec + n.offset(sec)
	if n.o.interval {
		return n.o.matches(wallAt(shows))
	}
	if before := n.offset(sec - 1); before < shows-sec && shows-sec-before <= 3*60*60 {
		for skipped := sec + before; skipped < shows; skipped += n.step {
			if n.o.matches(wallAt(skipped)) {
				return true
			}
		}
	}
	return n.o.matches(wallAt(shows)) && !n.shownBefore(sec, shows)
}

// shownBefore looks back a day and an hour, at every quarter hour: all clocks move by
// multiples of that, but for the few that are looked at more closely.
func (n naive) shownBefore(sec, shows int64) bool {
	for back := int64(15 * 60); back <= 25*60*60; back += 15 * 60 {
		if sec-back+n.offset(sec-back) == shows {
			return true
		}
	}
	return false
}

func (n naive) next(from, until int64) (int64, bool) {
	for sec := from - from%n.step + n.step; sec <= until; sec += n.step {
		if n.fires(sec) {
			return sec, true
		}
	}
	return 0, false
}
