package broker

import (
	"cmp"
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
	light                  bool      // takes no thread
	sentAt                 time.Time // on the broker's clock; moved when registry or uplink return
	granted                bool
	grantedAt              time.Time
	unnamed                int   // heartbeats in a row, since the grant, that did not name it
	seq                    int64 // heartbeat that was judged last
	killSent               time.Time
}

// waiter is an instance that is held.
type waiter struct {
	id       domain.ID
	bizDate  domain.BizDate
	expected time.Time
	backfill bool
	patient  bool
	ver      int64 // of the row before it was held
}

func waiterOf(in domain.Instance) waiter {
	return waiter{in.ID, in.BizDate, in.Expected, in.Trigger == domain.TriggerBackfill, patient(in), in.Ver}
}

// compare orders turns: live work before backfill, then by planned time.
func (w waiter) compare(o waiter) int {
	if w.backfill != o.backfill {
		if o.backfill {
			return -1
		}
		return 1
	}
	return cmp.Or(w.expected.Compare(o.expected), cmp.Compare(w.id, o.id))
}

// memory is what the broker knows without asking. It is a cache: rows decide.
type memory struct {
	mu      sync.Mutex
	fresh   bool      // the last look at the registry succeeded
	heard   time.Time // up to when all that workers said has been applied
	targets map[string]*target
	flights map[domain.ID]*flight   // by attempt
	byInst  map[domain.ID]domain.ID // instance → attempt in flight
	// busy: job → instances begun and unfinished → ver before the change that said so
	busy     map[domain.ID]map[domain.ID]int64
	held     map[domain.ID][]waiter    // job → held instances in the order of their turns; never empty
	next     map[domain.ID]domain.ID   // job → the ready instance that starts before all others
	waitLost map[domain.ID]time.Time   // attempts of lost workers whose job waits: when to settle
	over     map[domain.Boot]*lifeOver // lives that are over, without the reason in the key
}

// lifeOver is a life that is over and may still have attempts in flight.
type lifeOver struct {
	reason string
	since  time.Time
	buried bool
}

func newMemory() *memory {
	m := &memory{}
	m.reset()
	return m
}

// reset forgets everything.
func (m *memory) reset() {
	m.fresh, m.heard = false, time.Time{}
	m.targets, m.flights, m.byInst = map[string]*target{}, map[domain.ID]*flight{}, map[domain.ID]domain.ID{}
	m.busy, m.held, m.next = map[domain.ID]map[domain.ID]int64{}, map[domain.ID][]waiter{}, map[domain.ID]domain.ID{}
	m.waitLost, m.over = map[domain.ID]time.Time{}, map[domain.Boot]*lifeOver{}
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

// inFlight reports whether an attempt of the instance is with a target.
func inFlight(in domain.Instance) bool {
	return in.Label == domain.Dispatched || in.Label == domain.Executing || in.Label == domain.Stopping
}

// changed follows a committed change of any kind; the instance's ver is the one
// before it. Commits may be heard of out of order: an older one is passed over.
func (m *memory) changed(c domain.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := c.Instance
	if in.Ver < m.verOf(in.JobID, in.ID) {
		return
	}
	m.free(in.JobID, in.ID)
	switch {
	case in.Label == domain.HeldOverlap:
		m.queue(in.JobID, waiterOf(in))
	case begun(in):
		m.occupy(in)
	}
	switch {
	case c.Move == domain.MoveUnhold:
		m.next[in.JobID] = in.ID
	case in.Label != domain.Queued && m.next[in.JobID] == in.ID:
		delete(m.next, in.JobID)
	}
	if a, ok := m.byInst[in.ID]; ok && !inFlight(in) {
		m.land(a)
	}
}

// verOf is the ver at which the instance came to be known as begun or held; 0 = it
// is not.
func (m *memory) verOf(job, instance domain.ID) int64 {
	if v, ok := m.busy[job][instance]; ok {
		return v
	}
	for _, w := range m.held[job] {
		if w.id == instance {
			return w.ver
		}
	}
	return 0
}

func (m *memory) occupy(in domain.Instance) {
	if m.busy[in.JobID] == nil {
		m.busy[in.JobID] = map[domain.ID]int64{}
	}
	m.busy[in.JobID][in.ID] = in.Ver
}

// queue puts a held instance in its place.
func (m *memory) queue(job domain.ID, w waiter) {
	m.free(job, w.id)
	at, _ := slices.BinarySearchFunc(m.held[job], w, waiter.compare)
	m.held[job] = slices.Insert(m.held[job], at, w)
}

// free forgets the instance as begun or held.
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

// doubts adds what the memory holds to be in the way of the instance, with its job.
func (m *memory) doubts(in domain.Instance, to map[domain.ID]domain.ID) {
	for id := range m.busy[in.JobID] {
		to[id] = in.JobID
	}
	if next := m.next[in.JobID]; next != 0 {
		to[next] = in.JobID
	}
	for i, w := range m.held[in.JobID] {
		if i == 0 || !w.patient && w.bizDate == in.BizDate {
			to[w.id] = in.JobID
		}
	}
}

// correct takes over from a row that the instance is in nobody's way any more. It
// never adds: a row that was read before a change would bring back what is over.
func (m *memory) correct(job, id domain.ID, in domain.Instance, exists bool) {
	if exists && in.Ver <= m.verOf(job, id) {
		return
	}
	if !exists || !begun(in) && in.Label != domain.HeldOverlap {
		m.free(job, id)
	}
	if m.next[job] == id && (!exists || in.Label != domain.Queued) {
		delete(m.next, job)
	}
}

// launch notes an attempt as sent; light says that it takes no thread.
func (m *memory) launch(a domain.Attempt, job domain.ID, light bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.land(a.ID)
	f := &flight{attempt: a.ID, instance: a.InstanceID, job: job, target: a.Target, boot: a.Boot, lane: a.Lane, light: light, sentAt: now,
		granted: a.State == domain.AttemptGranted, grantedAt: now}
	m.flights[a.ID] = f
	m.byInst[a.InstanceID] = a.ID
	if t := m.target(f.target, f.boot); t != nil {
		t.add(f, 1)
	}
}

// land forgets an attempt that ended, was taken back or was lost.
func (m *memory) land(attempt domain.ID) {
	f, ok := m.flights[attempt]
	if !ok {
		return
	}
	delete(m.flights, attempt)
	if m.byInst[f.instance] == attempt {
		delete(m.byInst, f.instance)
	}
	delete(m.waitLost, attempt)
	if t := m.target(f.target, f.boot); t != nil {
		t.add(f, -1)
	}
}

// target is the worker with this life; nil if there is none.
func (m *memory) target(name string, boot int64) *target {
	if t := m.targets[name]; t != nil && t.Boot == boot {
		return t
	}
	return nil
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
func (m *memory) view(v domain.FleetView, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = true
	for _, gone := range v.Gone {
		m.over[domain.Boot{Name: gone.Name, Boot: gone.Boot}] = &lifeOver{reason: gone.Reason, since: now}
	}
	next := make(map[string]*target, len(v.Workers))
	for _, w := range v.Workers {
		delete(m.over, domain.Boot{Name: w.Name, Boot: w.Boot}) // it is back
		t := m.target(w.Name, w.Boot)
		if t == nil {
			t = &target{live: map[domain.Lane]int{}}
			for _, f := range m.of(w.Name, w.Boot) {
				t.add(f, 1)
			}
		}
		t.Worker = w
		next[w.Name] = t
	}
	m.targets = next
}

// room is how much the targets of a lane that take work can be sent in all, apart
// for what takes a thread and what takes none; 0 while the registry is away.
func (m *memory) room(lane domain.Lane) (threads, light int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.targets {
		if m.fresh && t.takes() {
			threads += max(t.room(lane, false), 0)
			light += max(t.room(lane, true), 0)
		}
	}
	return threads, light
}

// awaitsClaims reports whether something was sent and not claimed.
func (m *memory) awaitsClaims() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.targets {
		if t.unacked > 0 {
			return true
		}
	}
	return false
}

// lightly reports whether tasks of the type take no thread, wherever they can run.
func (m *memory) lightly(execType string) bool {
	for _, t := range m.targets {
		if t.lightly(execType) {
			return true
		}
	}
	return false
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

// grant notes that an attempt has its grant; it returns how long that took since
// its sending, false if it is unknown or was granted before.
func (m *memory) grant(attempt domain.ID, now time.Time) (time.Duration, bool) {
	f := m.flights[attempt]
	if f == nil || f.granted {
		return 0, false
	}
	if t := m.target(f.target, f.boot); t != nil {
		t.unacked--
		if f.light {
			t.light--
		}
		t.trust()
	}
	f.granted, f.grantedAt = true, now
	return now.Sub(f.sentAt), true
}

// restartAcks lets the clocks of acks begin anew.
func (m *memory) restartAcks(now time.Time) {
	for _, f := range m.flights {
		if !f.granted && f.sentAt.Before(now) {
			f.sentAt = now
		}
	}
}
