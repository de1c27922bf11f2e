package broker

import (
	"context"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// member says in which pool an instance is, of which job, and the ver before the change that
// was heard of last; shards, of which no line knows, are members too.
type member struct {
	domain.PoolKey
	job domain.ID
	ver int64
}

// takes reports whether an instance has a place. One that was split has none: its shards have.
func takes(in domain.Instance) bool { return in.HasPlace() && !in.IsSplit() }

// waits reports whether an instance waits for a place.
func waits(in domain.Instance) bool { return in.Label == domain.HeldPool && !in.IsSplit() }

// pool is what is known of one; what is changed in it counts once it is kept.
func (m *memory) pool(key domain.PoolKey) *pool {
	if p := m.pools[key]; p != nil {
		return p
	}
	p := newPool()
	m.pools[key] = p
	return p
}

// keepPool drops a pool of which nothing is known, and notes where an instance of it stands.
func (m *memory) keepPool(key domain.PoolKey, p *pool, id, job domain.ID) {
	_, taken := p.taken[id]
	_, waiting := p.waits[id]
	if taken || waiting || p.called[id] != nil {
		m.pooled[id] = member{key, job, m.pooled[id].ver}
	} else {
		delete(m.pooled, id)
	}
	if p.empty() {
		delete(m.pools, key)
	}
}

// stand takes over how an instance stands in its pool after a committed change. It reports
// whether somebody else may have its place now.
func (m *memory) stand(in domain.Instance) bool {
	key := in.PoolKey()
	if key.Name == "" {
		return false
	}
	of, known := m.pooled[in.ID]
	if known && in.Ver < of.ver || !known && !takes(in) && !waits(in) {
		return false
	}
	p := m.pool(key)
	m.pooled[in.ID] = member{key, in.JobID, in.Ver}
	freed := false
	switch {
	case takes(in):
		p.leave(in.ID)
		p.uncall(in.ID)
		p.taken[in.ID] = true
	case waits(in):
		freed = p.free(in.ID) || p.called[in.ID] != nil
		p.wait(poolWaiterOf(in))
	default:
		p.leave(in.ID)
		freed = p.free(in.ID)
		if in.Label != domain.Queued || in.IsSplit() {
			freed = p.called[in.ID] != nil || freed
			p.uncall(in.ID)
		}
	}
	m.keepPool(key, p, in.ID, in.JobID)
	if freed = freed && len(p.heads) > 0; freed {
		m.calls[key] = true
	}
	return freed
}

// free takes away the place that an instance had by the rows. A place that a transaction under
// way gives it is another: what is heard of is older.
func (p *pool) free(id domain.ID) bool {
	if !p.taken[id] {
		return false
	}
	delete(p.taken, id)
	return true
}

// unpool takes over from a row that an instance stands in nobody's way in its pool. It never
// gives a place.
func (m *memory) unpool(id domain.ID, in domain.Instance, exists bool) {
	of, known := m.pooled[id]
	if !known || exists && (takes(in) || in.Ver <= of.ver) {
		return
	}
	p := m.pool(of.PoolKey)
	freed := p.free(id)
	switch {
	case exists && in.Label == domain.Queued && !in.IsSplit():
	case p.called[id] != nil && exists && waits(in): // it was not made ready
		p.wait(poolWaiterOf(in))
		freed = true
	case !exists || !waits(in):
		freed = freed || p.called[id] != nil
		p.uncall(id)
		p.leave(id)
	}
	m.keepPool(of.PoolKey, p, id, of.job)
	if freed {
		m.calls[of.PoolKey] = true
	}
}

// promise gives the instance a place for as long as a transaction is under way that sends it.
func (m *memory) promise(in domain.Instance) {
	if key := in.PoolKey(); key.Name != "" {
		p := m.pool(key)
		p.uncall(in.ID)
		p.taken[in.ID] = false
		m.keepPool(key, p, in.ID, in.JobID)
	}
}

// unpromise ends a promise; the place stays where the commit was heard of.
func (m *memory) unpromise(id domain.ID) {
	of, known := m.pooled[id]
	if !known {
		return
	}
	p := m.pool(of.PoolKey)
	if byRows, takes := p.taken[id]; takes && !byRows {
		delete(p.taken, id)
		m.calls[of.PoolKey] = true
	}
	m.keepPool(of.PoolKey, p, id, of.job)
}

// stick notes that an instance may have a place and found no target.
func (m *memory) stick(in domain.Instance) {
	if of, known := m.pooled[in.ID]; known && m.pool(of.PoolKey).stick(in.ID) {
		m.calls[of.PoolKey] = true
	}
}

// admit reports whether the instance may have a place in its pool; if not it is set aside.
func (d *decider) admit(in domain.Instance) bool {
	key := in.PoolKey()
	if key.Name == "" {
		return true
	}
	p := d.m.pool(key)
	w := poolWaiterOf(in)
	p.leave(in.ID) // the row was just read
	limits, there := d.pools[key]
	ok := !there || p.admits(w, limits.Limit)
	if !ok {
		p.wait(w)
		d.p.full = append(d.p.full, in.ID)
		if len(p.taken) < limits.Limit { // those before it have not been called
			d.m.calls[key] = true
		}
	}
	d.m.keepPool(key, p, in.ID, in.JobID)
	return ok
}

// seen is the pool that an assignment was decided by.
func (d *decider) seen(in domain.Instance) domain.PoolSeen {
	p := d.pools[in.PoolKey()]
	return domain.PoolSeen{ID: p.ID, Ver: p.Ver}
}

// poolsOf reads the pools of a page.
func (b *Broker) poolsOf(ctx context.Context, page []domain.Instance) (map[domain.PoolKey]domain.Pool, error) {
	keys := map[domain.PoolKey]bool{}
	for _, in := range page {
		if in.Pool != "" {
			keys[in.PoolKey()] = true
		}
	}
	if len(keys) == 0 || b.Pools == nil {
		return nil, nil
	}
	return b.Pools.ByKeys(ctx, slices.Collect(maps.Keys(keys)))
}

// promised is passed where an assignment takes a place in a pool.
func promised(assign []domain.Assignment) {
	if slices.ContainsFunc(assign, func(a domain.Assignment) bool { return a.Pool.ID != 0 }) {
		crash.At("place.promised")
	}
}

// lookAgainAt lets those be looked at again whose assignment was not committed because their
// pool changed meanwhile; the ready queue counts them as given away.
func (b *Broker) lookAgainAt(assign []domain.Assignment, committed []domain.Attempt) {
	if len(committed) == len(assign) {
		return
	}
	done := make(map[domain.ID]bool, len(committed))
	for _, a := range committed {
		done[a.InstanceID] = true
	}
	for _, a := range assign {
		if a.Pool.ID != 0 && !done[a.Instance.ID] {
			b.backlogs[a.Instance.Lane].hear(a.Instance)
			b.ready.ring()
		}
	}
}

// callAgain lets all pools be looked at in which somebody waits.
func (m *memory) callAgain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.pools {
		if len(p.heads) > 0 {
			m.calls[key] = true
		}
	}
}

// takeCalls lists the pools in which a place may have come free since they were listed last.
func (m *memory) takeCalls() []domain.PoolKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []domain.PoolKey
	for key := range m.calls {
		if p := m.pools[key]; p != nil && len(p.heads) > 0 {
			keys = append(keys, key)
		}
	}
	clear(m.calls)
	return keys
}

// callWaiting makes ready, for each place that is free in the pools, the next who waits for it:
// about a page of them, since others wait for the one who asks; the rest at the next look.
func (b *Broker) callWaiting(ctx context.Context, keys []domain.PoolKey) error {
	if len(keys) == 0 {
		return nil
	}
	var pools map[domain.PoolKey]domain.Pool
	if b.Pools != nil {
		var err error
		if pools, err = b.Pools.ByKeys(ctx, keys); err != nil {
			b.mem.callAgain()
			return err
		}
	}
	for done := 0; done < pageSize; {
		ids := b.mem.call(keys, pools, pageSize-done)
		if len(ids) == 0 {
			return nil
		}
		crash.At("place.free")
		moved, err := b.Overlaps.UnholdPool(ctx, ids)
		crash.At("place.called")
		b.mem.calledBack(ids, moved, err != nil)
		if err != nil {
			return err
		}
		done += len(moved)
		if len(moved) < len(ids) { // another process ended some, and very likely more
			if err := b.verify(ctx, b.mem.foremost(keys, pageSize)); err != nil {
				return err
			}
		}
	}
	b.mem.callAgain()
	b.ready.ring()
	return nil
}

// foremost are those who wait in the pools and are the next of their queues, with their jobs,
// at most so many.
func (m *memory) foremost(keys []domain.PoolKey, most int) map[domain.ID]domain.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[domain.ID]domain.ID{}
	for _, key := range keys {
		if p := m.pools[key]; p != nil {
			for _, q := range p.heads {
				for _, w := range q.waiting[:min(len(q.waiting), most-len(out))] {
					out[w.id] = w.job
				}
			}
		}
	}
	return out
}

// call chooses those that are made ready, at most so many. A pool that is not there limits nothing.
func (m *memory) call(keys []domain.PoolKey, pools map[domain.PoolKey]domain.Pool, most int) []domain.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []domain.ID
	for _, key := range keys {
		p := m.pools[key]
		if p == nil {
			continue
		}
		limits, there := pools[key]
		for spoken := p.spoken(); (!there || spoken < limits.Limit) && len(ids) < most; spoken++ {
			id, ok := p.callNext()
			if !ok {
				break
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// calledBack takes over what became of those that were called: where it failed they wait
// again, and who was not moved did not wait any more.
func (m *memory) calledBack(ids, moved []domain.ID, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		of, known := m.pooled[id]
		if !known || !failed && slices.Contains(moved, id) {
			continue
		}
		p := m.pool(of.PoolKey)
		if c := p.called[id]; c != nil && failed {
			p.wait(c.poolWaiter)
			m.calls[of.PoolKey] = true
		} else {
			p.uncall(id)
		}
		m.keepPool(of.PoolKey, p, id, of.job)
	}
}

// freePlaces finds what callWaiting misses: who has a place or was called is read again where
// others wait, a part each time, since other processes end instances too.
func (b *Broker) freePlaces(ctx context.Context) error {
	keys, doubts, last := b.mem.placesTaken(b.pooled, pageSize)
	b.pooled = last
	if err := b.verify(ctx, doubts); err != nil {
		return err
	}
	return b.callWaiting(ctx, keys)
}

// placesTaken lists the pools in which somebody waits, and of those that keep their places, by id
// after the one given, at most so many with their jobs; last is where to go on, 0: from the first.
func (m *memory) placesTaken(after domain.ID, most int) (keys []domain.PoolKey, doubts map[domain.ID]domain.ID, last domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []domain.ID
	for key, p := range m.pools {
		if len(p.waits) == 0 {
			continue
		}
		keys = append(keys, key)
		for id, byRows := range p.taken {
			if byRows {
				ids = append(ids, id)
			}
		}
		ids = slices.AppendSeq(ids, maps.Keys(p.called))
	}
	ids = slices.DeleteFunc(ids, func(id domain.ID) bool { return id <= after })
	slices.Sort(ids)
	if len(ids) > most {
		ids, last = ids[:most], ids[most-1]
	}
	doubts = make(map[domain.ID]domain.ID, len(ids))
	for _, id := range ids {
		doubts[id] = m.pooled[id].job
	}
	return keys, doubts, last
}
