package broker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// unsure are instances of which it is not known whether a change of them was
// committed: the answer to the commit was lost. What was assigned so is in force, and
// nobody would wait for its ack. Safe for concurrent use.
type unsure struct {
	mu       sync.Mutex
	ids      map[domain.ID]bool
	learning bool // those taken last are being read
}

func (u *unsure) add(ids []domain.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ids == nil {
		u.ids = map[domain.ID]bool{}
	}
	for _, id := range ids {
		u.ids[id] = true
	}
}

// take takes away all, to be read; done says that this has ended.
func (u *unsure) take() []domain.ID {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids := slices.Sorted(maps.Keys(u.ids))
	u.ids, u.learning = nil, len(ids) > 0
	return ids
}

func (u *unsure) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.learning = false
}

// any reports whether there is something that is not known.
func (u *unsure) any() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ids) > 0 || u.learning
}

// clear forgets everything.
func (u *unsure) clear() {
	u.take()
	u.done()
}

// Unsure says that it is not known whether changes of instances by this process were
// committed; see instance.Lifecycle.
func (b *Broker) Unsure(ids []domain.ID) {
	if !b.Active() {
		return
	}
	b.unsure.add(ids)
	b.ready.ring()
}

// makeSure takes over how the instances stand of which that is not known, waiting for
// whoever is writing them still. Until it has succeeded nothing is assigned: what the
// memory does not know of might be in the way.
func (b *Broker) makeSure(ctx context.Context) error {
	ids := b.unsure.take()
	if len(ids) == 0 {
		return nil
	}
	defer b.unsure.done()
	err := b.learn(ctx, ids)
	if err != nil {
		b.unsure.add(ids)
	} else {
		slog.Warn("it was not known whether changes were committed; their rows have been read again", "instances", len(ids))
	}
	return err
}

func (b *Broker) learn(ctx context.Context, ids []domain.ID) error {
	rows, err := b.Judge.Standing(ctx, ids)
	if err != nil {
		return err
	}
	var attempts []domain.ID
	jobs := map[domain.ID]domain.ID{}
	changes := make([]domain.Change, 0, len(rows))
	for _, id := range ids {
		in, ok := rows[id]
		if !ok {
			b.mem.missing(id) // it was being made, and is not
			continue
		}
		changes = append(changes, domain.Change{From: in.Status, Instance: in})
		if inFlight(in) && in.AttemptID != 0 {
			attempts = append(attempts, in.AttemptID)
			jobs[in.AttemptID] = in.JobID
		}
	}
	b.Changed(changes)
	return b.adopt(ctx, attempts, jobs)
}
