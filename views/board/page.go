// Package board shows the dashboard: exactly five figures, each with its picture
// and the list that adds up to it.
package board

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// DashboardPage is the overview of one day. A nil figure could not be read: it
// shows "–" and a retry, the others stay.
type DashboardPage struct {
	layout.Shell
	Day     string // the business date, 2026-11-26
	DayZone string // the zone in which "today" is counted
	// Empty is set while no instance has ever existed.
	Empty     bool
	NewJob    ui.Action
	Verdict   Verdict
	Instances *InstancesFigure
	Failures  *FailuresFigure
	Delay     *DelayFigure
	Longest   *LongestFigure
	Top       *TopFigure
}

// Verdict is one sentence on the day. Kind is "good", "attention" or "bad".
// Link leads to what it is about; its Title is the button's text.
type Verdict struct {
	Kind string
	Text string
	Link ui.Ref
}

// Hour is one bar: what ran, what of it failed, what is still planned.
type Hour struct {
	Label   string // "04:00"
	Done    int64
	Failed  int64
	Planned int64
}

// InstancesFigure counts today's instances. Change compares with yesterday at
// the same time (0.042 = 4.2 % more); HasChange is false when there is no yesterday.
// Waiting, Queued and Executing are those of them that are running now, apart.
type InstancesFigure struct {
	URL                        string
	Total                      int64
	Change                     float64
	HasChange                  bool
	Waiting, Queued, Executing int64
	Hours                      []Hour
}

// FailuresFigure counts today's failed instances.
type FailuresFigure struct {
	URL   string
	Total int64
	Rate  float64 // of those that ended
	Hours []Hour
}

// DelayPoint is the mean and the slow end of one slot; P99 0 is unknown. Zero Mean with
// Empty set is a gap.
type DelayPoint struct {
	At    time.Time
	Mean  time.Duration
	P99   time.Duration
	Empty bool
}

// DelayFigure is the mean delay of today. Threshold 0 draws none; P99 0 is unknown.
type DelayFigure struct {
	URL       string
	Mean      time.Duration
	P99       time.Duration
	Threshold time.Duration
	From, To  time.Time // the axis
	Points    []DelayPoint
}

// LongRun is one of the longest runs against what is usual for its job (0: unknown).
type LongRun struct {
	Job      ui.Ref
	Status   ui.Status
	Duration time.Duration
	Usual    time.Duration
}

// LongestFigure is the longest run of today; Runs begin with it.
type LongestFigure struct {
	URL  string
	Runs []LongRun
}

// FailingJob is one of the top five.
type FailingJob struct {
	Job    ui.Ref
	Failed int64
	URL    string // the failed instances
	Runs   []ui.Run
	Blocks int // downstream jobs that wait for it
}

// TopFigure is the top five failing jobs.
type TopFigure struct {
	URL  string
	Jobs []FailingJob
}
