package center

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/kit/lease"
)

const (
	// troubleEach is how often this process asks itself how the database stands.
	troubleEach = 500 * time.Millisecond
	// troubleQuiet is how long a trouble must be seen no more before it is over: what comes again within it is one.
	troubleQuiet = 5 * time.Second
	// awayLeast and lockedLeast are what is worth telling: a connection that broke is not, nor one that waited for a change
	// which took a few seconds. Of writes that were refused each is.
	awayLeast   = 3 * time.Second
	lockedLeast = 5 * time.Second
	// lockWait is how long a lock is waited for, so that since then somebody had it.
	lockWait = 3 * time.Second
	// troublesKept bounds what waits to be told: a database that comes and goes for days is told of its last troubles.
	troublesKept = 100
	// stoodStill is how long after its last look a process has stood still itself, which says nothing of the database.
	stoodStill = 2 * time.Second
)

// troubles are what this process saw of a database that was away, took no writes or held locks, over all its lives, until
// that is told: it can be written down only once it is over. Moments are of the monotonic clock. Safe for concurrent use.
type troubles struct {
	mu     sync.Mutex
	open   map[domain.IncidentKind]*incident.Trouble
	lease  domain.IncidentKind // what the lease is in now; "" = it is renewed
	over   []incident.Trouble  // to be told, the oldest first
	looked time.Time
	awake  time.Time // since when this process has looked regularly
}

// heard takes what the server said to some statement of this process.
func (t *troubles) heard(err error, at time.Time) {
	switch {
	case dbx.Locked(err):
		t.saw(incident.Trouble{Kind: domain.IncidentDatabaseLocked, Since: at.Add(-lockWait), Until: at, Times: 1, Said: saidOf(err)})
	case dbx.Reason(err) != "":
		t.saw(incident.Trouble{Kind: domain.IncidentDatabaseRefuses, Since: at, Until: at, Said: saidOf(err)})
	}
}

func (t *troubles) saw(one incident.Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.join(one)
}

// join adds what was seen to the trouble that is open, or opens one.
func (t *troubles) join(one incident.Trouble) {
	is := t.open[one.Kind]
	if is == nil {
		if t.open == nil {
			t.open = map[domain.IncidentKind]*incident.Trouble{}
		}
		t.open[one.Kind] = &one
		return
	}
	is.Times += one.Times
	if is.Said = one.Said; one.Until.After(is.Until) {
		is.Until = one.Until
	}
}

// look takes how the lease stands at a moment: in which trouble, "" = none, since when, and what was said.
func (t *troubles) look(kind domain.IncidentKind, since time.Time, said string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.looked
	t.wake(now)
	if was := t.open[t.lease]; was != nil && t.lease != kind {
		was.Until = now
	}
	if kind != "" {
		if t.lease != "" && t.lease != kind { // until then it was in another
			since = before
		}
		if since.Before(t.awake) {
			since = t.awake
		}
		one := incident.Trouble{Kind: kind, Since: since, Until: now, Said: said}
		if kind != t.lease {
			one.Times = 1
		}
		t.join(one)
	}
	t.lease = kind
	t.settle(now)
}

// idle takes that nothing is known at a moment.
func (t *troubles) idle(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake(now)
}

// wake notes a look.
func (t *troubles) wake(now time.Time) {
	if t.awake.IsZero() || now.Sub(t.looked) > stoodStill {
		t.awake = now
	}
	t.looked = now
}

// settle puts by what is over and worth telling.
func (t *troubles) settle(now time.Time) {
	for kind, is := range t.open {
		if kind == t.lease || now.Sub(is.Until) < troubleQuiet {
			continue
		}
		delete(t.open, kind)
		if took := is.Until.Sub(is.Since); kind == domain.IncidentDatabaseAway && took < awayLeast || kind == domain.IncidentDatabaseLocked && took < lockedLeast {
			continue
		}
		is.Times = max(is.Times, 1)
		t.over = append(t.over, *is)
	}
	slices.SortStableFunc(t.over, func(a, b incident.Trouble) int { return a.Since.Compare(b.Since) })
	t.over = t.over[max(0, len(t.over)-troublesKept):]
}

// Past lists what is over and was not told yet, the oldest first.
func (t *troubles) Past() []incident.Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.over)
}

// Told drops what was told.
func (t *troubles) Told(one incident.Trouble) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = slices.DeleteFunc(t.over, func(o incident.Trouble) bool { return o.Kind == one.Kind && o.Since.Equal(one.Since) })
}

// locked reports whether something was waited for in vain lately.
func (t *troubles) locked(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.open[domain.IncidentDatabaseLocked]
	return is != nil && now.Sub(is.Until) < troubleQuiet
}

// standing is what the lease is in now; "" = it is renewed, as far as was looked.
func (t *troubles) standing() domain.IncidentKind {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease
}

// watchDatabase looks until ctx ends.
func (s *site) watchDatabase(ctx context.Context) {
	for pause(ctx, troubleEach) {
		s.seeDatabase(ctx)
	}
}

// seeDatabase looks once. While a life begins nothing is known: it may wait for a database that is away.
func (s *site) seeDatabase(ctx context.Context) {
	s.mu.RLock()
	l, since, fault := s.life, s.heard, s.away
	s.mu.RUnlock()
	switch {
	case l != nil && l.lease != nil:
		since, fault = l.lease.Renewed(), l.lease.Fault()
	case l != nil || fault == nil:
		s.troubles.idle(time.Now())
		return
	}
	kind := s.kindOf(ctx, fault, l)
	s.troubles.look(kind, since, saidOf(fault), time.Now())
}

// askPatience is for a database to say that it is there.
const askPatience = time.Second

// kindOf says which trouble a fault is of; "" = none of the database's. One that does not take a write in time and answers
// otherwise is locked: what a lease waits for a lock is shorter than what a lock is waited for.
func (s *site) kindOf(ctx context.Context, fault error, l *life) domain.IncidentKind {
	switch {
	case fault == nil || errors.Is(fault, lease.ErrLost):
		return ""
	case dbx.Reason(fault) != "":
		return domain.IncidentDatabaseRefuses
	case dbx.Locked(fault):
		return domain.IncidentDatabaseLocked
	case !dbx.Away(fault):
		return ""
	case errors.Is(fault, context.DeadlineExceeded) && s.answersStill(ctx, l):
		return domain.IncidentDatabaseLocked
	}
	return domain.IncidentDatabaseAway
}

// answersStill reports whether the database of a life answers, though not each write.
func (s *site) answersStill(ctx context.Context, l *life) bool {
	if s.troubles.locked(time.Now()) {
		return true
	}
	if l == nil || len(l.pools) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	return l.pools[0].Ping(ctx) == nil
}

// saidOf is a fault of the database in the words of who said it first.
func saidOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	return dbx.Words(err)
}
