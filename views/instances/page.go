// Package instances shows instances: the list and one of them with its runs,
// attempts and log.
package instances

import (
	"time"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// Filter is the list's filter as it stands in the address. Fields of the GET
// form: state, label, job, biz_date, trace, made_from, made_to.
type Filter struct {
	State   string
	Label   string
	Job     string
	BizDate string
	Trace   string
	// Pool is [project/]name of one; Place is holds, waits or "".
	Pool, Place string
	// The span in which they were made, as it stands in the address, and in words.
	MadeFrom, MadeTo, Made string
}

// Set reports whether anything is filtered away.
func (f Filter) Set() bool { return f != Filter{} }

// ListPage is the list of instances, newest first.
type ListPage struct {
	layout.Shell
	Filter Filter
	Chips  []Chip
	Labels []ui.Option
	Rows   []Row
	// Namesakes are the other jobs of the name that the filter has.
	Namesakes []ui.Namesake
	Pager     ui.Pager
	ClearURL  string
	// Quiet is said when nothing matches and that is good news ("Nothing failed since …").
	Quiet string
	Error string
}

// Chip is one quick filter with a count: running is shown as waiting, queued and
// executing apart. Key is waiting, queued, executing, retrying, failed, success
// or cancelled. Count < 0 is unknown.
type Chip struct {
	Key    string
	URL    string
	Count  int64
	Active bool
}

// Row is one instance in the list.
type Row struct {
	ID       string
	URL      string
	Job      ui.Ref
	BizDate  string
	Status   ui.Status
	Why      string
	Trigger  string // cron, manual, …: the domain's word
	Attempt  int    // attempts of the run in force; 0: none yet
	Expected time.Time
	Started  time.Time
	Duration time.Duration
	AtLeast  bool // nobody knows when it ended: Duration is the least
	Delay    time.Duration
	Target   ui.Ref
	Trace    string
	Stale    string // its upstream ran again after it; "": not so
}

// ShowPage is one instance. Tab is log, dispatch, params, deps or history.
type ShowPage struct {
	layout.Shell
	ID      string
	Job     ui.Ref
	BizDate string
	Trigger string
	Status  ui.Status
	// Why is one sentence: why it is not running, or how it ended.
	Why string
	// Steps walk the chain from due to done; the first that is not done is the answer.
	Steps    []Step
	Expected time.Time
	Started  time.Time
	Finished time.Time
	Delay    time.Duration
	HasDelay bool
	Elapsed  time.Duration
	AtLeast  bool          // nobody knows when it ended: Elapsed is the least
	Usual    time.Duration // median of the last runs; 0: unknown
	Progress int           // per cent; < 0: unknown. Estimated says that it is elapsed against usual
	Estimate bool
	Timeout  time.Duration
	// TimeoutDefault says that the job names none.
	TimeoutDefault bool
	Version        int
	Target         ui.Ref
	Trace          string
	Stale          string // its upstream ran again after it

	// Whole leads from a shard to its instance; ShardNo is which it is, "2/8" (from 0).
	Whole   ui.Ref
	ShardNo string
	// Shards are those of the run in force, those that have not succeeded first; MoreShards is
	// how many are not shown.
	Shards     []Shard
	MoreShards int

	Tab     string
	TabURLs map[string]string
	Runs    []Run // oldest first; the attempts are tabs inside
	Log     Log
	// LogShards offer the output of each shard of a run that was split; LogShard is the number of the one shown.
	LogShards []ShardTab
	LogShard  int
	Params    []Param
	// Result is what the run handed over, by key; a long value is cut. ResultMore is how many keys are not shown.
	Result     []Param
	ResultMore int
	Command    string // what was sent, secrets as stars
	Up         []Dep
	Down       []Dep
	History    []Event

	GraphURL string
	Kill     ui.Action // posts: reason
	Rerun    ui.Action // posts: reason. Its dialog says RerunNote
	// FromHere leads to the preview of a backfill: the job of this date, and all that depends on it.
	FromHere ui.Action
	// Settle posts what became of an orphan: as, reason, attempt.
	Settle ui.Action
	// Release posts a reason; it lets an instance go on without what it waits for.
	Release     ui.Action
	Verdicts    []Verdict
	LostAttempt string
	// RerunNote is what a rerun will do, and which successful downstream stays as it is.
	RerunNote string
	Key       string // idempotency key for the forms of this page
}

// Step is one link of the chain. Mark is "done", "blocked", "open" or "none"
// (not needed here).
type Step struct {
	Mark string
	Text string
	Note string
}

// Run is one round of the instance.
type Run struct {
	No       int
	Reason   string // first, rerun by whom and why
	Status   ui.Status
	Trace    string
	Attempts []Attempt
}

// Shard is one part of a run.
type Shard struct {
	No       int
	URL      string
	Status   ui.Status
	Target   ui.Ref // where it is or was; of a broadcast's that was not sent yet, where it goes
	Attempts int
	Started  time.Time
	Elapsed  time.Duration
	AtLeast  bool // nobody knows when it ended: Elapsed is the least
	Message  string
}

// ShardTab leads to the output of a shard.
type ShardTab struct {
	No       int
	URL      string
	Status   ui.Status
	Selected bool
}

// Attempt is one sending to one target. Zero times did not happen. Outcome is
// the domain's word. Selected is the attempt whose log is shown.
type Attempt struct {
	No         int
	Shard      string // "2/4"; empty for one shard
	URL        string
	Selected   bool
	Status     ui.Status
	Target     ui.Ref
	Dispatched time.Time
	Acked      time.Time
	Granted    time.Time
	Started    time.Time
	Finished   time.Time
	// Heard is the last that anyone heard of a lost one, and Lost when it came to count as lost.
	Heard, Lost time.Time
	// Unreported is for how long its end was not known here; 0: not worth telling.
	Unreported time.Duration
	ExitCode   string // empty: none
	Outcome    string
	Message    string // without the exit code
}

// Log is the log of the selected attempt: the last lines as a snapshot, and where
// to get more. Reason is why there is no line, when there is none.
type Log struct {
	Lines     []Line
	StreamURL string // server-sent events; empty: nothing more comes
	RangeURL  string // older lines as JSON; empty: none
	RawURL    string // the whole as text
	Reason    string
	Cut       string // "3,412 lines in the middle were not kept"
	Live      bool
}

// Line is one line of a log. No counts from 1 over the whole attempt.
type Line struct {
	No     int64
	At     time.Time
	Stream string // stdout, stderr, ax
	Text   string
}

// Param is one parameter that the run was frozen with.
type Param struct {
	Name   string
	Value  string
	Origin string // job, trigger, default
}

// Dep is one neighbour of this instance. URL may be empty: nothing there yet. State says how
// it is with the dependency, Warning why it will not be met by itself. Parts are the fires that it is
// about, where they are several; MoreParts is how many are not shown.
type Dep struct {
	Job       ui.Ref
	BizDate   string // or a range of dates
	Rule      string
	Met       bool
	State     string
	Status    ui.Status
	Note      string
	Warning   string
	URL       string
	Parts     []DepPart
	MoreParts int
}

// DepPart is one fire. Kind is done, open, missing, missed or spoiled. URL may be empty.
type DepPart struct {
	Kind, Text, Title, URL string
	Status                 ui.Status
}

// Event is one thing that happened or was done to the instance.
type Event struct {
	At   time.Time
	Who  string // person or part of the system
	Text string
	Note string
}
