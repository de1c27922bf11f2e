// Package search holds the page of what a search found.
package search

import (
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Page lists what comes near the text. AllJobs leads to the list of jobs with the
// same text where more were found than stand here; empty: these are all.
type Page struct {
	layout.Shell
	Text      string
	Jobs      []ui.Ref
	Instances []ui.Ref
	Workers   []ui.Ref
	AllJobs   string
}

func (p Page) empty() bool { return len(p.Jobs)+len(p.Instances)+len(p.Workers) == 0 }
