package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Program is the T of a command that starts AX: a failure ends the piece of work in hand, and the clean-ups of what
// it started run in reverse. Its methods are for the goroutine that called Do.
type Program struct {
	name     string
	ctx      context.Context
	out      io.Writer
	began    time.Time
	cleanups []func()
	failed   bool
	why      []error
}

// NewProgram is a program that tells of its progress on out and whose waits end with ctx (^C).
func NewProgram(ctx context.Context, name string, out io.Writer) *Program {
	return &Program{name: name, ctx: ctx, out: out, began: time.Now()}
}

// ErrInterrupted is why a piece of work ended when the context did.
var ErrInterrupted = errors.New("interrupted")

// failure ends a piece of work from wherever it was found.
type failure struct{}

// Do does a piece of work and takes down what it started. It returns the first failure.
func (p *Program) Do(work func()) (err error) {
	defer func() {
		r := recover()
		if _, ours := r.(failure); r != nil && !ours {
			defer panic(r)
		}
		for len(p.cleanups) > 0 {
			last := len(p.cleanups) - 1
			f := p.cleanups[last]
			p.cleanups = slices.Delete(p.cleanups, last, last+1)
			f()
		}
		if len(p.why) > 0 {
			err = p.why[0]
		}
	}()
	work()
	return nil
}

// Helper is of no meaning here.
func (p *Program) Helper() {}

// Name is what the program calls itself.
func (p *Program) Name() string { return p.name }

// Context does not end with ^C: what is being started is finished, and ended by Do.
func (p *Program) Context() context.Context { return context.WithoutCancel(p.ctx) }

// Cleanup has f called at the end of the piece of work.
func (p *Program) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// Failed reports whether anything went wrong so far.
func (p *Program) Failed() bool { return p.failed }

// Logf tells something.
func (p *Program) Logf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }

// Errorf tells and notes a failure, and goes on.
func (p *Program) Errorf(format string, args ...any) {
	p.failed = true
	p.why = append(p.why, fmt.Errorf(format, args...))
	p.Logf(format, args...)
}

// Fatalf tells and notes a failure and ends the piece of work.
func (p *Program) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	panic(failure{})
}

// Say tells of progress, with the seconds since the program began.
func (p *Program) Say(format string, args ...any) {
	p.Logf("%6.1f s  %s", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// Must ends the piece of work when something went wrong.
func (p *Program) Must(err error, doing string) {
	if err != nil && p.ctx.Err() != nil {
		p.interrupted()
	}
	if err != nil {
		p.Fatalf("%s: %v", doing, err)
	}
}

// Wait pauses until the moment, or ends the piece of work with ^C.
func (p *Program) Wait(until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
		p.interrupted()
	}
}

// Pause is Wait for a while.
func (p *Program) Pause(d time.Duration) { p.Wait(time.Now().Add(d)) }

// Until waits until cond agrees and reports whether it did before the deadline, asking each time after a pause.
func (p *Program) Until(deadline time.Time, each time.Duration, cond func() bool) bool {
	for ; ; p.Pause(each) {
		if cond() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// interrupted ends the piece of work for ^C, which is no failure that logs would explain.
func (p *Program) interrupted() {
	p.why = append(p.why, ErrInterrupted)
	panic(failure{})
}
