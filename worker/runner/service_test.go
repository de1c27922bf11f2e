package runner

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// echo is a service that answers each line with it, speaks on its error output first, and can be told to do worse.
const echo = `
import sys, os, time, signal
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "die": os._exit(3)
    if word == "spin":
        while True: pass
    if word == "child":
        if os.fork() == 0:
            os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); os.close(1); os.close(2); time.sleep(600)
    if word == "loud": sys.stderr.write(("x" * 1023 + "\n") * int(rest))
    sys.stderr.write("said " + line); sys.stderr.flush()
    sys.stdout.write("answer " + line); sys.stdout.flush()
`

// served is a service and what came from it.
type served struct {
	*Service
	answers chan string
	mu      sync.Mutex
	idle    string
}

func (b *bench) serve(t *testing.T, change func(*ServiceSpec)) *served {
	t.Helper()
	b.next++
	s := &served{answers: make(chan string, 100)}
	spec := ServiceSpec{ID: b.next, Argv: []string{"python3", "-c", echo}, Env: []string{"PATH=" + os.Getenv("PATH"), "PYTHONFAULTHANDLER=1"}, LineMax: 1000,
		DumpSignal: syscall.SIGABRT, Grace: time.Second,
		Line: func(line []byte, long bool) { s.answers <- fmt.Sprint(string(line), " ", long) },
		Idle: func(p []byte) { s.mu.Lock(); s.idle += string(p); s.mu.Unlock() }}
	if change != nil {
		change(&spec)
	}
	var err error
	s.Service, err = b.Serve(spec)
	must(t, err)
	return s
}

func (s *served) ask(t *testing.T, line, want string) {
	t.Helper()
	must(t, s.Write([]byte(line+"\n"), time.Second))
	select {
	case got := <-s.answers:
		if got != want {
			t.Fatalf("%q was answered with %q, want %q", line, got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%q was not answered", line)
	}
}

// Each task of a service has what was said while it ran, and nothing of the others; all that it left dies with it.
func TestAServiceWorksAtOneTaskAfterAnother(t *testing.T) {
	b := newBench(t)
	s := b.serve(t, nil)
	s.ask(t, "hello", "answer hello false")
	for i := int64(1); i <= 3; i++ {
		out := b.spool.Create(1000 + i)
		s.Begin(1000+i, time.Time{}, 0, out)
		word := fmt.Sprintf("task%d", i)
		s.ask(t, word, "answer "+word+" false")
		s.Done()
		s.ask(t, "between", "answer between false")
		out.Finish(time.Now())
		if log := texts(readAll(t, out, 10)); log != "1err:said "+word+"|" {
			t.Errorf("the log of task %d is %q", i, log)
		}
	}
	must(t, s.Write([]byte(strings.Repeat("y", 5000)+"\n"), time.Second))
	if got := <-s.answers; got != " true" {
		t.Errorf("a long line came as %q", got)
	}
	s.ask(t, "child", "answer child false")
	res := s.End("", "")
	if res.Outcome != Success || !strings.Contains(res.Message, "left behind") {
		t.Errorf("its end: %+v", res)
	}
	if !strings.Contains(s.idle, "said hello") || strings.Contains(s.idle, "said task") {
		t.Errorf("between tasks it said %q", s.idle)
	}
	if left := carriers(t, b.marker.UID); len(left) > 1 { // the watchdog carries nothing
		t.Errorf("left: %v", left)
	}
}

// A service that spins is ended with its stacks in the log of its task, a dead one says how it died, and the neighbour goes on.
func TestAServiceThatSpinsOrDiesTouchesNoNeighbour(t *testing.T) {
	b := newBench(t)
	spins, dies, lives := b.serve(t, nil), b.serve(t, nil), b.serve(t, nil)
	out := b.spool.Create(2000)
	spins.Begin(2000, time.Now().Add(time.Hour), 0, out)
	must(t, spins.Write([]byte("spin\n"), time.Second))
	must(t, dies.Write([]byte("die\n"), time.Second))
	<-dies.Exited()
	if res := dies.End("", ""); res.Outcome != Failed || res.ExitCode != 3 {
		t.Errorf("the dead one: %+v", res)
	}
	lives.ask(t, "a", "answer a false")
	res := spins.End(Timeout, "timed out")
	out.Finish(time.Now())
	if log := texts(readAll(t, out, 50)); res.Outcome != Timeout || res.Signal != "SIGABRT" || !strings.Contains(log, "Current thread") {
		t.Errorf("%+v, log %q", res, log)
	}
	lives.ask(t, "b", "answer b false")
	lives.End("", "")
}

// The watchdog ends the task of a service whose worker does nothing, and all of it.
func TestTheWatchdogKeepsTheLimitOfAService(t *testing.T) {
	b := newBench(t)
	s := b.serve(t, func(spec *ServiceSpec) { spec.Grace = 100 * time.Millisecond })
	s.ask(t, "child", "answer child false")
	s.Begin(3000, time.Now().Add(200*time.Millisecond), 0, b.spool.Create(3000))
	select {
	case <-s.Exited():
	case <-time.After(10 * time.Second):
		t.Fatal("it lives on")
	}
	if res := s.End("", ""); res.Outcome != Timeout || !strings.Contains(res.Message, "watchdog") {
		t.Errorf("%+v", res)
	}
	eventually(t, "the child lives on", 5*time.Second, func() bool { return len(carriers(t, b.marker.UID)) == 0 })
}

// What a service says before it answers is in the log whatever it is; memory does not grow with it.
func TestALoudService(t *testing.T) {
	b := newBench(t)
	s := b.serve(t, nil)
	out := b.spool.Create(4000)
	s.Begin(4000, time.Time{}, 0, out)
	must(t, s.Write([]byte("loud 20000\n"), time.Second))
	<-s.answers
	s.Done()
	if st := out.Stats(); st.Lines != 20001 {
		t.Errorf("%+v", st)
	}
	s.End("", "")
	if _, err := b.Serve(ServiceSpec{ID: 9, Argv: []string{"/no/such"}, Line: func([]byte, bool) {}}); err == nil || !strings.Contains(err.Error(), "/no/such") {
		t.Errorf("a program that is not there: %v", err)
	}
}
