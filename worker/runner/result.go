package runner

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// messageMax is the longest message that is kept, in bytes.
const messageMax = 4 << 10

// CleanMessage makes any text fit for a message: valid UTF-8, no NUL, at most 4 KB, cut between characters.
func CleanMessage(s string) string {
	const more = "…"
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
	if len(s) <= messageMax {
		return s
	}
	cut := messageMax - len(more)
	return s[:runeCut([]byte(s[:cut]), cut)] + more
}

// result turns what was seen into what is reported.
func (c *child) result(s stop, e ended) Result {
	res := Result{StartedAt: c.started, FinishedAt: e.at, Late: e.late, ExitCode: -1}
	switch {
	case e.status.Signaled():
		res.Signal = unix.SignalName(e.status.Signal())
		if res.Signal == "" {
			res.Signal = "SIG" + strconv.Itoa(int(e.status.Signal()))
		}
	default:
		res.ExitCode = e.status.ExitStatus()
	}
	if s.deadly && res.ExitCode >= 0 {
		s = stop{}
	}
	var notes []string
	switch {
	case s.outcome != "":
		res.Outcome = s.outcome
		notes = append(notes, s.reason)
		if res.ExitCode >= 0 {
			notes = append(notes, fmt.Sprintf("the program then ended with exit code %d", res.ExitCode))
		}
		if s.forced {
			notes = append(notes, fmt.Sprintf("SIGKILL was needed %v later", max(0, e.at.Sub(s.at)).Round(time.Millisecond)))
		}
	case res.ExitCode == 0:
		res.Outcome = Success
	default:
		res.Outcome = Failed
		notes = append(notes, exitText(res))
	}
	res.Message = CleanMessage(strings.Join(append(notes, e.notes()...), "; "))
	return res
}

// exitText says in words how a program failed.
func exitText(r Result) string {
	switch code := r.ExitCode; {
	case r.Signal != "":
		return "ended by " + r.Signal
	case code == 126:
		return "exit code 126: the shell could not execute the command"
	case code == 127:
		return "exit code 127: the shell did not find the command"
	case code > 128 && unix.SignalName(unix.Signal(code-128)) != "":
		return fmt.Sprintf("exit code %d, as a shell reports a command that %s ended", code, unix.SignalName(unix.Signal(code-128)))
	default:
		return fmt.Sprintf("exit code %d", code)
	}
}

func (e ended) notes() []string {
	var notes []string
	if e.leftover > 0 {
		notes = append(notes, fmt.Sprintf("%d processes left behind were killed", e.leftover))
	}
	if len(e.alive) > 0 {
		notes = append(notes, fmt.Sprintf("processes %v could not be killed", e.alive))
	}
	if e.held {
		notes = append(notes, "a process out of reach still holds the output: what it writes is not kept")
	}
	return notes
}

// noteOOM adds the likely reason of a SIGKILL that nobody here sent.
func (r *Result) noteOOM(s stop, kills int64) {
	if kills <= 0 || s.outcome != "" {
		return
	}
	r.OOM = true
	r.Message = CleanMessage(r.Message + "; the kernel killed processes because memory ran out meanwhile")
}

// oomCounter reads how often the kernel's out-of-memory killer struck: in our cgroup where that is told, else on the
// whole machine. It remembers two earlier readings, so that asking costs nothing unless a task was killed.
type oomCounter struct {
	path string

	mu           sync.Mutex
	older, newer int64
}

func newOOMCounter() *oomCounter {
	o := &oomCounter{path: oomFile()}
	o.older = o.read()
	o.newer = o.older
	return o
}

func oomFile() string {
	data, _ := os.ReadFile("/proc/self/cgroup") // without it the machine's count has to do
	for line := range strings.Lines(string(data)) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path := "/sys/fs/cgroup" + dir + "/memory.events"
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return "/proc/vmstat"
}

// tick takes a reading; it is called each reapPeriod.
func (o *oomCounter) tick() {
	n := o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.older, o.newer = o.newer, n
}

// recent returns the kills of the last one to two periods.
func (o *oomCounter) recent() int64 {
	n := o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	return n - o.older
}

// read returns the count, or 0 where it can't be read.
func (o *oomCounter) read() int64 {
	data, err := os.ReadFile(o.path)
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(data, []byte("oom_kill "))
	if !ok {
		return 0
	}
	num, _, _ := bytes.Cut(rest, []byte{'\n'})
	n, _ := strconv.ParseInt(string(num), 10, 64)
	return n
}
