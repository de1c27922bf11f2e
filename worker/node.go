package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
	"github.com/axsched/ax/worker/types"
)

// Node is one worker. Open one, Run it once; Status and Handler may be used at any time by anybody.
type Node struct {
	cfg    Config
	link   *transport.Link
	log    *slog.Logger
	name   string
	uid    string
	boot   int64
	host   string
	ip     string
	began  time.Time
	types  map[string]types.Executor
	runner *runner.Runner
	spool  *runner.Spool
	// results is the folder in which tasks leave their results.
	results string
	wal     *journal.Journal
	lanes   map[string]*lane
	// instant holds what takes no thread of a lane.
	instant *lane
	up      *uplink
	out     *outbox
	logs    *feeds
	meter   *meter
	hands   atomic.Int64 // how many hold a granted attempt: threads, their queues, and what runs beside them

	mu    sync.Mutex
	book  *book
	mean  mean
	clock skew

	// Of the heartbeat, on the boot clock; 0 before the first answer.
	answered  atomic.Int64
	beatFault atomic.Pointer[transport.ProbeError] // why the last one was not answered; nil: it was
	skew      atomic.Int64                         // clock.off
	drained   atomic.Bool                          // asked for by the center
	stopping  atomic.Bool
	beatNow   chan struct{}
	diskBad   chan struct{} // capacity 1: the journal has just refused something
	fatal     chan error    // capacity 1: why the node cannot go on
	catalog   catalogue

	place []byte // see ownPlace
	// doubted is what a life left that may not be over; it is settled when the name is ours. Nil: nothing is in doubt.
	doubted *journal.State
	// unseen are the losses that are told late: see settleUnseen.
	unseen []protocol.Report
	named  time.Duration // when the name was taken, on the boot clock
}

// Open takes the data directory, kills what an earlier life left running, settles its journal and builds the executors.
// Where that life may not be over, it is left alone until Run has the name. Nothing is received before Run. The error
// says what is in the way.
func Open(cfg Config, link *transport.Link, build func(*runner.Runner) []types.Executor) (*Node, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	uid, boot := lastHolder(cfg, link)
	wal, left, err := journal.OpenAfter(cfg.Data, uid, boot)
	if err != nil {
		return nil, err
	}
	left.Doubt = left.Doubt || uid == left.UID && boot >= left.Boot // a copy of the directory had the name since
	n := &Node{cfg: cfg, link: link, log: cfg.Log, wal: wal, uid: left.UID, boot: left.Boot, host: hostName(), ip: ownIP(),
		began: cfg.Now(), types: map[string]types.Executor{}, lanes: map[string]*lane{}, book: newBook(),
		beatNow: make(chan struct{}, 1), diskBad: make(chan struct{}, 1), fatal: make(chan error, 1), place: ownPlace()}
	if err := n.prepare(left, build); err != nil {
		_ = wal.Close()
		return nil, err
	}
	return n, nil
}

// lastHolder is who had the name that was given or kept last, as far as Redis tells: a container without a disk of its own
// begins at boot 1 each time, and the center must not take it for the one before, whose tasks may still run.
func lastHolder(cfg Config, link *transport.Link) (uid string, boot int64) {
	name := cfg.Name
	if kept, err := os.ReadFile(filepath.Join(cfg.Data, "name")); err == nil && name == "" {
		name = strings.TrimSpace(string(kept))
	}
	if name == "" {
		return "", 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), beatLimit)
	defer cancel()
	uid, boot, err := link.Holder(ctx, name)
	if err != nil {
		cfg.Log.Debug("who had the worker's name last is not known", "err", err)
	}
	return uid, boot
}

func (n *Node) prepare(left *journal.State, build func(*runner.Runner) []types.Executor) (err error) {
	if n.name, err = settleName(n.cfg.Name, n.cfg.Data, n.uid); err != nil {
		return err
	}
	n.log = n.log.With("worker", n.name, "boot", n.boot)
	for _, note := range left.Notes {
		n.log.Warn(note)
	}
	for name, threads := range n.cfg.Lanes {
		n.lanes[name] = newLane(threads)
	}
	n.instant = newLane(instantThreads)
	n.up, n.out, n.logs, n.meter = newUplink(n), newOutbox(n), newFeeds(n), newMeter(n)
	if n.spool, err = runner.OpenSpool(filepath.Join(n.cfg.Data, "logs"), runner.Limits{}); err != nil {
		return err
	}
	if n.results, err = filepath.Abs(filepath.Join(n.cfg.Data, "results")); err != nil { // tasks have folders of their own
		return err
	}
	if err = os.MkdirAll(n.results, 0o700); err != nil {
		return err
	}
	if left.Doubt {
		n.doubted = left
	} else if err := n.inherit(left); err != nil {
		return err
	}
	if n.runner, err = runner.New(runner.Config{Marker: n.marker(), Watchdog: n.cfg.Watchdog, Log: n.log}); err != nil {
		return err
	}
	for _, e := range build(n.runner) {
		n.types[e.Type()] = e
	}
	return nil
}

func (n *Node) marker() runner.Marker { return runner.Marker{UID: n.uid, Boot: n.boot} }

// inherit kills what lives that are over left running here, and settles what they left open.
func (n *Node) inherit(left *journal.State) error {
	if killed, err := runner.KillMarked(n.marker(), killLimit); err != nil {
		return err
	} else if killed > 0 {
		n.log.Warn("killed processes that an earlier life of this worker left behind", "processes", killed)
	}
	if err := n.dropResults(); err != nil {
		return err
	}
	return n.settle(left)
}

// dropResults removes what tasks of lives that are over left for results: nobody will read them, and they may hold what
// nobody should.
func (n *Node) dropResults() error {
	old, err := os.ReadDir(n.results)
	for _, one := range old {
		err = errors.Join(err, os.RemoveAll(filepath.Join(n.results, one.Name())))
	}
	return err
}

// killLimit is how long processes of an earlier life may take to die.
const killLimit = 10 * time.Second

// Name, UID and Boot are how the center knows this worker.
func (n *Node) Name() string { return n.name }

// UID is the data directory's, for ever.
func (n *Node) UID() string { return n.uid }

// Boot counts the lives of the data directory, from 1.
func (n *Node) Boot() int64 { return n.boot }

// ErrNameHeld is wrapped by Run's error when another live worker has this one's name.
var ErrNameHeld = errors.New("the worker's name is held by another live worker")

// ErrReplaced is wrapped by Run's error when another worker took the name while this one was cut off.
var ErrReplaced = errors.New("another worker took this one's name")

// Run works until ctx ends, then drains: it hands back what has not started, gives what runs the grace to end, kills
// the rest and hands that back too, waits a little for the center to confirm the outcomes, and leaves. It returns nil
// then. It returns early with the reason when the worker must not go on.
func (n *Node) Run(ctx context.Context) error {
	defer n.close()
	if err := n.takeName(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	n.named = n.cfg.Boot()
	if n.doubted != nil {
		if err := n.inherit(n.doubted); err != nil {
			return err
		}
		if err := n.wal.Own(); err != nil {
			return err
		}
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer end()
	for _, loop := range []func(context.Context){n.beatLoop, n.inboxLoop, n.claimLoop, n.up.run, n.out.run, n.logs.run, n.settleUnseen, n.diskLoop} {
		loops.Go(func() { loop(life) })
	}
	for name, l := range n.lanes {
		for range l.threads {
			loops.Go(func() { n.thread(name, l) })
		}
	}
	for range n.instant.threads {
		loops.Go(n.instantThread)
	}
	hearing, deaf := context.WithCancel(life)
	defer deaf()
	heard := make(chan error, 1)
	go func() { heard <- n.meter.receiver.Run(hearing) }()
	n.log.Info("worker takes work", "lanes", n.cfg.Lanes, "types", sortedKeys(n.types), "tags", n.cfg.Tags)
	err := n.wait(ctx, heard)
	n.stopping.Store(true)
	n.beatSoon()
	told := n.cfg.Boot()
	deaf()
	n.windDown(life, err)
	if err == nil && !n.link.Embedded {
		pause(life, heardDraining-(n.cfg.Boot()-told))
	}
	n.leave(life, err)
	for _, l := range n.lanes {
		l.shut()
	}
	n.instant.shut()
	return err
}

// wait returns when the worker is to stop: nil when it was asked to, else why it must.
func (n *Node) wait(ctx context.Context, heard <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-n.fatal:
		return err
	case err := <-heard:
		return fmt.Errorf("receiving ended: %w", err)
	}
}

// fail makes the node stop with err; the first one counts.
func (n *Node) fail(err error) {
	select {
	case n.fatal <- err:
		n.log.Error("worker stops", "err", err)
	default:
	}
}

// windDown ends the life of what this node has in hand, for a stop or because it must not go on.
func (n *Node) windDown(life context.Context, why error) {
	cause := runner.ErrShutdown
	if why != nil {
		cause = runner.ErrLost
	}
	back := func() { n.returnUnstarted(unfit("", 0, true), outcomeOf(cause), "not started: "+cause.Error()) }
	back()
	if why == nil {
		n.log.Info("worker drains", "running", n.running(), "grace", n.cfg.Grace)
		n.waitFor(n.cfg.Grace, func() bool { return n.hands.Load() == 0 })
	}
	n.waitFor(never, func() bool { // a kill that takes long is waited for: nothing may outlive the worker unseen
		back()
		n.cancelRunning(cause, func(*attempt) bool { return true })
		return n.hands.Load() == 0
	})
	n.waitFor(confirmWait, func() bool { return n.out.len() == 0 && n.logs.shipped() })
}

// leave takes the worker off the registry.
func (n *Node) leave(life context.Context, why error) {
	if errors.Is(why, ErrReplaced) {
		return
	}
	ctx, cancel := context.WithTimeout(life, leaveLimit)
	defer cancel()
	if err := n.link.Leave(ctx, n.name, n.uid, n.boot); err != nil {
		n.log.Warn("left without a word: the center will notice by the missing heartbeat", "err", err)
	}
}

const (
	confirmWait = 3 * time.Second
	// heardDraining is how long a heartbeat that says so stands: the broker looks each second, and who falls silent
	// without it counts as lost.
	heardDraining = 2500 * time.Millisecond
	leaveLimit    = time.Second
	never         = time.Duration(1<<62 - 1)
)

// cancelRunning ends those running attempts that which picks.
func (n *Node) cancelRunning(cause error, which func(*attempt) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.book.in(running) {
		if which(a) {
			a.cancel(cause)
		}
	}
}

// waitFor returns when done says so or limit has passed.
func (n *Node) waitFor(limit time.Duration, done func() bool) {
	const look = 10 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	for start := n.cfg.Boot(); !done() && n.cfg.Boot()-start < limit; {
		<-tick.C
	}
}

// returnUnstarted gives back what has not been started: claimed attempts ungranted, for a reason, granted ones with a
// report.
func (n *Node) returnUnstarted(reason, outcome, message string) {
	n.mu.Lock()
	ids := n.book.handBack()
	waiting := n.book.in(queued)
	for _, a := range waiting {
		n.book.end(a)
	}
	n.mu.Unlock()
	if len(ids) > 0 {
		n.up.refuse(protocol.Refuse{IDs: ids, Reason: reason})
	}
	for _, a := range waiting {
		n.finish(a, unstarted(a, outcome, message, n.cfg.Now()))
	}
}

// close frees what Open took. Loops and tasks have ended.
func (n *Node) close() {
	if n.cfg.End != nil {
		n.cfg.End()
	}
	if err := n.runner.Close(); err != nil {
		n.log.Warn("closing the watchdog", "err", err)
	}
	if err := errors.Join(n.wal.Resume(), n.wal.Close()); err != nil {
		n.log.Warn("closing the journal", "err", err)
	}
}

// receive takes a message from the queue.
func (n *Node) receive(lane string, m protocol.Message) {
	crash.At("worker.dequeued")
	n.meter.messages.Inc()
	if why := unfit(n.disk(), time.Duration(n.skew.Load()), n.draining()); why != "" {
		n.up.refuse(protocol.Refuse{IDs: m.IDs, Reason: why})
		return
	}
	n.mu.Lock()
	fresh := n.book.receive(lane, m, n.cfg.Boot())
	n.mu.Unlock()
	if fresh {
		n.up.nudge()
	}
}

func (n *Node) draining() bool { return n.stopping.Load() || n.drained.Load() }

func (n *Node) running() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.book.count[running]
}

// claimLoop wakes the uplink while claims wait for their repetition.
func (n *Node) claimLoop(ctx context.Context) {
	const look = 50 * time.Millisecond
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.mu.Lock()
			open := len(n.book.messages)
			n.mu.Unlock()
			if open > 0 {
				n.up.nudge()
			}
		}
	}
}

// newNonce makes a word that no other claim has.
func newNonce() string { return rand.Text() }

// encode turns a report into the journal's body. It cannot fail: report has seen to it that a result is JSON.
func encode(r protocol.Report) []byte {
	body, _ := json.Marshal(r)
	return body
}
