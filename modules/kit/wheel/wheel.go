// Package wheel owns the waiting for moments that are near: a hierarchical time wheel
// with a tick of 10 ms, which adds and removes in constant time and hands out all that
// is due as one batch, in order.
//
// It refuses what lies beyond its horizon, since memory is no place to keep it: such a
// moment belongs into the database and is loaded when it comes near. It decides nothing;
// whoever takes a batch checks each key against the truth. A key is handed out never
// early, and at most one tick late plus the time until the next Advance. Time is always
// an argument and may jump either way; the scheduler's taking loop and every wake_at
// run on it.
package wheel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// Tick is the resolution.
	Tick = 10 * time.Millisecond
	// Horizon is the longest delay that Add takes, counted from the last Advance.
	Horizon = time.Hour

	// Three rings: 256 slots of a tick (2.56 s), 64 of those (164 s), 64 of those (2.9 h).
	innerBits, outerBits   = 8, 6
	innerSlots, outerSlots = 1 << innerBits, 1 << outerBits
	middleSpan             = 1 << (innerBits + outerBits)   // ticks of the two inner rings
	wholeSpan              = 1 << (innerBits + 2*outerBits) // ticks of all three

	// longJump is the number of ticks (10 s) from which on, either way, sorting everything
	// anew is cheaper than going tick by tick or waiting for the clock to catch up.
	longJump = 4 * innerSlots
)

// ErrBeyondHorizon is what Add's refusal wraps.
var ErrBeyondHorizon = errors.New("beyond the time wheel's horizon")

// Wheel holds keys and their moments. Use [New]. All methods are safe for concurrent use.
type Wheel[K comparable] struct {
	mu      sync.Mutex
	now     time.Time // of the last Advance
	current int64     // its tick, counted from the Unix epoch
	added   uint64    // counts additions, to keep their order among equal moments
	entries map[K]*entry[K]
	rests   int64         // the tick that Run sleeps until; 0 = it does not sleep
	earlier chan struct{} // tells it of a key that comes before

	passed entry[K] // at ticks up to current; lists are rings around an unused entry
	inner  [innerSlots]entry[K]
	middle [outerSlots]entry[K]
	outer  [outerSlots]entry[K]
}

type entry[K comparable] struct {
	prev, next *entry[K]
	key        K
	at         time.Time
	tick       int64 // the first tick at which at has come
	order      uint64
}

// New makes an empty wheel that stands at now.
func New[K comparable](now time.Time) *Wheel[K] {
	w := &Wheel[K]{now: now, current: lastTick(now), entries: map[K]*entry[K]{}, earlier: make(chan struct{}, 1)}
	w.passed.clear()
	for _, ring := range [][]entry[K]{w.inner[:], w.middle[:], w.outer[:]} {
		for i := range ring {
			ring[i].clear()
		}
	}
	return w
}

// lastTick is the tick that t has reached.
func lastTick(t time.Time) int64 {
	const ms = int64(Tick / time.Millisecond)
	n := t.UnixMilli()
	if n < 0 {
		n -= ms - 1
	}
	return n / ms
}

// firstTick is the tick at which t has come: never before it.
func firstTick(t time.Time) int64 { return lastTick(t.Add(Tick - 1)) }

// Add puts the key at its moment, or moves it there if it is in the wheel already. A
// moment that has passed is due at the next Advance. A delay beyond [Horizon] is
// refused with [ErrBeyondHorizon] and changes nothing.
func (w *Wheel[K]) Add(key K, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delay := at.Sub(w.now); delay > Horizon {
		return fmt.Errorf("a delay of %s is %w of %s: persist it and add it when it comes near", delay, ErrBeyondHorizon, Horizon)
	}
	e := w.entries[key]
	if e == nil {
		e = &entry[K]{key: key}
		w.entries[key] = e
	} else {
		e.unlink()
	}
	w.added++
	e.at, e.tick, e.order = at, firstTick(at), w.added
	w.slot(e).push(e)
	w.wake(e.tick)
	return nil
}

// Remove takes the key out and reports whether it was there.
func (w *Wheel[K]) Remove(key K) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[key]
	if e == nil {
		return false
	}
	e.unlink()
	delete(w.entries, key)
	return true
}

// Len is the number of keys that wait.
func (w *Wheel[K]) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.entries)
}

// Advance moves the wheel to now and hands out every key whose moment has come, by
// moment and then in the order added; they are in the wheel no longer. After a jump
// forward all that was passed comes in this one batch. After a jump back nothing comes
// twice, and what waits goes on waiting for its own moment.
func (w *Wheel[K]) Advance(now time.Time) []K {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := lastTick(now)
	w.now = now
	var due []*entry[K]
	if steps := target - w.current; steps < -longJump || steps > longJump {
		due = w.sortAnew(target)
	} else {
		due = w.reached(target)
		for w.current < target {
			due = w.step(due)
		}
	}
	return w.handOut(due)
}

// reached takes from the passed entries those that are due at target. It is all of them
// unless the clock was set back a little: then the rings stay where they are until it
// has caught up, and what is added meanwhile waits among the passed.
func (w *Wheel[K]) reached(target int64) (due []*entry[K]) {
	for e := w.passed.next; e != &w.passed; {
		x := e
		e = e.next
		if x.tick <= target {
			x.unlink()
			due = append(due, x)
		}
	}
	return due
}

// step goes one tick on. Where an outer slot begins, its entries move inwards first.
func (w *Wheel[K]) step(due []*entry[K]) []*entry[K] {
	w.current++
	t := w.current
	if t%middleSpan == 0 {
		due = w.spread(&w.outer[t>>(innerBits+outerBits)%outerSlots], due)
	}
	if t%innerSlots == 0 {
		due = w.spread(&w.middle[t>>innerBits%outerSlots], due)
	}
	return w.inner[t%innerSlots].drain(due)
}

// spread puts the entries of a list into the slots nearer by, or to the due ones.
func (w *Wheel[K]) spread(list *entry[K], due []*entry[K]) []*entry[K] {
	for _, e := range list.drain(nil) {
		if e.tick <= w.current {
			due = append(due, e)
		} else {
			w.slot(e).push(e)
		}
	}
	return due
}

// sortAnew moves to a tick far away, either way: each entry finds its slot again.
func (w *Wheel[K]) sortAnew(target int64) (due []*entry[K]) {
	w.current = target
	for _, e := range w.entries {
		e.unlink()
		if e.tick <= target {
			due = append(due, e)
		} else {
			w.slot(e).push(e)
		}
	}
	return due
}

// slot is the list for an entry, by its distance. What a jump back has put beyond the
// last ring waits in its farthest slot and is spread again from there.
func (w *Wheel[K]) slot(e *entry[K]) *entry[K] {
	switch ahead := e.tick - w.current; {
	case ahead <= 0:
		return &w.passed
	case ahead < innerSlots:
		return &w.inner[e.tick&(innerSlots-1)]
	case ahead < middleSpan:
		return &w.middle[e.tick>>innerBits&(outerSlots-1)]
	case ahead < wholeSpan:
		return &w.outer[e.tick>>(innerBits+outerBits)&(outerSlots-1)]
	}
	return &w.outer[(w.current+wholeSpan-1)>>(innerBits+outerBits)&(outerSlots-1)]
}

func (w *Wheel[K]) handOut(due []*entry[K]) []K {
	if len(due) == 0 {
		return nil
	}
	slices.SortFunc(due, func(a, b *entry[K]) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	})
	keys := make([]K, len(due))
	for i, e := range due {
		keys[i] = e.key
		delete(w.entries, e.key)
	}
	return keys
}

func (e *entry[K]) clear() { e.prev, e.next = e, e }

func (e *entry[K]) push(x *entry[K]) {
	x.prev, x.next = e.prev, e
	e.prev.next, e.prev = x, x
}

func (e *entry[K]) unlink() {
	if e.prev != nil {
		e.prev.next, e.next.prev = e.next, e.prev
		e.prev, e.next = nil, nil
	}
}

// drain empties a list into the slice.
func (e *entry[K]) drain(into []*entry[K]) []*entry[K] {
	for x := e.next; x != e; x = e.next {
		x.unlink()
		into = append(into, x)
	}
	return into
}
