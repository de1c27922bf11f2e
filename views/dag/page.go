// Package dag draws dependencies: a layered picture on the server, and the same
// as a list for those who read rather than see.
package dag

import (
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// GraphPage is the graph of one business date. Fields of the GET form: biz_date,
// job (the neighbourhood of one job; empty: all), failing (1: failing chains
// only), view (list).
type GraphPage struct {
	layout.Shell
	BizDate  string
	Basis    string // as of when it is drawn, in words
	Job      string
	Failing  bool
	AsList   bool
	JobNames []string
	Nodes    []Node
	Edges    []Edge
	Changes  Changes
	// Cut is said when more jobs were asked for than can be drawn, and none is.
	Cut     string
	NewJob  ui.Action
	PageURL string // this page without query, for its own links
	// Selected is the node whose panel is open; nil: none.
	Selected *Panel
	Error    string
}

// Node is one job on that date. URL selects it.
type Node struct {
	ID     string
	Title  string
	Status ui.Status
	URL    string
	Fires  int // instances of that date; 0 or 1 is not shown
	// Stale says what upstream ran again since its instance began; "": not so.
	Stale string
	// Said is why there is no instance on that date, or why the one that is there was skipped;
	// Absent is the kind of the former, in the words of the domain. "": the state says all.
	Said, Absent string
	Instance     string // its address; "": there is none
	Since        string // how the job stands today, where that is otherwise
	Gone         bool   // it has been deleted since
}

// Edge leads from upstream to downstream, by node ids. Back says that only earlier dates of the
// upstream are waited for, Gone that it is defined no more.
type Edge struct {
	From, To string
	Back     bool
	Gone     bool
}

// Changes is what of the drawn part is otherwise today. More says how many are not listed.
type Changes struct {
	Count, More int
	List        []Change
}

// Change is one of them. Kind is gone, changed or new.
type Change struct{ Kind, Text string }

// Panel says what matters about the selected node.
type Panel struct {
	Job      ui.Ref
	Status   ui.Status
	Why      string
	Facts    []Fact
	Error    string
	Blocks   []ui.Ref // downstream that waits
	Instance string   // address of the instance; empty: none
	Log      string
	FromHere ui.Action // the preview of a backfill: the job of this date, and all that depends on it
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }
