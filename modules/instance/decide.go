package instance

import (
	"fmt"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// maxLost is how often one run may lose its worker before it fails.
const maxLost = 3

// step is what a decision asks for: a move with its target, or none.
type step struct {
	Move domain.MoveName // "" = the instance stays as it is
	To   domain.Status
	Wake time.Time // for a back-off
	Note string
	// Spent says that a retry is spent; Lost that a loss is counted.
	Spent, Lost bool
	// Late says that the report came too late to count and is only kept.
	Late string
}

func running(l domain.Label) domain.Status { return domain.Status{State: domain.Running, Label: l} }

func failed(l domain.Label) domain.Status { return domain.Status{State: domain.Failed, Label: l} }

var killed = domain.Status{State: domain.Cancelled, Label: domain.Killed}

// decideReport decides what an outcome of an attempt does to its instance.
// current is the attempt in force, nil when a is it or it is unknown.
func decideReport(in domain.Instance, a domain.Attempt, current *domain.Attempt, spec domain.JobSpec, r Outcome, now time.Time) step {
	switch {
	case a.RunID != in.RunID:
		return step{Late: "the run was replaced by a later one"}
	case a.State == domain.AttemptEnded:
		return step{Late: "an outcome of this attempt is known already"}
	case r.Outcome == domain.OutcomeSuccess:
		return decideSuccess(in, a, current)
	case orphaned(in, a):
		return decideOrphan(in, spec, r, now)
	case in.AttemptID != a.ID || a.State != domain.AttemptGranted:
		return step{Late: fmt.Sprintf("superseded: the attempt is %s and the instance %s", a.State, in.Status)}
	case in.State != domain.Running:
		return step{Late: fmt.Sprintf("superseded: the instance is %s", in.Status)}
	case r.Outcome == domain.OutcomeWorkerLost:
		return decideLoss(in, spec, r.Message)
	case in.Label == domain.Stopping:
		return step{Move: domain.MoveKill, To: killed, Note: "killed"}
	case r.Outcome == domain.OutcomeRefused:
		return handBack(in, r.Message)
	case r.Outcome == domain.OutcomeKilled:
		return decideFailure(in, spec, domain.ErrorLabel, "the worker killed it: "+r.Message, now)
	case r.Outcome == domain.OutcomeTimeout:
		return decideFailure(in, spec, domain.Timeout, r.Message, now)
	}
	return decideFailure(in, spec, domain.ErrorLabel, r.Message, now)
}

// decideSuccess lets a true success end the run, also a late one while no later
// attempt has been granted.
func decideSuccess(in domain.Instance, a domain.Attempt, current *domain.Attempt) step {
	if in.State.Terminal() {
		return step{Late: fmt.Sprintf("superseded: the instance is %s", in.Status)}
	}
	if a.State == domain.AttemptSent || a.State == domain.AttemptWithdrawn {
		return step{Late: "the attempt was never granted"}
	}
	if in.AttemptID != a.ID && current != nil && current.State != domain.AttemptSent && current.State != domain.AttemptWithdrawn {
		return step{Late: "superseded: a later attempt has been granted"}
	}
	return step{Move: domain.MoveSucceed, To: domain.Status{State: domain.Success}}
}

// decideFailure retries while retries are left, else fails.
func decideFailure(in domain.Instance, spec domain.JobSpec, label domain.Label, message string, now time.Time) step {
	if in.RetriesUsed >= spec.Retry.Times {
		return step{Move: domain.MoveFail, To: failed(label), Note: message}
	}
	wait := time.Duration(spec.Retry.BackoffSec[min(in.RetriesUsed, len(spec.Retry.BackoffSec)-1)]) * time.Second
	return step{Move: domain.MoveRetry, To: domain.Status{State: domain.Retrying, Label: domain.Backoff}, Wake: now.Add(wait), Spent: true,
		Note: fmt.Sprintf("retry %d of %d in %s: %s", in.RetriesUsed+1, spec.Retry.Times, wait, message)}
}

// handBack makes the instance ready again without spending a retry.
func handBack(in domain.Instance, why string) step {
	s := step{Move: domain.MoveWithdraw, To: running(domain.Queued), Note: "refused: " + why}
	if in.Label != domain.Dispatched {
		s.Move = domain.MoveRedispatch
	}
	return s
}

// decideLoss decides for a granted attempt whose worker is lost.
func decideLoss(in domain.Instance, spec domain.JobSpec, note string) step {
	switch {
	case in.Label == domain.Stopping:
		return step{Move: domain.MoveKill, To: killed, Note: "killed; its end was not confirmed: " + note}
	case spec.OnWorkerLost == domain.LossHold && !spec.Idempotent:
		return step{Move: domain.MoveOrphan, To: running(domain.Orphan), Note: note, Lost: true}
	case in.LostCount >= maxLost:
		return step{Move: domain.MoveFail, To: failed(domain.WorkerLost), Note: fmt.Sprintf("worker lost for the %dth time: %s", in.LostCount+1, note), Lost: true}
	}
	return step{Move: domain.MoveRedispatch, To: running(domain.Queued), Note: "may have run in part: " + note, Lost: true}
}

// decideWake decides for an instance whose wake time has come.
func decideWake(in domain.Instance, spec domain.JobSpec, now time.Time) step {
	switch {
	case in.WakeAt.IsZero() || in.WakeAt.After(now):
		return step{}
	case in.State == domain.Retrying:
		return step{Move: domain.MoveRequeue, To: running(domain.Queued)}
	case in.Label == domain.WaitingDeps:
		return step{Move: domain.MoveDepsTimeout, To: failed(domain.DepsTimeout), Note: fmt.Sprintf("waited for its dependencies longer than its deps_timeout of %d s", spec.DepsTimeoutSec)}
	case in.Label == domain.Queued || in.Label == domain.HeldOverlap || in.Label == domain.HeldPool:
		return step{Move: domain.MoveQueueTimeout, To: failed(domain.QueueTimeout), Note: fmt.Sprintf("waited for a target longer than its queue_timeout of %d s", spec.QueueTimeoutSec)}
	}
	return step{}
}
