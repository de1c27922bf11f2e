package journal

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

const crashEnv = "AX_TEST_JOURNAL_DIR"

// TestMain lets the test binary play the worker that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		os.Exit(crashChild(dir))
	}
	os.Exit(m.Run())
}

// crashChild starts, ends and confirms attempts from many goroutines for ever and prints each step once it is durable.
func crashChild(dir string) int {
	j, st, err := Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	say("boot %d", st.Boot)
	body := make([]byte, 3000)
	for g := range int64(8) {
		go func() {
			for i := int64(1); ; i++ {
				id := st.Boot*1_000_000 + g*100_000 + i
				if j.Started(Start{Attempt: id, At: at, Body: body}) != nil {
					return
				}
				say("s %d", id)
				if j.Ended(Outcome{Attempt: id, At: at, Body: body}) != nil {
					return
				}
				say("e %d", id)
				if i%2 == 0 {
					say("c %d", id) // said before: what was confirmed may or may not have reached the disk
					_ = j.Confirmed(at, id)
				}
			}
		}()
	}
	select {}
}

// TestKilledInMidAppend kills the child at random moments and holds the replay against what it had acknowledged.
func TestKilledInMidAppend(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 4
	}
	dir := t.TempDir()
	for round := 1; round <= rounds; round++ {
		acked := killOnce(t, dir, time.Duration(5+rand.IntN(120))*time.Millisecond)
		j, st, err := Open(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if st.Boot != int64(2*round) {
			t.Fatalf("boot %d in round %d", st.Boot, round)
		}
		checkAcked(t, st, acked)
		settle(t, j, st)
	}
}

// killOnce runs the child until it has acknowledged something and then for d more, kills it, and returns the last step
// that it had acknowledged of each attempt.
func killOnce(t *testing.T, dir string, d time.Duration) map[int64]byte {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	acked := map[int64]byte{}
	in := bufio.NewReader(pipe)
	for {
		line, err := in.ReadString('\n')
		if err == io.EOF {
			break
		}
		must(t, err)
		var step byte
		var id int64
		if n, _ := fmt.Sscanf(line, "%c %d", &step, &id); n != 2 {
			continue
		}
		if len(acked) == 0 { // only now: on a busy machine the first fsync may take longer than d
			time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
		}
		acked[id] = step
	}
	_ = cmd.Wait() // killed: the error is the point
	return acked
}

func checkAcked(t *testing.T, st *State, acked map[int64]byte) {
	t.Helper()
	have := map[int64]byte{}
	for _, id := range running(st) {
		have[id] = 's'
	}
	for _, id := range unconfirmed(st) {
		have[id] = 'e'
	}
	for id, step := range acked {
		switch got := have[id]; {
		case step == 's' && got == 0, step == 'e' && got != 'e', step == 'c' && got == 's':
			t.Errorf("attempt %d: acknowledged %c, replayed %q", id, step, got)
		}
	}
	if len(acked) == 0 {
		t.Error("the child acknowledged nothing: the round proves nothing")
	}
}

// settle does what a boot does, so that the next round starts from an empty journal.
func settle(t *testing.T, j *Journal, st *State) {
	t.Helper()
	for _, id := range append(running(st), unconfirmed(st)...) {
		must(t, j.Confirmed(at, id))
	}
	must(t, j.Close())
}
