package domain

import "time"

// JobDay is the latest instance of a job on a business date.
type JobDay struct {
	Job      ID
	BizDate  BizDate
	Instance ID
	Version  int // of the job, that the instance was made with
	Status
	Why               string    // of one that policy skipped, as it was written down; else ""
	Started, Finished time.Time // zero: not yet
}

// Took is how long its instance ran; 0 when it did not start or has not ended.
func (d JobDay) Took() time.Duration {
	if d.Started.IsZero() || d.Finished.IsZero() {
		return 0
	}
	return max(d.Finished.Sub(d.Started), 0)
}

// JobName is a job by its names, without its definition.
type JobName struct {
	ID, ProjectID ID
	Key           JobKey
	Title         string
	DeletedAt     time.Time // zero: it is there
}

// JobEdge leads from a job to one that depends on it.
type JobEdge struct {
	Up, Down ID
	Back     bool // only on earlier dates of Up
}
