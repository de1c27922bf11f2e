package broker

import (
	"cmp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// backlog is what the rounds of one lane know of ready instances that found no
// target: up to where the lane was looked through, and where each kind of task waits.
// So what nobody can run now is read once, and again only when somebody can. It is a
// cache as the memory is: what it does not know of, a slow patrol through the rows finds.
//
// A place in a lane is the instance that stands there; only its order counts. The zero
// instance stands before all.
type backlog struct {
	front domain.Instance // all up to here was looked at; zero: nothing that was looked at waits
	live  domain.Instance // all live work up to here was looked at
	kinds map[string]*kind
	// pent: beyond the front stands nothing but what takes no thread, for a page at least.
	pent bool

	patrol    domain.Instance // up to where the patrol has come
	patrolled time.Time
	looked    time.Time // when a whole look was last begun

	news  atomic.Bool // something may be ready that was not looked at
	waits atomic.Bool // something ready is known that was not given away; what comes later stands behind it
	mu    sync.Mutex
	heard [2]span // under mu: what became ready since the last walk; live, backfill
}

// kind is tasks that ask the same of a target and wait for one.
type kind struct {
	spec  *domain.JobSpec // nil: nobody can say what it asks; it waits for a patrol
	after domain.Instance // the first of them stands beyond this place
	till  domain.Instance // none stands beyond this place; zero: beyond the front
	late  bool            // not a kind, but what came to stand in a part that was looked through
}

type span struct{ first, last domain.Instance }

// before orders places of one lane: live work before backfill, oldest first.
func before(a, b domain.Instance) bool {
	if a.ID == 0 || b.ID == 0 {
		return a.ID == 0 && b.ID != 0
	}
	return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), a.ReadyAt.Compare(b.ReadyAt), cmp.Compare(a.ID, b.ID)) < 0
}

func rankOf(in domain.Instance) int {
	if in.Trigger == domain.TriggerBackfill {
		return 1
	}
	return 0
}

// liveEnd stands behind all live work and before all backfill.
func liveEnd() domain.Instance { return domain.Instance{ID: 1, Trigger: domain.TriggerBackfill} }

// kindOf is the key of what a job asks of its target.
func kindOf(spec *domain.JobSpec) string {
	if spec == nil {
		return ""
	}
	return spec.Exec.Type + "\x00" + strings.Join(spec.Demands(), "\x00")
}

// The keys of what came late, live and backfill; no job asks for such a target.
var lateKeys = [2]string{"\x00live", "\x00backfill"}

// clear forgets everything.
func (q *backlog) clear() {
	q.front, q.live, q.patrol, q.kinds, q.pent = domain.Instance{}, domain.Instance{}, domain.Instance{}, map[string]*kind{}, false
	q.patrolled, q.looked = time.Time{}, time.Time{}
	q.takeHeard()
	q.waits.Store(true) // until the rows were looked at
}

// hear notes an instance that has become ready. It is safe for concurrent use.
func (q *backlog) hear(in domain.Instance) {
	q.mu.Lock()
	h := &q.heard[rankOf(in)]
	if h.first.ID == 0 || before(in, h.first) {
		h.first = in
	}
	if before(h.last, in) {
		h.last = in
	}
	q.waits.Store(true)
	q.mu.Unlock()
	q.news.Store(true)
}

// calm notes that the lane was read to its end: what is not left waiting was given away.
func (q *backlog) calm() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.kinds) == 0 && q.heard[0].first.ID == 0 && q.heard[1].first.ID == 0 {
		q.waits.Store(false)
	}
}

func (q *backlog) takeHeard() [2]span {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.heard
	q.heard = [2]span{}
	return out
}

// begin prepares a walk. Where nothing waits, the lane is read from its first again.
func (q *backlog) begin() {
	q.news.Store(false)
	heard := q.takeHeard()
	if len(q.kinds) == 0 {
		q.front, q.live, q.patrol, q.pent = domain.Instance{}, domain.Instance{}, domain.Instance{}, false
		return
	}
	for r, h := range heard {
		if h.first.ID != 0 && before(h.first, q.front) {
			after := h.first
			after.ID--
			q.await(lateKeys[r], after, h.last)
		}
	}
}

// await notes that something waits between two places that was not looked at.
func (q *backlog) await(key string, after, till domain.Instance) {
	k := q.kinds[key]
	switch {
	case k == nil:
		q.kinds[key] = &kind{after: after, till: till, late: true}
		return
	case before(after, k.after):
		k.after = after
	}
	if before(k.till, till) {
		k.till = till
	}
}

// overtaken reports whether live work that was not looked at would stand before the
// front.
func (q *backlog) overtaken() bool { return len(q.kinds) > 0 && rankOf(q.front) > 0 }

// first is the first place of what waits and, by room, could be given away now, with
// the room for all of it; false: nothing can.
func (q *backlog) first(room func(domain.JobSpec) int) (after domain.Instance, n int, ok bool) {
	for _, k := range q.kinds {
		free := 0
		switch {
		case k.late:
			free = pageSize
		case k.spec != nil:
			free = room(*k.spec)
		}
		if free <= 0 {
			continue
		}
		n += free
		if !ok || before(k.after, after) {
			after, ok = k.after, true
		}
	}
	return after, n, ok
}

// wish is an instance of a page that found no target.
type wish struct {
	at   int             // its index
	spec *domain.JobSpec // nil: it cannot be read
}

// note takes over what became of a page that was read beyond a place not behind the
// front; full: more may follow it.
func (q *backlog) note(after domain.Instance, page []domain.Instance, left []wish, full bool) {
	last := after
	if n := len(page); n > 0 {
		last = page[n-1]
	}
	place := map[string]domain.Instance{}
	for _, w := range left {
		key := kindOf(w.spec)
		if _, ok := place[key]; ok {
			continue
		}
		place[key] = after
		if w.at > 0 {
			place[key] = page[w.at-1]
		}
		if k := q.kinds[key]; k == nil {
			q.kinds[key] = &kind{spec: w.spec, after: place[key]}
		} else if before(place[key], k.after) {
			k.after = place[key]
		}
	}
	if before(q.front, last) {
		q.front = last
	}
	for _, in := range page {
		if rankOf(in) == 0 && before(q.live, in) {
			q.live = in
		}
	}
	q.pass(after, last, place, full)
}

// pass moves what was known to wait in a part that was read to the first of it that
// is left there, or behind that part.
func (q *backlog) pass(after, last domain.Instance, left map[string]domain.Instance, full bool) {
	for key, k := range q.kinds {
		if before(k.after, after) || full && !before(k.after, last) {
			continue
		}
		if at, ok := left[key]; ok {
			k.after = at
			continue
		}
		k.after = last
		till := k.till
		if till.ID == 0 {
			till = q.front
		}
		if !full || !before(last, till) {
			delete(q.kinds, key)
		}
	}
}
