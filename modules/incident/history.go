package incident

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
)

const (
	markOfHistory = "event"
	historyPage   = 1000
	historyPages  = 10 // a round reads no more
	// lateBy is how far behind a moment events may still be committed whose ids were made
	// before it: ids are made inside the transaction, and several run at a time.
	lateBy   = time.Minute
	lateEach = 15 * time.Second
)

// tells reports whether a move is one that something is wrong with.
func tells(m domain.MoveName) bool {
	switch m {
	case domain.MoveFail, domain.MoveDepsTimeout, domain.MoveQueueTimeout, domain.MoveOrphan:
		return true
	}
	return false
}

// readHistory takes up what happened since the last round, and now and then looks a
// second time at the last minute for what was committed late.
func (k *Keeper) readHistory(ctx context.Context, now time.Time) error {
	t := k.term
	if own := k.IDs().Time(); own.Before(now) {
		now = own
	}
	for range historyPages {
		last, full, err := k.takeUp(ctx, t.seen)
		if err != nil {
			return err
		}
		t.seen = max(t.seen, last)
		if !full {
			break
		}
	}
	t.seen = min(t.seen, domain.IDAt(now)) // a clock that is set back makes ids below those of before
	return k.lookAgain(ctx, now)
}

// lookAgain reads one page of the last minute again, and rests when it is through.
func (k *Keeper) lookAgain(ctx context.Context, now time.Time) error {
	t := k.term
	if t.late == 0 {
		if time.Since(t.rested) < lateEach {
			return nil
		}
		t.late = domain.IDAt(now.Add(-lateBy))
	}
	last, full, err := k.takeUp(ctx, t.late)
	if err != nil {
		return err
	}
	t.late = max(t.late, last)
	if !full || t.late >= t.seen {
		t.late, t.rested = 0, time.Now()
	}
	return nil
}

// takeUp handles one page of the history behind an id. Handling, counting and the mark
// are one transaction, so that nothing is counted twice and nothing is passed over.
func (k *Keeper) takeUp(ctx context.Context, after domain.ID) (last domain.ID, full bool, err error) {
	events, err := k.History.EventsAfter(ctx, after, historyPage)
	if err != nil || len(events) == 0 {
		return after, false, err
	}
	last, full = events[len(events)-1].ID, len(events) == historyPage
	told := slices.DeleteFunc(slices.Clone(events), func(e domain.Event) bool { return !tells(e.Move) })
	ins, err := k.Instances.ByIDs(ctx, instancesOf(told))
	if err != nil {
		return 0, false, err
	}
	names, err := k.namesOf(ctx, ins)
	if err != nil {
		return 0, false, err
	}
	var found []store.Occurrence
	err = k.Store.Tx(ctx, func(ctx context.Context) error {
		fresh, err := k.Store.Fresh(ctx, idsOf(told))
		if err != nil {
			return err
		}
		found = occurrences(told, fresh, ins, names)
		if err := k.Store.Raise(ctx, found); err != nil {
			return err
		}
		return k.Store.SetMark(ctx, markOfHistory, max(k.term.seen, last))
	})
	if err != nil {
		return 0, false, err
	}
	return last, full, k.follow(ctx, found)
}

func instancesOf(events []domain.Event) []domain.ID {
	out := make([]domain.ID, len(events))
	for i, e := range events {
		out[i] = e.InstanceID
	}
	return out
}

func idsOf(events []domain.Event) []domain.ID {
	out := make([]domain.ID, len(events))
	for i, e := range events {
		out[i] = e.ID
	}
	return out
}

func (k *Keeper) namesOf(ctx context.Context, ins map[domain.ID]domain.Instance) (map[domain.ID]domain.JobName, error) {
	jobs := map[domain.ID]bool{}
	for _, in := range ins {
		jobs[in.JobID] = true
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	return k.Jobs.NamesOf(ctx, slices.Collect(maps.Keys(jobs)))
}

// occurrences is what the fresh ones among the events say, one for each kind and job.
func occurrences(events []domain.Event, fresh map[domain.ID]bool, ins map[domain.ID]domain.Instance, names map[domain.ID]domain.JobName) []store.Occurrence {
	type about struct {
		kind domain.IncidentKind
		job  domain.ID
	}
	place := map[about]int{}
	var out []store.Occurrence
	for _, e := range events {
		in, there := ins[e.InstanceID]
		kind := domain.IncidentJobFailed
		if e.Move == domain.MoveOrphan {
			kind = domain.IncidentOrphan
		}
		switch {
		case !fresh[e.ID] || !there:
			continue
		case kind == domain.IncidentJobFailed && in.IsShard():
			continue // its instance fails with it
		case kind == domain.IncidentOrphan && in.Label != domain.Orphan:
			continue // settled meanwhile
		}
		at, known := place[about{kind, in.JobID}]
		if !known {
			at = len(out)
			place[about{kind, in.JobID}] = at
			out = append(out, store.Occurrence{ProjectID: in.ProjectID, Kind: kind, Subject: in.JobID.String(), Name: nameOf(in, names)})
		}
		o := &out[at]
		o.Times++
		o.Example, o.Message = in.ID, cut(e.Note)
		if at := happened(e, in); at.After(o.At) {
			o.At = at
		}
		if kind == domain.IncidentOrphan {
			o.Cases = append(o.Cases, in.ID)
		}
	}
	return out
}

// happened is when that what an event tells of was so: a failure when its task had ended,
// which may have been reported later. The job's successes are compared with that.
func happened(e domain.Event, in domain.Instance) time.Time {
	if in.State == domain.Failed && in.RunID == e.RunID && !in.FinishedAt.IsZero() && in.FinishedAt.Before(e.At) {
		return in.FinishedAt
	}
	return e.At
}

func nameOf(in domain.Instance, names map[domain.ID]domain.JobName) string {
	if n, ok := names[in.JobID]; ok {
		return n.Key.String()
	}
	return in.JobName
}

// messageMost is how much of a message an incident keeps, in runes.
const messageMost = 500

func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= messageMost {
		return text
	}
	return string(runes[:messageMost]) + "…"
}

// follow takes what was opened into the memory. A job may have succeeded before its
// failure was taken up, so it is looked at soon.
func (k *Keeper) follow(ctx context.Context, found []store.Occurrence) error {
	var subjects []string
	for _, o := range found {
		if o.Kind == domain.IncidentJobFailed {
			subjects = append(subjects, o.Subject)
		}
	}
	open, err := k.Store.OpenOf(ctx, domain.IncidentJobFailed, subjects)
	if err != nil {
		k.term.loaded = false // all is read again
		return err
	}
	k.remember(open)
	for _, i := range open {
		if job, err := domain.ParseID(i.Subject); err == nil {
			k.term.fresh = append(k.term.fresh, job)
		}
	}
	return nil
}
