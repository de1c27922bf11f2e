package incident

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// databaseKinds are the kinds whose subject is the database.
var databaseKinds = []domain.IncidentKind{domain.IncidentDatabaseAway, domain.IncidentDatabaseRefuses, domain.IncidentDatabaseLocked}

// Trouble is what one process saw of a database in trouble, from its beginning to its end. Moments are of the monotonic clock.
type Trouble struct {
	Kind         domain.IncidentKind
	Since, Until time.Time
	Times        int64  // how often it began, or a lock was waited for in vain
	Said         string // by the server, or by the way to it
}

// sameFor is how far apart what two processes saw may be and still be one trouble: each looks in its own rhythm.
const sameFor = 10 * time.Second

// markOfTroubles is the row that lets one process tell at a time.
const markOfTroubles = "database"

// past tells what this process saw of the database: no incident can be opened in one that is away. What several processes saw
// at a time is one incident, which names them all, and is told once.
func (l *Lookout) past(ctx context.Context, now, mono time.Time) error {
	if l.Database == nil {
		return nil
	}
	for _, t := range l.Database.Past() {
		seen := domain.Incident{Kind: t.Kind, OpenedAt: now.Add(t.Since.Sub(mono)), ResolvedAt: now.Add(t.Until.Sub(mono)), Count: t.Times, Recovery: endOfTrouble(t.Kind)}
		seen.Detail = troubleDetail(seen, cut(t.Said), []string{l.Process})
		err := l.Store.Tx(ctx, func(ctx context.Context) error {
			if err := l.Store.SetMark(ctx, markOfTroubles, 0); err != nil {
				return err
			}
			known, err := l.Store.LockEnded(ctx, t.Kind, "", seen.OpenedAt.Add(-sameFor), seen.ResolvedAt.Add(sameFor))
			if err != nil {
				return err
			}
			return l.Store.PutEnded(ctx, bothSaw(known, seen))
		})
		if err != nil {
			return err
		}
		l.Database.Told(t)
	}
	return nil
}

func endOfTrouble(kind domain.IncidentKind) domain.Recovery {
	if kind == domain.IncidentDatabaseLocked {
		return domain.RecoveredUnlocked
	}
	return domain.RecoveredAnswers
}

// bothSaw is what is known of a trouble with what one more process saw of it; a zero known: nothing is. Told twice, it is the
// same.
func bothSaw(known, seen domain.Incident) domain.Incident {
	if known.ID == 0 {
		return seen
	}
	out := known
	if seen.OpenedAt.Before(out.OpenedAt) {
		out.OpenedAt = seen.OpenedAt
	}
	if seen.ResolvedAt.After(out.ResolvedAt) {
		out.ResolvedAt = seen.ResolvedAt
	}
	out.Count = max(out.Count, seen.Count)
	processes := whoSaw(known)
	for _, p := range whoSaw(seen) {
		if !slices.Contains(processes, p) {
			processes = append(processes, p)
		}
	}
	out.Detail = troubleDetail(out, detailOf(known, "said"), processes)
	return out
}

const betweenProcesses = ", "

func whoSaw(i domain.Incident) []string { return strings.Split(detailOf(i, "seen"), betweenProcesses) }

// detailOf is the value of a placeholder in what is said of an incident.
func detailOf(i domain.Incident, name string) string {
	for n := 1; n+1 < len(i.Detail); n += 2 {
		if i.Detail[n] == name {
			return i.Detail[n+1]
		}
	}
	return ""
}

func troubleDetail(i domain.Incident, said string, processes []string) []string {
	key := map[domain.IncidentKind]string{domain.IncidentDatabaseAway: "incident.said.database_away", domain.IncidentDatabaseRefuses: "incident.said.database_refuses",
		domain.IncidentDatabaseLocked: "incident.said.database_locked"}[i.Kind]
	return []string{key, "at", stamp(i.OpenedAt), "until", stamp(i.ResolvedAt), "said", said, "seen", strings.Join(processes, betweenProcesses)}
}
