package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// bench measures one part. It is the setup.T of what it starts: a failure ends the part, and clean-ups run in reverse.
type bench struct {
	options
	ctx      context.Context // ends with ^C
	began    time.Time
	cleanups []func()
	failed   bool
	why      []string
}

// failure ends a part from wherever it was found.
type failure struct{}

// part measures one part and takes down what it started.
func (b *bench) part(p part) (out *Part, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ours := r.(failure); !ours {
				panic(r)
			}
			out = nil
		}
		b.end()
		if len(b.why) > 0 {
			err = errors.New(b.why[0])
		}
	}()
	b.say("part %s: %s", p.key, p.summary)
	out = p.measure(b)
	out.Key = p.key
	out.Seconds = time.Since(b.began).Seconds()
	return out, nil
}

func (b *bench) end() {
	for len(b.cleanups) > 0 {
		f := b.cleanups[len(b.cleanups)-1]
		b.cleanups = slices.Delete(b.cleanups, len(b.cleanups)-1, len(b.cleanups))
		f()
	}
}

// The methods of setup.T. Its context does not end with ^C: what is being started is finished, and ended by end.

func (b *bench) Helper()                  {}
func (b *bench) Name() string             { return "bench" }
func (b *bench) Context() context.Context { return context.WithoutCancel(b.ctx) }
func (b *bench) Cleanup(f func())         { b.cleanups = append(b.cleanups, f) }
func (b *bench) Failed() bool             { return b.failed }

func (b *bench) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (b *bench) Errorf(format string, args ...any) {
	b.failed = true
	b.why = append(b.why, fmt.Sprintf(format, args...))
	b.Logf(format, args...)
}

func (b *bench) Fatalf(format string, args ...any) {
	b.Errorf(format, args...)
	panic(failure{})
}

// say tells of progress, with the seconds since the part began.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// must ends the part when something went wrong.
func (b *bench) must(err error, doing string) {
	if err != nil && b.ctx.Err() != nil {
		b.interrupted()
	}
	if err != nil {
		b.Fatalf("%s: %v", doing, err)
	}
}

// wait pauses until the moment, or ends the part with ^C.
func (b *bench) wait(until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.ctx.Done():
		b.interrupted()
	}
}

// interrupted ends the part for ^C, which is no failure that logs would explain.
func (b *bench) interrupted() {
	b.why = append(b.why, "interrupted")
	panic(failure{})
}

// pause is wait for a while.
func (b *bench) pause(d time.Duration) { b.wait(time.Now().Add(d)) }

// until waits until cond agrees and reports whether it did within the limit, asking each time after a pause.
func (b *bench) until(limit, each time.Duration, cond func() bool) bool {
	for deadline := time.Now().Add(limit); ; b.pause(each) {
		if cond() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
