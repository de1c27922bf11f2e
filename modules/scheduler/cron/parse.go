package cron

import (
	"strconv"
	"strings"
)

// maxLength bounds an expression, in bytes.
const maxLength = 1024

// Parse reads an expression in the dialect stated, or in the one its fields show when
// that is [Auto]. The error is always an [*Error]. An expression that can't ever fire
// (30 February) is valid; whoever saves it asks Next.
func Parse(expr string, dialect Dialect) (*Schedule, error) {
	s, err := parse(expr, dialect)
	if err != nil {
		return nil, err // not s, err: a nil *Error in an error would not be nil
	}
	return s, nil
}

func parse(expr string, dialect Dialect) (*Schedule, *Error) {
	if err := checkText(expr); err != nil {
		return nil, err
	}
	var fields []piece
	for _, f := range pieces(piece{expr, 0}, func(c byte) bool { return c == ' ' || c == '\t' }) {
		if f.text != "" {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		return nil, refusal(Auto, 0, sentence{"empty", "the expression is empty"}, sentence{"five_fields", "write five fields, e.g. 0 2 * * * for 02:00 each day"})
	}
	if err := checkDialect(dialect); err != nil {
		return nil, err
	}
	if fields[0].text[0] == '@' {
		return parseDescriptor(fields)
	}
	if strings.Contains(fields[0].text, "=") {
		return nil, refusal(Auto, fields[0].pos, sentence{"not_field", "{value} is not a field"},
			sentence{"zone", "the zone is a setting of its own (timezone), not part of the expression"}, "value", quote(fields[0].text))
	}
	if dialect == Auto {
		dialect = guess(fields)
	}
	return parseFields(fields, dialect, len(expr))
}

// checkText refuses what no dialect can hold, before anything loops over it.
func checkText(expr string) *Error {
	if len(expr) > maxLength {
		return refusal(Auto, maxLength, sentence{"too_long", "the expression has {n} bytes, at most {most} are read"}, noHint(), "n", strconv.Itoa(len(expr)), "most", strconv.Itoa(maxLength))
	}
	for i, c := range expr {
		switch {
		case c > '~':
			return refusal(Auto, i, sentence{"not_ascii", "{value} is not an ASCII character"},
				sentence{"half_width", "write digits and signs in their plain, half-width form"}, "value", strconv.QuoteRune(c))
		case c < ' ' && c != '\t':
			return refusal(Auto, i, sentence{"control", "the control character {value} is not allowed"},
				sentence{"one_line", "an expression is one line; fields are parted by blanks or tabs"}, "value", strconv.QuoteRune(c))
		}
	}
	return nil
}

func checkDialect(d Dialect) *Error {
	switch d {
	case Auto, Unix, Seconds, Quartz:
		return nil
	}
	return refusal(Auto, 0, sentence{"not_dialect", "{value} is not a dialect"}, sentence{"dialects", "dialects are unix, seconds and quartz"}, "value", quote(string(d)))
}

// guess chooses the dialect by the fields.
func guess(fields []piece) Dialect {
	switch len(fields) {
	case 7:
		return Quartz
	case 6:
		for _, i := range []int{3, 5} {
			if strings.Contains(fields[i].text, "?") || operator(fields[i].text) >= 0 {
				return Quartz
			}
		}
		return Seconds
	}
	return Unix
}

// operator finds L, W or # in a day field, and is -1 where there is none: the
// letters of a name (WED, JUL) are none, a name with L behind it (FRIL) is one.
func operator(text string) int {
	for i := 0; i < len(text); {
		if text[i] == '#' {
			return i
		}
		n := letters(text[i:])
		switch word := strings.ToUpper(text[i : i+n]); word {
		case "L", "W", "LW":
			return i
		default:
			if n == 4 && word[3] == 'L' && isWeekday(word[:3]) {
				return i + 3
			}
		}
		i += max(n, 1)
	}
	return -1
}

func isWeekday(name string) bool {
	for _, w := range weekdayNames() {
		if w == name {
			return true
		}
	}
	return false
}

func parseFields(fields []piece, dialect Dialect, end int) (*Schedule, *Error) {
	specs := fieldsOf(dialect)
	if err := checkCount(fields, dialect, end); err != nil {
		return nil, err
	}
	s := &Schedule{dialect: dialect, seconds: 1, years: anyYear()}
	for i, f := range fields {
		if err := s.set(reader{dialect, specs[i]}, f); err != nil {
			return nil, err
		}
	}
	if dialect == Quartz {
		return s, checkQuestionMarks(fields[3], fields[5])
	}
	return s, nil
}

func checkCount(fields []piece, dialect Dialect, end int) *Error {
	specs := fieldsOf(dialect)
	most, least := len(specs), len(specs)
	if dialect == Quartz {
		least--
	}
	var names []string
	for _, f := range specs {
		names = append(names, f.name)
	}
	layout := strings.Join(names, " ")
	if least < most {
		layout = strings.Replace(layout, "year", "[year]", 1)
	}
	hint, guessed := sentence{"layout", "write {layout}"}, dialect
	switch {
	case len(fields) > most:
		end = fields[most].pos
	case len(fields) >= least:
		return nil
	}
	if other := guess(fields); other != dialect && len(fields) >= 5 && len(fields) <= 7 {
		hint, guessed = sentence{"layout_other", "write {layout}; {n} fields are the {other} dialect"}, other
	}
	return refusal(dialect, end, sentence{"count", "there are {n} fields"}, hint, "n", strconv.Itoa(len(fields)), "layout", layout, "other", string(guessed))
}

// checkQuestionMarks: in quartz exactly one day field is "?", so there is no "either day" rule.
func checkQuestionMarks(day, weekday piece) *Error {
	d, w := day.text == "?", weekday.text == "?"
	r := reader{Quartz, fieldsOf(Quartz)[5]}
	switch {
	case d && w:
		return r.fail(weekday.pos, sentence{"star", "write * in one of them"}, sentence{"both_open", "both day fields are ?"})
	case !d && !w:
		return r.fail(weekday.pos, sentence{"question_mark", "quartz takes either a day or a weekday; write ? in the other field"}, sentence{"both_given", "both day fields are given"})
	}
	return nil
}

// set reads one field into the schedule.
func (s *Schedule) set(r reader, f piece) *Error {
	if r.spec.day() {
		return s.days.set(r, f)
	}
	values, first, err := r.list(f)
	if err != nil {
		return err
	}
	switch r.spec.name {
	case "second":
		s.seconds = values[0]
	case "minute":
		s.minutes = values[0]
	case "hour":
		s.hours = values[0]
	case "month":
		s.months = values[0]
		return nil
	case "year":
		if f.text != "*" {
			s.years = values
		}
		return nil
	}
	s.interval = s.interval || first.star || first.open
	return nil
}

// list reads a field of plain elements. Bit v of the set is value v; years count from
// the first one. It also returns the first element, which decides the field's kind.
func (r reader) list(f piece) (set yearSet, first span, err *Error) {
	base := 0
	if r.spec.name == "year" {
		base = firstYear
	}
	for i, item := range pieces(f, func(c byte) bool { return c == ',' }) {
		e, err := r.span(item)
		if err != nil {
			return set, first, err
		}
		if i == 0 {
			first = e
		}
		size := r.spec.max - r.spec.min + 1
		if e.hi < e.lo {
			e.hi += size
		}
		for v := e.lo; v <= e.hi; v += e.step {
			set.add((v-r.spec.min)%size + r.spec.min - base)
		}
	}
	return set, first, nil
}
