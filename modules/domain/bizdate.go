package domain

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BizDate is the business date that an instance is about: a calendar day, never an instant.
// Its one written form is 2026-02-03, on every road: text, JSON, SQL. The zero value means
// "none" and is written as the empty string (NULL in SQL). Values are comparable with == and
// safe for concurrent use. Years run from 0001 to 9999.
type BizDate struct {
	year  int16
	month int8
	day   int8
}

// ParseBizDate reads the canonical form and nothing else: "2026-2-3", "20260203",
// "2026-02-30" and "" are errors that say what is wanted.
func ParseBizDate(s string) (BizDate, error) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' || !digits(s[:4]+s[5:7]+s[8:]) {
		return BizDate{}, fmt.Errorf("business date %q: write it as year-month-day with ten characters, like 2026-02-03", cut(s, 40))
	}
	year, month, day := atoi(s[:4]), atoi(s[5:7]), atoi(s[8:])
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if year < 1 || t.Year() != year || int(t.Month()) != month || t.Day() != day {
		return BizDate{}, fmt.Errorf("business date %q: there is no such day in the calendar", s)
	}
	return BizDate{int16(year), int8(month), int8(day)}, nil
}

// NewBizDate is the date of a day; one that does not exist becomes the date that it overflows to.
func NewBizDate(year int, month time.Month, day int) BizDate {
	return fromUTC(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// BizDateOf gives the day that the instant t falls on in the zone loc.
func BizDateOf(t time.Time, loc *time.Location) BizDate {
	y, m, d := t.In(loc).Date()
	return BizDate{int16(y), int8(m), int8(d)}
}

// IsZero tells whether the date is none.
func (d BizDate) IsZero() bool { return d == BizDate{} }

// AddDays goes n days on (back when n is negative). None stays none.
func (d BizDate) AddDays(n int) BizDate {
	if d.IsZero() {
		return d
	}
	return fromUTC(d.utc().AddDate(0, 0, n))
}

// AddMonths goes n months on, to the same day or, in a month without that day, to its last:
// 2026-01-31 plus one month is 2026-02-28. None stays none.
func (d BizDate) AddMonths(n int) BizDate {
	if d.IsZero() {
		return d
	}
	first := time.Date(int(d.year), time.Month(d.month)+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return fromUTC(first.AddDate(0, 0, min(int(d.day), last)-1))
}

// MonthStart is the first day of the month. None stays none.
func (d BizDate) MonthStart() BizDate {
	if d.IsZero() {
		return d
	}
	return BizDate{d.year, d.month, 1}
}

// MonthEnd is the last day of the month. None stays none.
func (d BizDate) MonthEnd() BizDate {
	if d.IsZero() {
		return d
	}
	return NewBizDate(int(d.year), time.Month(d.month)+1, 0)
}

// Writable tells whether the date lies in the years 0001 to 9999, so that it has a written
// form. Going far enough from such a date leads out of them.
func (d BizDate) Writable() bool { return d.year >= 1 && d.year <= 9999 }

// Before tells whether d is an earlier day than o. None is before every day.
func (d BizDate) Before(o BizDate) bool { return d.Compare(o) < 0 }

// Compare gives -1, 0 or 1 as d is before, equal to or after o.
func (d BizDate) Compare(o BizDate) int {
	switch a, b := d.number(), o.number(); {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Weekday is the day of the week. It means nothing for none.
func (d BizDate) Weekday() time.Weekday { return d.utc().Weekday() }

// Date gives year, month and day; zeros for none.
func (d BizDate) Date() (year int, month time.Month, day int) {
	return int(d.year), time.Month(d.month), int(d.day)
}

// Start is the first instant of the day in the zone loc: midnight, or the end of the gap where
// the clocks skip midnight.
func (d BizDate) Start(loc *time.Location) time.Time {
	t := time.Date(int(d.year), time.Month(d.month), int(d.day), 0, 0, 0, 0, loc)
	if BizDateOf(t, loc) == d {
		return t
	}
	_, end := t.ZoneBounds()
	return end.In(loc)
}

// String gives the canonical form, "" for none.
func (d BizDate) String() string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
}

// MarshalText implements encoding.TextMarshaler, and with it JSON.
func (d BizDate) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText takes the canonical form, or the empty text for none.
func (d *BizDate) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = BizDate{}
		return nil
	}
	got, err := ParseBizDate(string(text))
	if err != nil {
		return err
	}
	*d = got
	return nil
}

// Value writes a plain string to the database, NULL for none.
func (d BizDate) Value() (driver.Value, error) {
	if d.IsZero() {
		return nil, nil
	}
	return d.String(), nil
}

// Scan reads what Value wrote. A time.Time is refused: an instant is not a date, and a column
// that gives one has the wrong type.
func (d *BizDate) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*d = BizDate{}
		return nil
	case string:
		return d.UnmarshalText([]byte(v))
	case []byte:
		return d.UnmarshalText(v)
	}
	return fmt.Errorf("business date: the column gave a %T, not text; make it a CHAR(10)", src)
}

func (d BizDate) utc() time.Time {
	return time.Date(int(d.year), time.Month(d.month), int(d.day), 0, 0, 0, 0, time.UTC)
}

func (d BizDate) number() int { return int(d.year)*10000 + int(d.month)*100 + int(d.day) }

func fromUTC(t time.Time) BizDate {
	return BizDate{int16(t.Year()), int8(t.Month()), int8(t.Day())}
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// atoi reads text that digits has passed.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
