// Package workers shows the processes that run tasks.
package workers

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// ListPage is all workers, the lost ones last.
type ListPage struct {
	layout.Shell
	Rows []Row
	// Start is the command that starts a worker, shown when there is none.
	Start string
	Key   string
	Error string
	Deaf  string // why no worker is heard; empty: nothing is known that keeps them from it
}

// Row is one worker. Availability is available, refusing, draining, silent or lost.
type Row struct {
	Name          string
	Availability  string
	Host, IP      string
	Boot          int64
	Version       string
	Types, Tags   []string
	Described     []Type   // what it told of its types; empty: nothing
	Plugins       []Plugin // how they stand
	Lanes         []Lane
	Running       int
	Cores         int
	Score         float64       // 0: unknown
	Mean          time.Duration // five-minute mean of the tasks' duration; 0: none
	Heartbeat     time.Time
	Skew          time.Duration // its clock against the center's
	SkewRefused   bool          // over the limit: it refuses
	Disk          string        // why its journal cannot be written, so that it refuses; of a lost one what it said last; empty: it can
	RefusingSince time.Time     // since when; zero: unknown
	LostSince     time.Time     // when it was found lost
	Held          string        // what became of what it held
	RunningURL    string
	Drain         ui.Action // posts
	Resume        ui.Action // posts
}

// Type is what a type takes. Free: whatever a job gives.
type Type struct {
	Name, Version, Plugin, About string
	Free                         bool
	Params                       []Param
}

// Param is one key of a job's exec.
type Param struct {
	Name, Kind, Default, Label, About string
	Required                          bool
	Choices                           []string
}

// Plugin is how a plug-in stands: loading, ready or failed.
type Plugin struct {
	Name, Version, State, Fault string
}

// Lane is one queue of the worker with its threads. Busy < 0 is unknown.
type Lane struct {
	Name    string
	Busy    int
	Threads int
	Queued  int
}
