package broker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

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

// turns are waiters in the order of their turns.
type turns []waiter

func (ts turns) with(w waiter) turns {
	at, _ := slices.BinarySearchFunc(ts, w, waiter.compare)
	return slices.Insert(ts, at, w)
}

func (ts turns) without(w waiter) turns {
	switch at, found := slices.BinarySearchFunc(ts, w, waiter.compare); {
	case !found:
		return ts
	case at == 0: // nearly always, and a backfill can be long
		return ts[1:]
	default:
		return slices.Delete(ts, at, at+1)
	}
}

// line is what the broker knows of the released and unfinished instances of one job.
type line struct {
	busy map[domain.ID]int64  // begun → ver before the change that said so
	held map[domain.ID]waiter // those that wait for their turn
	// The held ones in order: those that wait whatever the policy, which may be very
	// many, and the others.
	patient, others turns
	next            domain.ID // the ready instance that starts before all others; 0: none
}

func (l *line) empty() bool { return len(l.busy) == 0 && len(l.held) == 0 && l.next == 0 }

// head is the held instance whose turn is the first.
func (l *line) head() (waiter, bool) {
	switch {
	case len(l.held) == 0:
		return waiter{}, false
	case len(l.patient) == 0 || len(l.others) > 0 && l.others[0].compare(l.patient[0]) < 0:
		return l.others[0], true
	}
	return l.patient[0], true
}

// due is the held instance whose turn has come, since nothing is in its way.
func (l *line) due() (domain.ID, bool) {
	w, waits := l.head()
	return w.id, waits && len(l.busy) == 0 && l.next == 0
}

// verOf is the ver at which the instance came to be known as begun or held; 0 = it
// is not.
func (l *line) verOf(instance domain.ID) int64 {
	if v, ok := l.busy[instance]; ok {
		return v
	}
	return l.held[instance].ver
}

func (l *line) begin(in domain.Instance) {
	if l.busy == nil {
		l.busy = map[domain.ID]int64{}
	}
	l.busy[in.ID] = in.Ver
}

// hold puts a held instance in its place.
func (l *line) hold(w waiter) {
	l.forget(w.id)
	if l.held == nil {
		l.held = map[domain.ID]waiter{}
	}
	l.held[w.id] = w
	if w.patient {
		l.patient = l.patient.with(w)
	} else {
		l.others = l.others.with(w)
	}
}

// forget drops the instance as begun or held.
func (l *line) forget(instance domain.ID) {
	delete(l.busy, instance)
	w, ok := l.held[instance]
	if !ok {
		return
	}
	delete(l.held, instance)
	if w.patient {
		l.patient = l.patient.without(w)
	} else {
		l.others = l.others.without(w)
	}
}

// obstacles are what must be held against the rows before the head may go.
func (l *line) obstacles() []domain.ID {
	ids := slices.Collect(maps.Keys(l.busy))
	if w, ok := l.head(); ok {
		ids = append(ids, w.id)
	}
	if l.next != 0 {
		ids = append(ids, l.next)
	}
	return ids
}

// line is what is known of a job; what is changed in it counts once it is kept.
func (m *memory) line(job domain.ID) *line {
	if l := m.lines[job]; l != nil {
		return l
	}
	return &line{}
}

func (m *memory) keep(job domain.ID, l *line) {
	if l.empty() {
		delete(m.lines, job)
	} else {
		m.lines[job] = l
	}
}

// changed follows a committed change of any kind; the instance's ver is the one
// before it. Commits may be heard of out of order: an older one is passed over. It
// reports whether the turn of a held instance has come by it, of the job or of its pool.
func (m *memory) changed(c domain.Change) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := c.Instance
	if in.IsShard() { // in nobody's way: its instance is
		if a, ok := m.byInst[in.ID]; ok && !inFlight(in) {
			m.land(a)
		}
		return m.stand(in)
	}
	l := m.line(in.JobID)
	if in.Ver < l.verOf(in.ID) {
		return false
	}
	l.forget(in.ID)
	if m.coming[in.JobID] == in.ID {
		delete(m.coming, in.JobID)
	}
	switch {
	case in.Label == domain.HeldOverlap:
		l.hold(waiterOf(in))
	case begun(in):
		l.begin(in)
	}
	switch {
	case c.Move == domain.MoveUnhold || c.Move == domain.MoveUnholdPool:
		l.next = in.ID
	case (in.Label != domain.Queued || in.IsSplit()) && l.next == in.ID:
		l.next = 0
	}
	m.keep(in.JobID, l)
	if a, ok := m.byInst[in.ID]; ok && !inFlight(in) {
		m.land(a)
	}
	_, due := l.due()
	if due {
		m.turns[in.JobID] = true
	}
	return m.stand(in) || due
}

// correct takes over from a row that the instance is in nobody's way any more. It
// never adds: a row that was read before a change would bring back what is over.
func (m *memory) correct(job, id domain.ID, in domain.Instance, exists bool) {
	m.unpool(id, in, exists)
	l := m.line(job)
	if exists && in.Ver <= l.verOf(id) {
		return
	}
	if !exists || !begun(in) && in.Label != domain.HeldOverlap {
		l.forget(id)
	}
	if l.next == id && (!exists || in.Label != domain.Queued || in.IsSplit()) {
		l.next = 0
	}
	m.keep(job, l)
}

// takeTurns lists, of at most so many jobs, the held instances whose turn has come
// by what was heard since they were listed last; more: of others too.
func (m *memory) takeTurns(most int) (due []domain.ID, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for job := range m.turns {
		if len(due) == most {
			break
		}
		delete(m.turns, job)
		if id, ok := m.line(job).due(); ok {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	return due, len(m.turns) > 0
}

// allTurns lists the held instances whose turn has come, of all jobs.
func (m *memory) allTurns() []domain.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []domain.ID
	for _, l := range m.lines {
		if id, ok := l.due(); ok {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	return due
}

// blocked lists what the held instances of jobs after the one given wait for, with
// the job of each: about so many in all. It returns the last job looked at; 0: there
// are none after it.
func (m *memory) blocked(after domain.ID, most int) (map[domain.ID]domain.ID, domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var jobs []domain.ID
	for job, l := range m.lines {
		if job > after && len(l.held) > 0 {
			jobs = append(jobs, job)
		}
	}
	slices.Sort(jobs)
	out := map[domain.ID]domain.ID{}
	for _, job := range jobs {
		for _, id := range m.lines[job].obstacles() {
			out[id] = job
		}
		if len(out) >= most {
			return out, job
		}
	}
	return out, 0
}
