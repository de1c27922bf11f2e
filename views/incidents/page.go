// Package incidents shows what is wrong, and what was.
package incidents

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Filter is the list's filter as it stands in the address. Fields of the GET form:
// kind, project, state ("", open, closed). ID shows one incident alone.
type Filter struct{ Kind, Project, State, ID string }

// Set reports whether anything is filtered away.
func (f Filter) Set() bool { return f != Filter{} }

// ListPage is the incidents: open ones first, then those that are over.
type ListPage struct {
	layout.Shell
	Filter    Filter
	Open      int64 // that the reader may see
	Kinds     []ui.Option
	Projects  []ui.Option // none: there is one only
	Rows      []Row
	Channels  []Channel
	NoChannel bool // nobody is told: there is no receiver
	// Close asks for an end by hand of the one incident that is shown; posts: reason.
	Close    ui.Action
	Key      string // idempotency key for the form
	Pager    ui.Pager
	ClearURL string
	Error    string
}

// Channel is a road by which notices go out. Zero moments have not been.
type Channel struct {
	Name    string // the domain's word
	Taken   time.Time
	Failed  time.Time
	Failing time.Time // since when tries fail; zero: the last one was taken
	Fault   string    // why, as it was said
	Waiting int
	Next    time.Time // of the next try; zero: nothing waits
}

// Row is one incident.
type Row struct {
	ID      string
	Title   string // what sort of thing is wrong, in words
	Said    string // what was said of it last; "" = nothing
	Subject ui.Ref
	Project string // "" = it is about the system
	Opened  time.Time
	Last    time.Time
	Ended   time.Time // zero: open
	Over    string    // why it is over, in words
	Count   int64
	Example ui.Ref // the instance that showed it last; zero = none
}
