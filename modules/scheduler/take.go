package scheduler

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/modules/scheduler/store"
	"github.com/axsched/ax/worker/protocol/crash"
)

const (
	maxBatch    = 200 // triggers in one transaction: what it made is given out while the next is taken
	lockedPause = 250 * time.Millisecond
	awayPause   = time.Second
	batchFires  = 1000    // instances in one transaction
	batchScan   = 100_000 // planned fires looked at in one transaction
)

// taker takes due batches. Safe for concurrent use with disjoint batches.
type taker struct {
	store *store.Store
	ids   *domain.IDs
	specs Specs
	maker Maker
	fired Fired
	fast  *fast
	clock *dbClock
	marks *marks
	memo  memo
	waits complaint // of those that could not be taken

	calendars Calendars
}

// take goes through a batch that the wheel gave out and says when to look at each
// trigger again: fast path, then the guard of the database.
func (t *taker) take(ctx context.Context, batch []plan.Due) []look {
	now := t.clock.now()
	if t.clock.fault() != "" {
		return later(batch, now.Add(awayPause))
	}
	batch, out := t.peek(ctx, batch)
	var lost, mine []plan.Due
	won, failed := t.fast.win(ctx, batch)
	for i, d := range batch {
		if won[i] {
			mine = append(mine, d)
		} else {
			lost = append(lost, d)
		}
	}
	if failed {
		t.marks.add(func(s *Status) { s.FastFailed++ })
	}
	t.marks.lose(lost)
	out = append(out, later(lost, now.Add(KeyTTL))...)
	poisoned, healthy := t.marks.takePoisoned(mine)
	out = append(out, t.group(ctx, healthy)...)
	for _, d := range poisoned {
		out = append(out, t.group(ctx, []plan.Due{d})...)
	}
	return out
}

func later(batch []plan.Due, at time.Time) []look {
	out := make([]look, len(batch))
	for i, d := range batch {
		out[i] = look{d, at}
	}
	return out
}

// peek reads, without a lock, those for which another node was first, and passes on
// the ones that it has not taken.
func (t *taker) peek(ctx context.Context, batch []plan.Due) (open []plan.Due, out []look) {
	lost, open := t.marks.takeLost(batch)
	if len(lost) == 0 {
		return open, nil
	}
	now, err := t.standing(ctx, lost)
	if err != nil {
		return batch, nil // the guard will meet the same fault and judge it
	}
	same, over := t.sort(lost, now)
	return append(open, same...), over
}

// sort parts a batch by how its rows stand now: those that are due for the same fire still, as they stand; and what is
// next of the others, which are gone, were taken by another node or changed.
func (t *taker) sort(batch []plan.Due, now map[domain.ID]plan.Due) (same []plan.Due, over []look) {
	var settled []domain.ID
	for _, d := range batch {
		is, ok := now[d.ID]
		if ok && is.Next.Equal(d.Next) {
			same = append(same, is)
			continue
		}
		is.ID = d.ID
		settled, over = append(settled, d.ID), append(over, look{due: is})
	}
	t.marks.settled(settled...)
	return same, over
}

func (t *taker) standing(ctx context.Context, batch []plan.Due) (map[domain.ID]plan.Due, error) {
	found, err := t.store.Peek(ctx, idsOf(batch))
	if err != nil {
		return nil, err
	}
	out := make(map[domain.ID]plan.Due, len(found))
	for _, d := range found {
		out[d.ID] = d
	}
	return out, nil
}

func idsOf(batch []plan.Due) []domain.ID {
	ids := make([]domain.ID, len(batch))
	for i, d := range batch {
		ids[i] = d.ID
	}
	return ids
}

// group takes a batch in one transaction. Where that fails and the database is there,
// each is taken by itself, so that one trigger's fault is its own.
func (t *taker) group(ctx context.Context, batch []plan.Due) []look {
	if len(batch) == 0 {
		return nil
	}
	crash.At("take.won")
	r, err := t.guard(ctx, batch, false)
	if domain.Is(err, domain.Exists) {
		r, err = t.guard(ctx, batch, true)
	}
	if err == nil {
		crash.At("take.committed")
		if t.waits.over() {
			slog.Info("due fires are taken again")
		}
		return t.after(ctx, r)
	}
	t.fast.giveBack(ctx, batch)
	now := t.clock.now()
	if ctx.Err() != nil {
		return later(batch, now.Add(awayPause))
	}
	t.marks.add(func(s *Status) { s.Failures++ })
	if t.away(ctx, err) {
		if times, say := t.waits.due(err.Error(), t.clock.own()); say {
			slog.Warn("due fires wait", "triggers", len(batch), "error", err, "tries", times)
		}
		return later(batch, now.Add(awayPause))
	}
	if len(batch) == 1 {
		return later(batch, t.marks.poison(batch[0], err, now))
	}
	slog.Warn("a batch of due fires failed; taking them one by one", "triggers", len(batch), "error", err)
	var out []look
	for _, d := range batch {
		out = append(out, t.group(ctx, []plan.Due{d})...)
	}
	return out
}

// away reports whether a taking that failed did so for all triggers alike: the database
// does not answer, answers and takes no writes, or this node's clock is off. Then none of
// them is at fault, and all are looked at again soon.
func (t *taker) away(ctx context.Context, err error) bool {
	if _, down := t.store.Now(ctx); down != nil || t.clock.fault() != "" {
		return true
	}
	return domain.Is(err, domain.Unavailable) && t.store.Refused() != nil
}

// guard is the transaction in which fires are taken, once.
func (t *taker) guard(ctx context.Context, batch []plan.Due, careful bool) (*round, error) {
	var r *round
	err := t.store.Tx(ctx, func(ctx context.Context) error {
		r = &round{taker: t, asked: batch, careful: careful, fault: map[domain.ID]error{}}
		return r.run(ctx)
	})
	return r, err
}

// after counts what a committed transaction did and says when to look again.
func (t *taker) after(ctx context.Context, r *round) []look {
	now := t.clock.now()
	out := r.looks
	t.memo.put(slices.DeleteFunc(r.known, func(k known) bool { return k.Next.IsZero() || k.Next.After(now.Add(window)) }))
	t.marks.settled(r.settled...)
	t.marks.add(func(s *Status) {
		s.Takes++
		s.Fires += int64(r.fires)
		s.Gaps += int64(r.gaps)
		s.LastTake = t.clock.own()
	})
	unused := r.early
	for _, d := range r.asked {
		if err := r.fault[d.ID]; err != nil {
			out = append(out, look{d, t.marks.poison(d, err, now)})
			unused = append(unused, d)
		}
	}
	if len(r.absent) > 0 {
		held, over := t.held(ctx, r.absent)
		out = append(append(out, later(held, now.Add(lockedPause))...), over...)
		unused = append(unused, held...)
	}
	t.fast.giveBack(ctx, unused)
	t.fast.giveBack(ctx, r.next)() // this node looks again at once, and would lose to its own keys
	return out
}

// held gives those of the rows that the locking read passed over which somebody holds while their fire waits, notes
// that, and says what is next of the others.
func (t *taker) held(ctx context.Context, absent []plan.Due) (held []plan.Due, over []look) {
	rows, err := t.standing(ctx, absent)
	if err != nil {
		return absent, nil // nobody knows; the next look will
	}
	held, over = t.sort(absent, rows)
	t.marks.locked(held, t.clock.now())
	return held, over
}
