package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

// pool is the processes of one plug-in: at most size, each at one task. They are started when they are needed and stay.
type pool struct {
	start func(ctx context.Context) (*process, error)
	// unfit hears that no process can be started, and why.
	unfit  func(why string)
	places chan struct{} // one taken for each process at work

	mu     sync.Mutex
	idle   []*process
	closed bool
	// crashes counts the processes that broke down one after another without a task done in between; starts wait after
	// the first, until then.
	crashes int
	until   time.Time
}

func newPool(size int, start func(context.Context) (*process, error), unfit func(string)) *pool {
	return &pool{start: start, unfit: unfit, places: make(chan struct{}, size)}
}

// How long a start waits after crashes that followed one another: not at all after one, then a second, twice as long
// each time.
const (
	backoffFirst = time.Second
	backoffMost  = 30 * time.Second
)

func backoff(crashes int) time.Duration {
	if crashes < 2 {
		return 0
	}
	return min(backoffFirst<<min(crashes-2, 10), backoffMost)
}

// run has a process work at a task, and waits for one.
func (p *pool) run(ctx context.Context, t types.Task, out *runner.Capture) types.Outcome {
	since := time.Now()
	waiting := ctx
	if !t.Deadline.IsZero() {
		var cancel context.CancelFunc
		waiting, cancel = context.WithDeadlineCause(ctx, t.Deadline, errDeadline)
		defer cancel()
	}
	one, err := p.take(waiting, out)
	if err != nil {
		return unstarted(ctx, waiting, err, since)
	}
	o, ok := one.run(ctx, t, out)
	p.give(one, ok && one.alive(), o.Run.Outcome)
	return o
}

// unstarted is the outcome of a task that no process was found for.
func unstarted(ctx, waiting context.Context, err error, since time.Time) types.Outcome {
	now := time.Now()
	switch {
	case ctx.Err() != nil:
		return types.Outcome{Run: types.Ended(runner.OutcomeOf(ctx), time.Time{}, now, "not started: "+context.Cause(ctx).Error())}
	case waiting.Err() != nil:
		return types.Outcome{Run: types.Ended(runner.Timeout, since, now, "timed out before a process of the plug-in was free for it: a larger pool, or fewer tasks at once, would help")}
	}
	return types.Outcome{Run: types.Ended(runner.Failed, time.Time{}, now, err.Error()), Refused: true}
}

// take gives a process that does nothing, or starts one.
func (p *pool) take(ctx context.Context, out *runner.Capture) (*process, error) {
	select {
	case p.places <- struct{}{}:
	default:
		out.Log(time.Now(), fmt.Sprintf("waiting: all %d processes of the plug-in are at work", cap(p.places)))
		select {
		case p.places <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	for {
		one := p.pick()
		if one == nil {
			break
		}
		if one.alive() {
			return one, nil
		}
		one.end()
		p.crashed()
	}
	one, err := p.begin(ctx, out)
	if err != nil {
		<-p.places
	}
	return one, err
}

// begin starts a process, once the pause after crashes is over.
func (p *pool) begin(ctx context.Context, out *runner.Capture) (*process, error) {
	p.mu.Lock()
	wait := time.Until(p.until)
	p.mu.Unlock()
	if wait > 0 {
		if out != nil {
			out.Log(time.Now(), fmt.Sprintf("waiting %v: the plug-in's processes broke down again and again", wait.Round(100*time.Millisecond)))
		}
		if !pause(ctx, wait) {
			return nil, context.Cause(ctx)
		}
	}
	one, err := p.start(ctx)
	if err != nil && ctx.Err() == nil {
		p.crashed()
		p.unfit(err.Error())
	}
	return one, err
}

// pick takes an idle process; nil: there is none.
func (p *pool) pick() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	one := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return one
}

// give takes a process back. One that is not well has been ended.
func (p *pool) give(one *process, well bool, o runner.Outcome) {
	p.mu.Lock()
	keep := well && !p.closed
	if keep {
		p.idle = append(p.idle, one)
	}
	if well {
		p.crashes, p.until = 0, time.Time{}
	}
	p.mu.Unlock()
	switch {
	case keep:
	case well:
		one.end()
	case o == runner.Failed: // not one that was ended from outside
		p.crashed()
	}
	<-p.places
}

func (p *pool) crashed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.crashes++
	p.until = time.Now().Add(backoff(p.crashes))
}

// add takes a process that was started outside.
func (p *pool) add(one *process) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, one)
	}
	p.crashes, p.until = 0, time.Time{}
	p.mu.Unlock()
	if closed {
		one.end()
	}
}

// close ends what is idle; what works is ended when its task is over.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, one := range idle {
		all.Go(one.end)
	}
	all.Wait()
}

// pause waits; false: ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
