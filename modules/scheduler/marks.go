package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

const (
	lockedAlert   = 2 * time.Second // a due row found locked for longer is an alert
	lockedUnseen  = time.Second     // looks further apart than this say nothing of the time between them
	poisonPause   = 2 * time.Second // doubled at each further failure
	maxPoison     = 5 * time.Minute
	maxAway       = 10 * time.Second // the longest pause where the fault may be the database's
	shownPoisoned = 20
)

// marks remembers the triggers that went another way than the ordinary one, until
// they are settled, and counts for the status. Safe for concurrent use.
type marks struct {
	mu    sync.Mutex
	of    map[domain.ID]*mark
	count Status // its counters and LastTake
}

type mark struct {
	lost   bool // another node looks first
	locked locked
	poison Poisoned
}

// locked is a row that was found locked at each look so far.
type locked struct {
	as          plan.Due // how it stood: any change of it was a commit, after which the lock is another one
	since, seen time.Time
	alerted     bool
}

// after is the same at one look more.
func (l locked) after(d plan.Due, now time.Time) locked {
	if l.as.Ver != d.Ver || !l.as.Next.Equal(d.Next) || now.Sub(l.seen) > lockedUnseen {
		l = locked{as: d, since: now}
	}
	l.seen = now
	return l
}

func (m *marks) get(id domain.ID) *mark {
	k := m.of[id]
	if k == nil {
		k = &mark{}
		m.of[id] = k
	}
	return k
}

// add counts.
func (m *marks) add(f func(*Status)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.count)
}

// settled forgets what was noted about triggers.
func (m *marks) settled(ids ...domain.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if k := m.of[id]; k != nil && k.poison.Tries > 0 {
			slog.Info("trigger can be taken again", "trigger", id, "after_tries", k.poison.Tries)
		}
		delete(m.of, id)
	}
}

// lose notes that another node looks first.
func (m *marks) lose(batch []plan.Due) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count.FastLost += int64(len(batch))
	for _, d := range batch {
		m.get(d.ID).lost = true
	}
}

// takeLost parts a batch into what was lost before and the rest.
func (m *marks) takeLost(batch []plan.Due) (lost, rest []plan.Due) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range batch {
		if k := m.of[d.ID]; k != nil && k.lost {
			if k.lost = false; *k == (mark{}) {
				delete(m.of, d.ID)
			}
			lost = append(lost, d)
		} else {
			rest = append(rest, d)
		}
	}
	return lost, rest
}

// locked notes rows that somebody else holds and raises one alert for those held long.
func (m *marks) locked(batch []plan.Due, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var long []plan.Due
	for _, d := range batch {
		m.count.Locked++
		k := m.get(d.ID)
		k.locked = k.locked.after(d, now)
		if now.Sub(k.locked.since) > lockedAlert && !k.locked.alerted {
			k.locked.alerted = true
			long = append(long, d)
		}
	}
	if len(long) > 0 {
		m.count.LockedLong += int64(len(long))
		slog.Error("rows of due triggers are locked by another transaction for over 2 s: their fires wait", "alert", "trigger_locked",
			"triggers", len(long), "first", long[0].ID, "expected", long[0].Next)
	}
}

// poison notes that a trigger failed on its own and gives the moment of the next try.
func (m *marks) poison(d plan.Due, err error, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.get(d.ID)
	if k.poison.Tries == 0 {
		k.poison = Poisoned{Trigger: d.ID, Since: now}
	}
	pause := min(maxPoison, poisonPause<<min(k.poison.Tries, 10))
	if domain.Is(err, domain.Unavailable) {
		pause = min(pause, maxAway)
	}
	k.poison.Tries++
	k.poison.Reason, k.poison.Until = err.Error(), now.Add(pause)
	level := slog.LevelDebug
	if k.poison.Tries == 1 {
		level = slog.LevelError
	}
	slog.Log(context.Background(), level, "a trigger can't be taken; the others go on", "alert", "trigger_poisoned", "trigger", d.ID, "expected", d.Next,
		"tries", k.poison.Tries, "again_in", pause.String(), "error", err)
	return k.poison.Until
}

// takePoisoned parts a batch into what failed before, to be taken one by one, and the rest.
func (m *marks) takePoisoned(batch []plan.Due) (poisoned, rest []plan.Due) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range batch {
		if k := m.of[d.ID]; k != nil && k.poison.Tries > 0 {
			poisoned = append(poisoned, d)
		} else {
			rest = append(rest, d)
		}
	}
	return poisoned, rest
}

// status gives the counters and the poisoned.
func (m *marks) status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.count
	for _, k := range m.of {
		if k.poison.Tries > 0 {
			s.Poisoned = append(s.Poisoned, k.poison)
		}
	}
	slices.SortFunc(s.Poisoned, func(a, b Poisoned) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Trigger, b.Trigger))
	})
	s.Poisoned = s.Poisoned[:min(len(s.Poisoned), shownPoisoned)]
	return s
}
