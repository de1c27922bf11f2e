package broker

import (
	"maps"
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
	unnamed                int       // heartbeats in a row, since the grant, that did not name it
	seq                    int64     // heartbeat that was judged last
	named                  time.Time // when the newest heartbeat that names it was judged, by the database's clock; zero: there was none
	killSent               time.Time
}

// memory is what the broker knows without asking. It is a cache: rows decide.
type memory struct {
	mu       sync.Mutex
	epoch    int64     // of the term; a later one has a memory of its own
	mute     time.Time // until then nothing is assigned: sending fails
	fresh    bool      // the last look at the registry succeeded
	deaf     string    // why it did not; "" before the first look
	partial  bool      // targets may lack a worker that is there
	heard    time.Time // up to when all that workers said has been applied
	targets  map[string]*target
	flights  map[domain.ID]*flight     // by attempt
	byInst   map[domain.ID]domain.ID   // instance → attempt in flight
	lines    map[domain.ID]*line       // by job, none of them empty
	coming   map[domain.ID]domain.ID   // job → the instance of it that a transaction under way makes and gives a target in one
	turns    map[domain.ID]bool        // jobs with a held instance whose turn came since it was looked for
	pools    map[domain.PoolKey]*pool  // none of them empty
	pooled   map[domain.ID]member      // who is in one of them
	calls    map[domain.PoolKey]bool   // pools in which a place may have come free since it was looked
	waitLost map[domain.ID]time.Time   // attempts of lost workers whose job waits: when to settle
	over     map[domain.Boot]*lifeOver // lives that are over, without the reason in the key
}

// lifeOver is a life that is over and may still have attempts in flight.
type lifeOver struct {
	reason string
	heard  time.Time // by the database's clock; zero: not known
	since  time.Time
	buried bool
}

func newMemory() *memory {
	m := &memory{}
	m.reset(0)
	return m
}

// reset forgets everything, for the term of the epoch.
func (m *memory) reset(epoch int64) {
	m.epoch, m.mute = epoch, time.Time{}
	m.fresh, m.deaf, m.heard = false, "", time.Time{}
	m.targets, m.flights, m.byInst = map[string]*target{}, map[domain.ID]*flight{}, map[domain.ID]domain.ID{}
	m.lines, m.coming, m.turns = map[domain.ID]*line{}, map[domain.ID]domain.ID{}, map[domain.ID]bool{}
	m.pools, m.pooled, m.calls = map[domain.PoolKey]*pool{}, map[domain.ID]member{}, map[domain.PoolKey]bool{}
	m.waitLost, m.over = map[domain.ID]time.Time{}, map[domain.Boot]*lifeOver{}
}

// begun reports whether an instance has begun, or waits for its pool only, and has not
// ended, so that it is in the way of others of its job.
func begun(in domain.Instance) bool {
	switch in.Label {
	case domain.HeldPool, domain.Dispatched, domain.Executing, domain.Stopping, domain.Orphan, domain.Backoff:
		return true
	case domain.Queued:
		return in.Attempts > 0 || in.IsSplit()
	}
	return false
}

// inFlight reports whether an attempt of the instance is with a target.
func inFlight(in domain.Instance) bool {
	return in.Label == domain.Dispatched || in.Label == domain.Executing || in.Label == domain.Stopping
}

// launch notes an attempt as sent; light says that it takes no thread.
func (m *memory) launch(a domain.Attempt, job domain.ID, light bool, now time.Time) {
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

// settle takes back what a plan promised, whose transaction in a term of the epoch has
// ended, and notes as sent the attempts that it committed; false: that term is over.
func (m *memory) settle(epoch int64, p plan, assign []domain.Assignment, committed []domain.Attempt, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	jobs := make(map[domain.ID]domain.ID, len(assign))
	for _, a := range assign {
		held := p.promises[a.Attempt]
		held.to.promised[held.lane]--
		if m.epoch == epoch {
			m.unpromise(a.Instance.ID)
		}
		jobs[a.Attempt] = a.Instance.JobID
	}
	if m.epoch != epoch {
		return false
	}
	for _, a := range committed {
		m.launch(a, jobs[a.ID], p.promises[a.ID].lane == noLane, now)
	}
	return true
}

// unborn forgets that instances are being made: they were not.
func (m *memory) unborn(as []domain.Assignment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range as {
		if m.coming[a.Instance.JobID] == a.Instance.ID {
			delete(m.coming, a.Instance.JobID)
		}
	}
}

// missing is unborn of one of which nobody knew.
func (m *memory) missing(id domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.coming, func(_, in domain.ID) bool { return in == id })
}

// silence lets nothing be assigned until then.
func (m *memory) silence(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mute = until
}

// silent reports whether nothing is to be assigned now.
func (m *memory) silent(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.mute)
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
	m.fresh, m.partial = true, v.Partial
	for _, gone := range v.Gone {
		m.over[domain.Boot{Name: gone.Name, Boot: gone.Boot}] = &lifeOver{reason: gone.Reason, heard: gone.Heard, since: now}
	}
	next := make(map[string]*target, len(v.Workers))
	for _, w := range v.Workers {
		delete(m.over, domain.Boot{Name: w.Name, Boot: w.Boot}) // it is back
		t := m.target(w.Name, w.Boot)
		if t == nil {
			t = &target{live: map[domain.Lane]int{}, promised: map[domain.Lane]int{}}
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

// roomFor is how much of the kind the targets of a lane can be given now; see target.open.
func (m *memory) roomFor(spec domain.JobSpec, lane domain.Lane, now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, t := range m.targets {
		if m.fresh && t.open(spec, lane, now) {
			n += t.roomFor(spec, lane)
		}
	}
	return n
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
