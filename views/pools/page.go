// Package pools shows the limits on how many instances run at once over several jobs, and who
// has a place under each.
package pools

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// ListPage is all pools that the reader sees.
type ListPage struct {
	layout.Shell
	Rows     []Row
	Projects []ui.Option // to filter by; fewer than two: no filter
	Project  string
	New      ui.Action
	Error    string
}

// Row is one pool.
type Row struct {
	Name, Title, Project string
	URL                  string
	Limit, Used, Waiting int
	More                 bool // more wait than Waiting says
	Jobs                 int
	Changed              time.Time
}

// Form is the form of a pool as it was typed. Ver is that of the pool that it began from.
type Form struct {
	Project, Name, Limit, Title, Reason, Ver string
}

// EditPage is one pool, or a new one: then Row is zero.
type EditPage struct {
	layout.Shell
	Row      Row
	Form     Form
	Projects []ui.Option // of a new one: where it may be
	Holders  []Holder
	Waiters  []Holder // the first of them, Since: waiting
	HoldURL  string   // to the list of all that have a place
	WaitURL  string   // to the list of all that wait
	JobNames []ui.Ref
	Save     ui.Action
	Describe bool // the title may be changed
	Delete   ui.Action
	Errors   []ui.FieldError
	Error    string
	Key      string
}

// Holder is an instance that has a place, or waits for one.
type Holder struct {
	Instance ui.Ref
	BizDate  string
	Status   ui.Status
	Since    time.Time
}

// New reports whether the page is about a pool that is not there yet.
func (p EditPage) New() bool { return p.Row.Name == "" }
