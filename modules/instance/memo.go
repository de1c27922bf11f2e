package instance

import (
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// Memo remembers the rows of attempts in flight as this process committed them
// last, so that a claim and a report need not read again what nobody has changed.
// The ver of the locked instance row decides: a memo of another ver is not looked
// at. What changes an attempt and leaves its instance's ver alone, the grant and
// the note of a late report, is the active broker's alone, whose terms begin with
// forget; between its own uses of one attempt still decides, once the row is locked.
// The zero value is ready, and a nil one remembers nothing; safe for concurrent use.
type Memo struct {
	mu   sync.Mutex
	uses int64
	of   map[domain.ID]*memoed // by attempt
}

// flight is an attempt with its instance. Both are read only, as many may have them.
type flight struct {
	in *domain.Instance
	a  *domain.Attempt
}

// memoed is one entry; known is false while somebody works with the rows.
type memoed struct {
	use   int64
	known bool
	flight
}

// take hands out what is known of the attempts and forgets it: it comes back by a
// commit, with put under the use returned. A later take of the same attempt makes
// that put void.
func (m *Memo) take(ids []domain.ID) (use int64, known map[domain.ID]flight) {
	if m == nil {
		return 0, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[domain.ID]*memoed{}
	}
	m.uses++
	known = make(map[domain.ID]flight, len(ids))
	for _, id := range ids {
		e := m.of[id]
		if e == nil {
			e = &memoed{}
			m.of[id] = e
		}
		if e.known {
			known[id] = e.flight
		}
		e.use, e.known = m.uses, false
	}
	return m.uses, known
}

// still takes away from known, which take gave out for the use, what must be read again
// although the locked row has the same ver: somebody took it since, who may have been
// the first at the row.
func (m *Memo) still(use int64, known map[domain.ID]flight) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range known {
		if e := m.of[id]; e == nil || e.use != use {
			delete(known, id)
		}
	}
}

// put notes committed rows.
func (m *Memo) put(use int64, fs []flight) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range fs {
		if e := m.of[f.a.ID]; e != nil && e.use == use {
			e.known, e.flight = true, f
		}
	}
}

// release ends a use: what was not put is forgotten.
func (m *Memo) release(use int64, ids []domain.ID) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if e := m.of[id]; e != nil && e.use == use && !e.known {
			delete(m.of, id)
		}
	}
}

// forget drops everything, also what is in use.
func (m *Memo) forget() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = nil
}

// flying reports whether an attempt is the one in force of its instance and may
// still be claimed or reported.
func (f flight) flying() bool {
	return f.in.AttemptID == f.a.ID && !f.in.State.Terminal() && (f.a.State == domain.AttemptSent || f.a.State == domain.AttemptGranted)
}
