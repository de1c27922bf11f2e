package instance

import (
	"context"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
)

// Lifecycle has the use cases. All fields must be set.
type Lifecycle struct {
	Store    *store.Store
	IDs      *domain.IDs
	Now      func() time.Time
	Specs    Specs
	Renderer Renderer
	Deps     Deps
	Tally    Tally
	Listener Listener
}

// batch collects what one transaction changes and writes it at its end.
type batch struct {
	l        *Lifecycle
	now      time.Time
	actor    string // who or what acts, for the history
	order    []domain.ID
	moved    map[domain.ID]domain.Instance
	attempts []domain.Attempt
	granted  []domain.Attempt // sent → granted, compared and set
	changes  []domain.Change
	events   []domain.Event
}

func (l *Lifecycle) batch(actor string) *batch {
	return &batch{l: l, now: l.Now(), actor: actor, moved: map[domain.ID]domain.Instance{}}
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
		in.FinishedAt, in.WakeAt, in.Message = b.now, time.Time{}, CutMessage(note)
	case to.Label == domain.Queued:
		in.ReadyAt = b.now
	}
	if m, _ := domain.MoveOf(name); !m.Ordinary {
		b.events = append(b.events, domain.Event{ID: b.l.IDs.Next(), ProjectID: in.ProjectID, InstanceID: in.ID, RunID: in.RunID,
			AttemptID: in.AttemptID, Move: name, From: from.String(), To: to.String(), Actor: b.actor, Note: CutMessage(note), At: b.now})
	}
	b.keep(in)
	b.changes = append(b.changes, domain.Change{Move: name, From: from, Instance: in})
	return in, nil
}

// keep notes an instance to be written without a move of its state.
func (b *batch) keep(in domain.Instance) {
	if _, ok := b.moved[in.ID]; !ok {
		b.order = append(b.order, in.ID)
	}
	b.moved[in.ID] = in
}

func (b *batch) attempt(a domain.Attempt) { b.attempts = append(b.attempts, a) }

// flush writes what was collected and arranges for the listener to hear of it.
func (b *batch) flush(ctx context.Context, save func(context.Context, []domain.Instance) error) error {
	ins := make([]domain.Instance, 0, len(b.order))
	for _, id := range b.order {
		ins = append(ins, b.moved[id])
	}
	if err := save(ctx, ins); err != nil {
		return err
	}
	if err := b.l.Store.GrantAttempts(ctx, b.granted); err != nil {
		return err
	}
	if err := b.l.Store.SaveAttempts(ctx, b.attempts); err != nil {
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
	if err := l.Tally.Record(ctx, changes); err != nil {
		return err
	}
	l.Store.AfterCommit(ctx, func() { l.Listener.Changed(changes) })
	return nil
}

// change locks the instances, calls decide for each that is there, in id order,
// and writes what it moved, all in one transaction.
func (l *Lifecycle) change(ctx context.Context, actor string, ids []domain.ID, decide func(ctx context.Context, b *batch, in domain.Instance) error) error {
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		b := l.batch(actor)
		locked, err := l.Store.Lock(ctx, ids)
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
