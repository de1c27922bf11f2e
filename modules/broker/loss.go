package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// waitGrace is how long after the loss of a worker an attempt whose job says
// on_worker_lost: wait is settled: the worker's watchdog ends such tasks when no
// renewal was answered for 30 s; the rest is grace.
const waitGrace = 35 * time.Second

// inspect looks at the fleet once a second: who is there, who is gone, and
// whether each worker knows what it was granted.
func (b *Broker) inspect(ctx context.Context) error {
	view, err := b.Fleet.Look(ctx)
	if err != nil {
		b.away()
		return err
	}
	wasAway := b.back()
	b.mem.view(view)
	if wasAway {
		b.ready.ring()
	}
	var errs []error
	for _, gone := range view.Gone {
		errs = append(errs, b.gone(ctx, gone))
	}
	errs = append(errs, b.settleWaiting(ctx), b.compare(ctx, view))
	b.ready.ring()
	return errors.Join(errs...)
}

// away notes that the registry does not answer: nothing is assigned and no clock
// of ack or loss runs.
func (b *Broker) away() {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	b.mem.fresh = false
}

// back restarts the clocks of acks when the registry answers again.
func (b *Broker) back() bool {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	if b.mem.fresh {
		return false
	}
	now := b.Mono()
	for _, f := range b.mem.flights {
		f.sentAt, f.unnamed = now, 0
		if f.granted {
			f.grantedAt = now
		}
	}
	return true
}

// gone settles what a life of a worker held when it ended.
func (b *Broker) gone(ctx context.Context, at domain.Boot) error {
	b.mem.mu.Lock()
	flights := b.mem.of(at.Name, at.Boot)
	b.mem.mu.Unlock()
	note := fmt.Sprintf("worker %s (boot %d) %s", at.Name, at.Boot, at.Reason)
	if len(flights) > 0 {
		slog.Warn("worker lost", "worker", at.Name, "boot", at.Boot, "reason", at.Reason, "attempts", len(flights))
	}
	var now []domain.ID
	for _, f := range flights {
		waits, err := b.waits(ctx, f)
		if err != nil {
			return err
		}
		if !waits {
			now = append(now, f.attempt)
			continue
		}
		b.mem.mu.Lock()
		if _, ok := b.mem.waitLost[f.attempt]; !ok {
			b.mem.waitLost[f.attempt] = b.Mono().Add(waitGrace)
		}
		b.mem.mu.Unlock()
	}
	if err := b.lose(ctx, now, note); err != nil {
		return err
	}
	if err := b.Fleet.Bury(ctx, at); err != nil {
		slog.Warn("the queues of a worker that is gone could not be removed", "worker", at.Name, "boot", at.Boot, "error", err)
	}
	return nil
}

// waits reports whether the job of the attempt is late rather than twice, and a
// grant was given that may still run.
func (b *Broker) waits(ctx context.Context, f *flight) (bool, error) {
	if !f.granted {
		return false, nil
	}
	ins, err := b.Rows.ByIDs(ctx, []domain.ID{f.instance})
	if err != nil {
		return false, err
	}
	in, ok := ins[f.instance]
	if !ok {
		return false, nil
	}
	spec, err := b.Specs.Spec(ctx, in.JobID, in.Version)
	return spec.OnWorkerLost == domain.LossWait, err
}

func (b *Broker) lose(ctx context.Context, ids []domain.ID, note string) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	if err := b.Judge.Lost(ctx, ids, note); err != nil {
		return err
	}
	b.mem.landAll(ids)
	b.ready.ring()
	return nil
}

// settleWaiting settles attempts of lost workers whose grace is over.
func (b *Broker) settleWaiting(ctx context.Context) error {
	now := b.Mono()
	var due []domain.ID
	b.mem.mu.Lock()
	for id, at := range b.mem.waitLost {
		if !at.After(now) {
			due = append(due, id)
		}
	}
	b.mem.mu.Unlock()
	return b.lose(ctx, due, fmt.Sprintf("its worker was lost and has not come back within %s", waitGrace))
}

// compare holds what each heartbeat names against what was granted. A grant that
// two heartbeats did not name is settled: that worker knows nothing of it. What is
// named but no longer in force is to be killed: it was replaced.
func (b *Broker) compare(ctx context.Context, view domain.FleetView) error {
	now := b.Mono()
	unknown := map[domain.Boot][]domain.ID{}
	strangers := map[domain.ID]domain.Boot{}
	var out []Outgoing
	b.mem.mu.Lock()
	for _, w := range view.Workers {
		at := domain.Boot{Name: w.Name, Boot: w.Boot}
		if drains := w.State == domain.WorkerDraining; drains != w.Drain {
			out = append(out, Outgoing{w.Name, w.Boot, protocol.Downlink{Drain: &w.Drain}})
		}
		named := make(map[domain.ID]bool, len(w.Held))
		for _, id := range w.Held {
			named[id] = true
			if b.mem.flights[id] == nil {
				strangers[id] = at
			}
		}
		for _, f := range b.mem.of(w.Name, w.Boot) {
			switch {
			case named[f.attempt]:
				f.unnamed = 0
				delete(b.mem.waitLost, f.attempt)
			case f.granted && now.Sub(f.grantedAt) > unnamedAfter && f.seq != w.Seq:
				f.unnamed++
			}
			f.seq = w.Seq
			if f.unnamed >= 2 {
				unknown[at] = append(unknown[at], f.attempt)
			}
		}
	}
	b.mem.mu.Unlock()
	for at, ids := range unknown {
		if err := b.lose(ctx, ids, fmt.Sprintf("worker %s (boot %d) does not know of it", at.Name, at.Boot)); err != nil {
			return err
		}
	}
	if len(out) > 0 {
		if err := b.Mail.Post(ctx, out); err != nil {
			return err
		}
	}
	return b.killStrangers(ctx, strangers)
}

// unnamedAfter is how old a grant must be before a heartbeat is expected to name it.
const unnamedAfter = 2 * time.Second

// killStrangers tells workers to stop attempts that they hold and that were
// replaced meanwhile.
func (b *Broker) killStrangers(ctx context.Context, strangers map[domain.ID]domain.Boot) error {
	if len(strangers) == 0 {
		return nil
	}
	ids := make([]domain.ID, 0, len(strangers))
	for id := range strangers {
		ids = append(ids, id)
	}
	rows, err := b.Rows.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	var out []Outgoing
	for id, at := range strangers {
		a, ok := rows[id]
		if ok && (a.State == domain.AttemptLost || a.State == domain.AttemptWithdrawn) {
			out = append(out, Outgoing{at.Name, at.Boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: int64(id), Reason: "another attempt has taken its place"}}})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return b.Mail.Post(ctx, out)
}
