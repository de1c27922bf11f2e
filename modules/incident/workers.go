package incident

import (
	"context"
	"errors"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	// maxSkew is how far a worker's clock may be off before it refuses to start anything.
	maxSkew = 5 * time.Second
	// giveUp is how long a lost worker is waited for: one that is replaced under another
	// name never comes back.
	giveUp    = 7 * 24 * time.Hour
	openLimit = 1000 // open incidents of a kind that a look goes through
)

// lookAtWorkers opens and ends what is wrong with workers: lost, a clock that is off, a
// disk that takes no writes. One that was draining when it fell silent was stopped by somebody.
func (k *Keeper) lookAtWorkers(ctx context.Context, now time.Time) error {
	all, err := k.Workers.List(ctx)
	if err != nil {
		return err
	}
	open, err := k.Store.Open(ctx, domain.IncidentWorkerLost, 0, openLimit)
	if err != nil {
		return err
	}
	found := workersFound(all, k.term.leaving, now)
	back, aged := workersBack(open, all, now)
	for _, w := range all {
		if w.State != domain.WorkerGone {
			k.term.leaving[w.Name] = w.State == domain.WorkerDraining
		}
	}
	_, failed := k.Store.Resolve(ctx, back, now, domain.RecoveredBack)
	_, late := k.Store.Resolve(ctx, aged, now, domain.RecoveredAged)
	return errors.Join(k.Store.Raise(ctx, found), failed, late)
}

// workersFound is what is wrong with workers.
func workersFound(all []domain.Worker, leaving map[string]bool, now time.Time) []store.Occurrence {
	var out []store.Occurrence
	for _, w := range all {
		switch {
		case w.State == domain.WorkerGone && (w.Drain || leaving[w.Name] || now.Sub(w.LostAt) > giveUp):
		case w.State == domain.WorkerGone:
			out = append(out, store.Occurrence{Kind: domain.IncidentWorkerLost, Subject: w.Name, Name: w.Name, At: w.LostAt, Mark: domain.Millis(w.LostAt),
				Detail: lastHeard(w)})
		default:
			out = append(out, refusing(w, now)...)
		}
	}
	return out
}

// lastHeard says when a lost worker was heard for the last time, where that is known.
func lastHeard(w domain.Worker) []string {
	if w.SeenAt.IsZero() {
		return []string{"incident.said.silent", "host", w.Host}
	}
	return []string{"incident.said.unheard", "at", stamp(w.SeenAt), "host", w.Host}
}

// refusing is why a worker that is alive refuses work.
func refusing(w domain.Worker, now time.Time) []store.Occurrence {
	var out []store.Occurrence
	if w.Skew.Abs() > maxSkew {
		out = append(out, store.Occurrence{Kind: domain.IncidentClock, Subject: "worker " + w.Name, Name: w.Name, At: now, Lasts: true,
			Detail: []string{"incident.said.skew_worker", "skew", signed(w.Skew)}})
	}
	if w.Disk != "" {
		out = append(out, store.Occurrence{Kind: domain.IncidentDisk, Subject: w.Name, Name: w.Name, At: now, Lasts: true,
			Detail: []string{"incident.said.disk", "host", w.Host, "said", w.Disk}})
	}
	return out
}

func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.Round(time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// workersBack is which open incidents are over: the worker is back or forgotten, or is
// waited for no more.
func workersBack(open []domain.Incident, all []domain.Worker, now time.Time) (back, aged []domain.ID) {
	lost := map[string]time.Time{}
	for _, w := range all {
		if w.State == domain.WorkerGone {
			lost[w.Name] = w.LostAt
		}
	}
	for _, i := range open {
		switch at, still := lost[i.Subject]; {
		case !still:
			back = append(back, i.ID)
		case now.Sub(at) > giveUp:
			aged = append(aged, i.ID)
		}
	}
	return back, aged
}

// How long what lasts may go unseen before it is over. Whoever sees it says so each
// lookEach.
const (
	clockUnseen = 3 * lookEach
	diskUnseen  = 3 * lookEach
	locksUnseen = 6 * lookEach
)

// expire ends what lasts and is seen no more: also that of a process which has ended.
func (k *Keeper) expire(ctx context.Context, now time.Time) error {
	return errors.Join(k.expireKind(ctx, domain.IncidentClock, clockUnseen, now, domain.RecoveredRight),
		k.expireKind(ctx, domain.IncidentDisk, diskUnseen, now, domain.RecoveredWritable),
		k.expireKind(ctx, domain.IncidentFiresLocked, locksUnseen, now, domain.RecoveredTaken))
}

func (k *Keeper) expireKind(ctx context.Context, kind domain.IncidentKind, unseen time.Duration, now time.Time, why domain.Recovery) error {
	open, err := k.Store.Open(ctx, kind, 0, openLimit)
	if err != nil {
		return err
	}
	var over []domain.ID
	for _, i := range open {
		if now.Sub(i.LastAt) > unseen {
			over = append(over, i.ID)
		}
	}
	_, err = k.Store.Resolve(ctx, over, now, why)
	return err
}
