package instance

import (
	"context"
	"fmt"

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

// CancelUpstream cancels instances that wait for a cause which will not succeed,
// each only while it waits and while its cause still stands. It returns those
// cancelled, so that the next step can follow.
func (l *Lifecycle) CancelUpstream(ctx context.Context, causes map[domain.ID]domain.Cause) ([]domain.Instance, error) {
	all := inOrder(causes)
	for _, c := range causes {
		all = append(all, c.Instance)
	}
	var out []domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		b := l.batch("dag")
		locked, err := b.lock(ctx, all)
		if err != nil {
			return err
		}
		for _, id := range inOrder(causes) {
			in, c := locked[id], causes[id]
			up, ok := locked[c.Instance]
			stands := ok && up.RunID == c.Run && up.State.Terminal() && up.State != domain.Success
			if in.Label != domain.WaitingDeps || !stands {
				continue
			}
			in.CancelledBy = domain.CancelledBy{InstanceID: c.Instance, RunID: c.Run}
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
