package runner

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The worker speaks to its watchdog over a pipe, one line a message:
//
//	s <attempt> <pid> <start ticks> <kill at> <unrenewed> <marker>   a task has started
//	e <attempt>                                                      it has ended
//	r <boot clock>                                                   the center answered a heartbeat sent then
//
// Times are nanoseconds of the boot clock, 0 where there is none. The end of the pipe is the end of the worker. Another
// pipe leads back, for what a worker that stands still does not see:
//
//	ready                                                   it listens
//	x <attempt> <boot clock>                                the leader of a task has ended then
const (
	wordStarted = "s"
	wordEnded   = "e"
	wordRenewed = "r"
	wordReady   = "ready\n"
	wordExited  = "x"
)

// watchdogSlack is how long the watchdog lets the worker act first, so that it only steps in for a worker that can't.
const watchdogSlack = time.Second

// watched is one running task as the watchdog knows it.
type watched struct {
	leader    proc // pid and start
	killAt    time.Duration
	unrenewed time.Duration
	heard     time.Duration
	watched   bool  // for its end
	marker    int64 // the attempt in the environment of its processes; a service's own number where one runs it
}

// watchdog is the state of the process beside the worker.
type watchdog struct {
	marker  Marker
	tasks   map[int64]watched
	renewed time.Duration
	exits   exits
	log     io.Writer
}

// WatchdogMain is the whole watchdog process: `ax watchdog <uid> <boot>`, with the worker's pipe as its input. It
// returns the exit code once the worker is gone and nothing of it is left: 0, or 1 when something could not be killed.
// It outlives the worker's process group and session, and signals meant for the worker; only the end of the pipe ends it.
func WatchdogMain(in io.Reader, ready, log io.Writer, args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(log, "ax watchdog: started by a worker only; it needs the worker's uid and boot number")
		return 2
	}
	boot, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || args[0] == "" {
		fmt.Fprintf(log, "ax watchdog: boot number %q: must be a whole number\n", args[1])
		return 2
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = os.Chdir("/") // so that no mount is held busy; staying where it is does no harm
	w := &watchdog{marker: Marker{UID: args[0], Boot: boot}, tasks: map[int64]watched{}, renewed: bootClock(), exits: newExits(ready), log: log}
	_, _ = io.WriteString(ready, wordReady) // a worker that is dead already is found by the end of its pipe
	w.loop(readLines(in))
	return w.sweep()
}

// gatherLines is how long the watchdog lets messages gather: being woken for each costs more than all else about it. Its
// limits are seconds, and what the worker said before it died is still in the pipe then.
const gatherLines = 20 * time.Millisecond

// readLines sends the lines of in, those together that came together, and closes the channel at its end. A last line that
// has no end is left out.
func readLines(in io.Reader) <-chan []string {
	batches := make(chan []string)
	go func() {
		defer close(batches)
		buf, held := make([]byte, 64<<10), 0 // as much as a pipe holds
		for {
			n, err := in.Read(buf[held:])
			held += n
			if end := bytes.LastIndexByte(buf[:held], '\n') + 1; end > 0 {
				batches <- strings.Split(string(buf[:end-1]), "\n")
				held = copy(buf, buf[end:held])
			}
			if err != nil || held == len(buf) {
				return
			}
			time.Sleep(gatherLines)
		}
	}()
	return batches
}

// loop follows the worker until its end of the pipe closes.
func (w *watchdog) loop(batches <-chan []string) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var due <-chan time.Time
		if wait, any := w.nextLook(bootClock()); any {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case lines, more := <-batches:
			if !more {
				return
			}
			for _, line := range lines {
				if err := w.hear(line); err != nil {
					fmt.Fprintf(w.log, "ax watchdog: %v\n", err)
				}
			}
		case <-due:
			now := bootClock()
			w.watchLong(now)
			w.enforce(now)
		}
	}
}

// hear takes one message.
func (w *watchdog) hear(line string) error {
	f := strings.Fields(line)
	n := make([]int64, len(f))
	for i := 1; i < len(f); i++ {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return fmt.Errorf("message %q: %w", line, err)
		}
		n[i] = v
	}
	switch {
	case len(f) == 7 && f[0] == wordStarted:
		w.tasks[n[1]] = watched{leader: proc{pid: int(n[2]), start: uint64(n[3])},
			killAt: time.Duration(n[4]), unrenewed: time.Duration(n[5]), heard: bootClock(), marker: n[6]}
	case len(f) == 2 && f[0] == wordEnded:
		delete(w.tasks, n[1])
		w.exits.forget(n[1])
	case len(f) == 2 && f[0] == wordRenewed:
		w.renewed = max(w.renewed, time.Duration(n[1]))
	default:
		return fmt.Errorf("message %q: not understood", line)
	}
	return nil
}

// limit is when a task must be dead at the latest, on the boot clock; 0 is never.
func (t watched) limit(renewed time.Duration) time.Duration {
	limit := t.killAt
	if lease := renewed + t.unrenewed; t.unrenewed > 0 && (limit == 0 || lease < limit) {
		limit = lease
	}
	return limit
}

// nextLook says how long nothing can become due; any is false when nothing has a limit. At most a second, because timers
// stand still while the machine sleeps and the boot clock does not.
func (w *watchdog) nextLook(now time.Duration) (wait time.Duration, any bool) {
	wait = time.Second
	for _, t := range w.tasks {
		if limit := t.limit(w.renewed); limit > 0 {
			any = true
			wait = min(wait, max(limit-now, 0))
		}
		if !t.watched {
			any = true
			wait = min(wait, max(t.heard+watchAfter-now, 0))
		}
	}
	return wait, any
}

// enforce kills the tasks whose limit is over. The worker, when it can, reports them; until then they are forgotten here.
func (w *watchdog) enforce(now time.Duration) {
	for id, t := range w.tasks {
		limit := t.limit(w.renewed)
		if limit == 0 || now < limit {
			continue
		}
		delete(w.tasks, id)
		attempt := strconv.FormatInt(t.marker, 10)
		killed, left, err := hunt{leaders: []proc{t.leader}, match: func(env []byte) bool {
			a, _ := envValue(env, attemptKey)
			return a == attempt && w.ours(env)
		}}.run(goneLimit)
		w.tell(fmt.Sprintf("attempt %d was over its limit and its worker did nothing", id), killed, left, err)
	}
}

// sweep kills everything that the dead worker had started in this boot.
func (w *watchdog) sweep() int {
	var leaders []proc
	for _, t := range w.tasks {
		leaders = append(leaders, t.leader)
	}
	killed, left, err := hunt{leaders: leaders, match: w.ours}.run(goneLimit)
	if killed > 0 || err != nil || len(left) > 0 {
		w.tell("the worker is gone", killed, left, err)
	}
	if err != nil || len(left) > 0 {
		return 1
	}
	return 0
}

// ours says whether an environment belongs to this life of this worker. A later life has a watchdog of its own.
func (w *watchdog) ours(env []byte) bool {
	uid, _ := envValue(env, uidKey)
	boot, _ := envValue(env, bootKey)
	return uid == w.marker.UID && boot == strconv.FormatInt(w.marker.Boot, 10)
}

func (w *watchdog) tell(what string, killed int, left []int, err error) {
	fmt.Fprintf(w.log, "ax watchdog: %s: %d processes killed", what, killed)
	if len(left) > 0 {
		fmt.Fprintf(w.log, ", %v could not be killed", left)
	}
	if err != nil {
		fmt.Fprintf(w.log, ", then: %v", err)
	}
	fmt.Fprintln(w.log)
}
