package backfill

import (
	"context"
	"fmt"

	"github.com/axsched/ax/modules/backfill/plan"
	"github.com/axsched/ax/modules/domain"
)

// Pause lets nothing of a backfill begin until it is resumed; what runs goes on. allow is
// asked with it locked. Conflict unless it is running.
func (b *Backfills) Pause(ctx context.Context, id domain.ID, reason string, allow func(plan.Backfill) error) (plan.Backfill, error) {
	return b.change(ctx, id, reason, allow, func(ctx context.Context, f *plan.Backfill) error {
		if f.State != plan.Running {
			return misfit(*f)
		}
		f.State, f.Pause, f.PauseBy = plan.Paused, plan.ByPerson, domain.ActorOf(ctx)
		return nil
	})
}

// Resume lets a paused backfill go on. What had failed and was put right by hand since
// counts as it stands now.
func (b *Backfills) Resume(ctx context.Context, id domain.ID, reason string, allow func(plan.Backfill) error) (plan.Backfill, error) {
	return b.change(ctx, id, reason, allow, func(ctx context.Context, f *plan.Backfill) error {
		if f.State != plan.Paused {
			return misfit(*f)
		}
		f.State, f.Pause, f.PauseBy = plan.Running, "", ""
		failed, err := b.Store.Items(ctx, f.ID, plan.ItemFailed, 0, 0)
		if err != nil {
			return err
		}
		changed, err := b.judged(ctx, failed, false)
		if err != nil {
			return err
		}
		for _, it := range changed {
			f.Counts.Move(plan.ItemFailed, it.State)
		}
		return b.Store.SaveItems(ctx, f.ID, changed)
	})
}

// Stop ends a backfill: what has not begun is dropped. What runs is ended too with kills,
// else it goes on to its own end.
func (b *Backfills) Stop(ctx context.Context, id domain.ID, kills bool, reason string, allow func(plan.Backfill) error) (plan.Backfill, error) {
	return b.change(ctx, id, reason, allow, func(ctx context.Context, f *plan.Backfill) error {
		if f.State.Over() || f.State == plan.Stopping && (f.Kills || !kills) {
			return misfit(*f)
		}
		n, err := b.Store.Drop(ctx, f.ID)
		f.Counts.Waiting, f.Counts.Dropped = f.Counts.Waiting-n, f.Counts.Dropped+n
		f.State, f.Pause, f.PauseBy, f.Kills = plan.Stopping, "", domain.ActorOf(ctx), kills
		if f.Counts.Running == 0 {
			f.State, f.FinishedAt = plan.Stopped, b.Now()
		}
		return err
	})
}

func misfit(b plan.Backfill) error {
	return domain.Fail(domain.Conflict, "backfill %s is %s", b.ID, b.State).Coded("backfill.misfit", "id", b.ID.String(), "state", string(b.State))
}

// change locks a backfill, asks whether it may be changed, changes and records it.
func (b *Backfills) change(ctx context.Context, id domain.ID, reason string, allow func(plan.Backfill) error, edit func(context.Context, *plan.Backfill) error) (plan.Backfill, error) {
	var out plan.Backfill
	err := b.Store.Tx(ctx, func(ctx context.Context) error {
		was, err := b.Store.Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := allow(was); err != nil {
			return err
		}
		out = was
		if err := edit(ctx, &out); err != nil {
			return err
		}
		out.ChangedAt = b.Now()
		if err := b.Store.Save(ctx, out); err != nil {
			return err
		}
		out.Ver++
		b.ring(ctx)
		return b.Audit.Changed(ctx, out.ProjectID, string(domain.ActBackfillControl), object(id), standing(was, ""), standing(out, reason))
	})
	return out, err
}

// standing is how a backfill stands, for the trail.
func standing(b plan.Backfill, reason string) string {
	text := fmt.Sprintf("job: %s\nstate: %s\nwaiting: %d", b.JobName, b.State, b.Counts.Waiting)
	if b.Kills {
		text += "\nkills: true"
	}
	if reason != "" {
		text += fmt.Sprintf("\nreason: %q", reason)
	}
	return text
}

// judged reads the instances of items and gives those items, in order, that stand otherwise now. kills
// is Judge's.
func (b *Backfills) judged(ctx context.Context, items []plan.Item, kills bool) ([]plan.Item, error) {
	ids := make([]domain.ID, len(items))
	for i, it := range items {
		ids[i] = it.Instance
	}
	ins, err := b.Instances.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []plan.Item
	for _, it := range items {
		in, ok := ins[it.Instance]
		state := plan.Judge(in, ok, kills)
		if state == it.State {
			continue
		}
		it.State = state
		if ok {
			it.RunNo = in.RunNo
		}
		out = append(out, it)
	}
	return out, nil
}
