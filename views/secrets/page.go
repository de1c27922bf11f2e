// Package secrets shows which secrets projects have: their names, versions, who changed them and when. No page has a
// value to show.
package secrets

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// ListPage is all secrets that the reader sees.
type ListPage struct {
	layout.Shell
	Rows     []Row
	Projects []ui.Option // to filter by; fewer than two: no filter
	Project  string
	New      ui.Action
	NoKey    string // why no secret can be kept; "" = they can
	Error    string
}

// Row is one secret.
type Row struct {
	Name, Project string
	URL           string
	Version, Jobs int
	ChangedBy     string
	Changed       time.Time
}

// Form is what was typed, but for the value: that is never shown again. Version is that of the secret from which it
// began.
type Form struct {
	Project, Name, Reason, Version string
}

// EditPage is one secret, or a new one: then Row is zero.
type EditPage struct {
	layout.Shell
	Row       Row
	CreatedBy string
	Created   time.Time
	JobNames  []ui.Ref // of those that name it, the first
	Form      Form
	Projects  []ui.Option // of a new one: where it may be
	Save      ui.Action
	Delete    ui.Action
	NoKey     string
	Errors    []ui.FieldError
	Error     string
}

// New reports whether the page is about a secret that is not there yet.
func (p EditPage) New() bool { return p.Row.Name == "" }
