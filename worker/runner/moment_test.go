package runner

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A program that ends by itself in the very moment of its kill keeps its own outcome: nothing reads "killed" beside the
// exit code of a program that no signal had touched.
func TestWhoEndsInTheMomentOfItsKillKeepsItsOutcome(t *testing.T) {
	b := newBench(t)
	seen := map[Outcome]int{}
	for i := range 120 {
		ctx, cancel := context.WithCancelCause(context.Background())
		timer := time.AfterFunc(20*time.Millisecond+time.Duration(i%40)*100*time.Microsecond, func() { cancel(ErrKilled) })
		res, _ := b.sh(t, ctx, "exec sleep 0.02", nil)
		timer.Stop()
		cancel(nil)
		seen[res.Outcome]++
		switch {
		case res.Outcome == Success && res.ExitCode == 0 && res.Message == "":
		case res.Outcome == Killed && res.ExitCode == -1 && (res.Signal != "" || res.StartedAt.IsZero()):
		default:
			t.Errorf("%+v", res)
		}
	}
	t.Logf("%v", seen)
}

// Who was asked to end and answered with an exit code was killed, and what it answered is said.
func TestAnAnswerToAKillIsSaid(t *testing.T) {
	b := newBench(t)
	for code, command := range map[int]string{0: "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done", 7: "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(300*time.Millisecond, func() { cancel(fmt.Errorf("%w: by ana", ErrKilled)) })
		res, _ := b.sh(t, ctx, command, nil)
		if want := fmt.Sprintf("killed on request: by ana; the program then ended with exit code %d", code); res.Outcome != Killed || res.ExitCode != code || !strings.HasPrefix(res.Message, want) {
			t.Errorf("%+v, want %q", res, want)
		}
	}
}

// What the moment between the look and the signal hides is decided by what the signal could do.
func TestAnExitCodeAfterADeadlySignalIsTheProgramsOwn(t *testing.T) {
	c := &child{started: t0}
	exited := func(code int) ended { return ended{status: syscall.WaitStatus(code << 8), at: t0.Add(time.Second)} }
	kill := stop{outcome: Killed, reason: "killed on request", at: t0, deadly: true}
	for code, want := range map[int]Outcome{0: Success, 3: Failed} {
		if res := c.result(kill, exited(code)); res.Outcome != want || res.ExitCode != code || strings.Contains(res.Message, "killed") {
			t.Errorf("%+v", res)
		}
	}
	if res := c.result(kill, ended{status: syscall.WaitStatus(syscall.SIGABRT), at: t0}); res.Outcome != Killed || res.ExitCode != -1 {
		t.Errorf("%+v", res)
	}
}

func TestWhetherASignalIsHandledIsRead(t *testing.T) {
	for script, want := range map[string]bool{"": false, "trap '' TERM;": true, "trap 'exit 1' TERM;": true} {
		cmd := exec.Command("/bin/sh", "-c", script+" echo up; read line") // a shell that forks blocks signals meanwhile
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 3))
		must(t, err)
		if got := handles(cmd.Process.Pid, syscall.SIGTERM); got != want {
			t.Errorf("%q: %v", script, got)
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		_ = in.Close()
	}
	if !handles(1<<30, syscall.SIGTERM) {
		t.Error("a process that is not there is taken for defenceless")
	}
}
