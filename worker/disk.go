package worker

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
)

// unwritable is what is said of a worker whose disk takes no writes; what the disk says follows.
const unwritable = "the worker cannot write its journal: "

// diskEach is how often a journal that could not be written is tried again.
const diskEach = time.Second

// disk is why the journal cannot be written, in words; "" = it can.
func (n *Node) disk() string { return diskSays(n.wal.Err()) }

// diskSays is a failed write in words: for the two that a person mends by making room it says so.
func diskSays(err error) string {
	var no syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		errors.As(err, &no)
		return "disk full (" + no.Error() + ")"
	}
	return err.Error()
}

// note takes what the journal answered. One that refused has diskLoop look at once.
func (n *Node) note(err error) {
	if err == nil || errors.Is(err, journal.ErrClosed) {
		return
	}
	select {
	case n.diskBad <- struct{}{}:
	default:
	}
}

// unjournalled is the report of an attempt that could not be started because its start could not be written down.
func (n *Node) unjournalled(a *attempt, err error) protocol.Report {
	outcome := protocol.OutcomeRefused
	if a.ctx.Err() != nil { // it was to be ended meanwhile
		outcome = outcomeOf(context.Cause(a.ctx))
	}
	return unstarted(a, outcome, "not started: "+unfit(diskSays(err), 0, false), n.cfg.Now())
}

// diskLoop sees this worker through a disk that takes no writes, as when it is full: nothing is claimed nor started, what
// waits here goes back, what runs goes on and is reported, its outcomes kept in memory, until the journal can be written
// again. The center is told by the heartbeat.
func (n *Node) diskLoop(ctx context.Context) {
	tick := time.NewTicker(diskEach)
	defer tick.Stop()
	var since time.Duration // on the boot clock; 0 = the disk takes writes
	for {
		again := false
		select {
		case <-ctx.Done():
			return
		case <-n.diskBad:
		case <-tick.C:
			again = true
		}
		err := n.wal.Err()
		if err != nil && since == 0 {
			since = n.cfg.Boot()
			n.log.Error("the journal cannot be written: this worker takes no work until it can; what runs goes on", "err", err, "running", n.running())
			n.giveBack()
			n.beatSoon()
		}
		if err != nil && again {
			err = n.wal.Resume()
		}
		if err == nil && since != 0 {
			n.log.Info("the journal can be written again: this worker takes work", "after", (n.cfg.Boot() - since).Round(time.Second))
			since = 0
			n.beatSoon()
		}
	}
}

// giveBack returns what this worker was to run and has not started.
func (n *Node) giveBack() {
	why := unfit(n.disk(), 0, false)
	n.returnUnstarted(why, protocol.OutcomeRefused, "not started: "+why)
}
