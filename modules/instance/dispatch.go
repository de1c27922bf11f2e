package instance

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol/crash"
)

// Dispatch commits attempts for instances that still stand as they were read, and
// returns these attempts; the others have moved meanwhile and are left alone. The
// caller sends what is returned, after this has returned.
func (l *Lifecycle) Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	ids := make([]domain.ID, len(as))
	read := make(map[domain.ID]*domain.Instance, len(as))
	for i := range as {
		in := &as[i].Instance
		ids[i], read[in.ID] = in.ID, in
	}
	// Nearly always nobody moved any of them, and then the guard of their vers alone
	// shows it, without a reading under lock.
	out, err := l.dispatch(ctx, as, func(_ context.Context, b *batch) error {
		b.was = read
		return nil
	})
	if !domain.Is(err, domain.Conflict) {
		return out, err
	}
	return l.dispatch(ctx, as, func(ctx context.Context, b *batch) error {
		_, err := b.lock(ctx, ids)
		return err
	})
}

// dispatch is the transaction of Dispatch; look brings the instances into the batch.
func (l *Lifecycle) dispatch(ctx context.Context, as []domain.Assignment, look func(context.Context, *batch) error) ([]domain.Attempt, error) {
	attempts := make([]domain.ID, len(as))
	for i, a := range as {
		attempts[i] = a.Attempt
	}
	use, _ := l.Memo.take(attempts)
	defer l.Memo.release(use, attempts)
	var out []domain.Attempt
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		out = make([]domain.Attempt, 0, len(as))
		changed, err := l.changedPools(ctx, as)
		if err != nil {
			return err
		}
		b := l.batch("broker", len(as))
		if err := look(ctx, b); err != nil {
			return err
		}
		for _, a := range as {
			in, ok := b.was[a.Instance.ID]
			if !ok || changed[a.Pool.ID] || in.Ver != a.Instance.Ver || in.Label != domain.Queued {
				continue
			}
			attempt, err := b.dispatch(ctx, *in, a)
			if err != nil {
				return err
			}
			out = append(out, attempt)
		}
		if err := b.flush(ctx, l.Store.Save); err != nil {
			return err
		}
		l.remember(ctx, b, use, apart(out))
		if err := l.Store.InsertAttempts(ctx, out); err != nil {
			return err
		}
		if changed != nil {
			crash.At("place.taken")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// changedPools are the pools of assignments that do not stand as it was decided by; the others
// stay so until the transaction of ctx has ended.
func (l *Lifecycle) changedPools(ctx context.Context, as []domain.Assignment) (map[domain.ID]bool, error) {
	var seen []domain.PoolSeen
	for _, a := range as {
		if a.Pool.ID != 0 && !slices.Contains(seen, a.Pool) {
			seen = append(seen, a.Pool)
		}
	}
	if len(seen) == 0 || l.Pools == nil {
		return nil, nil
	}
	return l.Pools.Changed(ctx, seen)
}

// dispatch moves one instance and makes the attempt.
func (b *batch) dispatch(ctx context.Context, in domain.Instance, a domain.Assignment) (domain.Attempt, error) {
	spec, err := b.l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return domain.Attempt{}, err
	}
	in.AttemptID, in.WakeAt, in.StartedAt = a.Attempt, time.Time{}, time.Time{}
	in.Attempts++
	if in, err = b.move(in, domain.MoveDispatch, running(domain.Dispatched), ""); err != nil {
		return domain.Attempt{}, err
	}
	return domain.Attempt{ID: a.Attempt, ProjectID: in.ProjectID, InstanceID: in.ID, RunID: in.RunID, Shard: in.Shard, Ordinal: in.Attempts,
		State: domain.AttemptSent, Target: a.Target, Boot: a.Boot, Lane: in.Lane, MessageID: a.MessageID, DispatchedAt: b.now,
		Deadline: time.Duration(spec.TimeoutSec) * time.Second}, nil
}

// remember notes, once the transaction in ctx has committed, those of the attempts
// that are in flight as the batch left them.
func (l *Lifecycle) remember(ctx context.Context, b *batch, use int64, as iter.Seq[*domain.Attempt]) {
	var fs []flight
	for a := range as {
		in := b.was[a.InstanceID]
		if moved, ok := b.moved[a.InstanceID]; ok {
			written := *moved
			written.Ver++
			in = &written
		}
		if f := (flight{in, a}); f.flying() {
			fs = append(fs, f)
		}
	}
	l.Store.AfterCommit(ctx, func() { l.Memo.put(use, fs) })
}

// apart are copies, each by itself: one that is remembered for long keeps no others.
func apart(as []domain.Attempt) iter.Seq[*domain.Attempt] {
	return func(yield func(*domain.Attempt) bool) {
		for _, a := range as {
			if !yield(&a) {
				return
			}
		}
	}
}

// Withdraw takes attempts back that were sent and not granted; each instance is
// ready again at once. outcome says why (no_ack, refused). It returns the
// attempts that it took back.
func (l *Lifecycle) Withdraw(ctx context.Context, attempts []domain.ID, outcome domain.Outcome, note string) ([]domain.ID, error) {
	var out []domain.ID
	err := l.attempts(ctx, "broker", attempts, func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error {
		if a.State != domain.AttemptSent {
			return nil
		}
		a.State, a.Outcome, a.FinishedAt, a.Message = domain.AttemptWithdrawn, outcome, b.now, note
		b.attempt(a)
		out = append(out, a.ID)
		if in.AttemptID != a.ID || in.Label != domain.Dispatched {
			return nil
		}
		spec, _, err := l.readable(ctx, in)
		if err != nil {
			return err
		}
		in.WakeAt = queueLimit(spec, in.ReadyAt)
		_, err = b.move(in, domain.MoveWithdraw, domain.Status{State: domain.Running, Label: domain.Queued},
			fmt.Sprintf("attempt %d on %s taken back: %s", a.Ordinal, a.Target, note))
		return err
	})
	return out, err
}

// attempts locks the instances of the attempts, brings both as they now stand and
// calls decide for each pair, in order of the attempts, then writes.
func (l *Lifecycle) attempts(ctx context.Context, actor string, ids []domain.ID, decide func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error) error {
	use, known := l.Memo.take(ids)
	defer l.Memo.release(use, ids)
	owners, err := l.owners(ctx, ids, known)
	if err != nil {
		return err
	}
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch(actor, len(ids))
		as, err := b.lockWith(ctx, ids, owners, func() map[domain.ID]flight {
			l.Memo.still(use, known)
			return known
		})
		if err != nil {
			return err
		}
		for _, id := range inOrder(as) {
			a := as[id]
			in, ok := b.moved[a.InstanceID]
			if !ok {
				in, ok = b.was[a.InstanceID]
			}
			if !ok {
				continue // retention took it
			}
			if err := decide(ctx, b, *in, *a); err != nil {
				return err
			}
		}
		for _, a := range slices.Concat(b.granted, b.attempts) {
			as[a.ID] = a
		}
		l.remember(ctx, b, use, maps.Values(as))
		return b.flush(ctx, l.Store.Save)
	})
}

// owners are the instances of attempts.
func (l *Lifecycle) owners(ctx context.Context, ids []domain.ID, known map[domain.ID]flight) ([]domain.ID, error) {
	owners := make([]domain.ID, 0, len(ids))
	var strangers []domain.ID
	for _, id := range ids {
		if f, ok := known[id]; ok {
			owners = append(owners, f.in.ID)
		} else {
			strangers = append(strangers, id)
		}
	}
	if len(strangers) == 0 {
		return owners, nil
	}
	found, err := l.Store.Owners(ctx, strangers)
	return append(owners, found...), err
}

// lockWith locks the owners and brings the attempts. What still says, asked under the
// lock, of a flight counts when the locked instance has the ver that it had then; the
// rest is read.
func (b *batch) lockWith(ctx context.Context, ids, owners []domain.ID, still func() map[domain.ID]flight) (map[domain.ID]*domain.Attempt, error) {
	vers, err := b.l.Store.LockVers(ctx, owners)
	if err != nil {
		return nil, err
	}
	known := still()
	var strangers []domain.ID
	for _, id := range ids {
		f, ok := known[id]
		if ok && vers[f.in.ID] == f.in.Ver {
			b.was[f.in.ID], b.wasOf[id] = f.in, f.a
			delete(vers, f.in.ID)
		} else {
			strangers = append(strangers, id)
		}
	}
	if len(vers) > 0 {
		rest, err := b.l.Store.ByIDs(ctx, slices.Collect(maps.Keys(vers)))
		if err != nil {
			return nil, err
		}
		b.stand(rest)
	}
	if len(strangers) > 0 {
		if _, err := b.read(ctx, strangers); err != nil {
			return nil, err
		}
	}
	return maps.Clone(b.wasOf), nil
}

// Hold sets ready instances aside, because another of the job is in their way.
func (l *Lifecycle) Hold(ctx context.Context, ids []domain.ID, note string) error {
	return l.each(ctx, ids, domain.Status{State: domain.Running, Label: domain.Queued}, domain.MoveHold, domain.Status{State: domain.Running, Label: domain.HeldOverlap}, note)
}

// Unhold makes instances ready again that were set aside.
func (l *Lifecycle) Unhold(ctx context.Context, ids []domain.ID, note string) error {
	return l.each(ctx, ids, domain.Status{State: domain.Running, Label: domain.HeldOverlap}, domain.MoveUnhold, domain.Status{State: domain.Running, Label: domain.Queued}, note)
}

// Skip cancels ready instances because the overlap policy says no.
func (l *Lifecycle) Skip(ctx context.Context, ids []domain.ID, note string) error {
	return l.each(ctx, ids, domain.Status{State: domain.Running, Label: domain.Queued}, domain.MoveSkip, domain.Status{State: domain.Cancelled, Label: domain.Skipped}, note)
}

// HoldPool sets ready instances aside, because their pool has no place for them.
func (l *Lifecycle) HoldPool(ctx context.Context, ids []domain.ID) error {
	return l.change(ctx, "broker", ids, func(_ context.Context, b *batch, in domain.Instance) error {
		if in.Status != running(domain.Queued) || in.IsSplit() {
			return nil
		}
		_, err := b.move(in, domain.MoveHoldPool, running(domain.HeldPool), fmt.Sprintf("pool %s has no free place for it", in.Pool))
		return err
	})
}

// UnholdPool makes instances ready again that waited for a place in their pool. It returns
// those that it moved: the others did not wait any more.
func (l *Lifecycle) UnholdPool(ctx context.Context, ids []domain.ID) ([]domain.ID, error) {
	var moved []domain.ID
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		moved = nil
		return l.change(ctx, "broker", ids, func(_ context.Context, b *batch, in domain.Instance) error {
			if in.Label != domain.HeldPool || in.IsSplit() {
				return nil
			}
			moved = append(moved, in.ID)
			_, err := b.move(in, domain.MoveUnholdPool, running(domain.Queued), fmt.Sprintf("pool %s has a free place and it is the next", in.Pool))
			return err
		})
	})
	return moved, err
}

// each makes the same move with those of the instances that stand as expected.
func (l *Lifecycle) each(ctx context.Context, ids []domain.ID, from domain.Status, name domain.MoveName, to domain.Status, note string) error {
	return l.change(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance) error {
		if in.Status != from {
			return nil
		}
		_, err := b.move(in, name, to, note)
		return err
	})
}
