package runner

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchAfter is how old a task must be before the watchdog watches for its end: most have ended by then, and cost it
// nothing. One that ended earlier, while its worker stood still, seems to have ended then.
const watchAfter = time.Second

// exitsHeld is how many ends wait at most for a worker that stands still and does not read; more are left out.
const exitsHeld = 4096

// exits is the watchdog's watch for the ends of tasks. Its methods are for one goroutine.
type exits struct {
	watches map[int64]*os.File // pidfds by attempt
	found   chan string        // what the worker is told
}

// newExits tells the worker over out, which may be a pipe that nobody reads.
func newExits(out io.Writer) exits {
	e := exits{watches: map[int64]*os.File{}, found: make(chan string, exitsHeld)}
	go func() {
		for line := range e.found {
			_, _ = io.WriteString(out, line) // a worker that is gone needs it no more
		}
	}()
	return e
}

// watchLong begins to watch the tasks that have lived for a while.
func (w *watchdog) watchLong(now time.Duration) {
	for id, t := range w.tasks {
		if !t.watched && now >= t.heard+watchAfter {
			t.watched = true
			w.tasks[id] = t
			w.exits.watch(id, t.leader)
		}
	}
}

// watch tells when a process ends, at once for a zombie. One that is not there any more is not watched, nor is any on a
// kernel without pidfds that can be waited for (before 5.10): its end is as late as its worker is.
func (e exits) watch(attempt int64, p proc) {
	fd, err := unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	now, err := readProc(p.pid)
	conn, cerr := f.SyscallConn()
	if err != nil || cerr != nil || now.start != p.start {
		_ = f.Close()
		return
	}
	e.watches[attempt] = f
	go func() {
		dead := false
		err := conn.Read(func(fd uintptr) bool {
			dead = readable(fd)
			return dead
		})
		if err != nil || !dead {
			return // the worker has seen it
		}
		select {
		case e.found <- fmt.Sprintf("%s %d %d\n", wordExited, attempt, bootClock()):
		default:
		}
	}()
}

func readable(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLIN != 0
}

// forget ends the watch for a task whose end the worker has seen.
func (e exits) forget(attempt int64) {
	if f := e.watches[attempt]; f != nil {
		_ = f.Close()
		delete(e.watches, attempt)
	}
}

// exited is how long ago the leader of a running task ended as the watchdog saw it; 0 when it has said nothing of it.
func (g *guard) exited(attempt int64) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listen()
	at, ok := g.exits[attempt]
	if !ok {
		return 0
	}
	return max(0, bootClock()-at)
}

// listen takes what the watchdog has said so far. The caller holds the lock.
func (g *guard) listen() {
	if g.back == nil {
		return
	}
	conn, err := g.back.SyscallConn()
	if err != nil {
		return
	}
	for more := true; more; {
		err = conn.Control(func(fd uintptr) { // not a read that waits
			n, err := unix.Read(int(fd), g.buf[:])
			more = err == unix.EINTR || n > 0
			g.said += string(g.buf[:max(n, 0)])
		})
		more = more && err == nil
	}
	for {
		line, rest, whole := strings.Cut(g.said, "\n")
		if !whole {
			return
		}
		g.said = rest
		g.hear(line)
	}
}

func (g *guard) hear(line string) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != wordExited {
		return
	}
	attempt, err1 := strconv.ParseInt(f[1], 10, 64)
	at, err2 := strconv.ParseInt(f[2], 10, 64)
	if _, runs := g.tasks[attempt]; runs && err1 == nil && err2 == nil {
		g.exits[attempt] = time.Duration(at)
	}
}
