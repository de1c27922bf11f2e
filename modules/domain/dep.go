package domain

import "time"

// Cause is why an instance is cancelled: an upstream instance, in one of its
// runs, that ended without success.
type Cause struct {
	Instance, Run ID
	Name          string // of the upstream job
}

// DepState is where a dependency of an instance stands.
type DepState string

// The states of a dependency.
const (
	DepWaiting DepState = "waiting"
	DepMet     DepState = "met"
	DepFailed  DepState = "failed"
	DepVoid    DepState = "void" // its instance ended without it
)

// InstanceDep is one dependency of one instance: an upstream job and the business
// date of it that is waited for.
type InstanceDep struct {
	InstanceID ID
	ProjectID  ID
	Upstream   ID // 0: the job is gone
	Name       string
	BizDate    BizDate
	Require    string
	Check      string
	State      DepState
	By         ID // the upstream instance that met or failed it
	ChangedAt  time.Time
}

// Plan is what a schedule planned for one business date of a job.
type Plan struct {
	Fires []time.Time // planned, past and future, in order
	// Skipped are planned times that policy passed over: they count as not planned.
	// Missed ones had nobody alive: they block until made good.
	Skipped, Missed []time.Time
}

// NodeOfDate is a job as it stood on a business date, for the picture of a DAG.
type NodeOfDate struct {
	JobID    ID
	Name     string
	Instance ID // 0: none
	Status
}
