package incident

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	patrolMost = 20 // open jobs that a round looks at in the rows
	latestMost = 5  // instances of each
)

// recover ends the incidents of jobs that have succeeded since they failed, as heard
// from this process' own commits, and as some of the open ones stand in the rows: what
// was heard may have been lost with a process.
func (k *Keeper) recover(ctx context.Context, now time.Time) error {
	over := k.heard()
	asked := k.nextOnPatrol()
	found, deleted, err := k.ask(ctx, asked)
	over = append(over, found...)
	return errors.Join(err, k.end(ctx, over, now, domain.RecoveredSuccess), k.end(ctx, deleted, now, domain.RecoveredDeleted))
}

// heard is which open jobs were heard to succeed after their last failure.
func (k *Keeper) heard() []domain.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var over []domain.ID
	for job, at := range k.done {
		if at.After(k.open[job].last) {
			over = append(over, job)
		}
	}
	clear(k.done)
	return over
}

// nextOnPatrol are the open jobs to look at in this round: those just opened, then the
// others in turn.
func (k *Keeper) nextOnPatrol() map[domain.ID]openJob {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, out := k.term, map[domain.ID]openJob{}
	take := func(job domain.ID) {
		if o, ok := k.open[job]; ok && len(out) < patrolMost {
			out[job] = o
		}
	}
	n := min(len(t.fresh), patrolMost/2)
	for _, job := range t.fresh[:n] {
		take(job)
	}
	t.fresh = slices.Clone(t.fresh[n:])
	jobs := slices.Sorted(maps.Keys(k.open))
	at, _ := slices.BinarySearch(jobs, t.patrol+1)
	for _, job := range jobs[at:] {
		if len(out) >= patrolMost {
			return out
		}
		take(job)
		t.patrol = job
	}
	t.patrol = 0
	return out
}

// ask looks at the rows of jobs: which have succeeded since, and which are deleted.
func (k *Keeper) ask(ctx context.Context, asked map[domain.ID]openJob) (over, deleted []domain.ID, err error) {
	var open []domain.ID
	for job, o := range asked {
		ins, err := k.Instances.Latest(ctx, job, latestMost)
		if err != nil {
			return nil, nil, err
		}
		example, err := k.Instances.ByIDs(ctx, []domain.ID{o.example})
		if err != nil {
			return nil, nil, err
		}
		if succeeded(append(ins, example[o.example]), o.last) {
			over = append(over, job)
		} else {
			open = append(open, job)
		}
	}
	if len(open) > 0 {
		deleted, err = k.Jobs.Deleted(ctx, open)
	}
	return over, deleted, err
}

// succeeded reports whether any of the instances ended well after the moment.
func succeeded(ins []domain.Instance, after time.Time) bool {
	return slices.ContainsFunc(ins, func(in domain.Instance) bool { return in.State == domain.Success && in.FinishedAt.After(after) })
}

// end ends the incidents of jobs.
func (k *Keeper) end(ctx context.Context, jobs []domain.ID, now time.Time, why domain.Recovery) error {
	if len(jobs) == 0 {
		return nil
	}
	k.mu.Lock()
	ids := make([]domain.ID, 0, len(jobs))
	for _, job := range jobs {
		if o, ok := k.open[job]; ok {
			ids = append(ids, o.incident)
		}
	}
	k.mu.Unlock()
	if _, err := k.Store.Resolve(ctx, ids, now, why); err != nil {
		return err // the patrol finds them again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, job := range jobs {
		delete(k.open, job)
		delete(k.done, job)
	}
	return nil
}

const orphansMost = 500

// lookAtOrphans drops from the incidents the instances that are orphans no more, and
// ends those that have none left.
func (k *Keeper) lookAtOrphans(ctx context.Context, now time.Time) error {
	cases, err := k.Store.Cases(ctx, domain.IncidentOrphan, k.term.orphans, orphansMost)
	if err != nil {
		return err
	}
	k.term.orphans = store.Case{}
	if len(cases) == orphansMost {
		k.term.orphans = cases[len(cases)-1]
	}
	ids := make([]domain.ID, len(cases))
	for i, c := range cases {
		ids[i] = c.Instance
	}
	ins, err := k.Instances.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	ended := map[domain.Recovery][]store.Case{}
	for _, c := range cases {
		in := ins[c.Instance]
		if in.Label == domain.Orphan {
			continue
		}
		how, err := k.noOrphan(ctx, in)
		if err != nil {
			return err
		}
		ended[how] = append(ended[how], c)
	}
	// Those that say most of a person's part come last: an incident says how its last orphan ended.
	for _, how := range []domain.Recovery{domain.RecoveredTold, domain.RecoveredKilled, domain.RecoveredSettled} {
		err = errors.Join(err, k.Store.DropCases(ctx, ended[how], now, how))
	}
	return err
}

// noOrphan is how an instance came to be an orphan no more: a person settled it, it was
// killed, or its worker told of it after all; that too where it is gone.
func (k *Keeper) noOrphan(ctx context.Context, in domain.Instance) (domain.Recovery, error) {
	if in.ID == 0 {
		return domain.RecoveredTold, nil
	}
	events, err := k.Instances.Events(ctx, in.ID)
	how := domain.RecoveredTold
	for _, e := range slices.Backward(events) { // the first move after it was one counts
		switch e.Move {
		case domain.MoveSettle:
			how = domain.RecoveredSettled
		case domain.MoveStop, domain.MoveKill:
			how = domain.RecoveredKilled
		case domain.MoveOrphan:
			return how, err
		}
	}
	return how, err
}
