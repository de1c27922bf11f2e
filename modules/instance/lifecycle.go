package instance

import (
	"context"
	"log/slog"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
)

// Lifecycle has the use cases. All fields but Pools, Unsure, Early and Memo must be set.
type Lifecycle struct {
	Store    *store.Store
	IDs      *domain.IDs
	Now      func() time.Time
	Specs    Specs
	Renderer Renderer
	Deps     Deps
	Tally    Tally
	Listener Listener
	// Pools guards assignments that name one; nil = there are none.
	Pools Pools
	// Unsure hears of instances of which it is not known whether they moved: the answer
	// to the commit was lost. Like the listener it must not block.
	Unsure func(ids []domain.ID)
	// Early gives what is made a target; nil = it waits for the broker's next round.
	Early Early
	// Memo is shared by all lifecycles of a process; nil = nothing is remembered.
	Memo *Memo
}

// Forget drops what is remembered of attempts in flight: another broker may have
// written them since. A broker calls it when its term begins.
func (l *Lifecycle) Forget() { l.Memo.forget() }

// batch collects what one transaction changes and writes it at its end. What its maps
// point to is read only.
type batch struct {
	l        *Lifecycle
	now      time.Time
	actor    string // who or what acts, for the history
	order    []domain.ID
	was      map[domain.ID]*domain.Instance // as locked
	moved    map[domain.ID]*domain.Instance
	wasOf    map[domain.ID]*domain.Attempt // as read under the lock of their instances
	attempts []*domain.Attempt
	granted  []*domain.Attempt // sent → granted, compared and set
	changes  []domain.Change
	events   []domain.Event
}

// batch is an empty one for about so many instances.
func (l *Lifecycle) batch(actor string, size int) *batch {
	return &batch{l: l, now: l.Now(), actor: actor, order: make([]domain.ID, 0, size), was: make(map[domain.ID]*domain.Instance, size),
		moved: make(map[domain.ID]*domain.Instance, size), wasOf: map[domain.ID]*domain.Attempt{}, changes: make([]domain.Change, 0, size)}
}

// lock locks and reads instances, which is what the batch may then move.
func (b *batch) lock(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	locked, err := b.l.Store.Lock(ctx, ids)
	b.stand(locked)
	return locked, err
}

// stand notes how locked instances stand.
func (b *batch) stand(locked map[domain.ID]domain.Instance) {
	for id, in := range locked {
		b.was[id] = &in
	}
}

// read reads attempts of locked instances, which is what the batch may then change.
func (b *batch) read(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Attempt, error) {
	found, err := b.l.Store.Attempts(ctx, ids)
	for id, a := range found {
		b.wasOf[id] = &a
	}
	return found, err
}

// move makes one move of the table: it is the only place where a state changes.
// in is the instance as locked and read, with the fields that go with the move
// set; note says why, for the history and, when it ends the instance, for its
// message. The row is written by flush.
func (b *batch) move(in domain.Instance, name domain.MoveName, to domain.Status, note string) (domain.Instance, error) {
	from := in.Status
	if err := domain.CheckMove(name, from, to); err != nil {
		return in, err
	}
	in.Status = to
	switch {
	case to.State.Terminal():
		if in.FinishedAt.IsZero() { // else a report has said when
			in.FinishedAt = b.now
		}
		in.WakeAt, in.Message = time.Time{}, CutMessage(note)
	case to.Label == domain.Queued:
		in.ReadyAt = readySince(in, name, b.now)
		if !in.IsSplit() {
			in.StartedAt = time.Time{} // its attempt keeps it
		}
	}
	if m, _ := domain.MoveOf(name); !m.Ordinary {
		b.events = append(b.events, domain.Event{ID: b.l.IDs.Next(), ProjectID: in.ProjectID, InstanceID: in.ID, RunID: in.RunID,
			AttemptID: in.AttemptID, Move: name, From: from.String(), To: to.String(), Actor: b.actor, Note: CutMessage(note), At: b.now})
	}
	b.keep(in)
	b.changes = append(b.changes, domain.Change{Move: name, From: from, Instance: in})
	return in, nil
}

// readySince is from when an instance that is ready by the move has waited for a target.
// What a target did not take has never stopped waiting: else one that all targets refuse
// would never come to its limit. One that was split waits as its shards do.
func readySince(in domain.Instance, by domain.MoveName, now time.Time) time.Time {
	if (by == domain.MoveWithdraw || by == domain.MoveSplit || by == domain.MoveGather) && !in.ReadyAt.IsZero() {
		return in.ReadyAt
	}
	return now
}

// keep notes an instance to be written without a move of its state.
func (b *batch) keep(in domain.Instance) {
	if _, ok := b.moved[in.ID]; !ok {
		b.order = append(b.order, in.ID)
	}
	b.moved[in.ID] = &in
}

func (b *batch) attempt(a domain.Attempt) { b.attempts = append(b.attempts, &a) }

// flush writes what was collected and arranges for the listener to hear of it.
func (b *batch) flush(ctx context.Context, save func(context.Context, []store.Moved[domain.Instance]) error) error {
	ins := make([]store.Moved[domain.Instance], 0, len(b.order))
	for _, id := range b.order {
		ins = append(ins, store.Moved[domain.Instance]{Was: b.was[id], Is: b.moved[id]})
	}
	as := make([]store.Moved[domain.Attempt], 0, len(b.attempts))
	for _, a := range b.attempts {
		as = append(as, store.Moved[domain.Attempt]{Was: b.wasOf[a.ID], Is: a})
	}
	if err := save(ctx, ins); err != nil {
		return err
	}
	if err := b.l.Store.GrantAttempts(ctx, b.granted); err != nil {
		return err
	}
	if err := b.l.Store.SaveAttempts(ctx, as); err != nil {
		return err
	}
	if err := b.l.Store.InsertEvents(ctx, b.events); err != nil {
		return err
	}
	return b.l.record(ctx, b.changes)
}

func (l *Lifecycle) record(ctx context.Context, changes []domain.Change) error {
	if len(changes) == 0 {
		return nil
	}
	l.Store.AfterCommit(ctx, func() { l.Listener.Changed(changes) })
	if l.Unsure != nil {
		l.Store.IfUnsure(ctx, func() { l.Unsure(idsOf(changes)) })
	}
	counted := domain.OfInstances(changes)
	if len(counted) == 0 {
		return nil
	}
	// Its few rows are those that every transaction raises.
	return l.Store.BeforeCommit(ctx, func(ctx context.Context) error { return l.Tally.Record(ctx, counted) })
}

func idsOf(changes []domain.Change) []domain.ID {
	ids := make([]domain.ID, len(changes))
	for i, c := range changes {
		ids[i] = c.Instance.ID
	}
	return ids
}

// unreadablePause is how long what waits for a moment waits once more when its definition cannot be read.
const unreadablePause = time.Minute

// readable is the definition of an instance; false: it cannot be read, which keeps that
// instance waiting and no other. A database that is away is an error.
func (l *Lifecycle) readable(ctx context.Context, in domain.Instance) (domain.JobSpec, bool, error) {
	spec, err := l.Specs.Spec(ctx, in.JobID, in.Version)
	switch {
	case err == nil:
		return spec, true, nil
	case passes(ctx, err):
		return spec, false, err
	}
	slog.Error("a definition cannot be read; what hangs on it waits", "instance", in.ID, "job", in.JobName, "version", in.Version, "error", err)
	return domain.JobSpec{}, false, nil
}

// Standing reads instances as they stand when nobody is writing them: it waits for
// whoever is, at most as long as for any lock.
func (l *Lifecycle) Standing(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	var out map[domain.ID]domain.Instance
	err := l.Store.Tx(ctx, func(ctx context.Context) (err error) {
		out, err = l.Store.Lock(ctx, ids)
		return err
	})
	return out, err
}

// change locks the instances, calls decide for each that is there, in id order,
// and writes what it moved, all in one transaction.
func (l *Lifecycle) change(ctx context.Context, actor string, ids []domain.ID, decide func(ctx context.Context, b *batch, in domain.Instance) error) error {
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch(actor, len(ids))
		locked, err := b.lock(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range inOrder(locked) {
			if err := decide(ctx, b, locked[id]); err != nil {
				return err
			}
		}
		return b.flush(ctx, l.Store.Save)
	})
}
