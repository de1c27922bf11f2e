package broker

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
)

// carryOut commits the plan and sends what was committed.
func (b *Broker) carryOut(ctx context.Context, p plan) error {
	if len(p.hold) > 0 {
		if err := b.Overlaps.Hold(ctx, p.hold, "an earlier instance of the job is unfinished"); err != nil {
			return err
		}
	}
	if len(p.skip) > 0 {
		if err := b.Overlaps.Skip(ctx, p.skip, "an earlier instance of the job is unfinished: overlap skip leaves this one out, and overlap queue keeps one waiting for each business date, which is there already"); err != nil {
			return err
		}
	}
	for by, ids := range p.replace {
		if err := b.Overlaps.Replace(ctx, ids, by); err != nil {
			return err
		}
		b.kills.ring()
	}
	if len(p.assign) == 0 {
		return nil
	}
	attempts, err := b.Queue.Dispatch(ctx, p.assign)
	if err != nil {
		return err
	}
	b.figures.dispatched.Add(int64(len(attempts)))
	jobs := make(map[domain.ID]domain.ID, len(p.assign))
	for _, a := range p.assign {
		jobs[a.Attempt] = a.Instance.JobID
	}
	now := b.Mono()
	for _, a := range attempts {
		b.mem.launch(a, jobs[a.ID], p.light[a.ID], now)
	}
	b.send(ctx, attempts)
	return nil
}

// How often sending may fail in one round, and for how long nothing is assigned
// then: a queue that is away is not fed with what would only be taken back.
const (
	sendTries = 3
	mutePause = 2 * time.Second
)

// send puts each message on its queue, in the order in which its first attempt was
// assigned. One that cannot be sent is not lost: its attempts are taken back when no
// ack comes.
func (b *Broker) send(ctx context.Context, attempts []domain.Attempt) {
	slices.SortFunc(attempts, func(x, y domain.Attempt) int { return cmp.Compare(x.ID, y.ID) })
	var order []domain.Attempt // the first of each message
	messages := map[string]*protocol.Message{}
	for _, a := range attempts {
		m := messages[a.MessageID]
		if m == nil {
			m = &protocol.Message{ID: a.MessageID, Epoch: b.epoch, Sent: time.Now().UnixMilli()}
			messages[a.MessageID] = m
			order = append(order, a)
		}
		m.IDs = append(m.IDs, int64(a.ID))
	}
	failed := 0
	for _, a := range order {
		m := messages[a.MessageID]
		if failed == sendTries {
			b.mute = b.Mono().Add(mutePause)
			slog.Warn("sending failed again and again; the rest of the round is taken back when no ack comes", "pause", mutePause)
			return
		}
		if err := b.Sender.Send(ctx, a.Target, a.Boot, string(a.Lane), *m); err != nil {
			failed++
			b.figures.unsent.Add(1)
			slog.Warn("a message could not be sent; its attempts are taken back when no ack comes", "worker", a.Target, "lane", a.Lane, "attempts", len(m.IDs), "error", err)
		}
	}
}
