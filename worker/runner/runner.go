package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Config is what a Runner needs to know. Only Marker is required.
type Config struct {
	Marker Marker
	// Watchdog is the program and arguments of the watchdog; the uid and the boot number are added. Nil means this
	// program with the argument "watchdog".
	Watchdog []string
	// Log gets what happens beside the tasks. Nil discards it.
	Log *slog.Logger
}

// Runner runs the processes of one worker. There is one in a process, because it makes the whole process the subreaper
// of what it starts. Its methods may be called by any number of goroutines.
type Runner struct {
	marker Marker
	log    *slog.Logger
	guard  *guard
	oom    *oomCounter
	stop   chan struct{}
	reaped sync.WaitGroup

	renewed atomic.Int64           // boot clock of the last renewal, in ns
	unheard atomic.Pointer[string] // why the last heartbeat was not answered; nil: it was, or that is not known

	mu     sync.Mutex
	direct map[int]*child // processes that the runner itself started and will wait for; nil for one that is no task
}

// New makes this process a subreaper and starts the watchdog beside it. It must be called before the first task.
func New(cfg Config) (*Runner, error) {
	if cfg.Marker.UID == "" || cfg.Marker.Boot <= 0 {
		return nil, errors.New("runner: the marker needs the data directory's uid and boot number")
	}
	if err := ownProcfs(); err != nil {
		return nil, err
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the subreaper of tasks: %w", err)
	}
	r := &Runner{marker: cfg.Marker, log: log, oom: newOOMCounter(), stop: make(chan struct{}), direct: map[int]*child{}}
	r.renewed.Store(int64(bootClock()))
	g, err := startGuard(cfg.Watchdog, r)
	if err != nil {
		return nil, err
	}
	r.guard = g
	r.reaped.Go(r.reapOrphans)
	return r, nil
}

// Close ends the watchdog, which kills whatever of this worker still runs. Call it when no Run is going on.
func (r *Runner) Close() error {
	close(r.stop)
	r.reaped.Wait()
	return r.guard.close()
}

// Renewed says that the center has just answered a heartbeat that was sent at sent on the boot clock (BootClock).
func (r *Runner) Renewed(sent time.Duration) {
	for {
		old := r.renewed.Load()
		if int64(sent) <= old {
			return
		}
		if r.renewed.CompareAndSwap(old, int64(sent)) {
			r.remember(bootClock()-time.Duration(old), r.unheard.Swap(nil))
			r.guard.renew(sent)
			return
		}
	}
}

// Unheard says why a heartbeat was not answered, in words that begin with "because". It stands until the next renewal.
func (r *Runner) Unheard(why string) { r.unheard.Store(&why) }

// remember notes a silence of the center that is over, and why it was, with the tasks that lived through it.
func (r *Runner) remember(silence time.Duration, why *string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.direct {
		if c != nil {
			if silence > c.silence {
				c.silence, c.unheard = silence, why
			}
		}
	}
}

// silenceOf is the longest silence of the center in the life of c, the present one included, and why it was.
func (r *Runner) silenceOf(c *child) (time.Duration, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	silence, why := c.silence, c.unheard
	if now := bootClock() - time.Duration(r.renewed.Load()); now > silence {
		silence, why = now, r.unheard.Load()
	}
	if why == nil {
		return silence, ""
	}
	return silence, *why
}

// BootClock is the time since the machine booted, sleep included: the clock that leases and deadlines are kept on, as it
// never jumps and is the same in all processes.
func BootClock() time.Duration { return bootClock() }

// Run runs spec and returns when its program has ended and nothing that it started is alive. Its output goes to out,
// which is not finished, so that the caller can still add to it. The cause of ctx's cancellation decides the outcome; a
// program that had already ended by itself keeps its own. Run never returns early: a kill that takes long is waited for.
func (r *Runner) Run(ctx context.Context, spec Spec, out *Capture) Result {
	spec = spec.withDefaults()
	now := time.Now()
	if err := spec.validate(); err != nil {
		return notStarted(Failed, err.Error(), now)
	}
	if err := ctx.Err(); err != nil {
		return notStarted(OutcomeOf(ctx), "not started: "+context.Cause(ctx).Error(), now)
	}
	if !spec.Deadline.IsZero() && !now.Before(spec.Deadline) {
		return notStarted(Timeout, "not started: the deadline had passed", now)
	}
	c, err := r.start(spec, out)
	if err != nil {
		return notStarted(Failed, "could not be started: "+err.Error(), now)
	}
	stopped := c.await(ctx, r)
	end := c.end(r)
	res := c.result(stopped, end)
	if res.Signal == "SIGKILL" || res.ExitCode == 128+9 {
		res.noteOOM(stopped, r.oom.recent())
	}
	return res
}

func notStarted(o Outcome, message string, now time.Time) Result {
	return Result{Outcome: o, ExitCode: -1, FinishedAt: now, Message: CleanMessage(message)}
}

// OutcomeOf reads the cause of a cancelled context as Run does, for executors that start no process.
func OutcomeOf(ctx context.Context) Outcome {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrShutdown):
		return Shutdown
	case errors.Is(cause, ErrLost):
		return Lost
	case errors.Is(cause, context.DeadlineExceeded):
		return Timeout
	default:
		return Killed
	}
}

func (r *Runner) own(pid int, task *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.direct[pid] = task
}

func (r *Runner) disown(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.direct, pid)
}

func (r *Runner) owns(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.direct[pid]
	return ok
}
