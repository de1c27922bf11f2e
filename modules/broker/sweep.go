package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// sweep runs what time alone moves: wake times, acks that did not come, held
// instances whose way is free.
func (b *Broker) sweep(ctx context.Context) error {
	for {
		n, err := b.Clock.Wake(ctx, pageSize)
		if err != nil {
			return err
		}
		if n > 0 {
			b.ready.ring()
		}
		if n < pageSize {
			break
		}
	}
	if err := b.withdrawUnacked(ctx); err != nil {
		return err
	}
	return b.freeHeld(ctx)
}

// withdrawUnacked takes back what no target has claimed in time. The clock runs
// only while the registry answers.
func (b *Broker) withdrawUnacked(ctx context.Context) error {
	now := b.Mono()
	var late []domain.ID
	b.mem.mu.Lock()
	if b.mem.fresh {
		for _, f := range b.mem.flights {
			if !f.granted && now.Sub(f.sentAt) > b.AckWithin {
				late = append(late, f.attempt)
			}
		}
	}
	b.mem.mu.Unlock()
	if len(late) == 0 {
		return nil
	}
	slices.Sort(late)
	taken, err := b.Queue.Withdraw(ctx, late, domain.OutcomeNoAck, fmt.Sprintf("no ack within %s", b.AckWithin))
	if err != nil {
		return err
	}
	b.suspects(late)
	b.mem.landAll(taken)
	b.ready.ring()
	return nil
}

// freeHeld makes ready, for each job with held instances, the oldest one when
// nothing is in its way any more. What others may have ended is read again.
func (b *Broker) freeHeld(ctx context.Context) error {
	b.mem.mu.Lock()
	var blockers, heads []domain.ID
	for job, held := range b.mem.held {
		if len(held) == 0 {
			continue
		}
		heads = append(heads, held[0].id)
		for id := range b.mem.busy[job] {
			blockers = append(blockers, id)
		}
	}
	b.mem.mu.Unlock()
	if len(heads) == 0 {
		return nil
	}
	rows, err := b.Rows.ByIDs(ctx, append(blockers, heads...))
	if err != nil {
		return err
	}
	var free []domain.ID
	b.mem.mu.Lock()
	for job, held := range b.mem.held {
		for id := range b.mem.busy[job] {
			if in, ok := rows[id]; ok && !begun(in) {
				b.mem.free(job, id)
			}
		}
		for _, w := range held {
			if in, ok := rows[w.id]; ok && in.Label != domain.HeldOverlap {
				b.mem.free(job, w.id)
			}
		}
		if len(b.mem.busy[job]) == 0 && len(b.mem.held[job]) > 0 {
			free = append(free, b.mem.held[job][0].id)
		}
	}
	b.mem.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	slices.Sort(free)
	return b.Overlaps.Unhold(ctx, free, "the instance before it ended")
}

// tellKills tells workers which attempts to stop, again and again until each has
// been reported.
func (b *Broker) tellKills(ctx context.Context) error {
	stopping := domain.Status{State: domain.Running, Label: domain.Stopping}
	var out []Outgoing
	after := domain.ID(0)
	for {
		page, err := b.Rows.ByStatus(ctx, stopping, after, pageSize)
		if err != nil {
			return err
		}
		out = append(out, b.killsOf(page)...)
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

func (b *Broker) killsOf(page []domain.Instance) []Outgoing {
	now := b.Mono()
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	var out []Outgoing
	for _, in := range page {
		f := b.mem.flights[in.AttemptID]
		if f == nil || now.Sub(f.killSent) < killAgain {
			continue
		}
		f.killSent = now
		out = append(out, Outgoing{f.target, f.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: int64(f.attempt), Reason: "killed"}}})
	}
	return out
}
