package plan

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Act is what a backfill does about one fire.
type Act string

// The acts.
const (
	Make  Act = "make"  // an instance that is not there
	Again Act = "again" // a new run on the instance that is there
	Leave Act = "leave"
)

// Why is where the fire of an item comes from, or why it is left alone.
type Why string

// The reasons: of act make how the fire is known, of leave what speaks against it.
const (
	InForce Why = "in_force" // the schedule that was in force planned it
	Present Why = "present"  // no schedule was in force; the definition in force now plans it
	Unasked Why = "unasked"  // the job has no schedule: one instance a business date

	Succeeded     Why = "succeeded"
	StandIn       Why = "stand_in"       // a success by hand stands in for it
	Unended       Why = "unended"        // it has not ended
	NotDue        Why = "not_due"        // it lies in the future, or is due just now
	Nothing       Why = "nothing"        // nothing is planned on the date
	CalendarSkips Why = "calendar_skips" // the calendar lets no fire about the date happen
	CalendarMoves Why = "calendar_moves" // the calendar moved its fires to another day
	NotFailed     Why = "not_failed"     // only what failed is wanted, and it did not, or is not there
	Ended         Why = "ended"          // it ended without success and runs again
)

// ItemState is where an item stands.
type ItemState string

// The states of an item.
const (
	ItemWaiting ItemState = "waiting" // its turn has not come
	ItemRunning ItemState = "running" // its run was opened and has not ended
	ItemSuccess ItemState = "success"
	ItemFailed  ItemState = "failed"  // its run ended without success
	ItemKilled  ItemState = "killed"  // its run was ended because the backfill was stopped
	ItemLeft    ItemState = "left"    // left alone, as planned
	ItemDropped ItemState = "dropped" // the backfill was stopped before its turn
)

// ItemStates lists them in the order of the page.
var ItemStates = []ItemState{ItemRunning, ItemFailed, ItemWaiting, ItemSuccess, ItemLeft, ItemKilled, ItemDropped}

// Item is one fire of a backfill.
type Item struct {
	No   int // place in the order, from 1
	Step int // items of a step are made together; 0: it is left alone

	ProjectID domain.ID
	JobID     domain.ID
	JobName   string // [project/]name
	BizDate   domain.BizDate
	Expected  time.Time // zero: the job has no schedule
	FireKey   string    // "" until the start, where the job has neither schedule nor upstream

	Act     Act
	Why     Why
	Version int  // of the definition that runs
	Waits   bool // a run again that waits for dependencies which are in the list
	// Instance is the one that is there, or was made; RunNo the run that is run again, or that
	// was opened.
	Instance domain.ID
	RunNo    int
	Was      domain.Status // how the instance stood when it was planned; zero: there was none

	State ItemState // of a stored one
}

// Works reports whether it is made or run again.
func (i Item) Works() bool { return i.Act != Leave }

// EffectKind is what becomes of an instance outside of the list.
type EffectKind string

// The kinds of effect.
const (
	BringsBack EffectKind = "back"  // it was cancelled because of an item, and comes back at its success
	MakesStale EffectKind = "stale" // it succeeded on what an item makes anew
)

// Effect is an instance outside of the list that an item has an effect on.
type Effect struct {
	Kind     EffectKind
	JobID    domain.ID
	JobName  string
	BizDate  domain.BizDate
	Instance domain.ID
	Because  string // name of the job of the item
}

// WarningKind is something to know before a start.
type WarningKind string

// The kinds of warning.
const (
	// WarnWaits: items wait for a job that is not in the list and has not succeeded on their dates.
	WarnWaits WarningKind = "waits"
	// WarnOneByOne: the job lets one instance run at a time, whatever the degree.
	WarnOneByOne WarningKind = "one_by_one"
	// WarnOtherDates: a job of the list depends on other business dates than its own.
	WarnOtherDates WarningKind = "other_dates"
	// WarnUnseen: jobs of projects that the asker may not see are not in the list.
	WarnUnseen WarningKind = "unseen"
	// WarnNoHistory: the estimate knows nothing of jobs that never ran.
	WarnNoHistory WarningKind = "no_history"
)

// Warning is one of them. N counts what it is about.
type Warning struct {
	Kind  WarningKind
	Job   string // "" where it is about no single job
	Other string // the job that is waited for
	N     int
}

// Plan is what a backfill would do.
type Plan struct {
	Request Request
	JobName string // of the job that was named
	Project domain.ID
	Zone    *time.Location
	Dates   int // business dates with at least one item
	Items   []Item
	Steps   int
	// How many items do what; Forced counts successes that are run again.
	Make, Again, Forced, Leave int
	Effects                    []Effect // at most MaxEffects
	MoreEffects                int
	Warnings                   []Warning
	Estimate                   time.Duration // 0: nothing is known
	Hash                       string
}

// MaxEffects is how many effects a plan lists.
const MaxEffects = 200

// Works is how many runs are opened: the number that is confirmed.
func (p Plan) Works() int { return p.Make + p.Again }

// Projects are those that the plan touches, each once.
func (p Plan) Projects() []domain.ID {
	seen := map[domain.ID]bool{p.Project: true}
	out := []domain.ID{p.Project}
	for _, it := range p.Items {
		if it.Works() && !seen[it.ProjectID] {
			seen[it.ProjectID] = true
			out = append(out, it.ProjectID)
		}
	}
	return out
}
