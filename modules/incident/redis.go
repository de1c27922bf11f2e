package incident

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	redisEach = 2 * time.Second
	// redisPatience is how long something must be wrong with a Redis before that is told: a
	// fail-over and a restart take a while.
	redisPatience = 5 * time.Second
	// redisQuiet is how long it must be right before it is over: one that comes and goes is
	// one incident.
	redisQuiet = 5 * time.Second
)

// redisKinds are the kinds whose subject is a Redis.
var redisKinds = []domain.IncidentKind{domain.IncidentRedisAway, domain.IncidentRedisRefuses, domain.IncidentRedisUnfit}

// Standing is how a Redis stands in one respect.
type Standing struct {
	// Redis is which: transport, registry, or both where they are one.
	Redis string
	// Tells are the kinds of fault that the respect would show.
	Tells []domain.IncidentKind
	// Fault is what is wrong; "" = none of what it tells.
	Fault domain.IncidentKind
	// Since is since when it stands so, by the database's clock; zero: it was not asked yet.
	Since time.Time
	// Said is the error, as Redis or the connection to it words it.
	Said string
	// Flaps is how it comes and goes.
	Flaps Flaps
	// Limit and Policy are maxmemory and maxmemory-policy of one that evicts.
	Limit, Policy string
}

// lookAtRedis opens and ends what is wrong with the Redis servers that this broker works
// with. It asks none of them: how they stand was found out by who needs them.
func (k *Keeper) lookAtRedis(ctx context.Context, now time.Time) error {
	if k.Redis == nil {
		return nil
	}
	all := k.Redis.Standings()
	found := redisFound(all, now)
	if len(found) == 0 && k.term.redisWell {
		return nil
	}
	k.term.redisWell = false
	if err := k.Store.Raise(ctx, found); err != nil {
		return err
	}
	var open []domain.Incident
	for _, kind := range redisKinds {
		more, err := k.Store.Open(ctx, kind, 0, openLimit)
		if err != nil {
			return err
		}
		open = append(open, more...)
	}
	over := redisOver(open, all, now)
	_, err := k.Store.Resolve(ctx, over, now, domain.RecoveredUsable)
	k.term.redisWell = err == nil && len(over) == len(open)
	return err
}

// redisFound is what has been wrong for long enough, or comes again and again.
func redisFound(all []Standing, now time.Time) []store.Occurrence {
	var out []store.Occurrence
	for _, s := range all {
		if s.Flaps.Often(now) {
			out = append(out, s.flapping(now))
			continue
		}
		if s.Fault == "" || s.Since.IsZero() || now.Sub(s.Since) < redisPatience {
			continue
		}
		out = append(out, store.Occurrence{Kind: s.Fault, Subject: s.Redis, At: now, Lasts: true, Detail: s.detail()})
	}
	return out
}

func (s Standing) detail() []string {
	key := map[domain.IncidentKind]string{domain.IncidentRedisAway: "incident.said.redis_away", domain.IncidentRedisRefuses: "incident.said.redis_refuses",
		domain.IncidentRedisUnfit: "incident.said.redis_unfit"}[s.Fault]
	if s.Policy != "" {
		return []string{"incident.said.redis_evicts", "redis", s.Redis, "at", stamp(s.Since), "limit", s.Limit, "policy", s.Policy}
	}
	return []string{key, "redis", s.Redis, "at", stamp(s.Since), "said", cut(s.Said)}
}

// mirrorEach is how often what the probes found is compared with what others can read of it.
const mirrorEach = 250 * time.Millisecond

// mirror writes down at once what is wrong with a Redis, for the pages of processes that cannot know: an incident is opened
// only once it has lasted. It asks no Redis, and writes when something begins or ends.
func (k *Keeper) mirror(ctx context.Context) error {
	var written map[string]domain.IncidentKind // nil: what an earlier term left may be there
	for {
		now := faultsNow(k.Redis.Standings(), k.Process)
		if kinds := kindsOf(now); written == nil || !maps.Equal(kinds, written) {
			switch err := k.Store.KeepRedisFaults(ctx, now); {
			case err == nil:
				written = kinds
			case ctx.Err() == nil:
				slog.Debug("what is wrong with Redis could not be noted; the next look repeats it", "error", err)
			}
		}
		if !pause(ctx, mirrorEach) {
			return nil
		}
	}
}

// faultsNow is what keeps workers from being heard, whether or not it has lasted.
func faultsNow(all []Standing, broker string) []store.RedisFault {
	var out []store.RedisFault
	for _, s := range all {
		if s.Fault == domain.IncidentRedisAway || s.Fault == domain.IncidentRedisRefuses {
			out = append(out, store.RedisFault{Redis: s.Redis, Fault: s.Fault, Since: s.Since, Said: cut(s.Said), Broker: broker})
		}
	}
	return out
}

func kindsOf(faults []store.RedisFault) map[string]domain.IncidentKind {
	out := map[string]domain.IncidentKind{}
	for _, f := range faults {
		out[f.Redis] = f.Fault
	}
	return out
}

// redisOver is which open incidents are over: what would show the fault has not done so
// for a while. One of a Redis that is not used any more is over too.
func redisOver(open []domain.Incident, all []Standing, now time.Time) []domain.ID {
	var over []domain.ID
	for _, i := range open {
		holds := func(s Standing) bool {
			return s.Redis == i.Subject && slices.Contains(s.Tells, i.Kind) &&
				(s.Fault == i.Kind || s.Since.IsZero() || now.Sub(s.Since) < redisQuiet || s.Flaps.Fault == i.Kind && s.Flaps.Often(now))
		}
		if !slices.ContainsFunc(all, holds) {
			over = append(over, i.ID)
		}
	}
	return over
}
