package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// inspect looks at the fleet once a second: who is there, who is gone, and
// whether each worker knows what it was granted.
func (b *Broker) inspect(ctx context.Context) error {
	view, err := b.Fleet.Look(ctx)
	if err != nil {
		b.away(err)
		return fmt.Errorf("the registry is away, nothing is assigned and nobody counts as lost: %w", err)
	}
	b.back()
	b.mem.view(view, b.Mono())
	if view.Emptied {
		err = b.takeBackUnclaimed(ctx)
	}
	err = errors.Join(err, b.settleOver(ctx), b.settleWaiting(ctx), b.compare(ctx, view))
	b.ready.ring()
	return err
}

// away notes that the registry does not answer: nothing is assigned and no clock
// of ack or loss runs.
func (b *Broker) away(why error) {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	b.mem.fresh, b.mem.deaf = false, why.Error()
}

// back lets the clocks of acks and grants begin anew when the registry answers again.
func (b *Broker) back() {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	b.mem.deaf = ""
	if b.mem.fresh {
		return
	}
	now := b.Mono()
	b.mem.restartAcks(now)
	for _, f := range b.mem.flights {
		f.unnamed = 0
		if f.granted {
			f.grantedAt = now
		}
	}
}

// overFor is how long a life that is over is remembered at least: what was on its
// way to it when it ended is settled too.
const overFor = time.Minute

// settleOver settles what lives held that are over, until nothing is left of them. A
// life is told as gone once, so what fails here is tried again.
func (b *Broker) settleOver(ctx context.Context) error {
	b.mem.mu.Lock()
	lives := make(map[domain.Boot]lifeOver, len(b.mem.over))
	for at, o := range b.mem.over {
		lives[at] = *o
	}
	b.mem.mu.Unlock()
	var errs []error
	for at, o := range lives {
		errs = append(errs, b.settleLife(ctx, at, o))
	}
	return errors.Join(errs...)
}

func (b *Broker) settleLife(ctx context.Context, at domain.Boot, o lifeOver) error {
	if b.desk.hears(domain.Boot{Name: at.Name, Boot: at.Boot}) {
		return nil // the next look settles the rest
	}
	now, wait, err := b.heldBy(ctx, at)
	if err != nil {
		return err
	}
	if len(now) > 0 {
		slog.Warn("worker lost", "worker", at.Name, "boot", at.Boot, "reason", o.reason, "attempts", len(now))
	}
	crash.At("lost.found")
	if err := b.lose(ctx, now, fmt.Sprintf("worker %s (boot %d) %s", at.Name, at.Boot, o.reason), o.heard); err != nil {
		return err
	}
	crash.At("lost.settled")
	if err := b.tellLost(ctx, at, now); err != nil {
		return err
	}
	b.mem.mu.Lock()
	known := b.mem.over[at]
	for _, id := range wait {
		if _, ok := b.mem.waitLost[id]; !ok && b.mem.flights[id] != nil && known != nil {
			b.mem.waitLost[id] = b.Mono().Add(domain.LossWaitGrace)
		}
	}
	b.mem.mu.Unlock()
	if known == nil || len(wait) > 0 {
		return nil
	}
	if !known.buried {
		if err := b.Fleet.Bury(ctx, at); err != nil {
			return fmt.Errorf("removing the queues of worker %s (boot %d), which is gone: %w", at.Name, at.Boot, err)
		}
		known.buried = true
	}
	if b.Mono().Sub(o.since) > overFor {
		b.mem.mu.Lock()
		delete(b.mem.over, at)
		b.mem.mu.Unlock()
	}
	return nil
}

// heldBy sorts what is in flight with a life: what is settled now, and what waits
// because its job is late rather than twice and a grant was given that may still run.
func (b *Broker) heldBy(ctx context.Context, at domain.Boot) (now, wait []domain.ID, err error) {
	granted := map[domain.ID]domain.ID{} // instance → attempt
	b.mem.mu.Lock()
	for _, f := range b.mem.of(at.Name, at.Boot) {
		switch _, waits := b.mem.waitLost[f.attempt]; {
		case waits:
			wait = append(wait, f.attempt)
		case f.granted:
			granted[f.instance] = f.attempt
		default:
			now = append(now, f.attempt)
		}
	}
	b.mem.mu.Unlock()
	if len(granted) == 0 {
		return now, wait, nil
	}
	rows, err := b.Rows.ByIDs(ctx, slices.Collect(maps.Keys(granted)))
	if err != nil {
		return nil, nil, err
	}
	for instance, attempt := range granted {
		in, ok := rows[instance]
		if !ok {
			now = append(now, attempt)
			continue
		}
		spec, err := b.Specs.Spec(ctx, in.JobID, in.Version)
		if err != nil && transient(ctx, err) {
			return nil, nil, err
		}
		if err != nil || spec.OnWorkerLost == domain.LossWait { // what cannot be read may say so
			wait = append(wait, attempt)
		} else {
			now = append(now, attempt)
		}
	}
	return now, wait, nil
}

// lose settles attempts whose worker is gone, or knows nothing of them; heard is the last that was heard of them.
func (b *Broker) lose(ctx context.Context, ids []domain.ID, note string, heard time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	if err := b.Judge.Lost(ctx, ids, note, heard); err != nil {
		return err
	}
	b.figures.lost.Add(int64(len(ids)))
	b.mem.landAll(ids)
	b.ready.ring()
	return nil
}

// settleWaiting settles attempts of lost workers whose grace is over.
func (b *Broker) settleWaiting(ctx context.Context) error {
	now := b.Mono()
	due := map[time.Time][]domain.ID{} // by when their workers were heard for the last time
	b.mem.mu.Lock()
	for id, at := range b.mem.waitLost {
		if at.After(now) {
			continue
		}
		var heard time.Time
		if f := b.mem.flights[id]; f != nil {
			if o := b.mem.over[domain.Boot{Name: f.target, Boot: f.boot}]; o != nil {
				heard = o.heard
			}
		}
		due[heard] = append(due[heard], id)
	}
	b.mem.mu.Unlock()
	var errs []error
	for heard, ids := range due {
		errs = append(errs, b.lose(ctx, ids, fmt.Sprintf("its worker was lost and has not come back within %s", domain.LossWaitGrace), heard))
	}
	return errors.Join(errs...)
}

// compare holds what each heartbeat names against what was granted. A grant that
// two heartbeats did not name is settled: that worker knows nothing of it. What is
// named but no longer in force is to be killed: it was replaced.
func (b *Broker) compare(ctx context.Context, view domain.FleetView) error {
	now, at := b.Mono(), b.Now()
	unknown := map[domain.Boot]map[domain.ID]time.Time{} // with when they were named for the last time
	strangers := map[domain.ID]domain.Boot{}
	var out []Outgoing
	b.mem.mu.Lock()
	for _, w := range view.Workers {
		life := domain.Boot{Name: w.Name, Boot: w.Boot}
		if drains := w.State == domain.WorkerDraining; drains != w.Drain {
			out = append(out, Outgoing{w.Name, w.Boot, protocol.Downlink{Drain: &w.Drain}})
		}
		named := make(map[domain.ID]bool, len(w.Held))
		for _, id := range w.Held {
			named[id] = true
			if b.mem.flights[id] == nil {
				strangers[id] = life
			}
		}
		for _, f := range b.mem.of(w.Name, w.Boot) {
			switch {
			case named[f.attempt]:
				f.unnamed, f.named = 0, at
				delete(b.mem.waitLost, f.attempt)
			case f.granted && now.Sub(f.grantedAt) > unnamedAfter && f.seq != w.Seq:
				f.unnamed++
			}
			f.seq = w.Seq
			if f.unnamed >= 2 {
				if unknown[life] == nil {
					unknown[life] = map[domain.ID]time.Time{}
				}
				unknown[life][f.attempt] = f.named
			}
		}
	}
	b.mem.mu.Unlock()
	errs := []error{b.killStrangers(ctx, strangers)}
	for life, ids := range unknown {
		for id, named := range ids {
			errs = append(errs, b.lose(ctx, []domain.ID{id}, fmt.Sprintf("worker %s (boot %d) does not know of it", life.Name, life.Boot), named))
		}
	}
	if len(out) > 0 {
		errs = append(errs, b.Mail.Post(ctx, out))
	}
	return errors.Join(errs...)
}

// unnamedAfter is how old a grant must be before a heartbeat is expected to name it.
const unnamedAfter = 2 * time.Second

// killStrangers tells workers to stop attempts that they hold and that were
// replaced meanwhile. An orphan goes on: nothing has taken its place, and its success
// would count. What is in force and was unknown to the memory is taken into it.
func (b *Broker) killStrangers(ctx context.Context, strangers map[domain.ID]domain.Boot) error {
	if len(strangers) == 0 {
		return nil
	}
	attempts, err := b.Rows.Attempts(ctx, slices.Collect(maps.Keys(strangers)))
	if err != nil {
		return err
	}
	var owners, adopt []domain.ID
	for id, a := range attempts {
		if inForce(a) && a.Target == strangers[id].Name && a.Boot == strangers[id].Boot {
			adopt = append(adopt, id)
		}
		if a.State != domain.AttemptEnded {
			owners = append(owners, a.InstanceID)
		}
	}
	if len(owners) == 0 {
		return nil
	}
	rows, err := b.Rows.ByIDs(ctx, owners)
	if err != nil {
		return err
	}
	jobs := map[domain.ID]domain.ID{}
	var out []Outgoing
	for id, at := range strangers {
		a, ok := attempts[id]
		in := rows[a.InstanceID]
		jobs[id] = in.JobID
		orphan := in.Label == domain.Orphan && in.AttemptID == id
		if ok && (a.State == domain.AttemptLost || a.State == domain.AttemptWithdrawn) && !orphan {
			out = append(out, Outgoing{at.Name, at.Boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: int64(id), Reason: "another attempt has taken its place"}}})
		}
	}
	err = b.adopt(ctx, adopt, jobs)
	if len(out) > 0 {
		b.figures.kills.Add(int64(len(out)))
		err = errors.Join(err, b.Mail.Post(ctx, out))
	}
	return err
}

// tellLost tells a worker that counts as lost to stop what was given to others. It may
// be one that can still read and no longer write.
func (b *Broker) tellLost(ctx context.Context, at domain.Boot, ids []domain.ID) error {
	lost := make(map[domain.ID]domain.Boot, len(ids))
	for _, id := range ids {
		lost[id] = at
	}
	return b.killStrangers(ctx, lost)
}
