package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// sweep runs what time alone moves: wake times, acks that did not come, held
// instances whose way is free. Each is done whatever becomes of the others.
func (b *Broker) sweep(ctx context.Context) error {
	return errors.Join(b.wake(ctx), b.withdrawUnacked(ctx), b.freeHeld(ctx))
}

func (b *Broker) wake(ctx context.Context) error {
	for {
		n, err := b.Clock.Wake(ctx, pageSize)
		if err != nil {
			return err
		}
		if n > 0 {
			crash.At("wake.committed")
			b.ready.ring()
		}
		if n < pageSize {
			return nil
		}
	}
}

// withdrawUnacked takes back what no target has claimed in time. The clock runs
// only while the registry answers, and only up to the moment to which all that
// workers said has been heard: a claim that waits to be read has arrived.
func (b *Broker) withdrawUnacked(ctx context.Context) error {
	var late []domain.ID
	b.mem.mu.Lock()
	if b.mem.fresh {
		for _, f := range b.mem.flights {
			if !f.granted && b.mem.heard.Sub(f.sentAt) > b.AckWithin {
				late = append(late, f.attempt)
			}
		}
	}
	b.mem.mu.Unlock()
	if len(late) == 0 {
		return nil
	}
	b.suspect(late)
	return b.withdraw(ctx, late, domain.OutcomeNoAck, fmt.Sprintf("no ack within %s", b.AckWithin))
}

// withdraw takes attempts back. What another process has taken back before, or has
// been granted, is corrected in the memory by the rows.
func (b *Broker) withdraw(ctx context.Context, ids []domain.ID, outcome domain.Outcome, note string) error {
	slices.Sort(ids)
	taken, err := b.Queue.Withdraw(ctx, ids, outcome, note)
	if err != nil {
		return err
	}
	crash.At("withdraw.committed")
	b.figures.withdrawn.Add(int64(len(taken)))
	b.mem.landAll(taken)
	b.ready.ring()
	if len(taken) == len(ids) {
		return nil
	}
	rows, err := b.Rows.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for _, id := range ids {
		switch a, ok := rows[id]; {
		case !ok || !inForce(a):
			b.mem.land(id)
		case a.State == domain.AttemptGranted:
			b.mem.grant(id, b.Mono())
		}
	}
	return nil
}

// suspect marks the targets of attempts that were not acknowledged: for a while
// others are preferred.
func (b *Broker) suspect(attempts []domain.ID) {
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for _, id := range attempts {
		if f := b.mem.flights[id]; f != nil {
			if t := b.mem.target(f.target, f.boot); t != nil {
				t.doubt(now)
			}
		}
	}
}

// tellKills tells workers which attempts to stop, again and again until each has
// been reported.
func (b *Broker) tellKills(ctx context.Context) error {
	var out []Outgoing
	after := domain.ID(0)
	for {
		page, err := b.Rows.Stopping(ctx, after, pageSize)
		if err != nil {
			return err
		}
		more, unknown, jobs := b.killsOf(page)
		out = append(out, more...)
		if err := b.adopt(ctx, unknown, jobs); err != nil { // told next time
			return err
		}
		if len(page) < pageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	if len(out) == 0 {
		return nil
	}
	return b.Mail.Post(ctx, out)
}

const killAgain = 2 * time.Second

// killsOf is what to tell about a page of stopping instances; unknown are attempts
// that the memory does not have, with their jobs.
func (b *Broker) killsOf(page []domain.Instance) (out []Outgoing, unknown []domain.ID, jobs map[domain.ID]domain.ID) {
	now := b.Mono()
	jobs = map[domain.ID]domain.ID{}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	for _, in := range page {
		f := b.mem.flights[in.AttemptID]
		switch {
		case f == nil:
			unknown = append(unknown, in.AttemptID)
			jobs[in.AttemptID] = in.JobID
		case now.Sub(f.killSent) >= killAgain:
			f.killSent = now
			out = append(out, Outgoing{f.target, f.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: int64(f.attempt), Reason: "killed"}}})
		}
	}
	return out, unknown, jobs
}
