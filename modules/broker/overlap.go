package broker

import (
	"context"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// catchUp is how late an instance was made that counts as made good for a missed fire.
const catchUp = time.Minute

// patient reports whether the instance waits for its turn whatever the policy: what
// was asked for by hand about the past (backfill, rerun) or is made good for a
// missed fire is never dropped, and replaces nobody.
func patient(in domain.Instance) bool {
	return in.Trigger == domain.TriggerBackfill || in.RunNo > 1 || in.CreatedAt.Sub(in.Expected) > catchUp
}

// mayStart applies the overlap policy against what is released and unfinished. What
// has begun goes on, whatever has begun beside it.
func (d *decider) mayStart(in domain.Instance, spec domain.JobSpec) bool {
	if begun(in) {
		return true
	}
	inWay := d.inWay(in)
	if len(inWay) == 0 {
		return true
	}
	switch {
	case patient(in):
		d.hold(in)
	case spec.Overlap == domain.OverlapSkip:
		d.p.skip = append(d.p.skip, in.ID)
	case spec.Overlap == domain.OverlapReplace:
		if ids := d.replaced(in, inWay); len(ids) > 0 {
			d.p.replace[in.ID] = ids
		}
		d.hold(in)
	case d.oneWaits(in):
		d.p.surplus = append(d.p.surplus, in.ID)
	default:
		d.hold(in)
	}
	return false
}

// inWay lists what must end, or begin, before the instance: what has begun, what is
// the job's next, and who waits with an earlier turn.
func (d *decider) inWay(in domain.Instance) []domain.ID {
	l := d.m.line(in.JobID)
	var out []domain.ID
	for id := range l.busy {
		if id != in.ID {
			out = append(out, id)
		}
	}
	if l.next != 0 && l.next != in.ID {
		out = append(out, l.next)
	}
	if w, waits := l.head(); waits && l.next != in.ID && w.id != in.ID && w.compare(waiterOf(in)) < 0 {
		out = append(out, w.id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// replaced is what a later fire ends: all in its way, and those that wait and are
// not patient.
func (d *decider) replaced(in domain.Instance, inWay []domain.ID) []domain.ID {
	l := d.m.line(in.JobID)
	out := slices.DeleteFunc(inWay, func(id domain.ID) bool { return l.held[id].patient })
	for _, w := range l.others {
		if w.id != in.ID && !slices.Contains(out, w.id) {
			out = append(out, w.id)
		}
	}
	return out
}

func (d *decider) hold(in domain.Instance) {
	d.p.hold = append(d.p.hold, in.ID)
	l := d.m.line(in.JobID)
	l.hold(waiterOf(in))
	d.m.keep(in.JobID, l)
}

// oneWaits reports whether another instance of the job and the business date waits
// already; those that wait whatever the policy do not count.
func (d *decider) oneWaits(in domain.Instance) bool {
	return slices.ContainsFunc(d.m.line(in.JobID).others, func(w waiter) bool { return w.id != in.ID && w.bizDate == in.BizDate })
}

// doubts adds what the memory holds to be in the way of the instance, with its job.
func (m *memory) doubts(in domain.Instance, to map[domain.ID]domain.ID) {
	l := m.line(in.JobID)
	for _, id := range l.obstacles() {
		to[id] = in.JobID
	}
	for _, w := range l.others {
		if w.bizDate == in.BizDate {
			to[w.id] = in.JobID
		}
	}
}

// refresh reads again what the memory holds to be in the way of a page: another
// process may have ended it, and nothing is skipped because of what is over.
func (b *Broker) refresh(ctx context.Context, page []domain.Instance, specs []*domain.JobSpec) error {
	b.mem.mu.Lock()
	doubts := map[domain.ID]domain.ID{}
	for i, in := range page {
		if specs[i] != nil && specs[i].Overlap != domain.OverlapAllow && !begun(in) && !in.IsShard() {
			b.mem.doubts(in, doubts)
		}
	}
	b.mem.mu.Unlock()
	for _, in := range page { // just read
		delete(doubts, in.ID)
	}
	return b.verify(ctx, doubts)
}

// verify holds the memory of instances (→ their job) against the rows.
func (b *Broker) verify(ctx context.Context, doubts map[domain.ID]domain.ID) error {
	if len(doubts) == 0 {
		return nil
	}
	ids := make([]domain.ID, 0, len(doubts))
	for id := range doubts {
		ids = append(ids, id)
	}
	rows, err := b.Rows.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for id, job := range doubts {
		in, ok := rows[id]
		b.mem.correct(job, id, in, ok)
	}
	return nil
}

// freeHeld makes ready, for each job with held instances, the one whose turn it is
// when nothing is in its way any more. What others may have ended is read again, a
// part of the jobs each time.
func (b *Broker) freeHeld(ctx context.Context) error {
	blocked, last := b.mem.blocked(b.blocked, pageSize)
	b.blocked = last
	if err := b.verify(ctx, blocked); err != nil {
		return err
	}
	for part := range slices.Chunk(b.mem.allTurns(), pageSize) {
		if err := b.unhold(ctx, part); err != nil {
			return err
		}
	}
	return b.freePlaces(ctx)
}

// giveTurns makes those ready whose turn has come by what was heard, without a look
// at the rows: the move is made only with what is still held. freeHeld finds what
// this one misses.
func (b *Broker) giveTurns(ctx context.Context) error {
	due, more := b.mem.takeTurns(pageSize)
	if more {
		b.ready.ring()
	}
	if len(due) > 0 {
		if err := b.unhold(ctx, due); err != nil {
			return err
		}
	}
	return b.callWaiting(ctx, b.mem.takeCalls())
}

func (b *Broker) unhold(ctx context.Context, ids []domain.ID) error {
	return b.Overlaps.Unhold(ctx, ids, "the instance before it ended")
}
