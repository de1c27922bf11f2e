package runner

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ServiceSpec is a program that is kept between tasks.
type ServiceSpec struct {
	// ID is positive and no other service's of this worker: it marks the processes as theirs of no attempt.
	ID int64
	// Argv, Env and Dir are as in Spec.
	Argv []string
	Env  []string
	Dir  string
	// DumpSignal and Grace are as in Spec.
	DumpSignal syscall.Signal
	Grace      time.Duration
	// Line gets each line of its output, without the end, from one goroutine; it is valid until Line returns. Of one longer
	// than LineMax bytes nothing is given but long. It must be set.
	Line    func(line []byte, long bool)
	LineMax int
	// Idle gets what it says on its error output while it works at no task; nil drops it.
	Idle func(p []byte)
}

// Service is such a program while it runs: in a session of its own, with this worker's marker, killed with all that it
// started when the worker goes. Begin and Done must come in turns from one goroutine at a time; all else is safe for
// concurrent use.
type Service struct {
	run  *Runner
	c    *child
	idle func(p []byte)

	mu  sync.Mutex // held while error output is moved from the pipe to where it goes
	out *Capture   // of the task that it works at; nil: none

	attempt int64
}

// Serve starts a program that stays until it ends by itself or End is called, one of which must come.
func (r *Runner) Serve(spec ServiceSpec) (*Service, error) {
	one := Spec{Attempt: spec.ID, Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir, Stdin: []byte{}, DumpSignal: spec.DumpSignal, Grace: spec.Grace}.withDefaults()
	if err := one.validate(); err != nil {
		return nil, err
	}
	one.Attempt = -spec.ID
	c, err := r.fork(one, nil)
	if err != nil {
		return nil, err
	}
	s := &Service{run: r, c: c, idle: spec.Idle}
	c.pumps.Go(func() { readService(c.pipes[0], spec) })
	c.pumps.Go(func() { s.listen(c.pipes[1]) })
	return s, nil
}

// PID is the number of its process.
func (s *Service) PID() int { return s.c.pid }

// Exited is closed when the program has ended.
func (s *Service) Exited() <-chan struct{} { return s.c.exited }

// Write gives it one message. One that it does not read within limit is an error; part of it may have been written.
func (s *Service) Write(p []byte, limit time.Duration) error {
	_ = s.c.stdin.SetWriteDeadline(time.Now().Add(limit)) // a pipe takes it
	_, err := s.c.stdin.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it did not read its input for %v", limit)
	}
	return err
}

// Begin says that it works at an attempt from now on: its error output goes to out, and the watchdog keeps the limits also
// while this worker is frozen. Zero limits are none.
func (s *Service) Begin(attempt int64, deadline time.Time, unrenewed time.Duration, out *Capture) {
	s.run.mu.Lock()
	s.c.silence, s.c.unheard = 0, nil
	s.run.mu.Unlock()
	s.c.spec.Deadline, s.c.spec.Unrenewed = deadline, unrenewed
	s.attempt = attempt
	s.run.guard.serving(s.c, attempt)
	s.mu.Lock()
	s.out = out
	s.mu.Unlock()
}

// settleLimit is how long what a service said before it answered is moved to the log of its task.
const settleLimit = time.Second

// Done says that it has ended the attempt. What it had said by now is in the log when Done returns.
func (s *Service) Done() {
	if raw, err := s.c.pipes[1].SyscallConn(); err == nil {
		end, buf := time.Now().Add(settleLimit), make([]byte, 16<<10)
		_ = raw.Control(func(fd uintptr) { // an error says that it is closed: nothing is left to move
			for n := 1; n > 0 && time.Now().Before(end); {
				n, _ = s.move(int(fd), buf)
			}
		})
	}
	s.mu.Lock()
	s.out = nil
	s.mu.Unlock()
	s.run.guard.ended(s.attempt)
	s.c.spec.Deadline, s.c.spec.Unrenewed = time.Time{}, 0
}

// Signal sends a signal to its whole group. It fails when the program has ended.
func (s *Service) Signal(sig syscall.Signal) error {
	if s.c.hasExited() {
		return errors.New("its process has ended")
	}
	return unix.Kill(-s.c.pid, sig) // the leader is not reaped before End, so the group is ours
}

// End ends it, with all that it started, and says what became of it: first the dump signal, after the grace SIGKILL. why is
// the outcome of the attempt that it worked at and the reason; an empty one says that it ended by itself or may do so now.
// After a Begin it takes the place of Done.
func (s *Service) End(why Outcome, reason string) Result {
	st := stop{outcome: why, reason: reason, at: time.Now()}
	switch {
	case s.c.hasExited():
		<-s.c.exited
		if why == "" {
			st = s.c.foreign(s.run)
		}
	default:
		_ = s.c.stdin.Close() // one that has nothing to do ends with its input
		if why != "" || !s.leaves() {
			st.deadly = s.c.defenceless()
			st.forced = s.c.terminate(s.run)
		}
	}
	e := s.c.end(s.run)
	if s.attempt != 0 {
		s.run.guard.ended(s.attempt)
	}
	res := s.c.result(st, e)
	if res.Signal == "SIGKILL" {
		res.noteOOM(st, s.run.oom.recent())
	}
	return res
}

// leaves gives a service without a task the time to end with its input.
func (s *Service) leaves() bool {
	t := time.NewTimer(s.c.spec.Grace)
	defer t.Stop()
	select {
	case <-s.c.exited:
		return true
	case <-t.C:
		return false
	}
}

// listen moves its error output until its end.
func (s *Service) listen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 16<<10)
	_ = raw.Read(func(fd uintptr) bool { // ends when move says so, or the pipe is closed
		for {
			n, end := s.move(int(fd), buf)
			if end || n == 0 {
				return end
			}
		}
	})
}

// move takes what is in the pipe to where it goes, a piece at a time; 0 and false say that nothing is there now. Reading
// and writing are one step, so that whoever looks on knows that what was read is where it belongs.
func (s *Service) move(fd int, buf []byte) (n int, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, false
		case err != nil || n <= 0:
			return 0, true
		case s.out != nil:
			s.out.Write(Err, time.Now(), buf[:n])
		case s.idle != nil:
			s.idle(buf[:n])
		}
		return n, false
	}
}

// readService gives the lines of its output to who waits for them. A last line without an end is given too.
func readService(f *os.File, spec ServiceSpec) {
	in := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	long := false
	for {
		piece, err := in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > spec.LineMax+1; !long {
			line = append(line, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		if long {
			line = line[:0]
		}
		if long || len(line) > 0 {
			spec.Line(line, long)
		}
		if err != nil {
			return
		}
		line, long = line[:0], false
	}
}
