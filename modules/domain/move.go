package domain

import (
	"fmt"
	"slices"
)

// MoveName names a transition of an instance. A state changes by a named move
// only, and the row only if it still stands as it was read.
type MoveName string

// The moves. Ordinary ones leave their moment in a column of the instance or
// the attempt; each of the others also writes a row of history.
const (
	MoveRelease        MoveName = "release"         // the last dependency was met
	MoveWaive          MoveName = "waive"           // a person released it without what it waits for
	MoveHold           MoveName = "hold"            // another instance of the job is in its way (overlap)
	MoveUnhold         MoveName = "unhold"          // the way is free
	MoveSplit          MoveName = "split"           // its run was split into shards, which go each its own way
	MoveGather         MoveName = "gather"          // its shards stand otherwise than before
	MoveHoldPool       MoveName = "hold_pool"       // its pool has no place for it
	MoveUnholdPool     MoveName = "unhold_pool"     // there is a place, and it is the next
	MoveDispatch       MoveName = "dispatch"        // an attempt was committed for a target
	MoveWithdraw       MoveName = "withdraw"        // the attempt was taken back before its grant
	MoveStart          MoveName = "start"           // the worker said that it started
	MoveStop           MoveName = "stop"            // a kill was asked of the worker that runs it
	MoveSucceed        MoveName = "succeed"         // a success was reported
	MoveFail           MoveName = "fail"            // the last try failed
	MoveRetry          MoveName = "retry"           // a try failed and another is owed
	MoveRequeue        MoveName = "requeue"         // the back-off is over
	MoveRedispatch     MoveName = "redispatch"      // the worker was lost; no retry is spent
	MoveOrphan         MoveName = "orphan"          // the worker was lost and a person must decide
	MoveSettle         MoveName = "settle"          // a person said what became of an orphan
	MoveKill           MoveName = "kill"            // ended by a person
	MoveSkip           MoveName = "skip"            // the overlap policy said no
	MoveCancelUpstream MoveName = "cancel_upstream" // what it waits for failed or was cancelled
	MoveDepsTimeout    MoveName = "deps_timeout"    // waited for dependencies beyond its limit
	MoveQueueTimeout   MoveName = "queue_timeout"   // waited for a target beyond its limit
	MoveRerun          MoveName = "rerun"           // a new run was opened on an ended instance
	MoveRestore        MoveName = "restore"         // brought back after the upstream's rerun succeeded
)

// Move is one row of the table of allowed moves.
type Move struct {
	Name     MoveName
	From     []Status
	To       []Status
	Ordinary bool
	Means    string
}

func running(labels ...Label) []Status {
	out := make([]Status, len(labels))
	for i, l := range labels {
		out[i] = Status{Running, l}
	}
	return out
}

func with(a []Status, b ...Status) []Status { return append(slices.Clone(a), b...) }

// Moves is the table of allowed moves: what is not here is refused. docs/states.md
// is printed from it.
var Moves = []Move{
	{MoveRelease, running(WaitingDeps), running(Queued), true, "the last dependency was met"},
	{MoveWaive, running(WaitingDeps), running(Queued), false, "a person released it: what it still waits for is waived"},
	{MoveHold, running(Queued), running(HeldOverlap), false, "another instance of the job is unfinished and its overlap policy queues"},
	{MoveUnhold, running(HeldOverlap), running(Queued), false, "the instance that was in its way ended"},
	{MoveSplit, running(Queued), running(Queued), false, "its run was split into shards; from now on it stands as they do"},
	{MoveGather, with(running(Queued, HeldPool, Dispatched, Executing, Orphan), Status{Retrying, Backoff}), with(running(Queued, HeldPool, Dispatched, Executing, Orphan), Status{Retrying, Backoff}), true, "its shards stand otherwise: the most advanced of those that have not ended counts"},
	{MoveHoldPool, running(Queued), running(HeldPool), false, "its pool is full, or others of it are before it"},
	{MoveUnholdPool, running(HeldPool), running(Queued), false, "there is a place in its pool and it is the next"},
	{MoveDispatch, running(Queued), running(Dispatched), true, "an attempt was committed for a target"},
	{MoveWithdraw, running(Dispatched), running(Queued), false, "the attempt was taken back before its grant: no ack, refused or drained"},
	{MoveStart, running(Dispatched), running(Executing), true, "the worker journalled the start"},
	{MoveStop, running(Dispatched, Executing, Orphan), running(Stopping), false, "a person asked for its end; the worker has been told"},
	{MoveSucceed, with(running(Queued, HeldPool, Dispatched, Executing, Stopping, Orphan), Status{Retrying, Backoff}), []Status{{Success, ""}}, true, "a success was reported and no later attempt has been granted"},
	{MoveFail, with(running(Dispatched, Executing, Stopping, Orphan), Status{Retrying, Backoff}), []Status{{Failed, ErrorLabel}, {Failed, Timeout}, {Failed, WorkerLost}}, false, "the last try failed"},
	{MoveRetry, running(Dispatched, Executing), []Status{{Retrying, Backoff}}, false, "a try failed and retries are left"},
	{MoveRequeue, []Status{{Retrying, Backoff}}, running(Queued), false, "the back-off is over"},
	{MoveRedispatch, running(Dispatched, Executing, Orphan), running(Queued), false, "the worker was lost; the run goes elsewhere and no retry is spent"},
	{MoveOrphan, running(Dispatched, Executing), running(Orphan), false, "the worker was lost and the job says on_worker_lost: hold"},
	{MoveSettle, running(Orphan), with(running(Queued), Status{Success, ""}, Status{Failed, WorkerLost}), false, "a person said what became of the orphan: it succeeded, it failed, or it did not run and runs again"},
	{MoveKill, with(running(Labels[Running]...), Status{Retrying, Backoff}), []Status{{Cancelled, Killed}}, false, "ended by a person"},
	{MoveSkip, running(Queued, HeldOverlap, WaitingDeps), []Status{{Cancelled, Skipped}}, false, "the overlap policy said no"},
	{MoveCancelUpstream, running(WaitingDeps), []Status{{Cancelled, UpstreamFailed}}, false, "what it waits for failed or was cancelled"},
	{MoveDepsTimeout, running(WaitingDeps), []Status{{Failed, DepsTimeout}}, false, "its deps_timeout passed"},
	{MoveQueueTimeout, running(Queued, HeldOverlap, HeldPool), []Status{{Failed, QueueTimeout}}, false, "its queue_timeout passed"},
	{MoveRerun, []Status{{Success, ""}, {Failed, ErrorLabel}, {Failed, Timeout}, {Failed, QueueTimeout}, {Failed, DepsTimeout}, {Failed, WorkerLost}, {Cancelled, UpstreamFailed}, {Cancelled, Killed}, {Cancelled, Skipped}}, running(Queued, WaitingDeps), false, "a new run was opened"},
	{MoveRestore, []Status{{Cancelled, UpstreamFailed}}, running(WaitingDeps), false, "the upstream's rerun succeeded and its plan brings this back"},
}

// Births are the states in which an instance may be inserted.
var Births = append(running(WaitingDeps, Queued), Status{Cancelled, Skipped})

// MoveOf is the row of the table with the name; false if there is none.
func MoveOf(name MoveName) (Move, bool) {
	i := slices.IndexFunc(Moves, func(m Move) bool { return m.Name == name })
	if i < 0 {
		return Move{}, false
	}
	return Moves[i], true
}

// CheckMove refuses with Conflict a move that the table does not allow.
func CheckMove(name MoveName, from, to Status) error {
	m, ok := MoveOf(name)
	if !ok {
		return fmt.Errorf("there is no move %q", name)
	}
	if !slices.Contains(m.From, from) || !slices.Contains(m.To, to) {
		return Fail(Conflict, "move %s does not lead from %s to %s", name, from, to)
	}
	return nil
}
