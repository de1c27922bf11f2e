package broker

import (
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// flight is an attempt that was sent and has not ended.
type flight struct {
	attempt, instance, job domain.ID
	target                 string
	boot                   int64
	lane                   domain.Lane
	sentAt                 time.Time // on the broker's clock; moved when the registry returns
	granted                bool
	grantedAt              time.Time
	unnamed                int   // heartbeats in a row, since the grant, that did not name it
	seq                    int64 // heartbeat that was judged last
	killSent               time.Time
}

// waiter is an instance that was held, or is in the way of others of its job.
type waiter struct {
	id      domain.ID
	bizDate domain.BizDate
	ready   time.Time
}

// memory is what the broker knows without asking. It is a cache: rows decide.
type memory struct {
	mu       sync.Mutex
	fresh    bool // the last look at the registry succeeded
	targets  map[string]*target
	flights  map[domain.ID]*flight            // by attempt
	byInst   map[domain.ID]domain.ID          // instance → attempt in flight
	busy     map[domain.ID]map[domain.ID]bool // job → instances begun and unfinished
	held     map[domain.ID][]waiter           // job → held instances, oldest first
	waitLost map[domain.ID]time.Time          // attempts of lost workers whose job waits: when to settle
}

func newMemory() *memory {
	return &memory{targets: map[string]*target{}, flights: map[domain.ID]*flight{}, byInst: map[domain.ID]domain.ID{},
		busy: map[domain.ID]map[domain.ID]bool{}, held: map[domain.ID][]waiter{}, waitLost: map[domain.ID]time.Time{}}
}

// begun reports whether an instance has begun and not ended, so that it is in the
// way of others of its job.
func begun(in domain.Instance) bool {
	switch in.Label {
	case domain.Dispatched, domain.Executing, domain.Stopping, domain.Orphan, domain.Backoff:
		return true
	case domain.Queued:
		return in.Attempts > 0
	}
	return false
}

// changed follows a committed change of any kind.
func (m *memory) changed(c domain.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := c.Instance
	m.free(in.JobID, in.ID)
	switch {
	case in.Label == domain.HeldOverlap:
		m.held[in.JobID] = append(m.held[in.JobID], waiter{in.ID, in.BizDate, in.ReadyAt})
	case begun(in):
		m.occupy(in.JobID, in.ID)
	}
	if a, ok := m.byInst[in.ID]; ok && !inFlight(in) {
		m.land(a)
	}
}

// inFlight reports whether an attempt of the instance is with a target.
func inFlight(in domain.Instance) bool {
	return in.Label == domain.Dispatched || in.Label == domain.Executing || in.Label == domain.Stopping
}

func (m *memory) occupy(job, instance domain.ID) {
	if m.busy[job] == nil {
		m.busy[job] = map[domain.ID]bool{}
	}
	m.busy[job][instance] = true
}

// free forgets the instance as one in the way or held.
func (m *memory) free(job, instance domain.ID) {
	delete(m.busy[job], instance)
	if len(m.busy[job]) == 0 {
		delete(m.busy, job)
	}
	m.held[job] = slices.DeleteFunc(m.held[job], func(w waiter) bool { return w.id == instance })
	if len(m.held[job]) == 0 {
		delete(m.held, job)
	}
}

// launch notes an attempt as sent.
func (m *memory) launch(a domain.Attempt, job domain.ID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &flight{attempt: a.ID, instance: a.InstanceID, job: job, target: a.Target, boot: a.Boot, lane: a.Lane, sentAt: now,
		granted: a.State == domain.AttemptGranted, grantedAt: now}
	m.flights[a.ID] = f
	m.byInst[a.InstanceID] = a.ID
	if t := m.targets[a.Target]; t != nil && t.Boot == a.Boot {
		t.live[a.Lane]++
	}
}

// land forgets an attempt that ended, was taken back or was lost.
func (m *memory) land(attempt domain.ID) {
	f, ok := m.flights[attempt]
	if !ok {
		return
	}
	delete(m.flights, attempt)
	delete(m.byInst, f.instance)
	delete(m.waitLost, attempt)
	if t := m.targets[f.target]; t != nil && t.Boot == f.boot {
		t.live[f.lane]--
	}
}

// landAll is land for attempts that others may have ended, under the lock.
func (m *memory) landAll(attempts []domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range attempts {
		m.land(a)
	}
}

// view takes over a look at the fleet.
func (m *memory) view(v domain.FleetView) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = true
	next := make(map[string]*target, len(v.Workers))
	for _, w := range v.Workers {
		t := m.targets[w.Name]
		if t == nil || t.Boot != w.Boot {
			t = &target{live: map[domain.Lane]int{}}
			for _, f := range m.flights {
				if f.target == w.Name && f.boot == w.Boot {
					t.live[f.lane]++
				}
			}
		}
		t.Worker = w
		next[w.Name] = t
	}
	m.targets = next
}

// room is how much the available targets of a lane can be sent in all; 0 while the
// registry is away.
func (m *memory) room(lane domain.Lane) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := 0
	for _, t := range m.targets {
		if m.fresh && t.State == domain.WorkerAvailable && !t.Drain {
			sum += max(t.room(lane), 0)
		}
	}
	return sum
}

// of lists the attempts in flight with one life of a worker.
func (m *memory) of(name string, boot int64) []*flight {
	var out []*flight
	for _, f := range m.flights {
		if f.target == name && f.boot == boot {
			out = append(out, f)
		}
	}
	return out
}
