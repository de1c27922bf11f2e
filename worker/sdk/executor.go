package sdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// The causes with which a task's context ends, beside context.DeadlineExceeded at its deadline.
var (
	// ErrCancelled: the center wants the attempt stopped.
	ErrCancelled = errors.New("cancelled by the center")
	// ErrStopped: this process stops.
	ErrStopped = errors.New("the executor is being stopped")
)

// Executor is a running executor: an http.Handler for what the center sends, and the work behind it.
type Executor struct {
	config   Config
	handlers map[string]Handler
	secrets  [][]byte
	pace     pace
	now      func() time.Time
	journal  *journal
	nonces   *nonces

	life context.Context // of the work
	stop context.CancelCauseFunc
	work sync.WaitGroup // attempts and their lines

	accepting sync.Mutex // one task at a time is judged and written down
	mu        sync.Mutex
	attempts  map[string]*attempt // not settled yet
	running   int                 // of those, the ones that hold a slot
	draining  bool
	signing   int // the secret that the center took last
}

// New opens the journal and goes on with what it holds: what was accepted is claimed, what had ended is reported, and what was
// interrupted is settled. The caller serves it over HTTP, at the address in AX's directory and everything below it.
func New(c Config, handlers map[string]Handler) (*Executor, error) {
	return open(c, handlers, usualPace(), time.Now)
}

func open(c Config, handlers map[string]Handler, p pace, now func() time.Time) (*Executor, error) {
	c, err := c.complete(handlers)
	if err != nil {
		return nil, err
	}
	j, notes, err := openJournal(c.Journal, now(), p.forget)
	if err != nil {
		return nil, fmt.Errorf("sdk: %w", err)
	}
	for _, note := range notes {
		c.Logger.Warn("executor journal", "file", c.Journal, "note", note)
	}
	e := &Executor{config: c, handlers: handlers, pace: p, now: now, journal: j, nonces: newNonces(), attempts: map[string]*attempt{}}
	for _, s := range c.Secrets {
		e.secrets = append(e.secrets, []byte(s))
	}
	e.life, e.stop = context.WithCancelCause(context.Background())
	for _, entry := range j.open() {
		e.resume(entry)
	}
	return e, nil
}

// Serve runs an executor on Config.Listen until ctx ends; then it takes no new tasks, waits Config.DrainFor for those that
// run and for reports, and stops. What is not settled by then is settled by the next start from the journal.
func Serve(ctx context.Context, c Config, handlers map[string]Handler) error {
	if c.Listen == "" {
		return errors.New("sdk: Config.Listen is empty; write where the center reaches this executor, such as :9000")
	}
	e, err := New(c, handlers)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("sdk: %w", err), e.Close())
	}
	server := &http.Server{Handler: e, ReadHeaderTimeout: callTimeout, ReadTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	e.config.Logger.Info("executor listens", "executor", c.Executor, "address", listener.Addr().String())
	select {
	case err = <-failed:
		err = fmt.Errorf("sdk: %w", err)
	case <-ctx.Done():
		patience, end := context.WithTimeout(context.WithoutCancel(ctx), e.config.DrainFor)
		err = e.Drain(patience)
		end()
	}
	err = errors.Join(err, e.Close())
	_ = server.Close()
	return err
}

// Drain lets the executor take no new tasks: they are answered with "busy", and so is the health probe. It waits until
// everything taken has run and is reported, or until ctx ends; then the error says what is left. There is no way back.
func (e *Executor) Drain(ctx context.Context) error {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	if e.settled(ctx) {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return fmt.Errorf("sdk: %d tasks are not settled yet, %d of them run: the journal has them", len(e.attempts), e.running)
}

// settled waits until no work is left.
func (e *Executor) settled(ctx context.Context) bool {
	done := make(chan struct{})
	go func() { e.work.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// stopGrace is how long Close waits for handlers to heed their contexts.
const stopGrace = 3 * time.Second

// Close stops the work: contexts of running tasks end with ErrStopped, and those that return within three seconds have their
// outcome in the journal, to be reported by the next start. The executor can't be used afterwards.
func (e *Executor) Close() error {
	e.mu.Lock()
	e.draining = true
	e.mu.Unlock()
	e.stop(ErrStopped)
	grace, end := context.WithTimeout(context.Background(), stopGrace)
	defer end()
	e.settled(grace)
	if err := e.journal.close(); err != nil {
		return fmt.Errorf("sdk: %w", err)
	}
	return nil
}

// reserve takes a slot for a task that is about to be taken, or says why there is none.
func (e *Executor) reserve() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	why := e.full()
	if why == "" {
		e.running++
		e.work.Add(1)
	}
	return why
}

// enter has a among those at work; its slot was reserved. It is the caller's to run carry afterwards.
func (e *Executor) enter(a *attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attempts[a.key] = a
}

// release gives a slot back.
func (e *Executor) release(a *attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.slot {
		a.slot = false
		e.running--
	}
}

// leave takes a out: it is settled, or was not taken after all.
func (e *Executor) leave(a *attempt) {
	e.release(a)
	e.mu.Lock()
	delete(e.attempts, a.key)
	e.mu.Unlock()
	e.work.Done()
}

// find is the attempt at work, or nil.
func (e *Executor) find(key string) *attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.attempts[key]
}

// busy says why no task can be taken now, or "".
func (e *Executor) busy() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full()
}

// full is busy for who holds the lock.
func (e *Executor) full() string {
	switch {
	case e.draining:
		return "this executor is being stopped and takes no new tasks"
	case e.running >= e.config.Concurrency:
		return fmt.Sprintf("this executor runs %d tasks and takes no more at a time", e.running)
	}
	return ""
}
