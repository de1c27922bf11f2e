// Package backfills shows what a backfill would do, how far those that were started are,
// and planned fires that were missed.
package backfills

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Form is what a backfill is asked with, as texts. The fields of the GET form have these
// names: job, reach, from, to, dates, wanted, degree, order, failure, not_between, params, reason.
type Form struct {
	Job, Reach, From, To, Dates string
	Wanted, Degree, Order       string
	Failure, NotBetween, Params string
	Reason                      string
	Fires                       []string // single planned moments, RFC 3339
	Since, Until                string   // planned moments from, and up to, RFC 3339
}

// NewPage is the form, and under it the preview of what it asks for.
type NewPage struct {
	layout.Shell
	Form    Form
	Names   []string // jobs to choose from
	Errors  []ui.FieldError
	Error   string
	Preview *Preview
	Changed bool   // the list is not the one that was confirmed
	Hash    string // of the preview
	Key     string
}

// Preview is what would run. Its lists may be cut; the counts never are.
type Preview struct {
	Job                        ui.Ref
	Runs                       int // make + again: what is confirmed
	Make, Again, Forced, Leave int
	Dates, Steps, Degree       int
	InDates                    bool // a step is a business date
	Estimate                   time.Duration
	NotBetween, Zone           string
	Since, Until               time.Time // only fires planned then; zero: no bound
	Items                      []Item
	MoreItems                  int
	Effects                    []Effect
	MoreEffects                int
	Warnings                   []string
	Start                      ui.Action
	ListURL                    string // of the whole list as JSON; empty: all of it is shown
}

// Item is one fire. Does is make, again or leave; State is empty in a preview.
type Item struct {
	No       int
	Step     int // 0: it is left alone
	Job      ui.Ref
	BizDate  string
	Expected time.Time // zero: the job has no schedule
	Does     string
	Why      string // in words
	Version  int
	Was      ui.Status // how the instance stands that is there
	URL      string    // of the instance
	State    string    // waiting, running, success, failed, killed, left or dropped
	Now      ui.Status // how the instance stands, of a started one
}

// Effect is an instance outside of the list. Kind is back or stale.
type Effect struct {
	Kind    string
	Job     ui.Ref
	BizDate string
	URL     string
	Because string
}

// ListPage is the backfills, newest first.
type ListPage struct {
	layout.Shell
	Job      string
	Tabs     []ui.Tab
	Rows     []Row
	Pager    ui.Pager
	Filtered bool
	New      ui.Action
	Error    string
}

// Row is one backfill. State is running, paused, stopping, stopped or done.
type Row struct {
	URL       string
	Job       ui.Ref
	Reach     string
	From, To  string
	State     string
	Runs      int
	Ended     int
	Failed    int
	CreatedBy string
	CreatedAt time.Time
}

// ShowPage is one backfill.
type ShowPage struct {
	layout.Shell
	ID         string
	Row        Row
	Counts     []Count
	Pause      string // why it is paused, in words
	Waits      string // why nothing begins just now, in words
	Wanted     string // in words
	Degree     int
	InDates    bool
	Order      string // in words
	Failure    string
	NotBetween string
	Zone       string
	Params     []Param
	Reason     string
	Estimate   time.Duration
	FinishedAt time.Time
	Tabs       []ui.Tab
	Items      []Item
	Pager      ui.Pager
	PauseIt    ui.Action
	ResumeIt   ui.Action
	StopIt     ui.Action
	Key        string
}

// Count is how many items stand so.
type Count struct {
	State string
	N     int
}

// Param is a value that each run got over that of its job.
type Param struct{ Name, Value string }

// MissedPage is planned fires that made no instance and were not made up.
type MissedPage struct {
	layout.Shell
	Job, From, To string
	Tabs          []ui.Tab // missed, skipped
	Rows          []MissedDay
	Picks         bool // the rows are of one job and can be chosen
	Pager         ui.Pager
	Backfill      ui.Action
	Filtered      bool
	Error         string
}

// MissedDay is the fires of one job and business date.
type MissedDay struct {
	Job         ui.Ref
	BizDate     string
	First, Last time.Time
	Fires, Open int
	Reason      string
	BackfillURL string
}
