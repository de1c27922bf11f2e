package domain

import (
	"slices"
	"time"
)

// Calendar is one version of a calendar of working days: a weekly rhythm, and the days that
// break it. It never changes once it is made; safe for concurrent use. A nil *Calendar
// stands for none: Monday to Friday are worked.
type Calendar struct {
	ID        ID
	ProjectID ID
	Name      string
	Title     string
	Version   int
	// Rest tells, by time.Weekday, the days of the week that are not worked; never all seven.
	Rest [7]bool
	// Years are the years of which the special days are known, in order. Other years follow
	// the weekly rhythm alone.
	Years []int
	// Days are the special days: holidays and make-up working days.
	Days map[BizDate]CalendarDay
}

// CalendarDay is one special day.
type CalendarDay struct {
	Work  bool // a make-up working day; else a holiday
	Label string
}

// UsualRest is Saturday and Sunday, by time.Weekday.
func UsualRest() [7]bool { return [7]bool{time.Sunday: true, time.Saturday: true} }

// Workday tells whether a day is worked.
func (c *Calendar) Workday(d BizDate) bool {
	if c == nil {
		return !UsualRest()[d.Weekday()]
	}
	if day, special := c.Days[d]; special {
		return day.Work
	}
	return !c.Rest[d.Weekday()]
}

// Label is what is said about a special day; "" for others.
func (c *Calendar) Label(d BizDate) string {
	if c == nil {
		return ""
	}
	return c.Days[d].Label
}

// Covers tells whether the special days of the date's year are known.
func (c *Calendar) Covers(d BizDate) bool {
	if c == nil {
		return true
	}
	year, _, _ := d.Date()
	_, found := slices.BinarySearch(c.Years, year)
	return found
}

// CoveredTo is the last day from the given one on up to which every day is covered;
// the zero date when that one is not covered itself.
func (c *Calendar) CoveredTo(d BizDate) BizDate {
	if c == nil || !c.Covers(d) {
		return BizDate{}
	}
	year, _, _ := d.Date()
	at, _ := slices.BinarySearch(c.Years, year)
	for at+1 < len(c.Years) && c.Years[at+1] == c.Years[at]+1 {
		at++
	}
	return NewBizDate(c.Years[at], time.December, 31)
}

// AddWorkdays goes to the n-th working day after d, or before it where n is negative; d
// itself is not counted, whether it is worked or not. Zero leaves d as it is.
func (c *Calendar) AddWorkdays(d BizDate, n int) BizDate {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for ; n > 0; n-- {
		// It ends: some weekday is worked, and the special days are finite.
		for d = d.AddDays(step); !c.Workday(d); d = d.AddDays(step) {
		}
	}
	return d
}

// GateDay says on which days of a calendar a job fires.
type GateDay string

// The kinds of day. GateAny lets all pass: the job uses the calendar to count working days only.
const (
	GateWorkday GateDay = "workday"
	GateRestday GateDay = "restday"
	GateAny     GateDay = "any"
)

// GateElse says what becomes of a fire on a day of the other kind.
type GateElse string

// The choices; skip is the default. Next and previous move it to the same time of the nearest
// day of the kind after or before.
const (
	ElseSkip     GateElse = "skip"
	ElseNext     GateElse = "next"
	ElsePrevious GateElse = "previous"
)

// CalendarUse is how a job lives by a calendar of its project. The zero value: by none.
type CalendarUse struct {
	Name string   `json:"name"`
	On   GateDay  `json:"on"`
	Else GateElse `json:"else"`
}

// IsZero tells whether the job lives by no calendar.
func (u CalendarUse) IsZero() bool { return u == CalendarUse{} }

// Coming is a fire that is to come, as it is shown before it fires.
type Coming struct {
	At      time.Time // in the job's zone
	BizDate BizDate
	// From is the day that the calendar moved it from; zero: it was not moved, or falls
	// together with one that was not.
	From BizDate
	// Passed are the days just before it on which the calendar let no fire through, and to
	// where each was moved, the most recent last. At most MaxPassed are told.
	Passed []PassedDay
}

// MaxPassed bounds Coming.Passed.
const MaxPassed = 31

// PassedDay is a day on which a schedule asked for fires and the calendar said no.
type PassedDay struct {
	Day   BizDate
	Label string
	To    BizDate // where its fires were moved; zero: they are skipped
}

// CalendarEnd is a calendar that jobs live by and that soon knows the special days no more.
type CalendarEnd struct {
	ID        ID
	ProjectID ID
	Key       string  // [project/]name
	LastDay   BizDate // of which they are known; zero: not even those of today's year are
	Year      int     // the first year of which they are not
	Jobs      int     // that live by it
}

// CalendarMove is what a change of a calendar does to the fires to come of one job: those that
// happen no more, and those that happen only now. A fire whose business date alone changes is in
// both. Of each only the first are listed; the counts are of all that were looked at.
type CalendarMove struct {
	Job                   ID
	Gone, Added           []Coming
	GoneCount, AddedCount int
	More                  bool // there are so many fires that not all were looked at
}

// Any tells whether anything moves, as far as was looked at.
func (m CalendarMove) Any() bool { return m.GoneCount+m.AddedCount > 0 || m.More }
