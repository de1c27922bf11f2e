// Package ledger shows the books: what was planned = fired + skipped + missed, of many
// jobs, and of one job fire by fire.
package ledger

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Filter is the page's filter as it stands in the address. Fields of the GET form: range
// (today, yesterday, week, own), from, to (dates, both counted), job, only (unbalanced).
type Filter struct {
	Range, From, To, Job string
	Unbalanced           bool
}

// Page is the ledger of a span. With Detail it is that of one job.
type Page struct {
	layout.Shell
	Filter Filter
	Ranges []Range
	Span   string // the span in words, in the reader's zone
	Rows   []Account
	// Namesakes are the other jobs of the name that the filter has.
	Namesakes []ui.Namesake
	Detail    *Detail  // the one job's fires that made no instance
	Pager     ui.Pager // oldest first: its next leads on
	// Partial says that the search for jobs out of balance has not looked at all yet.
	Partial  bool
	ClearURL string
	Error    string
}

// Range is one entry of the range picker; Key is today, yesterday or week.
type Range struct {
	Key    string
	URL    string
	Active bool
}

// Account is one job's balance. Refused, if any, is why there is none.
type Account struct {
	Job       ui.Ref
	URL       string // of the fires that made no instance
	Planned   int
	Fired     int
	Skipped   int
	Missed    int
	Pending   int
	Absent    int
	Unplanned int
	Reasons   []Reason
	// More is how many reasons are not shown.
	More        int
	AbsentFires []time.Time // the first few
	Untaken     bool        // no scheduler has come to them yet
	TodoURL     string      // where a missing fire is started by hand
	Refused     string
}

// Balanced reports whether every planned fire is accounted for.
func (a Account) Balanced() bool { return a.Absent == 0 && a.Refused == "" }

// Reason is why fires made no instance. Kind is skipped or missed.
type Reason struct {
	Kind  string
	Text  string
	Fires int
}

// Detail is one job's fires one by one. Kinds are the tabs: unfired, missed, skipped, absent.
type Detail struct {
	Tabs  []ui.Tab
	Fires []Fire
}

// Fire is one planned fire. State is skipped, missed or absent.
type Fire struct {
	Expected time.Time
	BizDate  string
	State    string
	Reason   string
	URL      string // of its instance; empty: none
}
