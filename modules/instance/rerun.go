package instance

import (
	"context"
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Rerun opens a new run on an instance that has ended, with the version and the
// params of the run before. What never ran because of its upstream waits for its
// dependencies again; anything else is ready at once. Conflict if it has not
// ended.
func (l *Lifecycle) Rerun(ctx context.Context, id domain.ID, actor, reason string) (domain.Instance, error) {
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
		if err := whole(in, "run again"); err != nil {
			return err
		}
		if !in.State.Terminal() {
			return domain.Fail(domain.Conflict, "instance %s has not ended: it is %s", id, in.Status).
				WithHint("kill it first, or wait for its end").Coded("error.not_ended", "status", in.Status.String())
		}
		if err := l.Deps.Reopened(ctx, []domain.Instance{in}); err != nil {
			return err
		}
		if out, err = b.reopen(ctx, in, domain.MoveRerun, neverRan(in), reason); err != nil {
			return err
		}
		return b.flush(ctx, l.Store.SaveRun)
	})
	return out, err
}

// Reopen opens new runs, all in one transaction, on those instances that have ended in
// the run that was seen, each with the version of the run before. The others are left
// alone: it returns those that run again.
func (l *Lifecycle) Reopen(ctx context.Context, again []domain.Reopening, actor string) ([]domain.Instance, error) {
	var out []domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		out = nil
		b := l.batch(actor, len(again))
		ids := make([]domain.ID, len(again))
		wanted := make(map[domain.ID]domain.Reopening, len(again))
		for i, r := range again {
			ids[i], wanted[r.Instance] = r.Instance, r
		}
		locked, err := b.lock(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range inOrder(locked) {
			in, r := locked[id], wanted[id]
			if !in.State.Terminal() || in.RunNo != r.RunNo {
				continue
			}
			if in, err = b.again(ctx, in, r); err != nil {
				return err
			}
			out = append(out, in)
		}
		return b.flush(ctx, l.Store.SaveRun)
	})
	return out, err
}

// again opens one of the runs that are asked for.
func (b *batch) again(ctx context.Context, in domain.Instance, r domain.Reopening) (domain.Instance, error) {
	if err := b.l.Deps.Reopened(ctx, []domain.Instance{in}); err != nil {
		return in, err
	}
	next := in
	if r.Trigger != "" {
		next.Trigger = r.Trigger
	}
	if r.Params != nil {
		next.Params = r.Params
	}
	return b.replace(ctx, in, opening{next, domain.MoveRerun, r.Waits || neverRan(in), r.Reason})
}

// neverRan reports whether the instance ended because of what it waited for.
func neverRan(in domain.Instance) bool {
	return in.Label == domain.UpstreamFailed || in.Label == domain.DepsTimeout
}

// Restore brings back, after the success of a rerun, what was cancelled because
// of the instance, step by step: each waits for its dependencies again.
func (l *Lifecycle) Restore(ctx context.Context, cause domain.Instance) error {
	next := []domain.ID{cause.ID}
	for len(next) > 0 {
		victims, err := l.Store.CancelledBecauseOf(ctx, next)
		if err != nil {
			return err
		}
		next = nil
		for _, v := range victims {
			next = append(next, v.ID)
		}
		if err := l.restore(ctx, next, cause); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lifecycle) restore(ctx context.Context, ids []domain.ID, cause domain.Instance) error {
	if len(ids) == 0 {
		return nil
	}
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch("dag", len(ids))
		locked, err := b.lock(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range inOrder(locked) {
			in := locked[id]
			if in.Label != domain.UpstreamFailed {
				continue
			}
			note := fmt.Sprintf("brought back: %s (instance %s) succeeded in run %d", cause.JobName, cause.ID, cause.RunNo)
			if _, err := b.reopen(ctx, in, domain.MoveRestore, true, note); err != nil {
				return err
			}
		}
		return b.flush(ctx, l.Store.SaveRun)
	})
}

// reopen files the run in force away and puts a new one like it in its place.
func (b *batch) reopen(ctx context.Context, in domain.Instance, name domain.MoveName, waits bool, reason string) (domain.Instance, error) {
	return b.replace(ctx, in, opening{in, name, waits, reason})
}

// opening is a run that takes the place of the one in force.
type opening struct {
	in     domain.Instance // as it was, but for what makes it due and its params
	by     domain.MoveName
	waits  bool
	reason string
}

// replace files the run in force away and puts a new one in its place.
func (b *batch) replace(ctx context.Context, was domain.Instance, o opening) (domain.Instance, error) {
	l, in := b.l, o.in
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return in, err
	}
	if err := l.Store.FileRun(ctx, was); err != nil {
		return in, err
	}
	left := map[domain.ID]int{}
	if o.waits {
		if left, err = l.Deps.Attach(ctx, []domain.Instance{in}); err != nil {
			return in, err
		}
	}
	in.RunID = l.IDs.Next()
	in.RunNo++
	in.TraceID = domain.NewTraceID(in.RunID)
	in.RetriesUsed, in.LostCount, in.Attempts, in.Sharding = 0, 0, 0, domain.Sharding{}
	in.AttemptID, in.StartedAt, in.FinishedAt, in.Message = 0, time.Time{}, time.Time{}, ""
	in.CancelledBy = domain.CancelledBy{}
	in.RequestedBy, in.Reason = b.actor, o.reason
	to := waitOrReady(in, spec, left[in.ID], b.now)
	status := to.Status
	to.Status = in.Status
	out, err := b.move(to, o.by, status, o.reason)
	if err != nil {
		return in, err
	}
	return out, l.Store.OpenRun(ctx, out, b.now)
}
