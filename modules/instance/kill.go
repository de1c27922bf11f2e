package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Kill ends an instance on a person's word. What was not granted yet is cancelled
// at once; what runs becomes stopping, and the broker tells its worker. Conflict
// if it has ended already. It returns the instance as it then stands.
func (l *Lifecycle) Kill(ctx context.Context, id domain.ID, actor, reason string) (domain.Instance, error) {
	var out domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch(actor, 1)
		locked, err := b.lock(ctx, []domain.ID{id})
		if err != nil {
			return err
		}
		in, ok := locked[id]
		if !ok {
			return domain.Fail(domain.NotFound, "there is no instance %s", id).Coded("error.no_instance", "id", id.String())
		}
		if err := whole(in, "killed"); err != nil {
			return err
		}
		if in.State.Terminal() {
			return domain.Fail(domain.Conflict, "instance %s has ended already: %s", id, in.Status).Coded("error.ended_already", "status", in.Status.String())
		}
		if in.Label == domain.Stopping {
			out = in
			return nil
		}
		if out, err = b.kill(ctx, in, reason); err != nil {
			return err
		}
		return b.flush(ctx, l.Store.Save)
	})
	return out, err
}

// stopLimit is how long the end of what was told to stop is waited for. A worker that is
// lost settles it earlier; one that lives needs a few seconds, unless the task cannot be
// killed at all.
const stopLimit = 2 * time.Minute

func (b *batch) kill(ctx context.Context, in domain.Instance, reason string) (domain.Instance, error) {
	if in.IsSplit() {
		return b.killShards(ctx, in, reason)
	}
	note := b.killNote(reason)
	held := in.Label == domain.Dispatched || in.Label == domain.Executing || in.Label == domain.Orphan
	if held {
		a, ok, err := b.inForce(ctx, in)
		if err != nil {
			return in, err
		}
		switch {
		case ok && a.State == domain.AttemptGranted:
			a.KillAt = b.now
			b.attempt(a)
			in.WakeAt = b.now.Add(stopLimit)
			return b.move(in, domain.MoveStop, running(domain.Stopping), note)
		case ok && a.State == domain.AttemptSent:
			a.State, a.Outcome, a.FinishedAt, a.Message = domain.AttemptWithdrawn, domain.OutcomeKilled, b.now, note
			b.attempt(a)
		case ok && in.Label == domain.Orphan:
			in.FinishedAt = a.FinishedAt // when it was last heard of
		}
	}
	return b.move(in, domain.MoveKill, killed, note)
}

// inForce is the attempt in force of a locked instance, read unless it was; false: there is none.
func (b *batch) inForce(ctx context.Context, in domain.Instance) (domain.Attempt, bool, error) {
	if a := b.wasOf[in.AttemptID]; a != nil {
		return *a, true, nil
	}
	as, err := b.read(ctx, []domain.ID{in.AttemptID})
	a, ok := as[in.AttemptID]
	return a, ok, err
}

func (b *batch) killNote(reason string) string {
	if reason == "" {
		return "killed by " + b.actor
	}
	return "killed by " + b.actor + ": " + reason
}

// Replace asks for the end of instances that a later one replaces (overlap:
// replace), like Kill for each that has not ended.
func (l *Lifecycle) Replace(ctx context.Context, ids []domain.ID, by domain.ID) error {
	return l.change(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance) error {
		if in.State.Terminal() || in.Label == domain.Stopping {
			return nil
		}
		_, err := b.kill(ctx, in, fmt.Sprintf("replaced by instance %s", by))
		return err
	})
}

// giveUp ends an instance whose end its worker did not confirm within the limit. The
// attempt counts as lost, so that the worker is told to stop it for as long as it names
// it.
func (b *batch) giveUp(ctx context.Context, in domain.Instance) error {
	as, err := b.read(ctx, []domain.ID{in.AttemptID})
	if err != nil {
		return err
	}
	note := "killed; its end was not confirmed"
	if a, ok := as[in.AttemptID]; ok {
		note = fmt.Sprintf("killed; its end was not confirmed by %s within %s: it may still run", a.Target, stopLimit)
		if a.State == domain.AttemptGranted {
			a.State, a.Outcome, a.FinishedAt, a.Message, a.StartedAt = domain.AttemptLost, domain.OutcomeKilled, b.now, note, StartOf(in, a)
			b.attempt(a)
		}
	}
	_, err = b.move(in, domain.MoveKill, killed, note)
	return err
}
