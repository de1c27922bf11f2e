package sdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// attempt is one at work, from its acknowledgement until the center has its outcome.
type attempt struct {
	key    string
	slot   bool
	entry  entry
	ctx    context.Context // ends when it should stop
	cancel context.CancelCauseFunc
	lines  *lines
	over   chan struct{} // closed when it is settled

	mu       sync.Mutex
	progress *int
	text     string
	news     chan struct{}
}

func (e *Executor) attempt(en entry) *attempt {
	a := &attempt{key: en.key, slot: true, entry: en, lines: newLines(e.now), over: make(chan struct{}), news: make(chan struct{}, 1)}
	a.ctx, a.cancel = context.WithCancelCause(e.life)
	return a
}

// resume takes up what the journal holds.
func (e *Executor) resume(en entry) {
	a := e.attempt(en)
	a.slot = en.state == stateAccepted || en.state == stateStarted && e.config.Interrupted != nil
	e.mu.Lock()
	if a.slot {
		e.running++
	}
	e.work.Add(1)
	e.mu.Unlock()
	e.enter(a)
	go e.carry(a)
}

// cancelled makes the task's context end.
func (a *attempt) cancelled(reason string) {
	if reason == "" {
		a.cancel(ErrCancelled)
	} else {
		a.cancel(fmt.Errorf("%w: %s", ErrCancelled, reason))
	}
}

// deadline is that of the center, on this machine's clock; zero is none.
func (a *attempt) deadline() time.Time {
	if a.entry.task.Deadline == 0 {
		return time.Time{}
	}
	return time.UnixMilli(a.entry.task.Deadline - a.entry.ahead)
}

// tell keeps the newest progress for the next heartbeat.
func (a *attempt) tell(percent int, text string) {
	a.mu.Lock()
	a.progress, a.text = &percent, text
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default: // it will be looked at anyway
	}
}

// carry brings an attempt from where it stands to its end.
func (e *Executor) carry(a *attempt) {
	defer e.leave(a)
	defer a.cancel(nil)
	defer close(a.over)
	switch a.entry.state {
	case stateAccepted:
		if !e.obtain(a) {
			return
		}
		e.accompany(a)
		if a.entry.state == stateStarted {
			e.finish(a, e.perform(a, e.handlers[a.entry.task.ExecType]))
		}
	case stateStarted:
		e.accompany(a)
		e.finish(a, e.interrupted(a))
	default:
		e.accompany(a)
	}
	e.release(a)
	e.deliver(a)
}

// accompany starts what goes on beside the task until it is settled: the center must not think it lost before it has the report.
func (e *Executor) accompany(a *attempt) {
	e.work.Add(2)
	go e.beat(a)
	go e.ship(a)
}

// finish has the outcome in the journal before it is told to anybody.
func (e *Executor) finish(a *attempt, o protocol.ExternalOutcome) {
	now := e.now()
	a.lines.end()
	if err := e.journal.ended(a.entry, o, now); err != nil {
		e.config.Logger.Error("executor journal: the outcome is kept in memory only", "attempt", a.key, "error", err)
	}
	a.entry.state, a.entry.outcome, a.entry.at = stateEnded, o, now.UnixMilli()
}

// settle forgets an attempt.
func (e *Executor) settle(a *attempt, why string) {
	if err := e.journal.settled(a.key, why, e.now()); err != nil {
		e.config.Logger.Error("executor journal", "attempt", a.key, "error", err)
	}
}

// obtain claims until the attempt may be started at once, has been denied, or need not be asked for any more.
func (e *Executor) obtain(a *attempt) bool {
	wait := backoff{least: e.pace.first, most: e.pace.claim}
	for {
		asked := e.now()
		granted, denied, after := e.claim(a)
		switch {
		case a.ctx.Err() != nil:
			return e.stoppedBefore(a)
		case denied != "":
			e.settle(a, denied)
			return false
		case granted && holds(asked, e.now()):
			if e.start(a) && holds(asked, e.now()) {
				return true
			}
			after = e.pace.first
		case granted: // it came late: the next answer counts
			after = time.Millisecond
		}
		if end := a.deadline(); !end.IsZero() && e.now().After(end) {
			e.settle(a, "its deadline came before a grant")
			return false
		}
		pause(a.ctx, wait.next(after))
	}
}

// start has "started" in the journal. What can't be written down is not run.
func (e *Executor) start(a *attempt) bool {
	if err := e.journal.started(a.entry, e.now()); err != nil {
		e.config.Logger.Error("executor journal: the task is not started", "attempt", a.key, "error", err)
		return false
	}
	a.entry.state = stateStarted
	return true
}

// stoppedBefore ends an attempt that was not begun: a cancel is answered with a report, a stop leaves it to the next start.
func (e *Executor) stoppedBefore(a *attempt) bool {
	cause := context.Cause(a.ctx)
	if !errors.Is(cause, ErrCancelled) {
		return false
	}
	e.finish(a, protocol.ExternalOutcome{Message: cleanText(cause.Error()+"; it had not been started", protocol.MaxMessage)})
	return true
}

// holds reports whether an answer to a claim sent at asked may still be acted on, by the clock that can't be set and by the one
// that goes on while the machine sleeps.
func holds(asked, now time.Time) bool {
	const limit = protocol.ClaimHoldsMs * time.Millisecond
	wall := now.Round(0).Sub(asked.Round(0))
	return now.Sub(asked) < limit && wall < limit && wall > -limit
}

// perform runs the handler and says how it ended.
func (e *Executor) perform(a *attempt, handler Handler) (o protocol.ExternalOutcome) {
	if handler == nil { // taken before a restart that left the type out
		return protocol.ExternalOutcome{Message: fmt.Sprintf("this executor has no type %q any more", a.entry.task.ExecType)}
	}
	ctx := a.ctx
	if end := a.deadline(); !end.IsZero() {
		var done context.CancelFunc
		ctx, done = context.WithDeadline(ctx, end)
		defer done()
	}
	defer func() {
		if p := recover(); p != nil {
			a.lines.add(protocol.StreamErr, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			o = protocol.ExternalOutcome{Message: cleanText(fmt.Sprintf("panic: %v", p), protocol.MaxMessage)}
		}
	}()
	result, err := handler(ctx, taskOf(a))
	if err != nil {
		return protocol.ExternalOutcome{Message: cleanText(failureText(ctx, err), protocol.MaxMessage)}
	}
	return successOf(result)
}

// failureText puts the reason for which the context ended before what the handler made of it.
func failureText(ctx context.Context, err error) string {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return err.Error()
	case errors.Is(cause, context.DeadlineExceeded):
		cause = errors.New("stopped at its deadline")
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause) {
		return cause.Error()
	}
	return cause.Error() + ": " + err.Error()
}

// interrupted settles what the last process left started.
func (e *Executor) interrupted(a *attempt) protocol.ExternalOutcome {
	if e.config.Interrupted != nil {
		return e.perform(a, e.config.Interrupted)
	}
	return protocol.ExternalOutcome{Message: "the executor was restarted while the task ran: how far it had come is not known"}
}
