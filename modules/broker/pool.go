package broker

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// queueKey is who asks the same of a target: the instances of a version of a job, or its shards
// for one worker.
type queueKey struct {
	job     domain.ID
	version int
	worker  string
}

// poolWaiter is an instance, or a shard, that wants a place in its pool.
type poolWaiter struct {
	id domain.ID
	queueKey
	lane     int
	backfill bool
	expected time.Time
}

func poolWaiterOf(in domain.Instance) poolWaiter {
	return poolWaiter{in.ID, queueKey{in.JobID, in.Version, in.Worker}, slices.Index(domain.Lanes, in.Lane), in.Trigger == domain.TriggerBackfill, in.Expected}
}

// compare is the order in which places are given: by lane, live work before backfill, then by
// planned time.
func (w poolWaiter) compare(o poolWaiter) int {
	return cmp.Or(cmp.Compare(w.lane, o.lane), waiter{backfill: w.backfill, expected: w.expected, id: w.id}.compare(waiter{backfill: o.backfill, expected: o.expected, id: o.id}))
}

// pool is what the broker knows of one pool. It is a cache of rows, as all memory is: who has a
// place is a set of instances, never a number.
type pool struct {
	// taken has who has a place: true by the rows, false by a transaction under way.
	taken map[domain.ID]bool
	// called have been made ready for a place that is free; they take it when they find a target.
	called map[domain.ID]*call
	queues map[queueKey]*poolQueue  // none of them empty of both waiting and stuck
	heads  poolHeads                // queues with somebody waiting and nobody stuck
	waits  map[domain.ID]poolWaiter // all that wait, in the queues
}

// call is one who was called. Stuck: he found no target, and stands in nobody's way until he
// does; no other of his queue is called meanwhile.
type call struct {
	poolWaiter
	stuck bool
}

// poolQueue is those who ask the same and wait, in order.
type poolQueue struct {
	waiting []poolWaiter
	stuck   int // of those of them who were called
	at      int // in the heads; -1: not there
}

// poolHeads is a heap of queues by their first.
type poolHeads []*poolQueue

// Len is heap's.
func (h poolHeads) Len() int { return len(h) }

// Less is heap's.
func (h poolHeads) Less(i, j int) bool { return h[i].waiting[0].compare(h[j].waiting[0]) < 0 }

// Swap is heap's.
func (h poolHeads) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push is heap's.
func (h *poolHeads) Push(x any) {
	q, _ := x.(*poolQueue)
	q.at = len(*h)
	*h = append(*h, q)
}

// Pop is heap's.
func (h *poolHeads) Pop() any {
	last := len(*h) - 1
	q := (*h)[last]
	(*h)[last], *h = nil, (*h)[:last]
	q.at = -1
	return q
}

func newPool() *pool {
	return &pool{taken: map[domain.ID]bool{}, called: map[domain.ID]*call{}, queues: map[queueKey]*poolQueue{}, waits: map[domain.ID]poolWaiter{}}
}

func (p *pool) empty() bool { return len(p.taken) == 0 && len(p.called) == 0 && len(p.waits) == 0 }

// queue is that of the key.
func (p *pool) queue(key queueKey) *poolQueue {
	q := p.queues[key]
	if q == nil {
		q = &poolQueue{at: -1}
		p.queues[key] = q
	}
	return q
}

// settle puts a queue where it belongs after a change.
func (p *pool) settle(key queueKey, q *poolQueue) {
	eligible := len(q.waiting) > 0 && q.stuck == 0
	switch {
	case eligible && q.at < 0:
		heap.Push(&p.heads, q)
	case eligible:
		heap.Fix(&p.heads, q.at)
	case q.at >= 0:
		heap.Remove(&p.heads, q.at)
	}
	if len(q.waiting) == 0 && q.stuck == 0 {
		delete(p.queues, key)
	}
}

// wait puts an instance in its place among those that wait.
func (p *pool) wait(w poolWaiter) {
	p.leave(w.id)
	p.uncall(w.id)
	q := p.queue(w.queueKey)
	at, _ := slices.BinarySearchFunc(q.waiting, w, poolWaiter.compare)
	q.waiting = slices.Insert(q.waiting, at, w)
	p.waits[w.id] = w
	p.settle(w.queueKey, q)
}

// leave takes an instance from among those that wait.
func (p *pool) leave(id domain.ID) {
	w, ok := p.waits[id]
	if !ok {
		return
	}
	delete(p.waits, id)
	q := p.queue(w.queueKey)
	switch at, found := slices.BinarySearchFunc(q.waiting, w, poolWaiter.compare); {
	case !found:
	case at == 0: // nearly always, and they can be very many
		q.waiting = q.waiting[1:]
	default:
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	p.settle(w.queueKey, q)
}

// callNext makes of the first that waits one who is called; false: nobody may be called.
func (p *pool) callNext() (domain.ID, bool) {
	if len(p.heads) == 0 {
		return 0, false
	}
	w := p.heads[0].waiting[0]
	p.leave(w.id)
	p.called[w.id] = &call{poolWaiter: w}
	return w.id, true
}

// uncall forgets that an instance was called.
func (p *pool) uncall(id domain.ID) {
	c := p.called[id]
	if c == nil {
		return
	}
	delete(p.called, id)
	if c.stuck {
		q := p.queue(c.queueKey)
		q.stuck--
		p.settle(c.queueKey, q)
	}
}

// stick notes that one who was called found no target; false: that was known.
func (p *pool) stick(id domain.ID) bool {
	c := p.called[id]
	if c == nil || c.stuck {
		return false
	}
	c.stuck = true
	q := p.queue(c.queueKey)
	q.stuck++
	p.settle(c.queueKey, q)
	return true
}

// others is how many have a place, not counting one.
func (p *pool) others(id domain.ID) int {
	if _, takes := p.taken[id]; takes {
		return len(p.taken) - 1
	}
	return len(p.taken)
}

// expected is how many of the called, of whom a target may still be found, come before an instance.
func (p *pool) expected(before func(poolWaiter) bool) int {
	n := 0
	for _, c := range p.called {
		if !c.stuck && before(c.poolWaiter) {
			n++
		}
	}
	return n
}

// spoken is how many places are taken, or free and somebody was called for them.
func (p *pool) spoken() int {
	return len(p.taken) + p.expected(func(poolWaiter) bool { return true })
}

// admits reports whether an instance that is ready may take a place now. Who was called has
// only to find one free; any other waits behind those who are before him.
func (p *pool) admits(w poolWaiter, limit int) bool {
	taken := p.others(w.id)
	if p.called[w.id] != nil {
		return taken < limit
	}
	if taken+p.expected(func(c poolWaiter) bool { return c.compare(w) < 0 }) >= limit {
		return false
	}
	if q := p.queues[w.queueKey]; q != nil && len(q.waiting) > 0 && q.waiting[0].compare(w) < 0 {
		return false
	}
	return len(p.heads) == 0 || p.heads[0].waiting[0].compare(w) > 0
}
