package incident

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	lookEach = 10 * time.Second
	// untakenFor is how long a fire may be due before it counts as not taken.
	untakenFor = time.Minute
	// patience is for how long that must hold before it is wrong: a scheduler that has
	// just started takes up what was due.
	patience     = 20 * time.Second
	untakenCount = 1000 // more than so many are not counted
)

// Lookout is what every process with a database pool sees: that fires are not taken,
// whoever should have, how its own scheduler stands, and that the database was in trouble. It is for one goroutine.
type Lookout struct {
	Store    *store.Store
	Triggers Triggers
	Database Database // what this process saw of its troubles; nil: nothing is ever known
	Process  string   // names this process for people, and among all others
	Clock    Clock    // nil without the role scheduler

	since  time.Time // since when untaken fires are seen here; monotonic
	locked int64
}

// Run looks until ctx ends. A look that fails is logged and repeated.
func (l *Lookout) Run(ctx context.Context) error {
	for pause(ctx, lookEach-lookEach/10+rand.N(lookEach/5)) {
		if err := l.Look(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("looking for fires that are not taken failed; the next look repeats it", "error", err)
		}
	}
	return nil
}

// Look looks once.
func (l *Lookout) Look(ctx context.Context) error {
	now, err := l.Store.Now(ctx)
	if err != nil {
		return err
	}
	mono := time.Now()
	return errors.Join(l.fires(ctx, now, mono), l.own(ctx, now), l.past(ctx, now, mono))
}

// fires opens an incident when what is due stays so, and ends it when it is taken.
func (l *Lookout) fires(ctx context.Context, now, mono time.Time) error {
	n, first, err := l.Triggers.Untaken(ctx, now.Add(-untakenFor), untakenCount)
	if err != nil {
		return err
	}
	if n == 0 {
		l.since = time.Time{}
		open, err := l.Store.OpenOf(ctx, domain.IncidentNotTaken, []string{""})
		if err != nil || len(open) == 0 {
			return err
		}
		_, err = l.Store.Resolve(ctx, []domain.ID{open[0].ID}, now, domain.RecoveredTaken)
		return err
	}
	if l.since.IsZero() {
		l.since = mono
	}
	if mono.Sub(l.since) < patience {
		return nil
	}
	detail := []string{"incident.said.not_taken", "n", count(n), "at", stamp(first)}
	return l.Store.Raise(ctx, []store.Occurrence{{Kind: domain.IncidentNotTaken, At: now, Lasts: true, Detail: detail}})
}

// own says what is wrong with the scheduler of this process.
func (l *Lookout) own(ctx context.Context, now time.Time) error {
	if l.Clock == nil {
		return nil
	}
	var found []store.Occurrence
	if skew, off := l.Clock.Skew(); off {
		found = append(found, store.Occurrence{Kind: domain.IncidentClock, Subject: "process " + l.Process, Name: l.Process, At: now, Lasts: true,
			Detail: []string{"incident.said.skew_process", "skew", signed(-skew)}})
	}
	locked := l.Clock.LockedLong()
	if n := locked - l.locked; n > 0 {
		found = append(found, store.Occurrence{Kind: domain.IncidentFiresLocked, At: now, Times: n, Detail: []string{"incident.said.locked"}})
	}
	if err := l.Store.Raise(ctx, found); err != nil {
		return err
	}
	l.locked = locked
	return nil
}
