package instance

import (
	"time"

	"github.com/axsched/ax/modules/domain"
)

// lostAfter is how long a worker may be silent unless the set-up says otherwise.
const lostAfter = 10 * time.Second

// unheardMargin is how much longer all workers must have been silent before that is
// Redis' silence and not theirs: one that is silent itself counts as lost by then.
const unheardMargin = 5 * time.Second

// Outage is what keeps all of AX from going on; the zero value: nothing that is known.
type Outage struct {
	NoWrites string // why the database takes no writes, in its words; "" = it takes them
	Redis    RedisFault
}

// RedisFault is what is wrong with the Redis through which workers are heard; the zero value: nothing that is known.
type RedisFault struct {
	Since   time.Time // zero: there is no fault
	Broker  string    // the process with the broker that met it; "" = not known
	Answers bool      // it answers and takes no writes; else it does not answer
	Said    string    // in its words
}

// unheard is since when the broker hears of no worker at all although it is active:
// Redis does not answer it. False: it hears of some, or there are none. Of a fault that
// is not known, the last heartbeat stands for its beginning.
func unheard(f Facts) (since time.Time, is bool) {
	if !f.BrokerKnown || !f.BrokerThere {
		return time.Time{}, false
	}
	if at := f.Outage.Redis.Since; !at.IsZero() {
		return at, true
	}
	for _, w := range f.Workers {
		if w.State != domain.WorkerGone && w.LostAt.IsZero() && w.SeenAt.After(since) {
			since = w.SeenAt
		}
	}
	patience := f.LostAfter
	if patience == 0 {
		patience = lostAfter
	}
	return since, !since.IsZero() && f.Now.Sub(since) > patience+unheardMargin
}

// seenSlack is how much older than a fault the last heartbeat may be that was written down.
const seenSlack = 5 * time.Second

// notBefore is a beginning that was estimated, no earlier than what is told beside it where the estimate allows for that.
func notBefore(since time.Time, told ...time.Time) time.Time {
	out := since
	for _, t := range told {
		if t.After(out) && t.Sub(since) <= seenSlack {
			out = t
		}
	}
	return out
}

// moves reports whether only the active broker moves an instance on from its label.
func moves(in domain.Instance) bool {
	switch in.Label {
	case domain.HeldOverlap, domain.HeldPool, domain.Dispatched, domain.Executing, domain.Stopping, domain.Backoff:
		return true
	}
	return false
}

// withTarget reports whether a target has the instance.
func withTarget(in domain.Instance) bool {
	return in.Label == domain.Dispatched || in.Label == domain.Executing || in.Label == domain.Stopping
}

// whatKeeps says what keeps the whole of AX from moving an instance, apart from what
// it waits for itself. Of a ready one the sentence itself says it.
func whatKeeps(f Facts) (Sentence, bool) {
	in := f.Instance
	since, deaf := unheard(f)
	switch {
	case f.BrokerKnown && !f.BrokerThere && withTarget(in):
		return say("why.no_broker_sent"), true
	case f.BrokerKnown && !f.BrokerThere && moves(in):
		return say("why.no_broker_held"), true
	case f.Outage.NoWrites != "" && (in.Label == domain.WaitingDeps || moves(in)):
		return say("why.no_writes", "said", f.Outage.NoWrites), true
	case deaf && withTarget(in):
		return saidDeaf(f, since), true
	}
	return Sentence{}, false
}

// saidDeaf says that no worker is heard, and since when: that is never before what the sentence beside it tells of.
func saidDeaf(f Facts, since time.Time) Sentence {
	if a := f.Attempt; a != nil {
		since = notBefore(since, a.DispatchedAt, a.GrantedAt, a.KillAt, f.Instance.StartedAt)
	}
	switch r := f.Outage.Redis; {
	case r.Answers:
		return say("why.redis_refuses_sent", "at", since, "said", r.Said)
	case !r.Since.IsZero() && r.Broker != "":
		return say("why.no_redis_sent_of", "at", since, "broker", r.Broker, "said", r.Said)
	}
	return say("why.no_redis_sent", "at", since)
}

// limit says until when an instance waits at most, and what happens then.
func limit(f Facts) (Sentence, bool) {
	in := f.Instance
	if in.IsSplit() {
		return Sentence{}, false // each of its shards has its own
	}
	switch in.Label {
	case domain.Queued, domain.HeldOverlap, domain.HeldPool:
		switch {
		case !in.WakeAt.IsZero():
			return say("why.until_queue", "at", in.WakeAt, "limit", seconds(f.Spec.QueueTimeoutSec)), true
		case in.Label == domain.Queued:
			return say("why.until_queue_told"), true
		}
		return say("why.until_queue_none"), true
	case domain.WaitingDeps:
		if !in.WakeAt.IsZero() {
			return say("why.until_deps", "at", in.WakeAt, "limit", seconds(f.Spec.DepsTimeoutSec)), true
		}
		return say("why.until_deps_none"), true
	case domain.Stopping:
		if !in.WakeAt.IsZero() {
			return say("why.until_stopped", "at", in.WakeAt), true
		}
	case domain.Executing:
		if a := f.Attempt; a != nil && a.Deadline > 0 && !in.StartedAt.IsZero() {
			_, silent := silentTarget(f)
			if _, keeps := whatKeeps(f); silent || keeps {
				return Sentence{}, false // who would end it may be gone
			}
			return say("why.until_timeout", "at", in.StartedAt.Add(a.Deadline), "limit", a.Deadline), true
		}
	}
	return Sentence{}, false
}
