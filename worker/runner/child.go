package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is one running task: its leader, its output and what was done to end it.
type child struct {
	spec    Spec
	out     *Capture
	pid     int
	started time.Time
	exited  chan struct{} // closed when the leader is a zombie; its number stays taken until end reaps it
	pipes   []*os.File
	pumps   sync.WaitGroup
	stdin   *os.File
	silence time.Duration // the longest of the center that is over; under the runner's lock
	unheard *string       // why it was, where that is known; likewise
}

// start forks the program in a session of its own, hands it to the watchdog and takes its output.
func (r *Runner) start(spec Spec, out *Capture) (*child, error) {
	c, err := r.fork(spec, out)
	if err != nil {
		return nil, err
	}
	r.guard.started(c)
	for i, f := range c.pipes {
		c.pumps.Go(func() { pump(f, []Stream{Out, Err}[i], out) })
	}
	go c.feed()
	return c, nil
}

// fork starts the program in a session of its own, with a pipe for each of its streams.
func (r *Runner) fork(spec Spec, out *Capture) (*child, error) {
	path, err := program(spec.Argv[0])
	if err != nil {
		return nil, err
	}
	c := &child{spec: spec, out: out, exited: make(chan struct{})}
	files, err := c.open()
	if err != nil {
		return nil, err
	}
	attr := &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   r.marker.environ(spec.Env, spec.Attempt),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if u := spec.User; u != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
	}
	c.started = time.Now()
	pid, err := syscall.ForkExec(path, spec.Argv, attr)
	closeAll(files)
	if err != nil {
		c.closePipes()
		return nil, startError(path, spec.Dir, err)
	}
	c.pid = pid
	r.own(pid, c)
	noCore(pid)
	go c.watch()
	return c, nil
}

// program finds the file to execute.
func program(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	return exec.LookPath(name)
}

// startError tells apart what a bare "no such file" does not.
func startError(path, dir string, err error) error {
	if dir != "" {
		if info, derr := os.Stat(dir); derr != nil {
			return fmt.Errorf("working directory: %w", derr)
		} else if !info.IsDir() {
			return fmt.Errorf("working directory %s is not a directory", dir)
		}
	}
	if errors.Is(err, syscall.E2BIG) {
		return fmt.Errorf("%s: arguments and environment are too big for this system: %w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// open makes the three files that the program gets, as bare descriptors, and keeps the other ends.
func (c *child) open() ([]uintptr, error) {
	theirs, err := c.openInput()
	for range 2 {
		if err != nil {
			break
		}
		var fds [2]int // only ours is for the poller; theirs must block
		if err = unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			break
		}
		theirs = append(theirs, uintptr(fds[1]))
		_ = unix.SetNonblock(fds[0], true) // a pipe takes it; one that does not is read without pauses
		c.pipes = append(c.pipes, os.NewFile(uintptr(fds[0]), "|0"))
	}
	if err != nil {
		closeAll(theirs)
		c.closePipes()
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	return theirs, nil
}

// openInput makes what the program reads: nothing, or a pipe.
func (c *child) openInput() ([]uintptr, error) {
	if c.spec.Stdin == nil {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return []uintptr{uintptr(fd)}, nil
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	_ = unix.SetNonblock(fds[1], true)
	c.stdin = os.NewFile(uintptr(fds[1]), "|1")
	return []uintptr{uintptr(fds[0])}, nil
}

func closeAll(fds []uintptr) {
	for _, fd := range fds {
		_ = unix.Close(int(fd))
	}
}

func (c *child) closePipes() {
	for _, f := range c.pipes {
		_ = f.Close()
	}
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
}

// feed gives the program its input. One that does not read it is its own business: the pipe is closed at the end.
func (c *child) feed() {
	if c.stdin == nil {
		return
	}
	_, _ = c.stdin.Write(c.spec.Stdin)
	_ = c.stdin.Close()
}

// watch closes exited when the leader has ended, without reaping it.
func (c *child) watch() {
	waitDead(c.pid)
	close(c.exited)
}

// waitDead returns when a child of ours has ended; it stays a zombie, so its number stays taken.
func waitDead(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// hasExited asks the kernel, not the watching goroutine, which may be late.
func (c *child) hasExited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// stop says why and when a task was ended from outside. The zero value: it ended by itself.
type stop struct {
	outcome Outcome
	reason  string
	at      time.Time
	forced  bool // SIGKILL was needed
	// deadly says that the program neither caught nor ignored nor blocked what it was sent: where it ended with an exit code
	// all the same, it had come to its end by itself in that very moment.
	deadly bool
}

// await returns when the leader has ended, which it brings about when ctx, the deadline or the lease says so.
func (c *child) await(ctx context.Context, r *Runner) stop {
	var deadline <-chan time.Time
	if !c.spec.Deadline.IsZero() {
		t := time.NewTimer(time.Until(c.spec.Deadline))
		defer t.Stop()
		deadline = t.C
	}
	select {
	case <-c.exited:
		return c.foreign(r)
	case <-ctx.Done():
	case <-deadline:
	}
	if c.hasExited() {
		<-c.exited
		return c.foreign(r)
	}
	s := stop{outcome: Timeout, at: time.Now()}
	if ctx.Err() != nil {
		s.outcome, s.reason = OutcomeOf(ctx), context.Cause(ctx).Error()
	}
	if s.outcome == Timeout {
		s.reason = "timed out after " + s.at.Sub(c.started).Round(time.Millisecond).String()
	}
	s.deadly = c.defenceless()
	s.forced = c.terminate(r)
	return s
}

// defenceless reports whether the dump signal can only kill the leader.
func (c *child) defenceless() bool { return !handles(c.pid, c.spec.DumpSignal) }

// terminate sends the dump signal to the group, gives it the grace to write its stacks and then kills it. It returns when
// the leader is dead and says whether SIGKILL was needed.
func (c *child) terminate(r *Runner) bool {
	_ = unix.Kill(-c.pid, c.spec.DumpSignal) // the leader is unreaped, so the group is ours
	grace := time.NewTimer(c.spec.Grace)
	defer grace.Stop()
	select {
	case <-c.exited:
		return !c.others(r, grace.C)
	case <-grace.C:
	}
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	<-c.exited
	return true
}

// others waits for the rest of the session: a shell dies of the dump signal at once, while the program that it ran is
// still writing its stacks. It says whether all were gone before the grace was over.
func (c *child) others(r *Runner, grace <-chan time.Time) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		busy := false
		for _, p := range r.orphansOf(c) {
			busy = busy || p.session == c.pid && !p.dead()
		}
		if !busy {
			return true
		}
		select {
		case <-tick.C:
		case <-grace:
			return false
		}
	}
}

// leaseSlack is how much later than this process the watchdog may hear of a renewal.
const leaseSlack = 100 * time.Millisecond

// foreign recognises what the watchdog did while this process was frozen or cut off, also when the center has answered
// again before this was asked.
func (c *child) foreign(r *Runner) stop {
	var info unix.Siginfo
	_ = unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	if killed := info.Code == cldKilled || info.Code == cldDumped; !killed {
		return stop{}
	}
	now := time.Now()
	if !c.spec.Deadline.IsZero() && now.After(c.spec.Deadline.Add(c.spec.Grace)) {
		return stop{outcome: Timeout, reason: "timed out; the watchdog ended it because the worker did not", at: now, forced: true}
	}
	if silence, why := r.silenceOf(c); c.spec.Unrenewed > 0 && silence > c.spec.Unrenewed-leaseSlack {
		if why != "" {
			silence = min(silence, c.spec.Unrenewed) // when it was ended, however long the silence went on
		}
		return stop{outcome: Lost, at: now, forced: true, reason: Unanswered(silence, why).Error()}
	}
	return stop{}
}

// Values of si_code for SIGCHLD, from the kernel's siginfo.h.
const (
	cldKilled = 2
	cldDumped = 3
)

// ended is what was found when the leader was reaped.
type ended struct {
	status   syscall.WaitStatus
	at       time.Time
	late     time.Duration // after at, this process saw it
	leftover int           // processes that outlived the leader and were killed
	alive    []int         // processes that could not be killed
	held     bool          // somebody beyond our reach still holds the output
}

// end kills what the leader left behind, reaps it and collects the rest of the output.
func (c *child) end(r *Runner) ended {
	e := ended{late: r.guard.exited(c.spec.Attempt)} // this process may have stood still since
	e.at = time.Now().Add(-e.late)
	r.guard.ended(c.spec.Attempt)
	_ = unix.Kill(-c.pid, unix.SIGKILL) // the zombie leader keeps the number ours; a member can't escape by forking
	for {
		_, err := syscall.Wait4(c.pid, &e.status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	e.leftover, e.alive = r.clear(c)
	r.disown(c.pid)
	e.held = c.drain()
	return e
}

// drain waits for the pumps. With nobody left to write they end at once; where somebody is, they are ended.
func (c *child) drain() (held bool) {
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
	end := time.Now().Add(pipeLimit)
	done := make(chan struct{})
	go func() { c.pumps.Wait(); close(done) }()
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		held = true
		c.closePipes()
		<-done
		return held
	}
	c.closePipes()
	return false
}

// noCore keeps a dump signal from filling the disk with core files: a limit of one byte also holds where the kernel
// pipes cores to a program. The hard limit stays, so a task that wants cores can have them.
func noCore(pid int) {
	var lim unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &lim) == nil && lim.Max > 1 {
		lim.Cur = 1
		_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &lim, nil) // gone already, or not allowed: nothing depends on it
	}
}
