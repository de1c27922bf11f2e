package worker

import (
	"context"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
)

// inboxLoop reads what the center says until ctx ends.
func (n *Node) inboxLoop(ctx context.Context) {
	const retry = 200 * time.Millisecond
	in := n.link.Inbox(n.name, n.boot)
	for ctx.Err() == nil {
		got, bad, err := in.Read(ctx)
		if err != nil {
			pause(ctx, retry)
			continue
		}
		if bad > 0 {
			n.meter.damaged.Add(float64(bad))
			n.log.Warn("dropped inbox entries that could not be read", "entries", bad)
		}
		for _, d := range got {
			n.hear(d)
		}
	}
}

// hear does what one entry asks for. Everything in it may be old, repeated or about what is unknown here.
func (n *Node) hear(d protocol.Downlink) {
	switch {
	case d.Answer != nil:
		n.hearAnswer(*d.Answer)
	case d.Kill != nil:
		n.hearKill(*d.Kill)
	case len(d.Confirm) > 0:
		n.hearConfirm(d.Confirm)
	case len(d.LogAcks) > 0:
		n.logs.acked(d.LogAcks)
	case d.Drain != nil:
		n.setDrain(*d.Drain)
	}
}

func (n *Node) hearAnswer(a protocol.Answer) {
	n.mu.Lock()
	granted, again := n.book.answer(a, n.cfg.Boot())
	n.mu.Unlock()
	if again {
		n.meter.late.Inc()
		n.up.nudge()
	}
	for _, d := range a.Denied {
		n.log.Debug("denied", "attempt", d.Attempt, "reason", d.Reason)
	}
	n.grant(granted)
}

func (n *Node) hearKill(k protocol.Kill) {
	cause := killCause(k.Reason)
	n.mu.Lock()
	a := n.book.kill(k.Attempt, cause)
	n.mu.Unlock()
	if a != nil {
		now := n.cfg.Now()
		n.hand(func() { n.finish(a, unstarted(a, protocol.OutcomeKilled, "not started: "+cause.Error(), now)) })
	}
}

func (n *Node) hearConfirm(ids []int64) {
	n.mu.Lock()
	known := n.book.confirm(ids, n.cfg.Boot())
	n.mu.Unlock()
	if len(known) == 0 {
		return
	}
	n.out.confirmed(known)
	n.logs.confirmed(known)
	crash.At("worker.confirmed")
	n.note(n.wal.Confirmed(n.cfg.Now(), known...))
}
