package instance

import (
	"context"
	"fmt"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Met lowers the in-degree of instances by as many dependencies as were met for
// each, in the transaction of ctx; whoever reaches 0 is released.
func (l *Lifecycle) Met(ctx context.Context, met map[domain.ID]int) error {
	return l.change(ctx, "dag", inOrder(met), func(ctx context.Context, b *batch, in domain.Instance) error {
		if in.Label != domain.WaitingDeps {
			return nil
		}
		in.DepsLeft = max(in.DepsLeft-met[in.ID], 0)
		if in.DepsLeft > 0 {
			b.keep(in)
			return nil
		}
		spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return err
		}
		in.MetAt, in.WakeAt = b.now, queueLimit(spec, b.now)
		_, err = b.move(in, domain.MoveRelease, running(domain.Queued), "")
		return err
	})
}

// ReleaseByHand lets an instance go on that waits for its dependencies, and waives what it
// still waits for. Conflict if it does not wait for them.
func (l *Lifecycle) ReleaseByHand(ctx context.Context, id domain.ID, actor, reason string) (domain.Instance, error) {
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
		if in.Label != domain.WaitingDeps {
			return domain.Fail(domain.Conflict, "instance %s does not wait for its dependencies: it is %s", id, in.Status).
				Coded("error.not_waiting", "status", in.Status.String())
		}
		if err := l.Deps.Waive(ctx, id); err != nil {
			return err
		}
		spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil {
			return err
		}
		in.DepsLeft, in.MetAt, in.WakeAt = 0, b.now, queueLimit(spec, b.now)
		if out, err = b.move(in, domain.MoveWaive, running(domain.Queued), reason); err != nil {
			return err
		}
		return b.flush(ctx, l.Store.Save)
	})
	return out, err
}

// Release lets an instance go on without what it still waits for. A reason is needed;
// allow is asked, with the instance locked as it stands.
func (r *Requests) Release(ctx context.Context, id domain.ID, reason string, allow func(domain.Instance) error) (domain.Instance, error) {
	if strings.TrimSpace(reason) == "" {
		return domain.Instance{}, domain.Fail(domain.Invalid, "say why: the reason is kept").At("reason").Coded("orphan.no_reason")
	}
	return r.change(ctx, id, domain.ActInstanceRelease, reason, allow, r.Lifecycle.ReleaseByHand)
}

// Unmet raises the in-degree of instances that still wait, in the transaction of
// ctx: an upstream that had met them runs again.
func (l *Lifecycle) Unmet(ctx context.Context, unmet map[domain.ID]int) error {
	return l.change(ctx, "dag", inOrder(unmet), func(ctx context.Context, b *batch, in domain.Instance) error {
		if in.Label == domain.WaitingDeps {
			in.DepsLeft += unmet[in.ID]
			b.keep(in)
		}
		return nil
	})
}

// CancelUpstream cancels instances that wait for a cause which ended otherwise than
// they wait for, each only while it waits and while its cause still stands. It returns those
// cancelled, so that the next step can follow. What a success has cancelled, since a failure was
// waited for, is brought back by no rerun of that cause.
func (l *Lifecycle) CancelUpstream(ctx context.Context, causes map[domain.ID]domain.Cause) ([]domain.Instance, error) {
	all := inOrder(causes)
	for _, c := range causes {
		all = append(all, c.Instance)
	}
	var out []domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		b := l.batch("dag", len(all))
		locked, err := b.lock(ctx, all)
		if err != nil {
			return err
		}
		for _, id := range inOrder(causes) {
			in, c := locked[id], causes[id]
			up, ok := locked[c.Instance]
			stands := ok && up.RunID == c.Run && up.State.Terminal() && up.State == c.State
			if in.Label != domain.WaitingDeps || !stands {
				continue
			}
			if up.State != domain.Success {
				in.CancelledBy = domain.CancelledBy{InstanceID: c.Instance, RunID: c.Run}
			}
			in, err = b.move(in, domain.MoveCancelUpstream, domain.Status{State: domain.Cancelled, Label: domain.UpstreamFailed},
				fmt.Sprintf("upstream %s (instance %s) is %s", c.Name, c.Instance, up.Status))
			if err != nil {
				return err
			}
			out = append(out, in)
		}
		return b.flush(ctx, l.Store.Save)
	})
	return out, err
}
