package domain

import "time"

// Pool is a limit on how many instances may be with workers at once, over all jobs of a
// project that name it.
type Pool struct {
	ID        ID
	ProjectID ID
	Name      string
	Title     string
	Limit     int   // 0: paused, none may start
	Ver       int64 // raised by every change
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Key names the pool.
func (p Pool) Key() PoolKey { return PoolKey{p.ProjectID, p.Name} }

// MaxPoolLimit is the most places that a pool may have.
const MaxPoolLimit = 100_000

// PoolKey names a pool of a project. The zero name is none.
type PoolKey struct {
	Project ID
	Name    string
}

// PoolSeen is a pool as it stood when something was decided by it; the zero value is none.
type PoolSeen struct {
	ID  ID
	Ver int64
}

// PoolUse is how much of a pool is taken.
type PoolUse struct {
	Used    int // instances that have a place
	Waiting int // instances that wait for one; at most MaxPoolWaiting are counted
	Jobs    int // jobs that name it
}

// MaxPoolWaiting is up to which number those that wait for a pool are counted.
const MaxPoolWaiting = 100_000

// PlaceLabels are the labels of an instance that has a place in its pool: from being sent to
// a target until the attempt has ended. An orphan keeps it until it is settled.
func PlaceLabels() []Label { return []Label{Dispatched, Executing, Stopping, Orphan} }

// HasPlace reports whether an instance that stands so has a place in its pool.
func (s Status) HasPlace() bool {
	switch s.Label {
	case Dispatched, Executing, Stopping, Orphan:
		return true
	}
	return false
}

// PoolKey names the pool that limits the instance; its name is "" for none.
func (in Instance) PoolKey() PoolKey { return PoolKey{in.ProjectID, in.Pool} }
