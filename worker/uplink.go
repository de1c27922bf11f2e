package worker

import (
	"context"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/transport"
)

const (
	// gather is how long starts and reports wait for company; claims do not wait.
	gather = 5 * time.Millisecond
	// shortTask is how long a start waits for its own end: a report tells the start too, so that the many tasks that
	// end sooner cost the center one move less. Nobody sees "executing" for so short a time.
	shortTask = 25 * time.Millisecond
	// entryBytes bounds one entry of reports, whose results may be large.
	entryBytes = 512 << 10
	// writeLimit is how long one write to Redis may take.
	writeLimit = 2 * time.Second
	// retryWrite is the pause after a write that failed.
	retryWrite = 200 * time.Millisecond
	// keepMost bounds the starts that wait for a Redis that is away: a report tells the start too.
	keepMost = 10_000
)

// uplink gathers what goes to the broker and writes it in batches, one round trip each.
type uplink struct {
	n    *Node
	wake chan struct{}

	mu      sync.Mutex
	started []begun
	refused []protocol.Refuse
	reports []protocol.Report
}

// begun is a start that was not told yet; since is on the boot clock.
type begun struct {
	protocol.Started
	since time.Duration
}

func newUplink(n *Node) *uplink { return &uplink{n: n, wake: make(chan struct{}, 1)} }

// nudge makes the uplink look for something to send.
func (u *uplink) nudge() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *uplink) start(s protocol.Started) {
	u.mu.Lock()
	u.started = append(u.started, begun{s, u.n.cfg.Boot()})
	u.mu.Unlock()
	u.nudge()
}

func (u *uplink) refuse(r protocol.Refuse) {
	u.mu.Lock()
	u.refused = append(u.refused, r)
	u.mu.Unlock()
	u.nudge()
}

func (u *uplink) report(rs ...protocol.Report) {
	u.mu.Lock()
	u.reports = append(u.reports, rs...)
	u.mu.Unlock()
	u.nudge()
}

// run sends until ctx ends, and then once more what is left.
func (u *uplink) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			u.send(context.WithoutCancel(ctx))
			return
		case <-u.wake:
		}
		if !u.send(ctx) {
			pause(ctx, retryWrite)
			continue
		}
		pause(ctx, gather)
	}
}

// send writes all there is. Claims are stamped now, just before they go, and never kept: their repetition is due soon
// anyway. Reports are the outbox's to repeat.
func (u *uplink) send(ctx context.Context) bool {
	n := u.n
	u.mu.Lock()
	refused, reports := u.refused, u.reports
	started, young := ripe(u.started, reports, n.cfg.Boot())
	u.started, u.refused, u.reports = young, nil, nil
	u.mu.Unlock()
	if len(young) > 0 {
		u.nudge()
	}
	n.mu.Lock()
	claims := n.book.claims(n.cfg.Boot(), newNonce)
	n.mu.Unlock()
	entries := u.entries(claims, started, refused, reports)
	if len(entries) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	if err := n.link.Write(ctx, entries...); err != nil {
		n.meter.writeErrors.Inc()
		u.keep(started, refused)
		n.mu.Lock()
		n.book.unsent(claims, n.cfg.Boot())
		n.mu.Unlock()
		n.out.hurry(reports)
		return false
	}
	if len(claims) > 0 {
		crash.At("worker.claimed")
	}
	if len(reports) > 0 {
		crash.At("worker.reported")
	}
	n.meter.claims.Add(float64(len(claims)))
	return true
}

// ripe parts the starts that are to be told now from those that may still end soon. One whose report goes with them is
// told by that.
func ripe(all []begun, reports []protocol.Report, now time.Duration) (tell, young []begun) {
	ended := make(map[int64]bool, len(reports))
	for _, r := range reports {
		ended[r.Attempt] = true
	}
	for _, s := range all {
		switch {
		case ended[s.Attempt]:
		case now-s.since < shortTask:
			young = append(young, s)
		default:
			tell = append(tell, s)
		}
	}
	return tell, young
}

// keep puts back what nobody else repeats.
func (u *uplink) keep(started []begun, refused []protocol.Refuse) {
	u.mu.Lock()
	if len(u.started) < keepMost {
		u.started = append(started, u.started...)
	}
	u.refused = append(refused, u.refused...)
	if len(u.refused) > keepMost {
		u.refused = u.refused[len(u.refused)-keepMost:]
	}
	again := len(u.started)+len(u.refused) > 0
	u.mu.Unlock()
	if again {
		u.nudge()
	}
}

func (u *uplink) entries(cs []protocol.Claim, ss []begun, fs []protocol.Refuse, rs []protocol.Report) []transport.Entry {
	var out []transport.Entry
	add := func(up protocol.Uplink) {
		up.Worker, up.Boot = u.n.name, u.n.boot
		out = append(out, transport.UplinkEntry(up))
	}
	for i := range fs {
		add(protocol.Uplink{Refuse: &fs[i]})
	}
	for i := range cs {
		add(protocol.Uplink{Claim: &cs[i]})
	}
	for len(ss) > 0 {
		k := min(len(ss), protocol.MaxBatch)
		told := make([]protocol.Started, k)
		for i, s := range ss[:k] {
			told[i] = s.Started
		}
		add(protocol.Uplink{Started: told})
		ss = ss[k:]
	}
	for len(rs) > 0 {
		k := cut(rs)
		add(protocol.Uplink{Reports: rs[:k]})
		rs = rs[k:]
	}
	return out
}

// cut is how many reports go into one entry: one at least.
func cut(rs []protocol.Report) int {
	size := 0
	for i, r := range rs {
		size += len(r.Result) + len(r.Message)
		if i == protocol.MaxBatch || i > 0 && size > entryBytes {
			return i
		}
	}
	return len(rs)
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
