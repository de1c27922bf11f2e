package instances

import (
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// OrphansPage is the list of orphans, newest first, with the form that settles those
// chosen. Fields of the form: pick (several), as, reason, job.
type OrphansPage struct {
	layout.Shell
	Job     string // the filter
	Rows    []Orphan
	Pager   ui.Pager
	Settle  ui.Action
	Choices []Verdict
	Key     string // idempotency key
	Error   string // of the list

	// What became of a form that was sent: how many were settled, and which were left as
	// they are; or FormError, with what was chosen and typed.
	Done      int
	Left      []Left
	FormError string
	Open      bool
	Picked    map[string]bool
	As        string
	Reason    string
}

// Orphan is one instance whose end is not known, with what is known of it.
type Orphan struct {
	Pick    string // of the form
	URL     string
	LogURL  string
	Job     ui.Ref
	BizDate string
	Run     int
	Attempt int
	Target  ui.Ref
	Started time.Time
	Heard   time.Time // the last that anyone heard of it; zero: that was not written down
	Lost    time.Time
	Note    string
}

// Verdict is one thing that a person may say of an orphan. Denied is why the reader may not.
type Verdict struct {
	Value, Text, Help, Denied string
}

// Left is an instance that was not settled.
type Left struct {
	Name, URL, Why string
}

// Orphans is the list of orphans.
func Orphans(p OrphansPage) templ.Component {
	return layout.Page(p.Shell, layout.Meta{Nav: "orphans", Title: "orphan.title"}, orphans(p))
}
