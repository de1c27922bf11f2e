// Package audit shows who changed what.
package audit

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Filter is the list's filter as it stands in the address. Fields of the GET
// form: who, action, object, from, to (dates).
type Filter struct{ Who, Action, Object, From, To string }

// Set reports whether anything is filtered away.
func (f Filter) Set() bool { return f != Filter{} }

// ListPage is the audit trail, newest first.
type ListPage struct {
	layout.Shell
	Filter   Filter
	Actions  []ui.Option
	Rows     []Row
	Pager    ui.Pager
	ClearURL string
	Error    string
}

// Row is one change. Action is already in words; Refused marks a try that was denied.
type Row struct {
	ID      string
	At      time.Time
	Who     string
	Via     string // page, API, CLI
	From    string // address
	Action  string
	Object  ui.Ref
	Refused bool
	Before  string
	After   string
	Trace   string
}
