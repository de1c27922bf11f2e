package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// Ready pages as the store does.
func (w *world) Ready(_ context.Context, l domain.Lane, after domain.Instance, limit int) ([]domain.Instance, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages = append(w.pages, l)
	type key struct {
		rank int
		at   time.Time
		id   domain.ID
	}
	keyOf := func(in domain.Instance) key {
		if in.Trigger == domain.TriggerBackfill {
			return key{1, in.ReadyAt, in.ID}
		}
		return key{0, in.ReadyAt, in.ID}
	}
	order := func(a, b key) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	}
	var keys []key
	for _, in := range w.ins {
		if in.Label == domain.Queued && !in.IsSplit() && in.Lane == l && (after.ID == 0 || order(keyOf(in), keyOf(after)) > 0) {
			keys = append(keys, keyOf(in))
		}
	}
	slices.SortFunc(keys, order)
	var out []domain.Instance
	for _, k := range keys[:min(len(keys), limit)] {
		out = append(out, w.ins[k.id])
	}
	return out, w.away
}

// Dispatch commits attempts.
func (w *world) Dispatch(_ context.Context, as []domain.Assignment) ([]domain.Attempt, error) {
	by := map[domain.ID]domain.Assignment{}
	var ids []domain.ID
	for _, a := range as {
		by[a.Instance.ID] = a
		ids = append(ids, a.Instance.ID)
	}
	var out []domain.Attempt
	err := w.commit(ids, func(in domain.Instance) (domain.Instance, domain.MoveName) {
		a := by[in.ID]
		if p := w.pools[in.PoolKey()]; a.Pool != (domain.PoolSeen{ID: p.ID, Ver: p.Ver}) {
			return in, ""
		}
		if in.Ver != a.Instance.Ver || in.Label != domain.Queued {
			return in, ""
		}
		in = to(in, domain.Running, domain.Dispatched)
		in.AttemptID = a.Attempt
		in.Attempts++
		attempt := domain.Attempt{ID: a.Attempt, InstanceID: in.ID, RunID: in.RunID, State: domain.AttemptSent, Target: a.Target, Boot: a.Boot, Lane: in.Lane, MessageID: a.MessageID}
		w.attempts[a.Attempt] = attempt
		out = append(out, attempt)
		return in, domain.MoveDispatch
	})
	return out, err
}

// Withdraw takes back what was not granted.
func (w *world) Withdraw(_ context.Context, ids []domain.ID, outcome domain.Outcome, _ string) ([]domain.ID, error) {
	var out []domain.ID
	err := w.commit(w.owners(ids), func(in domain.Instance) (domain.Instance, domain.MoveName) {
		for _, id := range ids {
			if a := w.attempts[id]; a.InstanceID == in.ID && a.State == domain.AttemptSent {
				a.State, a.Outcome = domain.AttemptWithdrawn, outcome
				w.attempts[id] = a
				out = append(out, id)
				if in.AttemptID == id && in.Label == domain.Dispatched {
					return to(in, domain.Running, domain.Queued), domain.MoveWithdraw
				}
			}
		}
		return in, ""
	})
	return out, err
}

func (w *world) owners(ids []domain.ID) []domain.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]domain.ID, 0, len(ids))
	for _, id := range ids {
		out = append(out, w.attempts[id].InstanceID)
	}
	return out
}

// Grant decides claims by the last one of each attempt.
func (w *world) Grant(_ context.Context, claims []domain.Claim) (map[domain.ID]*protocol.Task, map[domain.ID]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		return nil, nil, w.away
	}
	tasks, denied := map[domain.ID]*protocol.Task{}, map[domain.ID]string{}
	for _, c := range claims {
		if c.Attempt == w.poison {
			return nil, nil, errors.New("data too long for column")
		}
	}
	for _, c := range claims {
		a, ok := w.attempts[c.Attempt]
		in := w.ins[a.InstanceID]
		delete(tasks, c.Attempt)
		delete(denied, c.Attempt)
		if !ok || a.Target != c.Worker || a.Boot != c.Boot || in.AttemptID != a.ID || !inForce(a) || !inFlight(in) || in.Label == domain.Stopping {
			denied[c.Attempt] = "it is not yours"
			continue
		}
		a.State = domain.AttemptGranted
		w.attempts[a.ID] = a
		tasks[a.ID] = &protocol.Task{Attempt: int64(a.ID)}
	}
	return tasks, denied, nil
}

// Apply ends instances whose attempt in force reports.
func (w *world) Apply(_ context.Context, said []protocol.Uplink) error {
	for _, u := range said {
		for _, s := range u.Started {
			if err := w.commit(w.owners([]domain.ID{domain.ID(s.Attempt)}), func(in domain.Instance) (domain.Instance, domain.MoveName) {
				if in.Label != domain.Dispatched {
					return in, ""
				}
				return to(in, domain.Running, domain.Executing), domain.MoveStart
			}); err != nil {
				return err
			}
		}
		for _, r := range u.Reports {
			if err := w.commit(w.owners([]domain.ID{domain.ID(r.Attempt)}), func(in domain.Instance) (domain.Instance, domain.MoveName) {
				return w.outcome(in, r)
			}); err != nil {
				return err
			}
			w.mu.Lock()
			w.applied = append(w.applied, r)
			w.mu.Unlock()
		}
	}
	return nil
}

func (w *world) outcome(in domain.Instance, r protocol.Report) (domain.Instance, domain.MoveName) {
	a := w.attempts[domain.ID(r.Attempt)]
	if a.State != domain.AttemptGranted || in.AttemptID != a.ID {
		return in, ""
	}
	a.State, a.Outcome = domain.AttemptEnded, domain.Outcome(r.Outcome)
	w.attempts[a.ID] = a
	switch {
	case in.Label == domain.Stopping:
		return to(in, domain.Cancelled, domain.Killed), domain.MoveKill
	case r.Outcome == protocol.OutcomeSuccess:
		return to(in, domain.Success, ""), domain.MoveSucceed
	case r.Outcome == protocol.OutcomeRefused:
		return to(in, domain.Running, domain.Queued), domain.MoveWithdraw
	case r.Outcome == protocol.OutcomeTimeout:
		return to(in, domain.Retrying, domain.Backoff), domain.MoveRetry
	}
	return to(in, domain.Failed, domain.ErrorLabel), domain.MoveFail
}

// Lost settles attempts of lost workers.
func (w *world) Lost(_ context.Context, ids []domain.ID, _ string, heard time.Time) error {
	for _, id := range ids {
		w.heardLast[id] = heard
	}
	return w.commit(w.owners(ids), func(in domain.Instance) (domain.Instance, domain.MoveName) {
		a := w.attempts[in.AttemptID]
		if !slices.Contains(ids, a.ID) || !inForce(a) {
			return in, ""
		}
		sent := a.State == domain.AttemptSent
		a.State = domain.AttemptLost
		if sent {
			a.State = domain.AttemptWithdrawn
		}
		w.attempts[a.ID] = a
		switch {
		case in.Label == domain.Stopping:
			return to(in, domain.Cancelled, domain.Killed), domain.MoveKill
		case sent:
			return to(in, domain.Running, domain.Queued), domain.MoveWithdraw
		case w.specs[in.JobID].OnWorkerLost == domain.LossHold:
			return to(in, domain.Running, domain.Orphan), domain.MoveOrphan
		}
		return to(in, domain.Running, domain.Queued), domain.MoveRedispatch
	})
}

func (w *world) each(ids []domain.ID, from domain.Label, name domain.MoveName, state domain.State, l domain.Label) error {
	return w.commit(ids, func(in domain.Instance) (domain.Instance, domain.MoveName) {
		if in.Label != from {
			return in, ""
		}
		return to(in, state, l), name
	})
}

// Hold sets aside.
func (w *world) Hold(_ context.Context, ids []domain.ID, _ string) error {
	w.onHold()
	return w.each(ids, domain.Queued, domain.MoveHold, domain.Running, domain.HeldOverlap)
}

// Unhold makes ready again.
func (w *world) Unhold(_ context.Context, ids []domain.ID, _ string) error {
	return w.each(ids, domain.HeldOverlap, domain.MoveUnhold, domain.Running, domain.Queued)
}

// HoldPool sets aside.
func (w *world) HoldPool(_ context.Context, ids []domain.ID) error {
	return w.each(ids, domain.Queued, domain.MoveHoldPool, domain.Running, domain.HeldPool)
}

// UnholdPool makes ready again and tells whom.
func (w *world) UnholdPool(_ context.Context, ids []domain.ID) ([]domain.ID, error) {
	var moved []domain.ID
	err := w.commit(ids, func(in domain.Instance) (domain.Instance, domain.MoveName) {
		if in.Label != domain.HeldPool {
			return in, ""
		}
		moved = append(moved, in.ID)
		return to(in, domain.Running, domain.Queued), domain.MoveUnholdPool
	})
	return moved, err
}

// ByKeys reads pools.
func (w *world) ByKeys(_ context.Context, keys []domain.PoolKey) (map[domain.PoolKey]domain.Pool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[domain.PoolKey]domain.Pool{}
	for _, k := range keys {
		if p, ok := w.pools[k]; ok {
			out[k] = p
		}
	}
	return out, w.away
}

// Skip cancels.
func (w *world) Skip(_ context.Context, ids []domain.ID, _ string) error {
	return w.each(ids, domain.Queued, domain.MoveSkip, domain.Cancelled, domain.Skipped)
}

// Split opens shards.
func (w *world) Split(_ context.Context, splits []domain.Split) error {
	for _, s := range splits {
		err := w.commit([]domain.ID{s.Instance.ID}, func(in domain.Instance) (domain.Instance, domain.MoveName) {
			if in.Ver != s.Instance.Ver || in.Label != domain.Queued {
				return in, ""
			}
			in.Shards = s.Shards
			return in, domain.MoveSplit
		})
		if err != nil {
			return err
		}
		var born []domain.Change
		for i := range s.Shards {
			id := w.ready(s.Instance.JobID, func(in *domain.Instance) {
				in.Sharding = domain.Sharding{PartOf: s.Instance.ID, Shard: i, Shards: s.Shards}
				in.Pool, in.Expected = s.Instance.Pool, s.Instance.Expected
				if s.Workers != nil {
					in.Worker = s.Workers[i]
				}
			})
			born = append(born, domain.Change{Instance: w.ins[id]})
		}
		w.b.Changed(born)
	}
	return nil
}

// Gather notes whom.
func (w *world) Gather(_ context.Context, ids []domain.ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.gatherErr; err != nil {
		w.gatherErr = nil
		return err
	}
	w.gathered = append(w.gathered, ids...)
	return nil
}

// Replace kills.
func (w *world) Replace(_ context.Context, ids []domain.ID, _ domain.ID) error { return w.kill(ids...) }

// kill ends instances on a person's word.
func (w *world) kill(ids ...domain.ID) error {
	return w.commit(ids, func(in domain.Instance) (domain.Instance, domain.MoveName) {
		a := w.attempts[in.AttemptID]
		switch {
		case in.State.Terminal() || in.Label == domain.Stopping:
			return in, ""
		case inFlight(in) && a.State == domain.AttemptGranted:
			return to(in, domain.Running, domain.Stopping), domain.MoveStop
		case inFlight(in):
			a.State = domain.AttemptWithdrawn
			w.attempts[a.ID] = a
		}
		return to(in, domain.Cancelled, domain.Killed), domain.MoveKill
	})
}

// Wake ends back-offs that are over.
func (w *world) Wake(context.Context, int) (int, error) {
	var ids []domain.ID
	w.mu.Lock()
	for id, in := range w.ins {
		if in.Label == domain.Backoff && !in.WakeAt.After(time.Now()) {
			ids = append(ids, id)
		}
	}
	w.mu.Unlock()
	return len(ids), w.each(ids, domain.Backoff, domain.MoveRequeue, domain.Running, domain.Queued)
}

// Unfinished reads rows.
func (w *world) Unfinished(_ context.Context, state domain.State, after domain.ID, limit int) ([]domain.Instance, error) {
	return w.page(after, limit, func(in domain.Instance) bool {
		return in.State == state && (begun(in) || in.Label == domain.HeldOverlap)
	})
}

// Stopping reads rows.
func (w *world) Stopping(_ context.Context, after domain.ID, limit int) ([]domain.Instance, error) {
	return w.page(after, limit, func(in domain.Instance) bool { return in.Label == domain.Stopping })
}

func (w *world) page(after domain.ID, limit int, want func(domain.Instance) bool) ([]domain.Instance, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []domain.Instance
	for _, id := range slices.Sorted(maps.Keys(w.ins)) {
		if in := w.ins[id]; want(in) && id > after && len(out) < limit {
			out = append(out, in)
		}
	}
	return out, w.away
}

// Forget has nothing to forget: every answer is read.
func (w *world) Forget() {}

// Standing reads rows.
func (w *world) Standing(ctx context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	return w.ByIDs(ctx, ids)
}

// ByIDs reads rows.
func (w *world) ByIDs(_ context.Context, ids []domain.ID) (map[domain.ID]domain.Instance, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	out := map[domain.ID]domain.Instance{}
	for _, id := range ids {
		if in, ok := w.ins[id]; ok {
			out[id] = in
		}
	}
	return out, w.away
}

// Attempts reads rows.
func (w *world) Attempts(_ context.Context, ids []domain.ID) (map[domain.ID]domain.Attempt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[domain.ID]domain.Attempt{}
	for _, id := range ids {
		if a, ok := w.attempts[id]; ok {
			out[id] = a
		}
	}
	return out, w.away
}

// Spec reads a definition.
func (w *world) Spec(_ context.Context, job domain.ID, version int) (domain.JobSpec, error) {
	if spec, ok := w.second[job]; ok && version == 2 {
		return spec, w.bad[job]
	}
	return w.specs[job], w.bad[job]
}

// Read hands out what workers wrote, or waits a while.
func (w *world) Read(ctx context.Context, limit int) ([]Letter, error) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
	case <-w.wake:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.uplink[:min(len(w.uplink), limit)]
	w.uplink = w.uplink[len(out):]
	return out, ctx.Err()
}

// write puts an entry into the uplink.
func (w *world) write(u protocol.Uplink) {
	w.mu.Lock()
	w.uplink = append(w.uplink, Letter{ID: fmt.Sprint("e", len(w.uplink)+len(w.removed)), Said: u})
	w.mu.Unlock()
	bell(w.wake).ring()
}

// Remove forgets entries.
func (w *world) Remove(_ context.Context, ids []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed = append(w.removed, ids...)
	return nil
}

// Post keeps what workers are told.
func (w *world) Post(_ context.Context, out []Outgoing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posted = append(w.posted, out...)
	return nil
}

// Send refuses what is not in the rows: nothing leaves before its commit.
func (w *world) Send(_ context.Context, worker string, boot int64, l string, m protocol.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range m.IDs {
		a, ok := w.attempts[domain.ID(id)]
		if !ok || a.State != domain.AttemptSent || a.Target != worker || string(a.Lane) != l {
			w.t.Errorf("attempt %d was sent to %s/%s; its row is %+v", id, worker, l, a)
		}
	}
	if w.sendErr == nil {
		w.sent = append(w.sent, sending{worker, boot, l, m})
	}
	return w.sendErr
}

// Look tells who is there, and once who is gone.
func (w *world) Look(context.Context) (domain.FleetView, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.registry != nil {
		return domain.FleetView{}, w.registry
	}
	v := domain.FleetView{Gone: w.gone, Partial: w.unheardOf}
	w.gone = nil
	for _, name := range slices.Sorted(maps.Keys(w.workers)) {
		v.Workers = append(v.Workers, w.workers[name])
	}
	return v, nil
}

// Expect notes what was asked for.
func (w *world) Expect(boots []domain.Boot) { w.expected = boots }

// Bury notes who was buried.
func (w *world) Bury(_ context.Context, at domain.Boot) error {
	if w.buryErr == nil {
		w.buried = append(w.buried, at)
	}
	return w.buryErr
}
