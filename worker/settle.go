package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/runner"
)

// What is said of an attempt that an earlier life did not end.
const (
	lostKilled = "the worker ended while the task ran; what was left of it was killed at the worker's next start"
	lostUnseen = "the worker was gone while the task ran; its next start, on another machine or in another container, could not see the task's processes and killed nothing: it waited 35 s, in which the old watchdog ends a task that says on_worker_lost: wait"
)

// unseenFor is how long after the name is ours a life that we could not see may still run tasks that say
// on_worker_lost: wait. It is the center's time for the same: the old watchdog ends them when no heartbeat of theirs was
// answered for unrenewedLimit, and none is while we have the name; the rest is for the killing.
const unseenFor = unrenewedLimit + 5*time.Second

// settle closes what an earlier life left open, before anything is received. Its processes that can be seen from here are
// dead by now. What had started there and not ended is reported as lost, elsewhere it is left to settleUnseen; what had ended and was not confirmed is reported again; output that the
// center does not hold yet is shipped again from its beginning.
func (n *Node) settle(left *journal.State) error {
	outputs, err := n.reopen(left)
	if err != nil {
		return err
	}
	var lost []journal.Outcome
	for _, s := range left.Running {
		now := n.cfg.Now()
		r := protocol.Report{Attempt: s.Attempt, Outcome: protocol.OutcomeWorkerLost, Started: s.At.UnixMilli(),
			Finished: now.UnixMilli(), Message: lostKilled}
		if c := outputs[s.Attempt]; c != nil {
			r.LogLines = c.Stats().Lines
		}
		if !n.sees(s) {
			r.Message = lostUnseen
			n.unseen = append(n.unseen, r)
			continue
		}
		lost = append(lost, journal.Outcome{Attempt: s.Attempt, At: now, Body: encode(r)})
	}
	n.note(n.wal.Ended(lost...))
	if len(lost) > 0 {
		crash.At("worker.settled")
	}
	for _, o := range slices.Concat(left.Unconfirmed, lost) {
		var r protocol.Report
		if err := json.Unmarshal(o.Body, &r); err != nil || r.Attempt != o.Attempt {
			r = protocol.Report{Attempt: o.Attempt, Outcome: protocol.OutcomeWorkerLost, Finished: o.At.UnixMilli(),
				Message: "the worker's record of this outcome could not be read"}
		}
		n.book.restore(o.Attempt)
		n.out.add(r)
	}
	if len(lost)+len(left.Unconfirmed)+len(n.unseen) > 0 {
		n.log.Warn("settling an earlier life", "lost", len(lost), "unconfirmed", len(left.Unconfirmed), "unseen", len(n.unseen))
	}
	return nil
}

// settleUnseen reports what ran where this process could not look, once that must be over. A worker that ends earlier
// leaves it open in the journal for its next life.
func (n *Node) settleUnseen(ctx context.Context) {
	if len(n.unseen) == 0 {
		return
	}
	const look = 100 * time.Millisecond
	for n.cfg.Boot()-n.named < unseenFor {
		pause(ctx, look)
		if ctx.Err() != nil {
			return
		}
	}
	now := n.cfg.Now()
	lost := make([]journal.Outcome, len(n.unseen))
	for i := range n.unseen {
		n.unseen[i].Finished = now.UnixMilli()
		lost[i] = journal.Outcome{Attempt: n.unseen[i].Attempt, At: now, Body: encode(n.unseen[i])}
	}
	n.note(n.wal.Ended(lost...))
	n.mu.Lock()
	for _, r := range n.unseen {
		n.book.restore(r.Attempt)
	}
	n.mu.Unlock()
	n.out.add(n.unseen...)
	n.log.Warn("settled what ran out of sight in an earlier life", "lost", len(lost))
}

// reopen takes up all spooled output. That of attempts which are confirmed waits for its log acks only.
func (n *Node) reopen(left *journal.State) (map[int64]*runner.Capture, error) {
	open := map[int64]bool{}
	for _, s := range left.Running {
		open[s.Attempt] = true
	}
	for _, o := range left.Unconfirmed {
		open[o.Attempt] = true
	}
	ids, err := n.spool.Attempts()
	if err != nil {
		return nil, err
	}
	outputs := map[int64]*runner.Capture{}
	for _, id := range ids {
		c, err := n.spool.Reopen(id)
		if err != nil {
			return nil, fmt.Errorf("output of attempt %d: %w", id, err)
		}
		outputs[id] = c
		f := n.logs.open(c)
		f.finish()
		if !open[id] {
			n.logs.confirmed([]int64{id})
		}
	}
	return outputs, nil
}
