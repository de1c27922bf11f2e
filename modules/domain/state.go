package domain

import "slices"

// State is one of the five states of an instance. Nothing else is a state.
type State string

// The five states.
const (
	Running   State = "running"
	Success   State = "success"
	Failed    State = "failed"
	Retrying  State = "retrying"
	Cancelled State = "cancelled"
)

// States lists the five in the order in which pages show them.
var States = []State{Running, Success, Failed, Retrying, Cancelled}

// Label is the finer word beside a state.
type Label string

// The labels, by the state beside which each stands. Success has none.
const (
	WaitingDeps     Label = "waiting_deps"
	WaitingApproval Label = "waiting_approval"
	HeldOverlap     Label = "held_overlap"
	HeldPool        Label = "held_pool"
	Queued          Label = "queued"
	Dispatched      Label = "dispatched"
	Executing       Label = "executing"
	Stopping        Label = "stopping"
	Orphan          Label = "orphan"

	ErrorLabel   Label = "error"
	Timeout      Label = "timeout"
	QueueTimeout Label = "queue_timeout"
	DepsTimeout  Label = "deps_timeout"
	WorkerLost   Label = "worker_lost"

	Backoff Label = "backoff"

	UpstreamFailed Label = "upstream_failed"
	Killed         Label = "killed"
	Skipped        Label = "skipped"
)

// Labels lists which labels stand beside which state.
var Labels = map[State][]Label{
	Running:   {WaitingDeps, WaitingApproval, HeldOverlap, HeldPool, Queued, Dispatched, Executing, Stopping, Orphan},
	Failed:    {ErrorLabel, Timeout, QueueTimeout, DepsTimeout, WorkerLost},
	Retrying:  {Backoff},
	Cancelled: {UpstreamFailed, Killed, Skipped},
}

// Status is a state with its label.
type Status struct {
	State State `json:"state"`
	Label Label `json:"label"`
}

// String is "state/label", or the state alone.
func (s Status) String() string {
	if s.Label == "" {
		return string(s.State)
	}
	return string(s.State) + "/" + string(s.Label)
}

// Terminal reports whether an instance in this state stays there unless rerun.
func (s State) Terminal() bool { return s == Success || s == Failed || s == Cancelled }

// Valid reports whether s is one of the five.
func (s State) Valid() bool { return slices.Contains(States, s) }

// Valid reports whether the label may stand beside the state.
func (s Status) Valid() bool {
	if s.State == Success {
		return s.Label == ""
	}
	return slices.Contains(Labels[s.State], s.Label)
}

// Phase groups the labels of running for people: waiting, queued and executing
// stand apart wherever running is shown, counted or filtered.
func (s Status) Phase() string {
	switch s.Label {
	case WaitingDeps, WaitingApproval, HeldOverlap, HeldPool, Backoff:
		return "waiting"
	case Queued, Dispatched:
		return "queued"
	case Executing, Stopping, Orphan:
		return "executing"
	}
	return ""
}
