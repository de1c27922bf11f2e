package cron

import (
	"math/bits"
	"strconv"
	"strings"
)

// The years a quartz year field may name.
const (
	firstYear = 1970
	finalYear = 2199
)

// yearSet holds small numbers: of the years those since firstYear.
type yearSet [4]uint64

func (y *yearSet) add(v int)      { y[v/64] |= 1 << (v % 64) }
func (y *yearSet) has(v int) bool { return y[v/64]&(1<<(v%64)) != 0 }

// anyYear is the set without limits, marked by its topmost bit, which no year takes.
func anyYear() (y yearSet) {
	y.add(255)
	return y
}

// any tells whether every year is in it, those beyond the named ones too.
func (y *yearSet) any() bool { return y.has(255) }

// next is the first year of the set at or after year, and false after the last one.
func (y *yearSet) next(year int) (int, bool) {
	if y.any() {
		return year, true
	}
	for year = max(year, firstYear); year <= finalYear; year++ {
		if y.has(year - firstYear) {
			return year, true
		}
	}
	return 0, false
}

// dayRule says which days of a month fit.
type dayRule struct {
	days     uint64 // bits 1-31
	weekdays uint64 // bits 0-6 from Sunday
	both     bool   // both fields must fit; false: either does

	fromLast    uint64 // bit n = L-n, n days before the last
	nearest     uint64 // bit n = nW, the Monday-to-Friday nearest to day n
	lastWorkday bool   // LW
	nth         int    // 1-5 = #n, 6 = the month's last, of the one weekday in weekdays; 0 = each

	starred bool // a day field began with "*" or "?"
}

const lastOfMonth = 6

// set reads the day or the weekday field.
func (d *dayRule) set(r reader, f piece) *Error {
	if at := operator(f.text); at >= 0 && r.dialect != Quartz {
		return r.fail(f.pos+at, sentence{"to_quartz", "they belong to the quartz dialect, with seconds in front and ? in the other day field: 0 0 2 L * ? is 02:00 on each month's last day"},
			sentence{"operator", "{value}: L, W and # are not part of this dialect"}, "value", quote(f.text))
	}
	first, err := span{star: true}, (*Error)(nil)
	switch {
	case f.text == "?":
		d.fill(r)
	case strings.Contains(f.text, "?"):
		return r.fail(f.pos+strings.IndexByte(f.text, '?'), noHint(), sentence{"question_alone", "? must stand alone in its field"})
	case r.spec.name == "day":
		first, err = d.setDays(r, f)
	default:
		first, err = d.setWeekdays(r, f)
	}
	d.starred = d.starred || first.star
	d.both = d.starred
	return err
}

// fill sets a field of which every value fits.
func (d *dayRule) fill(r reader) {
	if r.spec.name == "day" {
		d.days = allDays(31)
	} else {
		d.weekdays = 1<<7 - 1
	}
}

// setDays reads the day field: plain elements and, in quartz, L, L-n, LW and nW among them.
func (d *dayRule) setDays(r reader, f piece) (first span, err *Error) {
	for i, item := range pieces(f, func(c byte) bool { return c == ',' }) {
		if operator(item.text) >= 0 {
			if err := d.setOperator(r, item); err != nil {
				return first, err
			}
			continue
		}
		set, e, err := r.list(item)
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = e
		}
		d.days |= set[0]
	}
	return first, nil
}

func (d *dayRule) setOperator(r reader, item piece) *Error {
	hint := sentence{"days_shape", "write L, L-n with n of 0-30, LW, or nW with n of 1-31"}
	text := strings.ToUpper(item.text)
	switch {
	case text == "L":
		d.fromLast |= 1
	case text == "LW":
		d.lastWorkday = true
	case strings.HasPrefix(text, "L-"):
		n, rest, err := r.digits(item.from(2), aCount())
		switch {
		case err != nil:
			return err
		case rest.text != "":
			return r.fail(rest.pos, hint, unexpected(), "value", quote(rest.text))
		case n > 30:
			return r.fail(item.pos+2, hint, sentence{"before_last", "{n} days before the last is in no month"}, "n", strconv.Itoa(n))
		}
		d.fromLast |= 1 << n
	case isDigit(text[0]):
		n, rest, err := r.value(item)
		if err != nil {
			return err
		}
		if !strings.EqualFold(rest.text, "W") {
			return r.fail(rest.pos, hint, unexpected(), "value", quote(rest.text))
		}
		d.nearest |= 1 << n
	default:
		return r.fail(item.pos, hint, sentence{"not_day", "{value} is not a day"}, "value", quote(item.text))
	}
	return nil
}

// setWeekdays reads the weekday field: plain elements or, in quartz, one L or # alone.
func (d *dayRule) setWeekdays(r reader, f piece) (first span, err *Error) {
	if at := operator(f.text); at >= 0 {
		return first, d.setNth(r, f)
	}
	set, first, err := r.list(f)
	if err != nil {
		return first, err
	}
	if r.dialect == Quartz {
		set[0] >>= 1 // Sunday is 1 there and 0 here
	}
	d.weekdays = set[0]&(1<<7-1) | set[0]>>7
	return first, nil
}

// setNth reads L, 6L, FRIL, 6#3 or FRI#3.
func (d *dayRule) setNth(r reader, f piece) *Error {
	hint := sentence{"nth_shape", "write 6L or FRIL for the last Friday, 6#3 or FRI#3 for the third; it stands alone in its field"}
	if strings.EqualFold(f.text, "L") {
		d.weekdays = 1 << 6
		return nil
	}
	day := f
	if last := f.text[len(f.text)-1]; last|0x20 == 'l' {
		day = piece{f.text[:len(f.text)-1], f.pos}
		d.nth = lastOfMonth
	}
	v, rest, err := r.value(day)
	if err != nil {
		err.Hint, err.HintID = hint.english, hint.id
		return err
	}
	d.weekdays = 1 << (v - 1)
	if d.nth == lastOfMonth {
		if rest.text != "" {
			return r.fail(rest.pos, hint, unexpected(), "value", quote(rest.text))
		}
		return nil
	}
	if rest.text == "" || rest.text[0] != '#' {
		return r.fail(rest.pos, hint, unexpected(), "value", quote(rest.text))
	}
	n, rest, err := r.digits(rest.from(1), aNumber())
	if err != nil {
		return err
	}
	if rest.text != "" || n < 1 || n > 5 {
		return r.fail(f.pos+strings.IndexByte(f.text, '#')+1, hint, sentence{"nth_range", "#{value} is not one of #1 to #5"}, "value", strconv.Itoa(n)+rest.text)
	}
	d.nth = n
	return nil
}

// fit is the set of days, bits 1-31, that fit in a month of the given length whose
// first day is the given weekday (0 = Sunday).
func (d *dayRule) fit(length, first int) uint64 {
	whole := allDays(length)
	days := d.days
	if d.fromLast|d.nearest != 0 || d.lastWorkday {
		days |= d.special(length, first)
	}
	days &= whole
	// The week's pattern turned so that bit 0 is the first day, laid down five times.
	turned := (d.weekdays>>first | d.weekdays<<(7-first)) & (1<<7 - 1)
	weekdays := (turned * (1 + 1<<7 + 1<<14 + 1<<21 + 1<<28)) << 1 & whole
	switch {
	case d.nth == lastOfMonth:
		weekdays &^= allDays(length - 7)
	case d.nth > 0:
		weekdays &= allDays(7*d.nth) &^ allDays(7*d.nth-7)
	}
	if d.both {
		return days & weekdays
	}
	return days | weekdays
}

// special is the days of L, L-n, LW and nW.
func (d *dayRule) special(length, first int) (days uint64) {
	for set := d.fromLast; set != 0; set &= set - 1 {
		if day := length - bits.TrailingZeros64(set); day >= 1 {
			days |= 1 << day
		}
	}
	for set := d.nearest; set != 0; set &= set - 1 {
		if day := bits.TrailingZeros64(set); day <= length {
			days |= 1 << nearestWorkday(day, length, first)
		}
	}
	if d.lastWorkday {
		days |= 1 << nearestWorkday(length, length, first)
	}
	return days
}

// nearestWorkday moves a Saturday or Sunday to the nearest Monday to Friday inside the
// month. Of the last day that is always the Friday before, so it serves LW too.
func nearestWorkday(day, length, first int) int {
	switch (first + day - 1) % 7 {
	case 6:
		if day == 1 {
			return 3
		}
		return day - 1
	case 0:
		if day == length {
			return day - 2
		}
		return day + 1
	}
	return day
}

// allDays is the set 1 … n.
func allDays(n int) uint64 { return 1<<(n+1) - 2 }
