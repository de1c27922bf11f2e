package instance

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Create makes instances with their dependency rows, in the transaction that ctx
// carries or in one of its own. An instance without dependencies is born ready, and
// dispatched where it is given a target at once; one with Skip is born
// cancelled/skipped. Exists if a fire key is there already.
func (l *Lifecycle) Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error) {
	var out []domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		ins, specs, err := l.draft(ctx, news)
		if err != nil {
			return err
		}
		sent, settle, err := l.early(ctx, ins, specs)
		if err != nil {
			return err
		}
		if err := l.Store.Insert(ctx, ins); err != nil {
			return err
		}
		if err := l.Store.InsertAttempts(ctx, sent); err != nil {
			return err
		}
		changes := make([]domain.Change, len(ins))
		for i := range ins {
			changes[i] = domain.Change{Instance: ins[i]}
		}
		out = ins
		if err := l.record(ctx, changes); err != nil {
			return err
		}
		if settle != nil { // heard of first, and sent then: what comes back of it is a later change
			l.Store.AfterCommit(ctx, func() { settle(sent, true) })
		}
		return nil
	})
	return out, err
}

// draft is how the new instances stand at their birth, with the definition of each.
func (l *Lifecycle) draft(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, []domain.JobSpec, error) {
	now := bornAt(news, l.Now())
	ins, specs := make([]domain.Instance, len(news)), make([]domain.JobSpec, len(news))
	for i, n := range news {
		spec, err := l.Specs.Spec(ctx, n.JobID, n.Version)
		if err != nil {
			return nil, nil, err
		}
		ins[i], specs[i] = l.born(n, spec, now), spec
	}
	waiting := ins
	if ended := func(in domain.Instance) bool { return in.State.Terminal() }; slices.ContainsFunc(ins, ended) {
		waiting = slices.DeleteFunc(slices.Clone(ins), ended)
	}
	left, err := l.Deps.Attach(ctx, waiting)
	if err != nil {
		return nil, nil, err
	}
	for i, in := range ins {
		if !in.State.Terminal() {
			ins[i] = waitOrReady(in, specs[i], left[in.ID], now)
		}
	}
	return ins, specs, nil
}

// bornAt is now, or a little later: whether a fire is due is judged by the database's own clock, which now follows to
// within milliseconds, and none may stand as made before it was due.
func bornAt(news []domain.NewInstance, now time.Time) time.Time {
	for _, n := range news {
		switch n.Trigger {
		case domain.TriggerCron, domain.TriggerEvery, domain.TriggerAt:
			if n.Expected.After(now) {
				now = n.Expected
			}
		}
	}
	return now
}

func (l *Lifecycle) born(n domain.NewInstance, spec domain.JobSpec, now time.Time) domain.Instance {
	id := l.IDs.Next()
	if n.FireKey == "" {
		n.FireKey = domain.ManualFireKey(id)
	}
	in := domain.Instance{
		ID: id, ProjectID: n.ProjectID, JobID: n.JobID, JobName: n.JobName, FireKey: n.FireKey, Trigger: n.Trigger,
		BizDate: n.BizDate, Expected: n.Expected, Ver: 1, RunID: id, RunNo: 1, TraceID: domain.NewTraceID(id),
		Version: n.Version, Params: maps.Clone(n.Params), RequestedBy: n.RequestedBy, Reason: n.Reason, Lane: spec.Priority, CreatedAt: now,
		Status: domain.Status{State: domain.Running, Label: domain.Queued},
	}
	if n.Skip != "" {
		in.Status = domain.Status{State: domain.Cancelled, Label: domain.Skipped}
		in.FinishedAt, in.Message = now, n.Skip
	}
	return in
}

// waitOrReady puts a new or reopened instance in the state that its dependencies
// ask for, with the limit that its job sets on that wait.
func waitOrReady(in domain.Instance, spec domain.JobSpec, left int, now time.Time) domain.Instance {
	in.DepsLeft, in.WakeAt, in.MetAt, in.Pool = left, time.Time{}, time.Time{}, spec.Pool
	if left > 0 {
		in.Status = domain.Status{State: domain.Running, Label: domain.WaitingDeps}
		in.ReadyAt = time.Time{}
		if spec.DepsTimeoutSec > 0 {
			in.WakeAt = now.Add(time.Duration(spec.DepsTimeoutSec) * time.Second)
		}
		return in
	}
	in.Status = domain.Status{State: domain.Running, Label: domain.Queued}
	in.ReadyAt = now
	in.WakeAt = queueLimit(spec, now)
	return in
}

func queueLimit(spec domain.JobSpec, now time.Time) time.Time {
	if spec.QueueTimeoutSec == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(spec.QueueTimeoutSec) * time.Second)
}

func inOrder[V any](m map[domain.ID]V) []domain.ID { return slices.Sorted(maps.Keys(m)) }
