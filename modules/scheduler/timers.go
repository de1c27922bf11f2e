package scheduler

import (
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/wheel"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// timers is what this node waits for: the triggers of the near future in a wheel.
// Safe for concurrent use.
type timers struct {
	wheel *wheel.Wheel[domain.ID]

	mu    sync.Mutex
	known map[domain.ID]*timer
}

// timer is one trigger as last seen.
type timer struct {
	due   plan.Due
	busy  bool     // being taken: not in the wheel
	newer plan.Due // what was loaded meanwhile
}

// look says when a trigger must be looked at again, and how it then stands as far as
// is known. due.Next zero = not in the near future.
type look struct {
	due plan.Due
	at  time.Time // zero = when it is due
}

func newTimers(now time.Time) *timers {
	return &timers{wheel: wheel.New[domain.ID](now), known: map[domain.ID]*timer{}}
}

// sync takes over what the database says is due up to until. A trigger that has not
// changed keeps its own moment, which may be that of a second try; all tells whether
// rows has every due trigger, so that the others are dropped: these it returns.
func (t *timers) sync(rows []plan.Due, all bool) (dropped []domain.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := make(map[domain.ID]bool, len(rows))
	for _, d := range rows {
		seen[d.ID] = true
		have := t.known[d.ID]
		switch {
		case have == nil:
			have = &timer{}
			t.known[d.ID] = have
		case d.Ver <= have.due.Ver:
			continue
		case have.busy:
			have.newer = d
			continue
		}
		have.due = d
		t.arm(d.ID, d.Next)
	}
	if !all {
		return nil
	}
	for id, have := range t.known {
		if !seen[id] && !have.busy {
			t.wheel.Remove(id)
			delete(t.known, id)
			dropped = append(dropped, id)
		}
	}
	return dropped
}

// begin marks what the wheel gave out as being taken.
func (t *timers) begin(ids []domain.ID) []plan.Due {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]plan.Due, 0, len(ids))
	for _, id := range ids {
		if have := t.known[id]; have != nil {
			have.busy = true
			out = append(out, have.due)
		}
	}
	return out
}

// end arms what was taken for its next moment, if that lies before until.
func (t *timers) end(looks []look, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range looks {
		if have := t.known[l.due.ID]; have != nil && have.newer.Ver > l.due.Ver {
			l = look{due: have.newer}
		}
		at := l.at
		if at.IsZero() {
			at = l.due.Next
		}
		if l.due.Next.IsZero() || l.due.Next.After(until) {
			delete(t.known, l.due.ID)
			continue
		}
		t.known[l.due.ID] = &timer{due: l.due}
		t.arm(l.due.ID, at)
	}
}

// arm puts a trigger into the wheel; one beyond the wheel is forgotten and loaded
// again when it comes near.
func (t *timers) arm(id domain.ID, at time.Time) {
	if err := t.wheel.Add(id, at); err != nil {
		delete(t.known, id)
	}
}

func (t *timers) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.known)
}
