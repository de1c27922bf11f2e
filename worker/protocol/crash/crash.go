package crash

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable is the environment variable with the order: NAME[:N][:ACTION][:FILE]. The
// process passes the point NAME for the N-th time (default 1) and is killed with
// SIGKILL, or ACTION is another: freeze (SIGSTOP, until somebody continues it) or
// delay=DURATION. With FILE, a path with a slash, the order is carried out only if
// the file is not there yet, and makes it: a restart with the same environment is
// not killed again.
const Variable = "AX_CRASH"

const (
	kill   = "kill"
	freeze = "freeze"
	delay  = "delay="
)

// order is what a process was told to do to itself.
type order struct {
	point  string
	nth    int64
	action string
	pause  time.Duration // of a delay
	file   string        // "" = none
	passed atomic.Int64
}

// armed is the one thing here that belongs to the whole process, as its death does;
// nil in every process that was not told otherwise.
var armed atomic.Pointer[order]

// At is a point; name must be one of Points. It returns unless the process was told
// to end here now.
func At(name string) {
	if o := armed.Load(); o != nil {
		o.pass(name)
	}
}

// Arm takes the text of Variable; empty text changes nothing. An error says what is
// wrong with it, and then nothing is armed.
func Arm(text string) error {
	if text == "" {
		return nil
	}
	o, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s=%q: %w", Variable, text, err)
	}
	armed.Store(o)
	slog.Warn("this process will do harm to itself, as "+Variable+" says", "point", o.point, "passing", o.nth, "action", o.action)
	return nil
}

func parse(text string) (*order, error) {
	name, rest, _ := strings.Cut(text, ":")
	o := &order{point: name, nth: 1, action: kill}
	if !slices.ContainsFunc(Points(), func(p Point) bool { return p.Name == name }) {
		return nil, fmt.Errorf("there is no point %q; the points are %s", name, strings.Join(names(), ", "))
	}
	for rest != "" {
		if strings.Contains(strings.SplitN(rest, ":", 2)[0], "/") {
			o.file = rest
			return o, nil
		}
		var part string
		part, rest, _ = strings.Cut(rest, ":")
		if err := o.take(part); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *order) take(part string) (err error) {
	switch {
	case part == kill || part == freeze:
		o.action = part
	case strings.HasPrefix(part, delay):
		o.action = part
		if o.pause, err = time.ParseDuration(strings.TrimPrefix(part, delay)); err != nil || o.pause <= 0 {
			return fmt.Errorf("%q is no delay; write delay=45s", part)
		}
	default:
		if o.nth, err = strconv.ParseInt(part, 10, 64); err != nil || o.nth < 1 {
			return fmt.Errorf("%q is neither a passing (1, 2, …) nor kill, freeze or delay=45s, nor a file, which has a slash", part)
		}
	}
	return nil
}

func names() []string {
	var out []string
	for _, p := range Points() {
		out = append(out, p.Name)
	}
	return out
}

func (o *order) pass(name string) {
	if name != o.point || o.passed.Add(1) != o.nth || !o.first() {
		return
	}
	slog.Error("crash point reached", "point", name, "passing", o.nth, "action", o.action)
	switch o.action {
	case freeze:
		stopHere()
	case kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // a moment at most
	default:
		time.Sleep(o.pause)
	}
}

// first reports whether the order was not carried out before, by its file.
func (o *order) first() bool {
	if o.file == "" {
		return true
	}
	f, err := os.OpenFile(o.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// stopHere stops the process by a signal to this very thread, which is stopped before
// it runs another line; one to the process would be some thread's sooner or later.
func stopHere() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
}
