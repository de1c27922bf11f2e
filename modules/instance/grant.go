package instance

import (
	"context"
	"fmt"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// verdict of decideGrant.
type grantVerdict int

const (
	deny grantVerdict = iota
	grant
	grantAgain // the same boot asks once more for what it was given
)

// decideGrant decides one claim. It is a race with withdrawal and kill on the
// locked instance: whoever moved the row first has won.
func decideGrant(in domain.Instance, a domain.Attempt, c domain.Claim) (grantVerdict, string) {
	switch {
	case a.Target != c.Worker || a.Boot != c.Boot:
		return deny, fmt.Sprintf("the attempt was sent to %s (boot %d)", a.Target, a.Boot)
	case in.RunID != a.RunID:
		return deny, "the run was replaced by a later one"
	case in.AttemptID != a.ID:
		return deny, "a later attempt has taken its place"
	case a.State == domain.AttemptSent && in.Label == domain.Dispatched:
		return grant, ""
	case a.State == domain.AttemptGranted && in.State == domain.Running && in.Label != domain.Stopping:
		return grantAgain, ""
	case in.Label == domain.Stopping || in.Label == domain.Killed:
		return deny, "it was killed"
	}
	return deny, fmt.Sprintf("the attempt is %s and the instance %s", a.State, in.Status)
}

// Grant decides claims, in one transaction: a task for each attempt that may run,
// for every other the reason why not. What a granted attempt is to do is read at
// this moment. An attempt whose templates cannot be filled is ended as an error
// and denied.
func (l *Lifecycle) Grant(ctx context.Context, claims []domain.Claim) (tasks map[domain.ID]*protocol.Task, denied map[domain.ID]string, err error) {
	byID := make(map[domain.ID]domain.Claim, len(claims))
	ids := make([]domain.ID, len(claims))
	for i, c := range claims {
		byID[c.Attempt], ids[i] = c, c.Attempt
	}
	tasks, denied = map[domain.ID]*protocol.Task{}, map[domain.ID]string{}
	wholes := paramsOf{}
	err = l.attempts(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error {
		delete(tasks, a.ID) // of a try that met a deadlock
		delete(denied, a.ID)
		verdict, why := decideGrant(in, a, byID[a.ID])
		if verdict == deny {
			denied[a.ID] = why
			return nil
		}
		task, err := l.task(ctx, wholes, in, a)
		if err != nil {
			denied[a.ID] = "the task could not be made: " + err.Error()
			return l.unrunnable(ctx, b, in, a, denied[a.ID])
		}
		tasks[a.ID] = task
		if verdict == grant {
			a.State, a.AckedAt, a.GrantedAt = domain.AttemptGranted, b.now, b.now
			b.granted = append(b.granted, &a)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		if tasks[id] == nil && denied[id] == "" {
			denied[id] = "there is no such attempt"
		}
	}
	return tasks, denied, nil
}

// unrunnable ends an attempt whose task cannot be made.
func (l *Lifecycle) unrunnable(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt, why string) error {
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return err
	}
	a.State = domain.AttemptGranted
	return b.apply(in, a, nil, spec, protocol.Report{Attempt: int64(a.ID), Outcome: string(domain.OutcomeError), Message: why})
}

// paramsOf are the params of instances that were split: they do not change while a shard is under way.
type paramsOf map[domain.ID]map[string]string

// read reads those of an instance, once.
func (p paramsOf) read(ctx context.Context, l *Lifecycle, id domain.ID) (map[string]string, error) {
	params, known := p[id]
	if known {
		return params, nil
	}
	whole, err := l.Store.Get(ctx, id)
	if err == nil {
		p[id] = whole.Params
	}
	return whole.Params, err
}

func (l *Lifecycle) task(ctx context.Context, wholes paramsOf, in domain.Instance, a domain.Attempt) (*protocol.Task, error) {
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return nil, err
	}
	if in.IsShard() {
		if in.Params, err = wholes.read(ctx, l, in.PartOf); err != nil { // kept once for all shards
			return nil, err
		}
	}
	r, err := l.Renderer.Render(ctx, spec, in, a)
	if err != nil {
		return nil, err
	}
	return &protocol.Task{
		Attempt: int64(a.ID), TraceID: in.TraceID, TaskID: TaskID(in, spec), Project: spec.Project, TaskName: in.JobName,
		BizDate: in.BizDate.String(), ExecType: spec.Exec.Type, Exec: r.Exec, Params: r.Params, Env: r.Env,
		Expected: domain.Millis(in.Expected), Timeout: a.Deadline.Milliseconds(), Ordinal: a.Ordinal,
		Shard: protocol.Shard{Index: a.Shard, Total: in.Total()}, Lane: string(a.Lane), OnLost: string(spec.OnWorkerLost),
		Early:   in.Trigger == domain.TriggerManual || in.Trigger == domain.TriggerBackfill || in.RunNo > 1,
		Net:     r.Net,
		Secrets: r.Secrets,
	}, nil
}
