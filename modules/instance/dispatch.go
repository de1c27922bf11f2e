package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Dispatch commits attempts for instances that still stand as they were read, and
// returns these attempts; the others have moved meanwhile and are left alone. The
// caller sends what is returned, after this has returned.
func (l *Lifecycle) Dispatch(ctx context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	byID := make(map[domain.ID]domain.Assignment, len(as))
	ids := make([]domain.ID, len(as))
	for i, a := range as {
		byID[a.Instance.ID], ids[i] = a, a.Instance.ID
	}
	var out []domain.Attempt
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		b := l.batch("broker")
		locked, err := l.Store.Lock(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range inOrder(locked) {
			in, a := locked[id], byID[id]
			if in.Ver != a.Instance.Ver || in.Label != domain.Queued {
				continue
			}
			spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
			if err != nil {
				return err
			}
			in.AttemptID, in.WakeAt, in.StartedAt = a.Attempt, time.Time{}, time.Time{}
			in.Attempts++
			if in, err = b.move(in, domain.MoveDispatch, domain.Status{State: domain.Running, Label: domain.Dispatched}, ""); err != nil {
				return err
			}
			out = append(out, domain.Attempt{ID: a.Attempt, ProjectID: in.ProjectID, InstanceID: in.ID, RunID: in.RunID, Ordinal: in.Attempts,
				State: domain.AttemptSent, Target: a.Target, Boot: a.Boot, Lane: in.Lane, MessageID: a.MessageID, DispatchedAt: b.now,
				Deadline: time.Duration(spec.TimeoutSec) * time.Second})
		}
		if err := l.Store.InsertAttempts(ctx, out); err != nil {
			return err
		}
		return b.flush(ctx, l.Store.Save)
	})
	return out, err
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
		spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return err
		}
		in.WakeAt = queueLimit(spec, b.now)
		_, err = b.move(in, domain.MoveWithdraw, domain.Status{State: domain.Running, Label: domain.Queued},
			fmt.Sprintf("attempt %d on %s taken back: %s", a.Ordinal, a.Target, note))
		return err
	})
	return out, err
}

// attempts locks the instances of the attempts, reads these again and calls
// decide for each pair, then writes.
func (l *Lifecycle) attempts(ctx context.Context, actor string, ids []domain.ID, decide func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error) error {
	owners, err := l.Store.Owners(ctx, ids)
	if err != nil {
		return err
	}
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch(actor)
		locked, err := l.Store.Lock(ctx, owners)
		if err != nil {
			return err
		}
		as, err := l.Store.Attempts(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range inOrder(as) {
			a := as[id]
			in, ok := b.moved[a.InstanceID]
			if !ok {
				in, ok = locked[a.InstanceID]
			}
			if !ok {
				continue // retention took it
			}
			if err := decide(ctx, b, in, a); err != nil {
				return err
			}
		}
		return b.flush(ctx, l.Store.Save)
	})
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
