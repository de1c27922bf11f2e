package broker

import (
	"context"
	"sync"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Early gives a target to those of the instances that nothing holds up, in their order, while a
// transaction of this process is making them ready; the others wait for their turn as
// any other. specs are their definitions. The room is theirs until settle is called, once
// the transaction has ended: with the attempts that it committed, which are sent then, and
// whether that is known; where it is not, Unsure must be told. The transaction must pass
// the fence of the epoch returned. What is to be split waits for its turn too. Safe for concurrent use; it asks no store.
func (b *Broker) Early(ready []domain.Instance, specs []domain.JobSpec) (as []domain.Assignment, epoch int64, settle func(committed []domain.Attempt, known bool)) {
	if !b.Active() || b.unsure.any() {
		return nil, 0, nil
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	d := b.decider()
	if d.now.Before(d.m.mute) {
		return nil, 0, nil
	}
	for i, in := range ready {
		if specs[i].Sharded() || b.overtakes(in) || !d.unhindered(in, specs[i]) || !d.place(in, specs[i]) {
			continue
		}
		if specs[i].Overlap != domain.OverlapAllow {
			d.m.coming[in.JobID] = in.ID
		}
	}
	epoch = d.m.epoch
	return d.p.assign, epoch, func(committed []domain.Attempt, known bool) { b.settleEarly(epoch, d.p, committed, known) }
}

// overtakes reports whether what is ready already would stand behind the instance: in its
// lane or in one above it. Backfill stands behind all live work, also what is to come.
func (b *Broker) overtakes(in domain.Instance) bool {
	if rankOf(in) > 0 {
		return true
	}
	for _, lane := range domain.Lanes {
		if b.backlogs[lane].waits.Load() {
			return true
		}
		if lane == in.Lane {
			return false
		}
	}
	return true
}

// unhindered reports whether neither the overlap policy nor a pool has anything to decide: it
// names no pool, and no other instance of the job is known that has begun, waits for its
// turn, or is being made.
func (d *decider) unhindered(in domain.Instance, spec domain.JobSpec) bool {
	return in.Pool == "" && (spec.Overlap == domain.OverlapAllow || d.m.coming[in.JobID] == 0 && d.m.line(in.JobID).empty())
}

// settleEarly takes over what became of a transaction of an epoch. Where that is not
// known, its instances stay in the way of their jobs until the rows have been read.
func (b *Broker) settleEarly(epoch int64, p plan, committed []domain.Attempt, known bool) {
	if known {
		b.mem.unborn(p.assign) // who was born is known since the commit was heard of
	}
	if !b.mem.settle(epoch, p, p.assign, committed, b.Mono()) || len(committed) == 0 {
		return // a later term has found it in the rows
	}
	b.figures.dispatched.Add(int64(len(committed)))
	crash.At("dispatch.committed")
	b.early.put(committed)
}

// outbox is what was committed by the transactions of others and is to be sent. Its bound
// is the room that targets have.
type outbox struct {
	mu       sync.Mutex
	attempts []domain.Attempt
	came     bell
}

func (o *outbox) put(as []domain.Attempt) {
	o.mu.Lock()
	o.attempts = append(o.attempts, as...)
	o.mu.Unlock()
	o.came.ring()
}

func (o *outbox) take() []domain.Attempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.attempts
	o.attempts = nil
	return out
}

// sendEarly sends what is put into the outbox until ctx ends: those who make instances
// wait for no queue.
func (b *Broker) sendEarly(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.early.came:
		}
		if as := b.early.take(); len(as) > 0 {
			b.send(ctx, as)
			crash.At("dispatch.sent")
		}
	}
}
