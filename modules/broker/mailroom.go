package broker

import (
	"context"
	"log/slog"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// readUplink applies what workers say, batch by batch, in the order of its
// coming. A batch that cannot be committed is tried again until it is, for what
// it carries must not be lost; its entries are removed only then.
func (b *Broker) readUplink(ctx context.Context) error {
	for ctx.Err() == nil {
		letters, err := b.Mail.Read(ctx, mailBatch)
		if err != nil {
			if ctx.Err() == nil {
				slog.Warn("the uplink cannot be read", "error", err)
				pause(ctx, retryPause)
			}
			continue
		}
		if len(letters) == 0 {
			continue
		}
		for wait := retryPause; ; wait = min(wait*2, maxPause) {
			if err = b.handle(ctx, letters); err == nil || ctx.Err() != nil {
				break
			}
			slog.Warn("what workers said could not be applied, once more", "entries", len(letters), "error", err)
			if !pause(ctx, wait) {
				return nil
			}
		}
		ids := make([]string, len(letters))
		for i, l := range letters {
			ids[i] = l.ID
		}
		if ctx.Err() == nil {
			if err := b.Mail.Remove(ctx, ids); err != nil {
				slog.Warn("uplink entries could not be removed; they are harmless when they come again", "error", err)
			}
		}
	}
	return nil
}

const (
	mailBatch  = 1000
	retryPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// handle applies one batch: claims first, since a report follows its claim.
func (b *Broker) handle(ctx context.Context, letters []Letter) error {
	var out []Outgoing
	answers, err := b.claims(ctx, letters)
	if err != nil {
		return err
	}
	out = append(out, answers...)
	var said []protocol.Uplink
	confirm := map[domain.Boot][]int64{}
	for _, l := range letters {
		u := l.Said
		if u.Refuse != nil {
			if err := b.refused(ctx, *u.Refuse); err != nil {
				return err
			}
		}
		if len(u.Started) == 0 && len(u.Reports) == 0 {
			continue
		}
		said = append(said, u)
		at := domain.Boot{Name: u.Worker, Boot: u.Boot}
		for _, r := range u.Reports {
			confirm[at] = append(confirm[at], r.Attempt)
		}
	}
	if len(said) > 0 {
		if err := b.Judge.Apply(ctx, said); err != nil {
			return err
		}
	}
	for at, ids := range confirm {
		out = append(out, Outgoing{at.Name, at.Boot, protocol.Downlink{Confirm: ids}})
	}
	if len(out) == 0 {
		return nil
	}
	if err := b.Mail.Post(ctx, out); err != nil {
		slog.Warn("answers could not be posted; workers ask again", "error", err)
	}
	if len(confirm) > 0 {
		b.ready.ring() // there is room again
	}
	return nil
}

// claims grants all claims of the batch in one transaction and answers each.
func (b *Broker) claims(ctx context.Context, letters []Letter) ([]Outgoing, error) {
	var all []domain.Claim
	for _, l := range letters {
		if c := l.Said.Claim; c != nil {
			for _, id := range c.IDs {
				all = append(all, domain.Claim{Attempt: domain.ID(id), Worker: l.Said.Worker, Boot: l.Said.Boot, Nonce: c.Nonce})
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	tasks, denied, err := b.Judge.Grant(ctx, all)
	if err != nil {
		return nil, err
	}
	var out []Outgoing
	for _, l := range letters {
		c := l.Said.Claim
		if c == nil {
			continue
		}
		a := protocol.Answer{Message: c.Message, Nonce: c.Nonce}
		for _, id := range c.IDs {
			// The same attempt may stand in two claims of one batch: a grant is
			// for its target alone, so a foreign one is denied above.
			if t := tasks[domain.ID(id)]; t != nil {
				a.Grants = append(a.Grants, *t)
			} else {
				a.Denied = append(a.Denied, protocol.Deny{Attempt: id, Reason: denied[domain.ID(id)]})
			}
		}
		out = append(out, Outgoing{l.Said.Worker, l.Said.Boot, protocol.Downlink{Answer: &a}})
	}
	b.granted(tasks)
	return out, nil
}

// granted notes grants and how long sending took.
func (b *Broker) granted(tasks map[domain.ID]*protocol.Task) {
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for id := range tasks {
		f := b.mem.flights[id]
		if f == nil || f.granted {
			continue
		}
		f.granted, f.grantedAt = true, now
		if t := b.mem.targets[f.target]; t != nil && t.Boot == f.boot {
			trip := now.Sub(f.sentAt)
			if t.rtt == 0 {
				t.rtt = trip
			} else {
				t.rtt += (trip - t.rtt) / 8
			}
		}
	}
}

// refused takes back what a worker handed back before claiming.
func (b *Broker) refused(ctx context.Context, r protocol.Refuse) error {
	ids := make([]domain.ID, len(r.IDs))
	for i, id := range r.IDs {
		ids[i] = domain.ID(id)
	}
	taken, err := b.Queue.Withdraw(ctx, ids, domain.OutcomeRefused, r.Reason)
	if err != nil {
		return err
	}
	b.suspects(taken)
	b.mem.landAll(taken)
	b.ready.ring()
	return nil
}

// suspects marks the targets of attempts that were not acknowledged or refused:
// for a while others are preferred.
func (b *Broker) suspects(attempts []domain.ID) {
	until := b.Mono().Add(suspicion)
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for _, id := range attempts {
		if f := b.mem.flights[id]; f != nil {
			if t := b.mem.targets[f.target]; t != nil {
				t.suspect = until
			}
		}
	}
}

const suspicion = 15 * time.Second

// pause waits, unless ctx ends first; then it returns false.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
