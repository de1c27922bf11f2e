package runner

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec is one thing to run.
type Spec struct {
	Attempt int64
	// Argv is the program and its arguments; a program without a slash is looked up in the worker's PATH.
	Argv []string
	// Env is the whole environment, "KEY=value"; the marker is added to it.
	Env []string
	// Dir is the working directory; empty means the worker's own.
	Dir string
	// User is the account that the program runs as; nil means the worker's own. Others take a worker that runs as root.
	User *User
	// Stdin is what the program can read; nil means nothing.
	Stdin []byte
	// Deadline is when the task times out. Zero means never.
	Deadline time.Time
	// DumpSignal is sent to the whole group first, so that stacks land in the log. Zero means SIGTERM.
	DumpSignal syscall.Signal
	// Grace is the time between DumpSignal and SIGKILL. Zero means 3 s.
	Grace time.Duration
	// Unrenewed, when positive, ends the task as lost when the worker's lease was last renewed (Runner.Renewed) longer
	// ago than this, also while the worker is frozen.
	Unrenewed time.Duration
}

// User is an account of the system.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

const (
	defaultGrace = 3 * time.Second
	// goneLimit is how long killed processes may take to vanish before they are called left behind. Only a process
	// that hangs in the kernel takes longer than milliseconds.
	goneLimit = 5 * time.Second
	// pipeLimit is how long output may still be read after the group is gone, where somebody we could not kill holds it.
	pipeLimit = 2 * time.Second
)

func (s Spec) withDefaults() Spec {
	if s.Grace <= 0 {
		s.Grace = defaultGrace
	}
	if s.DumpSignal == 0 {
		s.DumpSignal = syscall.SIGTERM
	}
	return s
}

// Outcome is how a run ended.
type Outcome string

const (
	Success  Outcome = "success"
	Failed   Outcome = "error"
	Timeout  Outcome = "timeout"
	Killed   Outcome = "killed"
	Shutdown Outcome = "shutdown" // the worker is going down: not the task's fault
	Lost     Outcome = "lost"     // the worker may no longer run it: replaced, or its lease was not renewed
)

// Causes for the cancellation of Run's context (context.WithCancelCause). Any other cause means Killed, with its text
// in the message; a context's own deadline means Timeout.
var (
	ErrKilled   = errors.New("killed on request")
	ErrShutdown = errors.New("the worker is shutting down")
	ErrLost     = errors.New("this worker no longer holds the attempt")
)

// Unanswered is the cause, an ErrLost, of ending what must not outlive a silence of the center. why says, in words that
// begin with "because", why no heartbeat was answered; "" = that is not known.
func Unanswered(silence time.Duration, why string) error {
	text := fmt.Sprintf("ended because the center had not answered for %v", silence.Round(time.Second))
	if why != "" {
		text = fmt.Sprintf("ended after %v %s", silence.Round(time.Second), why)
	}
	return &unanswered{text}
}

type unanswered struct{ text string }

// Error says it.
func (u *unanswered) Error() string { return u.text }

// Unwrap tells its kind.
func (u *unanswered) Unwrap() error { return ErrLost }

// Result is what is known when nothing of the task is alive any more.
type Result struct {
	Outcome Outcome
	// ExitCode is 0 to 255, or -1 when a signal ended the program or it never started.
	ExitCode int
	// Signal names the signal that ended the program ("SIGSEGV"), or is empty.
	Signal string
	// OOM: the kernel's out-of-memory killer was at work when the program was killed; very likely the reason.
	OOM        bool
	StartedAt  time.Time // zero when it never started
	FinishedAt time.Time
	// Late is how long after its end this process saw that it had ended, having stood still meanwhile, sleep of the machine
	// included; FinishedAt is the end. 0 where that is not known.
	Late time.Duration
	// Message is an English sentence for people; empty for a plain success.
	Message string
}

// Marker is what every process of a data directory's worker carries in its environment.
type Marker struct {
	UID  string // of the data directory, from its journal
	Boot int64
}

const (
	attemptKey = "AX_ATTEMPT="
	uidKey     = "AX_WORKER_UID="
	bootKey    = "AX_WORKER_BOOT="
)

// environ returns env with the marker of an attempt; values of these keys that were in env are dropped.
func (m Marker) environ(env []string, attempt int64) []string {
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		if strings.HasPrefix(kv, attemptKey) || strings.HasPrefix(kv, uidKey) || strings.HasPrefix(kv, bootKey) {
			continue
		}
		out = append(out, kv)
	}
	return append(out, attemptKey+strconv.FormatInt(attempt, 10), uidKey+m.UID, bootKey+strconv.FormatInt(m.Boot, 10))
}

// bootClock is the time since the machine's boot, sleep included: all processes of the machine read the same.
func bootClock() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // can't fail: the clock exists since Linux 2.6.39
	return time.Duration(ts.Nano())
}

// validate refuses what could not be started or watched.
func (s Spec) validate() error {
	if s.Attempt <= 0 {
		return fmt.Errorf("attempt id %d: must be positive", s.Attempt)
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return errors.New("no program given")
	}
	for _, a := range s.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return errors.New("an argument contains a NUL byte")
		}
	}
	for _, kv := range s.Env {
		if strings.IndexByte(kv, 0) >= 0 || strings.IndexByte(kv, '=') <= 0 {
			return fmt.Errorf("environment entry %q: must be KEY=value without NUL", kv)
		}
	}
	return nil
}
