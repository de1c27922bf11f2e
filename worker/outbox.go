package worker

import (
	"context"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const (
	resendFirst = 2 * time.Second // the center answers within milliseconds when all is well
	resendMost  = 30 * time.Second
	resendLook  = 100 * time.Millisecond
	resendSoon  = time.Second // after a write that failed
)

// outbox holds the outcomes that the center has not confirmed and sends them again, for ever.
type outbox struct {
	n *Node

	mu   sync.Mutex
	open map[int64]*pending
}

// pending is one outcome; next is on the boot clock.
type pending struct {
	report protocol.Report
	next   time.Duration
	wait   time.Duration
}

func newOutbox(n *Node) *outbox { return &outbox{n: n, open: map[int64]*pending{}} }

// add takes outcomes that are in the journal and sends them for the first time.
func (o *outbox) add(rs ...protocol.Report) {
	next := o.n.cfg.Boot() + resendFirst
	o.mu.Lock()
	for _, r := range rs {
		o.open[r.Attempt] = &pending{report: r, next: next, wait: 2 * resendFirst}
	}
	o.mu.Unlock()
	o.n.up.report(rs...)
}

// hurry makes reports that could not be written due soon. Their waits do not grow by that.
func (o *outbox) hurry(rs []protocol.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range rs {
		if p := o.open[r.Attempt]; p != nil {
			p.next, p.wait = o.n.cfg.Boot()+resendSoon, resendFirst
		}
	}
}

// confirmed forgets outcomes.
func (o *outbox) confirmed(ids []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		delete(o.open, id)
	}
}

func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open)
}

// run sends what is due again.
func (o *outbox) run(ctx context.Context) {
	tick := time.NewTicker(resendLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if rs := o.due(o.n.cfg.Boot()); len(rs) > 0 {
				o.n.meter.resent.Add(float64(len(rs)))
				o.n.up.report(rs...)
			}
		}
	}
}

func (o *outbox) due(now time.Duration) []protocol.Report {
	o.mu.Lock()
	defer o.mu.Unlock()
	var rs []protocol.Report
	for _, p := range o.open {
		if p.next <= now {
			p.next, p.wait = now+p.wait, min(2*p.wait, resendMost)
			rs = append(rs, p.report)
		}
	}
	return rs
}
