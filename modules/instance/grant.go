package instance

import (
	"context"
	"fmt"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Claim is one attempt of a claim: a boot of a worker asks for the right to run it.
type Claim struct {
	Attempt domain.ID
	Worker  string
	Boot    int64
	Nonce   string
}

// Answer gives the task, or says why not.
type Answer struct {
	Task   *protocol.Task // nil: denied
	Denied string
}

// verdict of decideGrant.
type grantVerdict int

const (
	deny grantVerdict = iota
	grant
	grantAgain // the same boot asks once more for what it was given
)

// decideGrant decides one claim. It is a race with withdrawal and kill on the
// locked instance: whoever moved the row first has won.
func decideGrant(in domain.Instance, a domain.Attempt, c Claim) (grantVerdict, string) {
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

// Grant decides claims, in one transaction, and answers each. What a granted
// attempt is to do is read at this moment. An attempt whose templates cannot be
// filled is granted, ended as an error and denied.
func (l *Lifecycle) Grant(ctx context.Context, claims []Claim) (map[domain.ID]Answer, error) {
	byID := make(map[domain.ID]Claim, len(claims))
	ids := make([]domain.ID, len(claims))
	for i, c := range claims {
		byID[c.Attempt], ids[i] = c, c.Attempt
	}
	out := make(map[domain.ID]Answer, len(claims))
	err := l.attempts(ctx, "broker", ids, func(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt) error {
		verdict, why := decideGrant(in, a, byID[a.ID])
		if verdict == deny {
			out[a.ID] = Answer{Denied: why}
			return nil
		}
		task, err := l.task(ctx, in, a)
		if err != nil {
			return l.unrunnable(ctx, b, in, a, err, out)
		}
		if verdict == grant {
			a.State, a.Nonce, a.AckedAt, a.GrantedAt = domain.AttemptGranted, byID[a.ID].Nonce, b.now, b.now
			b.granted = append(b.granted, a)
		}
		out[a.ID] = Answer{Task: task}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			out[id] = Answer{Denied: "there is no such attempt"}
		}
	}
	return out, nil
}

// unrunnable ends an attempt whose task cannot be made.
func (l *Lifecycle) unrunnable(ctx context.Context, b *batch, in domain.Instance, a domain.Attempt, cause error, out map[domain.ID]Answer) error {
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return err
	}
	r := protocol.Report{Attempt: int64(a.ID), Outcome: string(domain.OutcomeError), Message: "the task could not be made: " + cause.Error()}
	out[a.ID] = Answer{Denied: r.Message}
	a.State = domain.AttemptGranted
	return b.apply(in, a, nil, spec, r)
}

func (l *Lifecycle) task(ctx context.Context, in domain.Instance, a domain.Attempt) (*protocol.Task, error) {
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	if err != nil {
		return nil, err
	}
	exec, env, err := l.Renderer.Render(spec, in, a)
	if err != nil {
		return nil, err
	}
	return &protocol.Task{
		Attempt: int64(a.ID), TraceID: in.TraceID, TaskID: TaskID(in, spec), Project: spec.Project, TaskName: in.JobName,
		BizDate: in.BizDate.String(), ExecType: spec.Exec.Type, Exec: exec, Params: in.Params, Env: env,
		Expected: domain.Millis(in.Expected), Timeout: a.Deadline.Milliseconds(), Ordinal: a.Ordinal,
		Shard: protocol.Shard{Index: a.Shard, Total: 1}, Lane: string(a.Lane), OnLost: string(spec.OnWorkerLost),
		Early: in.Trigger == domain.TriggerManual || in.Trigger == domain.TriggerBackfill || in.RunNo > 1,
	}, nil
}
