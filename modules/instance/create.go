package instance

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Create makes instances with their dependency rows, in the transaction that ctx
// carries or in one of its own. An instance without dependencies is born ready;
// one with Skip is born cancelled/skipped. Exists if a fire key is there already.
func (l *Lifecycle) Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error) {
	var out []domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) error {
		now := l.Now()
		ins := make([]domain.Instance, 0, len(news))
		wants := make(map[domain.ID]domain.JobSpec, len(news))
		var waiting []domain.Instance
		for _, n := range news {
			spec, err := l.Specs.Spec(ctx, n.JobID, n.Version)
			if err != nil {
				return err
			}
			in := l.born(n, spec, now)
			wants[in.ID] = spec
			ins = append(ins, in)
			if !in.State.Terminal() {
				waiting = append(waiting, in)
			}
		}
		left, err := l.Deps.Attach(ctx, waiting)
		if err != nil {
			return err
		}
		changes := make([]domain.Change, len(ins))
		for i := range ins {
			if !ins[i].State.Terminal() {
				ins[i] = waitOrReady(ins[i], wants[ins[i].ID], left[ins[i].ID], now)
			}
			changes[i] = domain.Change{Instance: ins[i]}
		}
		if err := l.Store.Insert(ctx, ins); err != nil {
			return err
		}
		out = ins
		return l.record(ctx, changes)
	})
	return out, err
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
	in.DepsLeft, in.WakeAt, in.MetAt = left, time.Time{}, time.Time{}
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
