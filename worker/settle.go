package worker

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/runner"
)

// settle closes what an earlier life left open, before anything is received. Its processes are dead by now. What had
// started and not ended is reported as lost; what had ended and was not confirmed is reported again; output that the
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
			Finished: now.UnixMilli(), Message: "the worker ended while the task ran; what was left of it was killed at the worker's next start"}
		if c := outputs[s.Attempt]; c != nil {
			r.LogLines = c.Stats().Lines
		}
		lost = append(lost, journal.Outcome{Attempt: s.Attempt, At: now, Body: encode(r)})
	}
	if err := n.wal.Ended(lost...); err != nil {
		return err
	}
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
	if len(lost)+len(left.Unconfirmed) > 0 {
		n.log.Warn("settling an earlier life", "lost", len(lost), "unconfirmed", len(left.Unconfirmed))
	}
	return nil
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
