package cron

import (
	"strconv"
	"strings"
)

// fieldSpec is what a field may hold.
type fieldSpec struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i; nil = digits only
}

func (f fieldSpec) day() bool { return f.name == "day" || f.name == "weekday" }

func monthNames() []string {
	return []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
}

func weekdayNames() []string { return []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"} }

// fieldsOf lists the fields of a dialect in order; the year of quartz may be left out.
func fieldsOf(d Dialect) []fieldSpec {
	fields := []fieldSpec{
		{name: "second", min: 0, max: 59},
		{name: "minute", min: 0, max: 59},
		{name: "hour", min: 0, max: 23},
		{name: "day", min: 1, max: 31},
		{name: "month", min: 1, max: 12, names: monthNames()},
		{name: "weekday", min: 0, max: 7, names: weekdayNames()},
	}
	switch d {
	case Unix:
		return fields[1:]
	case Quartz:
		fields[5].min = 1
		return append(fields, fieldSpec{name: "year", min: firstYear, max: finalYear})
	}
	return fields
}

// piece is a stretch of the expression, with its place for messages.
type piece struct {
	text string
	pos  int
}

func (p piece) from(i int) piece { return piece{p.text[i:], p.pos + i} }

// pieces parts a text at each byte that sep accepts; empty pieces are kept.
func pieces(p piece, sep func(byte) bool) []piece {
	var out []piece
	start := 0
	for i := 0; i <= len(p.text); i++ {
		if i == len(p.text) || sep(p.text[i]) {
			out = append(out, piece{p.text[start:i], p.pos + start})
			start = i + 1
		}
	}
	return out
}

// span is one element of a list: the values lo, lo+step … hi.
type span struct {
	lo, hi, step int
	star         bool // began with "*"
	open         bool // was "a/n"
}

// reader reads the elements of one field.
type reader struct {
	dialect Dialect
	spec    fieldSpec
}

// fail is an error in the field, whose bounds all its sentences may name.
func (r reader) fail(pos int, hint, fault sentence, args ...string) *Error {
	e := refusal(r.dialect, pos, fault, hint, append(args, "min", strconv.Itoa(r.spec.min), "max", strconv.Itoa(r.spec.max))...)
	e.Field = r.spec.name
	return e
}

func unexpected() sentence { return sentence{"here", "{value} is not expected here"} }

// span reads "*", "a", "a-b", each also with "/n".
func (r reader) span(p piece) (span, *Error) {
	e, rest, err := r.base(p)
	if err != nil {
		return e, err
	}
	if rest.text == "" {
		return e, nil
	}
	if rest.text[0] != '/' {
		return e, r.fail(rest.pos, shape(), unexpected(), "value", quote(rest.text[:1]))
	}
	n, after, err := r.digits(rest.from(1), aStep())
	switch {
	case err != nil:
		return e, err
	case after.text != "":
		return e, r.fail(after.pos, shape(), sentence{"after_step", "{value} is not expected after the step"}, "value", quote(after.text))
	case n == 0:
		return e, r.fail(rest.pos+1, sentence{"one_or_more", "write 1 or more"}, sentence{"step_zero", "a step of 0 would never advance"})
	case n > r.widest():
		return e, r.fail(rest.pos+1, sentence{"value_alone", "it would fire at the first value only; write that value alone"},
			sentence{"step_large", "the step {n} is larger than the field allows ({most})"}, "n", strconv.Itoa(n), "most", strconv.Itoa(r.widest()))
	}
	if !e.star && e.lo == e.hi && !strings.Contains(p.text, "-") {
		e.open, e.hi = true, r.spec.max
	}
	e.step = n
	return e, nil
}

// widest is the largest step that the field takes.
func (r reader) widest() int {
	if r.spec.name == "year" {
		return r.spec.max - r.spec.min
	}
	return r.spec.max
}

// base reads an element up to its step, and returns what follows.
func (r reader) base(p piece) (span, piece, *Error) {
	if p.text == "" {
		return span{}, p, r.fail(p.pos, sentence{"comma", "remove the comma or write a value"}, sentence{"element_empty", "an element of the list is empty"})
	}
	if p.text[0] == '*' {
		return span{lo: r.spec.min, hi: r.spec.max, step: 1, star: true}, p.from(1), nil
	}
	lo, rest, err := r.value(p)
	if err != nil || rest.text == "" || rest.text[0] != '-' {
		return span{lo: lo, hi: lo, step: 1}, rest, err
	}
	end := rest.from(1)
	hi, rest, err := r.value(end)
	if err != nil {
		return span{}, rest, err
	}
	if hi < lo && !r.wraps() {
		if r.spec.name != "weekday" || hi != 0 || isDigit(end.text[0]) {
			return span{}, rest, r.backwards(p, rest)
		}
		hi = 7 // "fri-sun": Sunday by name ends the week as well as it begins it
	}
	return span{lo: lo, hi: hi, step: 1}, rest, nil
}

// wraps: in quartz 22-2 runs over the end of the field; years don't come round again.
func (r reader) wraps() bool { return r.dialect == Quartz && r.spec.name != "year" }

func (r reader) backwards(p, rest piece) *Error {
	whole := p.text[:len(p.text)-len(rest.text)]
	lo, hi, _ := strings.Cut(whole, "-")
	hint := sentence{"two_ranges", "only quartz ranges wrap; write two ranges, {lo}-{max},{min}-{hi}"}
	if r.spec.name == "year" {
		hint = sentence{"swapped", "write {hi}-{lo}"}
	}
	return r.fail(p.pos, hint, sentence{"backwards", "the range runs backwards"}, "lo", lo, "hi", hi)
}

// value reads a number or a name.
func (r reader) value(p piece) (int, piece, *Error) {
	if p.text == "" {
		return 0, p, r.fail(p.pos, shape(), aValue().missing)
	}
	if isLetter(p.text[0]) {
		return r.name(p)
	}
	v, rest, err := r.digits(p, aValue())
	if err == nil && (v < r.spec.min || v > r.spec.max) {
		err = r.fail(p.pos, r.outside(v), sentence{"outside", "{n} is outside {min}-{max}"}, "n", strconv.Itoa(v))
	}
	return v, rest, err
}

func (r reader) outside(v int) sentence {
	if r.dialect == Quartz && r.spec.name == "weekday" && v == 0 {
		return sentence{"sunday", "in quartz Sunday is 1 and Saturday is 7"}
	}
	return noHint()
}

// numeral is what a number is read as, in the two ways in which it can fail to be one.
type numeral struct{ missing, not sentence }

func aValue() numeral {
	return numeral{sentence{"value_missing", "a value is missing"}, sentence{"not_value", "{value} is not a value"}}
}

func aStep() numeral {
	return numeral{sentence{"step_missing", "a step is missing"}, sentence{"not_step", "{value} is not a step"}}
}

func aCount() numeral {
	return numeral{sentence{"days_missing", "a number of days is missing"}, sentence{"not_days", "{value} is not a number of days"}}
}

func aNumber() numeral {
	return numeral{sentence{"number_missing", "a number is missing"}, sentence{"not_number", "{value} is not a number"}}
}

// digits reads a number of at most nine ASCII digits, so that it fits an int everywhere.
func (r reader) digits(p piece, what numeral) (int, piece, *Error) {
	n, i := 0, 0
	for i < len(p.text) && isDigit(p.text[i]) {
		if i == 9 {
			return 0, p, r.fail(p.pos, noHint(), sentence{"number_long", "the number is too long"})
		}
		n = n*10 + int(p.text[i]-'0')
		i++
	}
	if i == 0 && p.text == "" {
		return 0, p, r.fail(p.pos, shape(), what.missing)
	}
	if i == 0 {
		return 0, p, r.fail(p.pos, shape(), what.not, "value", quote(p.text))
	}
	return n, p.from(i), nil
}

// name reads a month's or weekday's three letters.
func (r reader) name(p piece) (int, piece, *Error) {
	i := letters(p.text)
	for v, name := range r.spec.names {
		if strings.EqualFold(p.text[:i], name) {
			return r.spec.min + v, p.from(i), nil
		}
	}
	if r.spec.names == nil {
		return 0, p, r.fail(p.pos, shape(), sentence{"digits_only", "{value} is not a value of this field, which takes numbers"}, "value", quote(p.text[:i]))
	}
	fault := sentence{"not_weekday", "{value} is not a name of a weekday"}
	if r.spec.name == "month" {
		fault = sentence{"not_month", "{value} is not a name of a month"}
	}
	return 0, p, r.fail(p.pos, sentence{"names", "names have three letters: {names}"}, fault, "value", quote(p.text[:i]), "names", strings.Join(r.spec.names, " "))
}

// shape reminds of what an element looks like.
func shape() sentence {
	return sentence{"shape", "write *, a value of {min}-{max}, a range a-b, or one of them with a step /n"}
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// letters counts the letters that a text begins with.
func letters(s string) int {
	i := 0
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	return i
}
