package instance

import (
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Facts is what says why an instance stands where it does. Only what goes with its
// label need be set.
type Facts struct {
	Instance domain.Instance
	Spec     domain.JobSpec
	Attempt  *domain.Attempt // the one in force, or the last
	Missing  []Dependency    // waiting_deps, deps_timeout: what is not met now
	InWay    *domain.Instance
	Pool     *PoolFacts       // held_pool, or queued where the job names one
	Cause    *domain.Instance // upstream_failed: as it now stands
	CauseJob domain.JobKey    // the job of Cause; zero where it is of the same project
	Kill     *domain.Event    // killed: the order
	Settle   *domain.Event    // ended as an orphan: what a person said
	Workers  []domain.Worker  // queued, dispatched, executing, stopping
	// Shards are those of a run that was split; Waits is of the first of them that waits.
	Shards []domain.Instance
	Waits  *Facts
	// BrokerKnown says that BrokerThere is known.
	BrokerKnown, BrokerThere bool
	Outage                   Outage
	LostAfter                time.Duration // how long a worker may be silent; 0 = 10 s
	Now                      time.Time
}

// Why says why an instance is not running, that it runs, or how it ended; and of what
// waits or runs since when, what keeps all of AX from moving it, and until when at most.
func Why(f Facts) Sentence {
	said := why(f)
	for _, more := range []func(Facts) (Sentence, bool){whatKeeps, limit} {
		if s, ok := more(f); ok {
			said.Then = append(said.Then, s)
		}
	}
	return said
}

func why(f Facts) Sentence {
	in := f.Instance
	if s, ok := whySplit(f); ok {
		return s
	}
	switch in.State {
	case domain.Success:
		return whySuccess(f)
	case domain.Failed:
		return whyFailed(f)
	case domain.Cancelled:
		return whyCancelled(f)
	case domain.Retrying:
		return whyRetrying(f)
	}
	switch in.Label {
	case domain.WaitingDeps:
		return whyWaiting(f)
	case domain.WaitingApproval:
		return say("why.waiting_approval")
	case domain.HeldPool:
		return whyPool(f)
	case domain.HeldOverlap:
		return whyHeld(f)
	case domain.Queued:
		if f.InWay != nil && (f.BrokerThere || !f.BrokerKnown) { // it has not come to hold it yet
			return whyHeld(f)
		}
		if f.Pool.full() && (f.BrokerThere || !f.BrokerKnown) {
			return whyPool(f)
		}
		return whyQueued(f)
	}
	return whySent(f)
}

// whyHeld says what is in the way of an instance by the job's overlap policy.
func whyHeld(f Facts) Sentence {
	in := f.Instance
	if f.InWay == nil {
		return say("why.held_overlap", "at", in.ReadyAt, "policy", string(f.Spec.Overlap))
	}
	return say("why.held_overlap_by", "at", in.ReadyAt, "date", f.InWay.BizDate, "id", f.InWay.ID.String(), "status", f.InWay.Status, "policy", string(f.Spec.Overlap))
}

func whySuccess(f Facts) Sentence {
	in := f.Instance
	if f.Settle != nil {
		return say("why.settled_success", "target", f.Attempt.Target, "who", f.Settle.Actor, "at", f.Settle.At, "reason", f.Settle.Note)
	}
	if f.Attempt == nil || in.StartedAt.IsZero() {
		return say("why.success_plain", "at", in.FinishedAt)
	}
	return say("why.success", "target", f.Attempt.Target, "took", max(in.FinishedAt.Sub(in.StartedAt), 0))
}

func whyFailed(f Facts) Sentence {
	in := f.Instance
	switch in.Label {
	case domain.Timeout:
		return say("why.timeout", "limit", seconds(f.Spec.TimeoutSec), "n", in.RetriesUsed+1, "m", f.Spec.Retry.Times+1, "message", told(in.Message))
	case domain.QueueTimeout:
		return say("why.queue_timeout", "limit", seconds(f.Spec.QueueTimeoutSec))
	case domain.DepsTimeout:
		if len(f.Missing) > 0 {
			return say("why.deps_timeout_of", "limit", seconds(f.Spec.DepsTimeoutSec), "list", missingNow(f.Missing))
		}
		if _, then, written := strings.Cut(in.Message, saidNotMet); written { // it is met by now
			return say("why.deps_timeout_then", "limit", seconds(f.Spec.DepsTimeoutSec), "list", then)
		}
		return say("why.deps_timeout", "limit", seconds(f.Spec.DepsTimeoutSec))
	case domain.WorkerLost:
		if f.Settle != nil {
			return say("why.settled_failed", "target", f.Attempt.Target, "who", f.Settle.Actor, "at", f.Settle.At, "reason", f.Settle.Note)
		}
		return say("why.worker_lost", "message", told(in.Message))
	}
	return say("why.error", "n", in.RetriesUsed+1, "m", f.Spec.Retry.Times+1, "message", message(f, in.Message))
}

// message is the text given, or what stands for an empty one.
func message(f Facts, text string) any {
	if a := f.Attempt; a != nil && a.ExitCode != nil {
		if rest, ok := strings.CutPrefix(text, "exit code "+strconv.Itoa(*a.ExitCode)); ok {
			return say("why.exit_said", "code", *a.ExitCode, "rest", told(rest))
		}
	}
	switch {
	case text != "":
		return told(text)
	case f.Attempt != nil && f.Attempt.ExitCode != nil:
		return say("why.exit", "code", int(*f.Attempt.ExitCode))
	}
	return say("why.no_message")
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// causeName names the upstream that cancelled, with its project where that is another.
func (f Facts) causeName() string {
	if f.CauseJob == (domain.JobKey{}) {
		return f.Cause.JobName
	}
	return f.CauseJob.Project + "/" + f.CauseJob.Name
}

func whyCancelled(f Facts) Sentence {
	in := f.Instance
	switch {
	case in.Label == domain.UpstreamFailed && f.Cause != nil:
		return say("why.upstream_failed", "job", f.causeName(), "date", f.Cause.BizDate, "id", f.Cause.ID.String(), "status", f.Cause.Status)
	case in.Label == domain.UpstreamFailed && in.CancelledBy.InstanceID == 0:
		return say("why.upstream_succeeded", "message", told(in.Message))
	case in.Label == domain.UpstreamFailed:
		return say("why.upstream_gone", "id", in.CancelledBy.InstanceID.String())
	case in.Label == domain.Killed && f.Kill != nil && f.Attempt != nil && f.Attempt.State == domain.AttemptLost:
		return say("why.killed_unconfirmed", "who", f.Kill.Actor, "at", f.Kill.At, "target", f.Attempt.Target)
	case in.Label == domain.Killed && f.Kill != nil:
		reason := strings.TrimPrefix(strings.TrimPrefix(f.Kill.Note, "killed by "+f.Kill.Actor), ": ")
		if reason == "" {
			return say("why.killed", "who", f.Kill.Actor, "at", f.Kill.At)
		}
		return say("why.killed_because", "who", f.Kill.Actor, "at", f.Kill.At, "reason", told(reason))
	case in.Label == domain.Killed:
		return say("why.killed_somehow", "at", in.FinishedAt)
	}
	return say("why.skipped", "reason", told(in.Message))
}

func whyRetrying(f Facts) Sentence {
	in := f.Instance
	last := ""
	if f.Attempt != nil {
		last = f.Attempt.Message
	}
	return say("why.backoff", "at", in.WakeAt, "n", in.RetriesUsed, "m", f.Spec.Retry.Times, "message", message(f, last))
}

// maxNamed is how many things one sentence names.
const maxNamed = 5

func whyWaiting(f Facts) Sentence {
	if len(f.Missing) == 0 {
		return say("why.deps_met")
	}
	names := missingNow(f.Missing)
	if in := f.Instance; in.RunNo <= 1 && !in.CreatedAt.IsZero() { // a later run waits since its request
		return say("why.waiting_deps_since", "list", names, "at", in.CreatedAt)
	}
	return say("why.waiting_deps", "list", names)
}

// missingNow says of dependencies that are not met how they stand now, the first few of them.
func missingNow(ms []Dependency) []Sentence {
	var out []Sentence
	for _, m := range ms[:min(len(ms), maxNamed)] {
		out = append(out, whyMissing(m))
	}
	if more := len(ms) - maxNamed; more > 0 {
		out = append(out, say("why.and_more", "n", more))
	}
	return out
}

// whyMissing says of one dependency what it waits for.
func whyMissing(m Dependency) Sentence {
	date, said := DatesOf(m.InstanceDep), Standing(m)
	lost := m.Standing.State == domain.DepFailed
	switch {
	case m.Upstream <= 0:
		return say("why.dep_gone", "job", m.Name, "date", date)
	case lost && m.OnFailure == domain.FailureHold:
		return say("why.dep_held", "job", m.Name, "date", date, "said", said)
	case lost && m.OnFailure == domain.FailureRun:
		return say("why.dep_run_after", "job", m.Name, "date", date, "said", said)
	}
	return say("why.dep_missing", "job", m.Name, "date", date, "said", said)
}

func whySent(f Facts) Sentence {
	in, a := f.Instance, f.Attempt
	if a == nil {
		return say("why.between", "status", in.Status)
	}
	w, silent := silentTarget(f)
	if _, keeps := whatKeeps(f); silent && !keeps && in.Label != domain.Orphan {
		key := "why.silent_retry"
		switch {
		case !w.LostAt.IsZero() && f.Spec.OnWorkerLost == domain.LossWait:
			return say("why.lost_wait", "target", a.Target, "at", w.LostAt, "until", w.LostAt.Add(domain.LossWaitGrace))
		case in.Label == domain.Stopping:
			key = "why.silent_stopping"
		case f.Spec.OnWorkerLost == domain.LossWait:
			key = "why.silent_wait"
		case f.Spec.OnWorkerLost == domain.LossHold && !f.Spec.Idempotent:
			key = "why.silent_hold"
		}
		return say(key, "target", a.Target, "at", w.SeenAt, "took", f.Now.Sub(w.SeenAt))
	}
	switch in.Label {
	case domain.Dispatched:
		if a.State == domain.AttemptGranted {
			return say("why.granted", "target", a.Target, "at", a.GrantedAt)
		}
		return say("why.sent", "target", a.Target, "at", a.DispatchedAt)
	case domain.Executing:
		if _, keeps := whatKeeps(f); keeps { // it may have ended since
			return say("why.executing_then", "target", a.Target, "at", in.StartedAt)
		}
		return say("why.executing", "target", a.Target, "at", in.StartedAt, "took", max(f.Now.Sub(in.StartedAt), 0))
	case domain.Stopping:
		return whyStopping(f)
	case domain.Orphan:
		if heard, _ := a.Lost(); !heard.IsZero() {
			return say("why.orphan_heard", "target", a.Target, "at", heard)
		}
		return say("why.orphan", "target", a.Target)
	}
	return say("why.between", "status", in.Status)
}

// silentTarget is the worker that holds the granted attempt, and whether nothing was heard of it for too long to say
// that it does so now.
func silentTarget(f Facts) (domain.Worker, bool) {
	if f.Attempt.State != domain.AttemptGranted {
		return domain.Worker{}, false
	}
	for _, w := range f.Workers {
		if w.Name == f.Attempt.Target && w.Boot == f.Attempt.Boot {
			return w, f.Now.Sub(w.SeenAt) >= domain.SilentFrom
		}
	}
	return domain.Worker{}, false
}
