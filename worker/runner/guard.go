package runner

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	// readyLimit is how long a new watchdog may take until it listens.
	readyLimit = 10 * time.Second
	// tellLimit is how long a message to the watchdog may take. One that does not read is replaced.
	tellLimit = time.Second
	// respawnPause keeps a watchdog that dies as soon as it lives from eating a CPU. One that lived for longer is replaced
	// at once: until then a killed worker would leave its tasks running.
	respawnPause = 500 * time.Millisecond
)

// guard is the worker's side of the watchdog: it keeps one alive and tells it what runs.
type guard struct {
	path string
	argv []string
	run  *Runner
	done chan struct{}

	mu      sync.Mutex
	pid     int
	pipe    *os.File
	tasks   map[int64]string // the message of each running task, told again to a new watchdog
	renewal string
	back    *os.File                // what the watchdog says; nil: there is none now
	said    string                  // of it, a line that is not whole yet
	buf     [1 << 10]byte           // to read it
	exits   map[int64]time.Duration // when leaders of running tasks ended, as it saw it, on the boot clock
	born    time.Time               // when the present watchdog was started
	closed  bool
}

// startGuard starts the watchdog and returns when it listens.
func startGuard(argv []string, r *Runner) (*guard, error) {
	g := &guard{run: r, done: make(chan struct{}), tasks: map[int64]string{}, exits: map[int64]time.Duration{}}
	if len(argv) > 0 {
		g.path = argv[0]
	} else {
		g.path, argv = "/proc/self/exe", []string{"ax", "watchdog"} // the same program, also when its file was replaced
	}
	g.argv = append(append([]string{}, argv...), r.marker.UID, strconv.FormatInt(r.marker.Boot, 10))
	if err := g.spawn(); err != nil {
		return nil, err
	}
	go g.keep()
	return g, nil
}

// spawn starts one watchdog, in a session of its own so that what hits the worker's group or terminal misses it, and
// tells it everything that runs.
func (g *guard) spawn() error {
	files, pipe, ready, err := watchdogPipes()
	if err != nil {
		return fmt.Errorf("start the watchdog: %w", err)
	}
	pid, err := syscall.ForkExec(g.path, g.argv, &syscall.ProcAttr{
		Env:   []string{"PATH=" + os.Getenv("PATH")},
		Files: []uintptr{files[0].Fd(), files[1].Fd(), os.Stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		_, _ = pipe.Close(), ready.Close()
		return fmt.Errorf("start the watchdog %s: %w", g.path, err)
	}
	g.run.own(pid, nil)
	_ = ready.SetReadDeadline(time.Now().Add(readyLimit))
	if line, err := bufio.NewReader(ready).ReadString('\n'); line != wordReady {
		_, _ = pipe.Close(), ready.Close()
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		g.run.disown(pid)
		return fmt.Errorf("the watchdog %v does not answer: %w", g.argv, errors.Join(err, errors.New("no ready word")))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid, g.pipe, g.back, g.said, g.born = pid, pipe, ready, "", time.Now()
	if g.closed {
		return pipe.Close()
	}
	g.tell(g.renewal)
	for _, line := range g.tasks {
		g.tell(line)
	}
	return nil
}

// watchdogPipes makes the pipe to the watchdog and the one on which it says that it listens.
func watchdogPipes() (theirs []*os.File, pipe, ready *os.File, err error) {
	in, pipe, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	ready, out, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		_ = pipe.Close()
		return nil, nil, nil, err
	}
	return []*os.File{in, out}, pipe, ready, nil
}

// keep replaces a watchdog that has died, for as long as the runner is open.
func (g *guard) keep() {
	defer close(g.done)
	for {
		g.mu.Lock()
		pid := g.pid
		g.mu.Unlock()
		waitDead(pid)
		g.mu.Lock()
		closed, pause := g.closed, max(0, respawnPause-time.Since(g.born))
		g.listen()
		_, _ = g.pipe.Close(), g.back.Close() // the first may be closed already
		g.pid, g.pipe, g.back = 0, nil, nil
		g.mu.Unlock()
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		g.run.disown(pid)
		if closed || !g.respawn(pause) {
			return
		}
	}
}

// respawn tries until a watchdog listens, first after pause. It gives up only when the runner is closed.
func (g *guard) respawn(pause time.Duration) bool {
	g.run.log.Warn("the watchdog died; starting another")
	for ; ; pause = respawnPause {
		select {
		case <-g.run.stop:
			return false
		case <-time.After(pause):
		}
		err := g.spawn()
		if err == nil {
			return true
		}
		g.run.log.Error("no watchdog: a killed worker would leave its tasks running", "err", err)
	}
}

// tell sends one message. The caller holds the lock. A watchdog that can't take it is killed, keep starts the next one
// and that one is told everything.
func (g *guard) tell(line string) {
	if line == "" || g.pipe == nil {
		return
	}
	_ = g.pipe.SetWriteDeadline(time.Now().Add(tellLimit))
	if _, err := g.pipe.WriteString(line); err != nil {
		_ = syscall.Kill(g.pid, syscall.SIGKILL) // under the lock a pid that is set is not reaped yet
	}
}

// started tells of a task whose leader is alive or a zombie of ours.
func (g *guard) started(c *child) { g.serving(c, c.spec.Attempt) }

// serving tells of a task that a process works at which may be older than the task: its limits are the task's, its
// marker its own.
func (g *guard) serving(c *child, attempt int64) {
	p, err := readProc(c.pid)
	if err != nil {
		return // can't be, while the leader is unreaped; its marker would still be found
	}
	var killAt time.Duration
	if !c.spec.Deadline.IsZero() {
		killAt = bootClock() + time.Until(c.spec.Deadline) + c.spec.Grace + watchdogSlack
	}
	line := fmt.Sprintf("%s %d %d %d %d %d %d\n", wordStarted, attempt, c.pid, p.start, killAt, c.spec.Unrenewed, c.spec.Attempt)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tasks[attempt] = line
	g.tell(line)
}

func (g *guard) ended(attempt int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tasks, attempt)
	delete(g.exits, attempt)
	g.tell(fmt.Sprintf("%s %d\n", wordEnded, attempt))
}

func (g *guard) renew(sent time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewal = fmt.Sprintf("%s %d\n", wordRenewed, sent)
	g.tell(g.renewal)
}

// close ends the watchdog and waits for it; on its way out it kills what is left of this worker.
func (g *guard) close() error {
	g.mu.Lock()
	g.closed = true
	if g.pipe != nil {
		_ = g.pipe.Close()
	}
	g.mu.Unlock()
	select {
	case <-g.done:
		return nil
	case <-time.After(goneLimit + time.Second):
		return errors.New("the watchdog does not end")
	}
}
