// Package calendars shows calendars of working days: the list, a year of one, and the editor with what a
// change would do.
package calendars

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// ListPage is all calendars that the reader may see.
type ListPage struct {
	layout.Shell
	Rows []Row
	New  ui.Action
}

// Row is one calendar.
type Row struct {
	Calendar ui.Ref // Title: title, ID: [project/]name
	Years    string
	Special  int
	Jobs     int
	Version  int
	Changed  time.Time
	// CoveredTo is the last day of which the special days are known; "" = not even today's year is.
	CoveredTo string
	Ends      bool // within 30 days, or it has ended
}

// YearPage is one year of a calendar.
type YearPage struct {
	layout.Shell
	Calendar   ui.Ref
	Project    string
	Version    int // that is shown
	InForce    int // the version in force; another one is shown to look back
	InForceURL string
	Year       int
	Years      []ui.Tab
	PrevURL    string
	NextURL    string
	Covered    bool   // the special days of the year are known
	Ends       string // the last day that is known, where that is near; "" = far
	Unknown    int    // the present year, where its special days are not known; 0 = they are
	Rest       []time.Weekday
	Months     []Month
	// Days of the year of each kind.
	Worked, Off, Holidays, MakeUps int

	Users    []ui.Ref // jobs that live by it, the first of them
	More     int      // further ones
	Versions []Version
	Text     string // as YAML
	Edit     ui.Action
	Delete   ui.Action // posts
	DayURL   string    // with ?date=: where a day is changed; "": none can be here
	Key      string
}

// Month is a month, its weeks from Monday.
type Month struct {
	No      int // 1 to 12
	Weeks   [][7]Day
	Special []Stretch // its special days
}

// Day is a cell; No is 0 outside of the month. Kind is workday, restday, holiday or makeup.
type Day struct {
	No    int
	Date  string
	Kind  string
	Label string
	Today bool
}

// Special tells whether the day breaks the weekly rhythm.
func (d Day) Special() bool { return d.Kind == "holiday" || d.Kind == "makeup" }

// Stretch is neighbouring special days of which the same is said.
type Stretch struct {
	First, Last int // days of the month
	Kind, Label string
}

// Version is one version.
type Version struct {
	No      int
	URL     string
	By      string
	At      time.Time
	File    string
	Shown   bool
	InForce bool
}

// EditPage makes a calendar or changes one. Fields posted: text, file (the name of the file that was
// read), base_version; for a new one also project and name. With the field preview nothing is saved and the
// page comes back with what would change.
type EditPage struct {
	layout.Shell
	Calendar    ui.Ref // zero: a new one
	Base        int
	Project     string
	Name        string
	Projects    []string // offered
	Text        string
	File        string
	MaxKB       int
	Check       Check
	CheckURL    string // POST: the same fields, answers the fragment Check
	SaveURL     string
	CancelURL   string
	Conflict    string
	ConflictURL string
	Key         string
}

// DayForm is what somebody wants the calendar to say of a day, as it was typed: the fields posted are date,
// until ("" = that day alone), kind (workday, holiday, rule), label, add_year and base_version.
type DayForm struct {
	Date, Until, Kind, Label string
	AddYear                  bool
}

// DayPage changes what a calendar says of one day, or of those from it to another.
type DayPage struct {
	layout.Shell
	Calendar    ui.Ref
	Base        int
	At          time.Time // the day
	Kind, Label string    // what is said of it now
	RuleRest    bool      // by the weekly rhythm alone it is off
	Covered     bool      // the special days of its year are known
	Form        DayForm
	Check       Check
	CheckURL    string // POST: the same fields, answers the fragment Check
	SaveURL     string
	CancelURL   string
	Errors      []ui.FieldError
	Conflict    string
	ConflictURL string
	Key         string
}

// Check is what a text would do.
type Check struct {
	Checked  bool
	Problems []Problem
	Error    string // what is wrong beside the text
	Change   string // created, updated, unchanged
	Version  int    // that it would become
	Days     []DayChange
	MoreDays int
	Jobs     int
	Moves    []Move
	MoreJobs int
}

// Problem is one fault of a text. Line and Column count from 1; 0 is "the whole text".
type Problem struct {
	Line, Column     int
	Message, Excerpt string
}

// DayChange is a day, or a stretch of days, of which something else is said than before.
type DayChange struct {
	Days    string
	Was, Is string // kinds
	Label   string
}

// Move is a job whose fires move: the first that happen no more and that happen only now.
type Move struct {
	Job                   ui.Ref
	Gone, Added           []ui.Fire
	GoneCount, AddedCount int
	More                  bool // not all were looked at
}
