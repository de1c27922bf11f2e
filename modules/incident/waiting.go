package incident

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	// waitingMost is how many of those that wait longest a look goes through in each lane.
	waitingMost = 200
	// settle is how long an instance may be ready before somebody asks who would run it:
	// workers come and go.
	settle = time.Minute
)

// lookAtWaiting opens and ends what is wrong with what waits for a target: no worker
// would run it, or it waits for longer than the limit, also where it is held.
func (k *Keeper) lookAtWaiting(ctx context.Context, now time.Time) error {
	workers, err := k.Workers.List(ctx)
	if err != nil {
		return err
	}
	var waiting []domain.Instance
	for _, lane := range domain.Lanes {
		ins, err := k.Instances.Ready(ctx, lane, waitingMost)
		if err != nil {
			return err
		}
		waiting = append(waiting, ins...)
	}
	held, err := k.Instances.Held(ctx, now.Add(-k.QueueLimit), waitingMost)
	if err != nil {
		return err
	}
	found, err := k.stuck(ctx, waiting, workers, now)
	if err != nil {
		return err
	}
	late, err := k.late(ctx, append(waiting, held...), now)
	if err != nil {
		return err
	}
	starved, err := k.starved(ctx, now)
	if err != nil {
		return err
	}
	found, unsaid := k.explain(ctx, slices.Concat(found, late, starved))
	if err := k.Store.Raise(ctx, found); err != nil {
		return err
	}
	return errors.Join(unsaid, k.endWaiting(ctx, domain.IncidentNoTarget, workers, now), k.endWaiting(ctx, domain.IncidentQueueLimit, workers, now),
		k.endWaiting(ctx, domain.IncidentDepsLimit, workers, now))
}

// explainMost is of how many a look asks why they wait; of the others is said what is known of all such.
const explainMost = 50

// explain says of what waits why it does, as its page would now. What could not be read keeps what is said of all such.
func (k *Keeper) explain(ctx context.Context, found []store.Occurrence) ([]store.Occurrence, error) {
	if k.Whys == nil {
		return found, nil
	}
	var ids []domain.ID
	for _, o := range found {
		if o.Example != 0 && len(ids) < explainMost {
			ids = append(ids, o.Example)
		}
	}
	if len(ids) == 0 {
		return found, nil
	}
	ins, failed := k.Instances.ByIDs(ctx, ids)
	for i, o := range found {
		in, ok := ins[o.Example]
		if !ok {
			continue
		}
		said, err := k.Whys.Why(ctx, in)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if len(said) > 0 {
			found[i].Detail = saidBy(said)
		}
	}
	return found, failed
}

// overdue is which of those that wait do so for longer than the limit, the longest waiting of each job.
func overdue(waiting []domain.Instance, limit time.Duration, now time.Time) map[domain.ID]domain.Instance {
	out := map[domain.ID]domain.Instance{}
	for _, in := range waiting {
		if now.Sub(in.ReadyAt) <= limit {
			continue
		}
		if first, ok := out[in.JobID]; !ok || in.ReadyAt.Before(first.ReadyAt) {
			out[in.JobID] = in
		}
	}
	return out
}

// late is what waits for a target, or is held, beyond the limit, one occurrence for each job.
func (k *Keeper) late(ctx context.Context, waiting []domain.Instance, now time.Time) ([]store.Occurrence, error) {
	first := overdue(waiting, k.QueueLimit, now)
	names, err := k.namesOf(ctx, first)
	var out []store.Occurrence
	for _, job := range slices.Sorted(maps.Keys(first)) {
		in := first[job]
		out = append(out, store.Occurrence{ProjectID: in.ProjectID, Kind: domain.IncidentQueueLimit, Subject: job.String(), Name: nameOf(in, names), At: now, Lasts: true,
			Example: in.ID, Detail: []string{"incident.said.waits", "at", stamp(in.ReadyAt)}})
	}
	return out, err
}

// starved is what waits for its dependencies beyond the limit, one occurrence for each
// job with the one of it that waits longest.
func (k *Keeper) starved(ctx context.Context, now time.Time) ([]store.Occurrence, error) {
	ins, err := k.Instances.WaitingDeps(ctx, now.Add(-k.DepsLimit), waitingMost)
	if err != nil {
		return nil, err
	}
	first := map[domain.ID]domain.Instance{}
	for _, in := range ins {
		known, ok := first[in.JobID]
		if now.Sub(waitsSince(in)) > k.DepsLimit && (!ok || waitsSince(in).Before(waitsSince(known))) {
			first[in.JobID] = in
		}
	}
	names, err := k.namesOf(ctx, first)
	if err != nil {
		return nil, err
	}
	var out []store.Occurrence
	for _, job := range slices.Sorted(maps.Keys(first)) {
		in := first[job]
		out = append(out, store.Occurrence{ProjectID: in.ProjectID, Kind: domain.IncidentDepsLimit, Subject: job.String(), Name: nameOf(in, names), At: now, Lasts: true,
			Example: in.ID, Detail: []string{"incident.said.waits_deps", "at", stamp(waitsSince(in))}})
	}
	return out, nil
}

// waitsSince is from when the run in force has waited for its dependencies: its opening,
// which its id carries.
func waitsSince(in domain.Instance) time.Time {
	if in.RunNo > 1 {
		return in.RunID.Time()
	}
	return in.CreatedAt
}

// stuck is what waits and no worker would run, one occurrence for each job. With no worker alive at
// all there is one for the system instead of one for each job.
func (k *Keeper) stuck(ctx context.Context, waiting []domain.Instance, workers []domain.Worker, now time.Time) ([]store.Occurrence, error) {
	first := overdue(waiting, settle, now)
	switch {
	case len(first) == 0:
		return nil, nil
	case !slices.ContainsFunc(workers, living):
		return []store.Occurrence{{Kind: domain.IncidentNoTarget, At: now, Lasts: true, Detail: []string{"incident.said.no_worker"}}}, nil
	}
	names, err := k.namesOf(ctx, first)
	if err != nil {
		return nil, err
	}
	var out []store.Occurrence
	for _, job := range slices.Sorted(maps.Keys(first)) {
		in := first[job]
		refused, err := k.refused(ctx, in, workers)
		if err != nil {
			return nil, err
		}
		if len(refused) > 0 {
			out = append(out, store.Occurrence{ProjectID: in.ProjectID, Kind: domain.IncidentNoTarget, Subject: in.JobID.String(), Name: nameOf(in, names), At: now, Lasts: true,
				Example: in.ID, Detail: refused})
		}
	}
	return out, nil
}

const stampForm = "2006-01-02 15:04:05Z"

// stamp is a moment in a detail.
func stamp(t time.Time) string { return t.UTC().Format(stampForm) }

func living(w domain.Worker) bool { return w.State != domain.WorkerGone && w.LostAt.IsZero() }

// refused says why no worker would run the instance; empty: one would. A definition
// that can't be read is no reason: the broker says so itself.
func (k *Keeper) refused(ctx context.Context, in domain.Instance, workers []domain.Worker) ([]string, error) {
	spec, err := k.Jobs.Spec(ctx, in.JobID, in.Version)
	switch {
	case domain.Is(err, domain.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return refusal(spec, in.Lane, workers), nil
}

// refusal is why none of the workers would run a job in the lane; empty: one would, or
// will when it has room.
func refusal(spec domain.JobSpec, lane domain.Lane, workers []domain.Worker) []string {
	left := slices.DeleteFunc(slices.Clone(workers), func(w domain.Worker) bool { return !living(w) })
	if len(left) == 0 {
		return []string{"incident.said.no_worker"}
	}
	for _, step := range []struct {
		fits func(domain.Worker) bool
		why  []string
	}{
		{func(w domain.Worker) bool { return slices.Contains(w.Types, spec.Exec.Type) }, []string{"incident.said.no_type", "type", spec.Exec.Type}},
		{func(w domain.Worker) bool { return !lacks(w, spec.Demands()) }, []string{"incident.said.no_tags", "tags", strings.Join(spec.Demands(), ", ")}},
		{func(w domain.Worker) bool { return w.Lanes[lane] > 0 }, []string{"incident.said.no_lane", "lane", string(lane)}},
		{func(w domain.Worker) bool { return w.State == domain.WorkerAvailable && !w.Drain }, []string{"incident.said.draining"}},
		{func(w domain.Worker) bool { return w.Disk == "" }, []string{"incident.said.disks"}},
		{func(w domain.Worker) bool { return w.Skew.Abs() <= maxSkew }, []string{"incident.said.clocks"}},
	} {
		next := slices.DeleteFunc(slices.Clone(left), func(w domain.Worker) bool { return !step.fits(w) })
		if len(next) == 0 {
			return append(step.why, "workers", nameSome(left))
		}
		left = next
	}
	return nil
}

func lacks(w domain.Worker, tags []string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(w.Tags, t) })
}

// nameSome names workers, the first few of them.
func nameSome(ws []domain.Worker) string {
	var names []string
	for _, w := range ws[:min(len(ws), 3)] {
		names = append(names, w.Name)
	}
	if len(ws) > 3 {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// waitsForTarget are the labels of what is ready and has no target.
var waitsForTarget = []domain.Label{domain.Queued, domain.HeldOverlap, domain.HeldPool}

const endMost = 50

// endWaiting ends incidents of a kind whose example does not wait like that any more,
// some at a time: those seen longest ago, which the look just now did not raise.
func (k *Keeper) endWaiting(ctx context.Context, kind domain.IncidentKind, workers []domain.Worker, now time.Time) error {
	open, err := k.Store.Open(ctx, kind, 0, openLimit)
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(i domain.Incident) bool { return !i.LastAt.Before(now) })
	slices.SortFunc(open, func(a, b domain.Incident) int { return a.LastAt.Compare(b.LastAt) })
	open = open[:min(len(open), endMost)]
	ids := make([]domain.ID, len(open))
	for i, o := range open {
		ids[i] = o.Example
	}
	ins, err := k.Instances.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	var over []domain.ID
	for _, o := range open {
		in := ins[o.Example]
		still := slices.Contains(waitsForTarget, in.Label) && now.Sub(in.ReadyAt) > k.QueueLimit
		switch kind {
		case domain.IncidentDepsLimit:
			still = in.Label == domain.WaitingDeps && now.Sub(waitsSince(in)) > k.DepsLimit
		case domain.IncidentNoTarget:
			refused, err := k.refused(ctx, in, workers)
			if err != nil {
				return err
			}
			still = in.Label == domain.Queued && len(refused) > 0 && o.Subject != ""
		}
		if !still {
			over = append(over, o.ID)
		}
	}
	_, err = k.Store.Resolve(ctx, over, now, domain.RecoveredMoved)
	return err
}
