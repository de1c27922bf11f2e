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
		d.p.skip = append(d.p.skip, in.ID)
	default:
		d.hold(in)
	}
	return false
}

// inWay lists what must end, or begin, before the instance: what has begun, what is
// the job's next, and who waits with an earlier turn.
func (d *decider) inWay(in domain.Instance) []domain.ID {
	var out []domain.ID
	for id := range d.m.busy[in.JobID] {
		if id != in.ID {
			out = append(out, id)
		}
	}
	next := d.m.next[in.JobID]
	if next != 0 && next != in.ID {
		out = append(out, next)
	}
	if held := d.m.held[in.JobID]; next != in.ID && len(held) > 0 && held[0].id != in.ID && held[0].compare(waiterOf(in)) < 0 {
		out = append(out, held[0].id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// replaced is what a later fire ends: all in its way, and those that wait and are
// not patient.
func (d *decider) replaced(in domain.Instance, inWay []domain.ID) []domain.ID {
	out := slices.DeleteFunc(inWay, func(id domain.ID) bool {
		return slices.ContainsFunc(d.m.held[in.JobID], func(w waiter) bool { return w.id == id && w.patient })
	})
	for _, w := range d.m.held[in.JobID] {
		if !w.patient && w.id != in.ID && !slices.Contains(out, w.id) {
			out = append(out, w.id)
		}
	}
	return out
}

func (d *decider) hold(in domain.Instance) {
	d.p.hold = append(d.p.hold, in.ID)
	d.m.queue(in.JobID, waiterOf(in))
}

// oneWaits reports whether another instance of the job and the business date waits
// already; those that wait whatever the policy do not count.
func (d *decider) oneWaits(in domain.Instance) bool {
	return slices.ContainsFunc(d.m.held[in.JobID], func(w waiter) bool {
		return !w.patient && w.id != in.ID && w.bizDate == in.BizDate
	})
}

// refresh reads again what the memory holds to be in the way of a page: another
// process may have ended it, and nothing is skipped because of what is over.
func (b *Broker) refresh(ctx context.Context, page []domain.Instance, specs []*domain.JobSpec) error {
	b.mem.mu.Lock()
	doubts := map[domain.ID]domain.ID{}
	for i, in := range page {
		if specs[i] != nil && specs[i].Overlap != domain.OverlapAllow && !begun(in) {
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
// when nothing is in its way any more.
func (b *Broker) freeHeld(ctx context.Context) error {
	b.mem.mu.Lock()
	doubts := map[domain.ID]domain.ID{}
	for job, held := range b.mem.held {
		doubts[held[0].id] = job
		if next := b.mem.next[job]; next != 0 {
			doubts[next] = job
		}
		for id := range b.mem.busy[job] {
			doubts[id] = job
		}
	}
	b.mem.mu.Unlock()
	if err := b.verify(ctx, doubts); err != nil {
		return err
	}
	var free []domain.ID
	b.mem.mu.Lock()
	for job, held := range b.mem.held {
		if len(b.mem.busy[job]) == 0 && b.mem.next[job] == 0 {
			free = append(free, held[0].id)
		}
	}
	b.mem.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	slices.Sort(free)
	return b.Overlaps.Unhold(ctx, free, "the instance before it ended")
}
