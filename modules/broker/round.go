package broker

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
)

const (
	// pageSize is how many rows are read at once at most.
	pageSize = 500
	// mostPages bounds one walk through a lane: a round ends.
	mostPages = 20
	// lookEach is how often a lane is looked through from its first although nobody has
	// room: overlap is decided, and the backlog told, also when there is no worker at all.
	lookEach = 5 * time.Second
)

// round assigns what is ready, lane by lane, until a lane's targets are full.
func (b *Broker) round(ctx context.Context) error {
	if err := b.makeSure(ctx); err != nil {
		return err
	}
	if b.mem.silent(b.Mono()) {
		return nil
	}
	if err := b.giveTurns(ctx); err != nil {
		return err
	}
	for n := range domain.Lanes {
		if err := b.walk(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// walk is one way through a lane.
type walk struct {
	lane domain.Lane
	q    *backlog
	// whole: from the first to the last, also when nobody has room
	whole          bool
	at             domain.Instance // of a whole one: how far it has come
	ended          bool            // there is nothing beyond the front
	patrols        bool            // a page is to be looked at again, in turn
	seen, assigned int
}

// walk goes through a lane page by page. After each page, which may have done no more
// than hold and skip, what came meanwhile into a lane above goes first.
func (b *Broker) walk(ctx context.Context, n int) error {
	w := b.setOut(domain.Lanes[n])
	for range mostPages {
		l, ok, err := b.onward(ctx, w)
		if err != nil {
			return err
		}
		if !ok {
			b.arrive(w, true)
			return nil
		}
		if err := b.page(ctx, w, l); err != nil {
			return err
		}
		if err := b.above(ctx, n); err != nil {
			return err
		}
	}
	b.arrive(w, false)
	return nil
}

// above walks through the lanes above the one given that have something new.
func (b *Broker) above(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	if err := b.giveTurns(ctx); err != nil {
		return err
	}
	for i := range n {
		if b.backlogs[domain.Lanes[i]].news.Load() {
			if err := b.walk(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Broker) setOut(lane domain.Lane) *walk {
	now := b.Mono()
	q := b.backlogs[lane]
	q.begin()
	w := &walk{lane: lane, q: q}
	switch {
	case now.Sub(q.looked) >= lookEach:
		w.whole, q.looked = true, now
	case now.Sub(q.patrolled) >= poll:
		w.patrols, q.patrolled = len(q.kinds) > 0, now
	}
	return w
}

// leg is the next page of a walk: so many rows beyond a place.
type leg struct {
	after   domain.Instance
	size    int
	patrols bool
}

// onward says where the walk goes on: to the first of what was left and can be given
// away now, then beyond the front, then on patrol; false: nowhere.
func (b *Broker) onward(ctx context.Context, w *walk) (leg, bool, error) {
	if w.whole {
		return leg{after: w.at, size: pageSize}, !w.ended, nil
	}
	threads, light := b.mem.room(w.lane)
	if threads <= 0 && light <= 0 || b.mem.silent(b.Mono()) {
		return leg{}, false, nil
	}
	if err := b.overtakers(ctx, w); err != nil {
		return leg{}, false, err
	}
	now := b.Mono()
	after, n, ok := w.q.first(func(spec domain.JobSpec) int { return b.mem.roomFor(spec, w.lane, now) })
	switch {
	case ok:
		return leg{after: after, size: sizeFor(n)}, true, nil
	case !w.ended && (!w.q.pent || light > 0):
		return leg{after: w.q.front, size: sizeFor(threads + light)}, true, nil
	case w.patrols:
		w.patrols = false
		return leg{after: w.q.patrol, size: pageSize, patrols: true}, true, nil
	}
	return leg{}, false, nil
}

// sizeFor is the size of a page from which so many can be given away: some of it may
// not fit anybody.
func sizeFor(room int) int { return min(room+pageSize/20, pageSize) }

// overtakers looks for live work that came where the front stands in the backfill.
func (b *Broker) overtakers(ctx context.Context, w *walk) error {
	if !w.q.overtaken() {
		return nil
	}
	head, err := b.Queue.Ready(ctx, w.lane, w.q.live, 1)
	if err == nil && len(head) > 0 && rankOf(head[0]) == 0 {
		w.q.await(lateKeys[0], w.q.live, liveEnd())
	}
	return err
}

// page assigns what it can of one page.
func (b *Broker) page(ctx context.Context, w *walk, l leg) error {
	rows, err := b.Queue.Ready(ctx, w.lane, l.after, l.size)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		w.q.waits.Store(true)
	}
	p, err := b.decide(ctx, rows)
	if err != nil {
		return err
	}
	full := len(rows) == l.size
	if !full && len(p.left) == 0 {
		w.q.calm() // what was decided has its room
	}
	if err := b.carryOut(ctx, p); err != nil {
		w.q.waits.Store(true)
		return err
	}
	w.q.note(l.after, rows, p.left, full)
	w.seen += len(rows)
	w.assigned += len(p.assign)
	w.at = l.after
	if len(rows) > 0 {
		w.at = rows[len(rows)-1]
	}
	w.ended = w.ended || !full
	if !before(w.at, w.q.front) {
		// What takes no thread is soon done: a page of it alone is waited for, not walked past.
		w.q.pent = full && p.lightLeft == len(rows)
	}
	if l.patrols {
		w.q.patrol = w.at
		if !full || !before(w.at, w.q.front) {
			w.q.patrol = domain.Instance{}
		}
	}
	return nil
}

// arrive ends a walk; done says that nothing is left to be looked at now.
func (b *Broker) arrive(w *walk, done bool) {
	if w.whole {
		b.figures.left(w.lane, w.seen-w.assigned, !done)
	}
	if w.ended {
		w.q.calm()
	}
	if threads, light := b.mem.room(w.lane); !done && (threads > 0 || light > 0) {
		b.ready.ring()
	}
}
