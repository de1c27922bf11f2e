// Package projects shows the projects and the private networks that their tasks may connect to.
package projects

import (
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// ListPage is all projects that the reader has a role in.
type ListPage struct {
	layout.Shell
	Rows []Row
}

// Row is one project.
type Row struct {
	Name, Title, URL string
	Networks         []string
}

// ShowPage is one project. Networks is the list as it was typed, an entry a line; Save says whether the reader may change it.
type ShowPage struct {
	layout.Shell
	Row      Row
	Networks string
	Save     ui.Action
	Errors   []ui.FieldError
	Error    string
}
