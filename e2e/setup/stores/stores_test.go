package stores

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holder is the variable that turns this test binary into a process that starts a server and waits to be killed.
const holder = "AX_TEST_STORES_HOLDER"

func TestMain(m *testing.M) {
	if parent := os.Getenv(holder); parent != "" {
		fmt.Fprintln(os.Stderr, hold(parent))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestServersComeUpAndLeaveNothing(t *testing.T) {
	for _, store := range []struct {
		name  string
		has   func() bool
		start func(string) (*Server, error)
	}{{"mariadb", HasMariaDB, MariaDB}, {"redis", HasRedis, Redis}} {
		t.Run(store.name, func(t *testing.T) {
			if !store.has() {
				t.Skip("not installed")
			}
			s, err := store.start(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if syscall.Kill(s.pid, 0) != nil {
				t.Fatal("the server that answered is not the one we started")
			}
			s.Stop()
			s.Stop()
			mustEnd(t, s.pid, s.Dir)
		})
	}
}

// What a killed server had kept is there after the restart: MariaDB's data, and nothing of Redis.
func TestKilledServerComesBackOnItsAddress(t *testing.T) {
	for _, store := range []struct {
		name  string
		has   func() bool
		start func(string) (*Server, error)
	}{{"mariadb", HasMariaDB, MariaDB}, {"redis", HasRedis, Redis}} {
		t.Run(store.name, func(t *testing.T) {
			if !store.has() {
				t.Skip("not installed")
			}
			s, err := store.start(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			first := s.PID()
			if err := s.Restart(); err == nil {
				t.Fatal("a running server was started once more")
			}
			if err := s.Freeze(); err != nil {
				t.Fatal(err)
			}
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := s.ready(s.addr); err == nil {
				t.Fatal("it answers although it was killed")
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if err := s.ready(s.addr); err != nil || s.PID() == first || syscall.Kill(s.PID(), 0) != nil {
				t.Fatalf("after the restart: %v, process %d, at first %d", err, s.PID(), first)
			}
			s.Stop()
			mustEnd(t, s.PID(), s.Dir)
		})
	}
}

func TestServerDoesNotOutliveAKilledOwner(t *testing.T) {
	if !HasRedis() {
		t.Skip("redis-server is not installed")
	}
	parent := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holder+"="+parent)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	eventually(t, "the holder's server is up", func() bool {
		files, _ := filepath.Glob(filepath.Join(parent, "*", "up"))
		if len(files) != 1 {
			return false
		}
		text, _ := os.ReadFile(files[0])
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "its folder is gone", func() bool {
		left, _ := os.ReadDir(parent)
		return len(left) == 0
	})
	mustEnd(t, pid, parent+"/none")
}

// hold starts a server, says its process id in a file and waits for the other process' kill.
func hold(parent string) error {
	s, err := Redis(parent)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "up"), []byte(strconv.Itoa(s.pid)), 0o600); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return errors.New("nobody killed the holder within a minute")
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	_, _, err := launch(t.TempDir(), "broken", func(string, string) ([]string, error) {
		return []string{"/bin/sh", "-c", "echo no such luck; exit 1"}, nil
	}, func(string) error { return os.ErrDeadlineExceeded })
	if err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "has ended") {
		t.Fatalf("got %v", err)
	}
}

func mustEnd(t *testing.T, pid int, dir string) {
	t.Helper()
	eventually(t, "the process is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("folder %s is still there (%v)", dir, err)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
