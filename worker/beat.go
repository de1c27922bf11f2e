package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
)

const (
	beatEvery = time.Second
	beatLimit = 2 * time.Second
	// clockTrip is the longest round trip whose middle still says something about clocks.
	clockTrip = time.Second
)

// takeName writes the first heartbeat. It waits for a Redis that is away, and refuses one that must not be used, which
// it may have been too far away to find at the start, and a name that is held.
func (n *Node) takeName(ctx context.Context) error {
	if n.doubted != nil {
		if err := n.awaitSilence(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	for told := false; ctx.Err() == nil; pause(ctx, beatEvery) {
		b, err := n.firstBeat(ctx)
		if errors.Is(err, transport.ErrUnfit) {
			return err
		}
		if err != nil {
			if !told {
				n.log.Warn("waiting for Redis before taking work", "err", err)
				told = true
			}
			continue
		}
		if b.Holder == "" {
			return nil
		}
		return n.heldBy(b)
	}
	return nil
}

func (n *Node) firstBeat(ctx context.Context) (transport.Beaten, error) {
	limit, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	if err := n.link.Ready(limit); errors.Is(err, transport.ErrUnfit) {
		return transport.Beaten{}, err
	}
	return n.beat(ctx)
}

// heldBy says who has the name and what to do.
func (n *Node) heldBy(b transport.Beaten) error {
	uid, rest, _ := strings.Cut(b.Holder, " ")
	boot, stamp, _ := strings.Cut(rest, " ")
	where := "another process"
	if h := b.Held; h.Name == n.name {
		where = fmt.Sprintf("the process on host %s (%s) that is up since %s", h.Host, h.IP, time.UnixMilli(h.Started).UTC().Format(time.RFC3339))
	}
	ago := "lately"
	if ms, err := strconv.ParseInt(stamp, 10, 64); err == nil {
		ago = b.Clock.Sub(time.UnixMilli(ms)).Round(100*time.Millisecond).String() + " ago"
	}
	if uid == n.uid {
		return fmt.Errorf("%w: %s has the name %q, heard %s; it runs as boot %s of this same data directory, and this is boot %d, so two "+
			"copies of one --data are in use: stop one of them, or give this one a directory of its own", ErrNameHeld, where, n.name, ago, boot, n.boot)
	}
	return fmt.Errorf("%w: %s has the name %q, with another data directory, heard %s. Give this process a name of its own (worker.name, or "+
		"AX_WORKER_NAME), or, if it need run no tasks, start it as --mode=center. If the other is gone, start this one again in %s",
		ErrNameHeld, where, n.name, ago, n.cfg.LostAfter)
}

// beatLoop sends a heartbeat each second, and at once when the state changes.
func (n *Node) beatLoop(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.beatNow:
		case <-tick.C:
		}
		b, err := n.beat(ctx)
		if err == nil && b.Holder != "" {
			n.fail(fmt.Errorf("%w: %q is now held by %q; its tasks here are killed", ErrReplaced, n.name, b.Holder))
			return
		}
		if n.silence() > unrenewedLimit {
			n.cancelRunning(n.unanswered(n.silence()), n.cutOff)
		}
	}
}

// beat sends one heartbeat and takes the clocks' difference from it.
func (n *Node) beat(ctx context.Context) (transport.Beaten, error) {
	limit, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	if err := n.describe(); err != nil {
		n.log.Warn("what the types take can't be told", "err", err)
	}
	hb := n.heartbeat()
	sent, wall := n.cfg.Boot(), n.cfg.Now()
	b, err := n.link.Beat(limit, hb, n.cfg.LostAfter)
	if err != nil {
		n.meter.beatErrors.Inc()
		if ctx.Err() == nil {
			fault := transport.Fault(err)
			n.beatFault.Store(fault)
			n.runner.Unheard(because(fault))
		}
		return b, err
	}
	if trip := n.cfg.Boot() - sent; trip <= clockTrip {
		n.judgeClock(sighting{boot: sent + trip/2, wall: wall.Add(trip / 2), redis: b.Clock, ahead: b.Ahead, looked: b.Looked})
	}
	if b.Holder == "" {
		n.overdue(sent)
		n.beatFault.Store(nil)
		n.answered.Store(int64(sent))
		n.runner.Renewed(sent)
		n.tellTypes(limit)
	}
	return b, nil
}

// because says why a heartbeat was not answered, in words that begin with that; "" for nil.
func because(fault *transport.ProbeError) string {
	switch {
	case fault == nil:
		return ""
	case fault.Answers:
		return "because Redis took no writes: " + fault.Words()
	}
	return "because Redis did not answer"
}

// unanswered is the cause of ending what must not outlive a silence of the center.
func (n *Node) unanswered(silence time.Duration) error {
	return runner.Unanswered(silence, because(n.beatFault.Load()))
}

func (n *Node) heartbeat() protocol.Heartbeat {
	n.mu.Lock()
	held, run, meanMs := n.book.held(), n.book.count[running], n.mean.millis(n.cfg.Now())
	n.mu.Unlock()
	state := protocol.WorkerAvailable
	if n.draining() {
		state = protocol.WorkerDraining
	}
	return protocol.Heartbeat{Name: n.name, UID: n.uid, Boot: n.boot, Seq: n.meter.beats.Add(1), State: state,
		Host: n.host, IP: n.ip, Version: n.cfg.Version, Types: n.announced(), Catalog: n.catalog.rev, Threadless: n.threadless(), Tags: append([]string{}, n.cfg.Tags...), Lanes: n.cfg.Lanes,
		Cores: runtime.NumCPU(), Running: run, MeanMs: meanMs, SkewMs: time.Duration(n.skew.Load()).Milliseconds(),
		Disk: n.disk(), Started: n.began.UnixMilli(), Held: held}
}

// setDrain follows the center's wish.
func (n *Node) setDrain(on bool) {
	if n.drained.Swap(on) == on {
		return
	}
	n.log.Info("drain", "on", on)
	if on {
		n.mu.Lock()
		ids := n.book.handBack()
		n.mu.Unlock()
		if len(ids) > 0 {
			n.up.refuse(protocol.Refuse{IDs: ids, Reason: unfit("", 0, true)})
		}
	}
	n.beatSoon()
}

// beatSoon has the next heartbeat sent at once.
func (n *Node) beatSoon() {
	select {
	case n.beatNow <- struct{}{}:
	default:
	}
}

// threadless are the types whose tasks take no thread.
func (n *Node) threadless() []string {
	return slices.DeleteFunc(sortedKeys(n.types), func(name string) bool { return !n.types[name].Describe().Threadless })
}
