package plan

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// State is where a backfill stands.
type State string

// The states of a backfill.
const (
	Running  State = "running"
	Paused   State = "paused"   // nothing begins; what runs goes on
	Stopping State = "stopping" // nothing begins any more, and something has not ended
	Stopped  State = "stopped"
	Done     State = "done"
)

// States lists them.
var States = []State{Running, Paused, Stopping, Stopped, Done}

// Over reports whether nothing changes any more.
func (s State) Over() bool { return s == Stopped || s == Done }

// PauseKind is why a backfill is paused.
type PauseKind string

// The kinds: a person said so, a run ended without success, a job of the list was deleted.
const (
	ByPerson   PauseKind = "person"
	ByFailure  PauseKind = "failure"
	ByDeletion PauseKind = "deleted"
)

// Counts is how many items stand how.
type Counts struct{ Waiting, Running, Success, Failed, Killed, Left, Dropped int }

// Of is how many items are in the state.
func (c Counts) Of(s ItemState) int { return *c.at(s) }

// Move counts an item from one state to another.
func (c *Counts) Move(from, to ItemState) {
	*c.at(from)--
	*c.at(to)++
}

// Add counts an item.
func (c *Counts) Add(s ItemState) { *c.at(s)++ }

// Works is how many items are or were worked on, or would have been.
func (c Counts) Works() int {
	return c.Waiting + c.Running + c.Success + c.Failed + c.Killed + c.Dropped
}

// Ended is how many of them have ended.
func (c Counts) Ended() int { return c.Success + c.Failed + c.Killed }

func (c *Counts) at(s ItemState) *int {
	switch s {
	case ItemWaiting:
		return &c.Waiting
	case ItemRunning:
		return &c.Running
	case ItemSuccess:
		return &c.Success
	case ItemFailed:
		return &c.Failed
	case ItemKilled:
		return &c.Killed
	case ItemLeft:
		return &c.Left
	}
	return &c.Dropped
}

// Backfill is one that was started. Its items are stored beside it.
type Backfill struct {
	ID          domain.ID
	ProjectID   domain.ID // of the job that was named
	JobID       domain.ID
	JobName     string // [project/]name, as it was
	Reach       Reach
	Wanted      Wanted
	First, Last domain.BizDate // of the items
	Dates       int            // on which something is worked on
	Degree      int
	NewestFirst bool
	GoesOn      bool
	Not         Window
	Zone        string // IANA name, of Not
	Params      map[string]string
	Reason      string
	Hash        string
	Estimate    time.Duration
	State       State
	Pause       PauseKind // of a paused one
	PauseBy     string    // who paused it, or what failed or was deleted
	Kills       bool      // of a stopping one: what runs is ended
	Counts      Counts
	CreatedBy   string
	CreatedAt   time.Time
	ChangedAt   time.Time
	FinishedAt  time.Time // zero: it is not over
	Ver         int64
}

// Judge is where an item stands whose run was opened, by its instance as it is. ok says that
// the instance is there. The run in force counts: a person's rerun takes the place of the
// backfill's. kills says that the backfill ends what runs: what was cancelled then has not failed.
func Judge(in domain.Instance, ok, kills bool) ItemState {
	switch {
	case !ok:
		return ItemFailed // it had ended long ago and was cleared away
	case !in.State.Terminal():
		return ItemRunning
	case in.State == domain.Success:
		return ItemSuccess
	case kills && in.State == domain.Cancelled:
		return ItemKilled
	}
	return ItemFailed
}

// Next chooses from the waiting items, the first ones in order, those that may begin
// now, at most most: as many steps as the degree leaves room for, and of a step that has
// begun all that is left.
func Next(degree int, running, waiting []Item, most int) []Item {
	begun := map[int]bool{}
	for _, it := range running {
		begun[it.Step] = true
	}
	var out []Item
	for _, it := range waiting {
		if len(out) == most {
			break
		}
		if !begun[it.Step] {
			if len(begun) >= degree {
				break
			}
			begun[it.Step] = true
		}
		out = append(out, it)
	}
	return out
}
