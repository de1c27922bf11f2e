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

// unheard is since when nothing is heard of any worker although a broker is active. False: some are heard, or there are
// none. Of a fault that is not known, the last heartbeat that was written down stands for its beginning; which store was
// away is not known then.
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
	return since, !since.IsZero() && f.Now.Sub(since) > f.patience()+unheardMargin
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
	return unheardTarget(f)
}

// unheardTarget says of a worker that nothing was heard of it for longer than a worker can be silent that is looked
// after: an outage is over, and it has its whole patience again before it counts as lost.
func unheardTarget(f Facts) (Sentence, bool) {
	if f.Attempt == nil || !withTarget(f.Instance) {
		return Sentence{}, false
	}
	w, silent := silentTarget(f)
	if !silent || !w.LostAt.IsZero() || w.State == domain.WorkerGone || f.Now.Sub(w.SeenAt) <= f.patience()+unheardMargin {
		return Sentence{}, false
	}
	return say("why.unheard_target", "target", w.Name, "at", w.SeenAt, "limit", f.patience()), true
}

// patience is how long a worker may be silent.
func (f Facts) patience() time.Duration {
	if f.LostAfter == 0 {
		return lostAfter
	}
	return f.LostAfter
}

// whyStopping says what is known of a stop that was asked for: that the worker was told so cannot be known before it
// says that it ended, and while it cannot be reached it is not.
func whyStopping(f Facts) Sentence {
	a := f.Attempt
	key := "why.stopping"
	if _, keeps := whatKeeps(f); keeps {
		key = "why.stopping_unsure"
		if f.Outage.Redis.Since.Before(a.KillAt) && f.knownDeaf() {
			key = "why.stopping_untold"
		}
	}
	return say(key, "target", a.Target, "at", a.KillAt)
}

// knownDeaf reports whether a fault of Redis is known that keeps the active broker from workers.
func (f Facts) knownDeaf() bool {
	return f.BrokerKnown && f.BrokerThere && !f.Outage.Redis.Since.IsZero()
}

// saidDeaf says that no worker is heard, and since when: that is never before what the sentence beside it tells of, but for
// a stop that was asked for meanwhile.
func saidDeaf(f Facts, since time.Time) Sentence {
	if a := f.Attempt; a != nil {
		since = notBefore(since, a.DispatchedAt, a.GrantedAt, a.KillAt, f.Instance.StartedAt)
		if f.Instance.Label == domain.Stopping && a.KillAt.After(since) {
			return saidDeafSince(f, since)
		}
	}
	switch r := f.Outage.Redis; {
	case r.Answers:
		return say("why.redis_refuses_sent", "at", since, "said", r.Said)
	case !r.Since.IsZero() && r.Broker != "":
		return say("why.no_redis_sent_of", "at", since, "broker", r.Broker, "said", r.Said)
	case !r.Since.IsZero():
		return say("why.no_redis_sent", "at", since)
	}
	return say("why.unheard_sent", "at", since)
}

// saidDeafSince says the same beside a stop that was asked for after since: how it stood then is not what is told of it.
func saidDeafSince(f Facts, since time.Time) Sentence {
	switch r := f.Outage.Redis; {
	case r.Answers:
		return say("why.redis_refuses_stop", "at", since, "said", r.Said)
	case !r.Since.IsZero() && r.Broker != "":
		return say("why.no_redis_stop_of", "at", since, "broker", r.Broker, "said", r.Said)
	case !r.Since.IsZero():
		return say("why.no_redis_stop", "at", since)
	}
	return say("why.unheard_stop", "at", since)
}

// limit says until when an instance waits at most, and what happens then.
func limit(f Facts) (Sentence, bool) {
	in := f.Instance
	if in.IsSplit() {
		return Sentence{}, false // each of its shards has its own
	}
	switch in.Label {
	case domain.Queued, domain.HeldOverlap, domain.HeldPool:
		if !in.WakeAt.IsZero() {
			return say("why.until_queue", "at", in.WakeAt, "limit", seconds(f.Spec.QueueTimeoutSec)), true
		}
		return say("why.until_queue_told"), true
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
