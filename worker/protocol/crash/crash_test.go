package crash

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVar makes this test binary a process that passes take.won three times and then says so.
const childVar = "AX_TEST_CRASH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) == "" {
		os.Exit(m.Run())
	}
	if err := Arm(os.Getenv(Variable)); err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		os.Exit(1)
	}
	for _, word := range []string{"one ", "two ", "three "} {
		At("take.committed")
		At("take.won")
		_, _ = os.Stdout.WriteString(word)
	}
}

// child runs the process under an order; on is called once it runs.
func child(t *testing.T, order string, on func(*os.Process)) (said string, status syscall.WaitStatus) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"=1", Variable+"="+order)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	on(cmd.Process)
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status, _ = cmd.ProcessState.Sys().(syscall.WaitStatus)
	return out.String(), status
}

func TestTheProcessIsKilledAtThePassingItWasTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "done")
	nobody := func(*os.Process) {}
	for _, c := range []struct {
		order, said string
		killed      bool
	}{
		{"", "one two three ", false},
		{"take.won", "", true},
		{"take.won:3", "one two ", true},
		{"take.won:4", "one two three ", false},
		{"take.inserted", "one two three ", false},
		{"take.won:2:kill:" + file, "one ", true},
		{"take.won:2:kill:" + file, "one two three ", false}, // it was carried out by an earlier life
		{"take.won:delay=1ms", "one two three ", false},
	} {
		said, status := child(t, c.order, nobody)
		if killed := status.Signaled() && status.Signal() == syscall.SIGKILL; said != c.said || killed != c.killed {
			t.Errorf("%q: said %q, killed %v; want %q, %v", c.order, said, killed, c.said, c.killed)
		}
	}
}

func TestAFrozenProcessGoesOnWhereItStoodWhenItIsContinued(t *testing.T) {
	said, status := child(t, "take.won:2:freeze", func(p *os.Process) {
		for deadline := time.Now().Add(30 * time.Second); !stopped(t, p.Pid); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("the process was not frozen")
				break
			}
		}
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	if said != "one two three " || status.ExitStatus() != 0 {
		t.Errorf("said %q, ended with %d", said, status.ExitStatus())
	}
}

// stopped reports whether the process is in state T.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "T")
}

func TestAWrongOrderIsRefusedWithWhatWouldBeRight(t *testing.T) {
	for order, says := range map[string]string{
		"take.wno":           "take.won, take.inserted",
		"":                   "",
		"take.won:0":         "neither a passing",
		"take.won:soon":      "neither a passing",
		"take.won:delay=now": "delay=45s",
	} {
		err := Arm(order)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want a text with %q", order, err, says)
		}
	}
	if armed.Load() != nil {
		t.Error("a wrong order armed something")
	}
}

// A point that nobody passes proves nothing, and one that nobody knows can't be asked for.
func TestEveryPointStandsInTheCodeAndEveryOneThereIsKnown(t *testing.T) {
	calls := regexp.MustCompile(`\bcrash\.At\("([^"]*)"\)`)
	found := map[string]bool{}
	for _, root := range []string{"app", "modules", "worker"} {
		err := filepath.WalkDir(filepath.Join("../../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range calls.FindAllStringSubmatch(string(text), -1) {
				found[m[1]] = true
				if !slices.Contains(names(), m[1]) {
					t.Errorf("%s passes %q, which is no point", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names() {
		if !found[name] {
			t.Errorf("nothing passes %q", name)
		}
	}
	if sorted := slices.Sorted(slices.Values(names())); len(slices.Compact(sorted)) != len(names()) {
		t.Error("two points have one name")
	}
}

func BenchmarkAt(b *testing.B) {
	for b.Loop() {
		At("take.won")
	}
}
