package broker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// carryOut commits the plan and sends what was committed.
func (b *Broker) carryOut(ctx context.Context, p plan) error {
	if err := b.makeWay(ctx, p); err != nil {
		b.mem.settle(b.epoch, p, p.assign, nil, b.Mono())
		return err
	}
	var g errgroup.Group // a half that fails leaves the other alone
	turn := make(chan struct{})
	close(turn)
	for _, half := range p.halves() {
		mine, next := turn, make(chan struct{})
		turn = next
		g.Go(func() error {
			defer close(next)
			return b.dispatch(ctx, p, half, mine)
		})
	}
	err := g.Wait()
	if len(p.full) > 0 { // last: those of the page that may start do not wait for it
		err = errors.Join(err, b.Overlaps.HoldPool(ctx, p.full))
		crash.At("place.held")
	}
	return err
}

// makeWay carries out what the overlap policy decided.
func (b *Broker) makeWay(ctx context.Context, p plan) error {
	if len(p.hold) > 0 {
		if err := b.Overlaps.Hold(ctx, p.hold, "an earlier instance of the job is unfinished"); err != nil {
			return err
		}
	}
	for note, ids := range map[string][]domain.ID{
		"an earlier instance of the job is unfinished, and overlap skip leaves this one out":                                                    p.skip,
		"an earlier instance of the job is unfinished, and overlap queue keeps only one waiting for each business date, which is there already": p.surplus,
	} {
		if len(ids) == 0 {
			continue
		}
		if err := b.Overlaps.Skip(ctx, ids, note); err != nil {
			return err
		}
	}
	if len(p.split) > 0 {
		if err := b.Shards.Split(ctx, p.split); err != nil {
			return err
		}
		crash.At("split.committed")
	}
	for by, ids := range p.replace {
		if err := b.Overlaps.Replace(ctx, ids, by); err != nil {
			return err
		}
		b.kills.ring()
	}
	return nil
}

// halfFrom is how many assignments are committed in two transactions at a time: what
// the first sends is on its way while the other is being written.
const halfFrom = 200

// halves are the assignments in one part or two, each message whole.
func (p plan) halves() [][]domain.Assignment {
	if len(p.assign) == 0 {
		return nil
	}
	var halves [2][]domain.Assignment
	in := map[string]int{}
	for _, a := range p.assign {
		half, begun := in[a.MessageID]
		if !begun && len(halves[0]) >= max(len(p.assign)/2, halfFrom/2) {
			half = 1
		}
		in[a.MessageID] = half
		halves[half] = append(halves[half], a)
	}
	if len(halves[1]) == 0 {
		return halves[:1]
	}
	return halves[:]
}

// dispatch commits attempts of a plan and sends them when it is their turn.
func (b *Broker) dispatch(ctx context.Context, p plan, assign []domain.Assignment, turn <-chan struct{}) error {
	promised(assign)
	attempts, err := b.Queue.Dispatch(ctx, assign)
	b.mem.settle(b.epoch, p, assign, attempts, b.Mono())
	if err != nil {
		return err
	}
	b.figures.dispatched.Add(int64(len(attempts)))
	b.lookAgainAt(assign, attempts)
	crash.At("dispatch.committed")
	<-turn
	b.send(ctx, attempts)
	crash.At("dispatch.sent")
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
			m = &protocol.Message{ID: a.MessageID, Epoch: b.epoch, Sent: b.Now().UnixMilli()}
			messages[a.MessageID] = m
			order = append(order, a)
		}
		m.IDs = append(m.IDs, int64(a.ID))
	}
	failed := 0
	for _, a := range order {
		m := messages[a.MessageID]
		if failed == sendTries {
			b.mem.silence(b.Mono().Add(mutePause))
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
