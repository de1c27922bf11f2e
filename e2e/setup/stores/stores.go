// Package stores starts private MariaDB, Redis and PostgreSQL servers for tests and ends them.
//
// It owns one server process each: a free loopback port, a data folder of its own and the certainty that
// nothing is left behind. It refuses to touch a server that was there before. The test runner, kit/dbtest,
// kit/redistest and the end-to-end scenarios drive it. But for setup/port it imports the standard library only.
//
// A server never outlives the process that asked for it: a small shell, the keeper, waits on a pipe that this
// process holds, and when the pipe closes (Stop, exit, kill -9) it ends the server and removes the folder.
package stores

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/e2e/setup/port"
)

// startLimit is how long a server may take until it answers; a loaded two-core machine needs about a second.
const startLimit = 60 * time.Second

// startTries is how often a start is repeated with another port: a free port can be taken before it is used.
const startTries = 3

// Server is one running private server. Its methods are for one goroutine at a time.
type Server struct {
	URL string // where clients connect; no database and no number is selected
	Dir string // its data folder, removed by Stop
	pid int
	own *exec.Cmd
	end io.WriteCloser // the keeper's standard input

	addr  string
	ready func(addr string) error
}

// Stop ends the server at once (SIGKILL: its data is thrown away) and removes its folder. Safe to call twice.
func (s *Server) Stop() {
	_ = s.end.Close()
	_ = s.own.Wait()
}

// PID is the server's process.
func (s *Server) PID() int { return s.pid }

// Freeze stops the server's process with SIGSTOP: connections stay open and nothing is answered.
func (s *Server) Freeze() error { return syscall.Kill(s.pid, syscall.SIGSTOP) }

// Thaw continues a frozen server.
func (s *Server) Thaw() error { return syscall.Kill(s.pid, syscall.SIGCONT) }

// keeperScript runs the server named by its arguments until its own standard input ends. A line there ends the
// server, the line "start" begins its next life. It ignores the signals of a ^C so that the process that holds the
// pipe decides when the end is.
const keeperScript = `trap '' INT TERM HUP
dir=$1; shift
run() {
	"$@" </dev/null & pid=$!
	echo $pid >"$dir/keeper.pid.new"; mv "$dir/keeper.pid.new" "$dir/keeper.pid"
}
end() {
	if test -n "$pid"; then kill -KILL $pid; wait $pid 2>/dev/null; fi
	pid=; rm -f "$dir/keeper.pid"
}
run "$@"
while read -r word; do
	end
	if test "$word" = start; then run "$@"; fi
done
end
rm -rf "$dir"`

// keep starts argv under a keeper. Output goes to server.log in dir.
func keep(dir string, argv []string) (*Server, error) {
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("/bin/sh", append([]string{"-c", keeperScript, "keeper", dir}, argv...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	return &Server{Dir: dir, own: cmd, end: in}, nil
}

// launch makes a folder, lets plan prepare it and name the command, and waits until ready says that the
// server answers on the port; another port is tried when it does not come up.
func launch(parent, name string, plan func(dir, port string) ([]string, error), ready func(addr string) error) (*Server, string, error) {
	var last error
	for range startTries {
		dir, err := os.MkdirTemp(parent, "ax-"+name+"-")
		if err != nil {
			return nil, "", err
		}
		addr, err := port.Free()
		if err != nil {
			return nil, "", err
		}
		argv, err := plan(dir, addr[strings.LastIndex(addr, ":")+1:])
		if err != nil {
			_ = os.RemoveAll(dir)
			return nil, "", err
		}
		s, err := keep(dir, argv)
		if err != nil {
			_ = os.RemoveAll(dir)
			return nil, "", err
		}
		s.addr, s.ready = addr, ready
		if last = s.await(); last == nil {
			return s, s.addr, nil
		}
		last = fmt.Errorf("%s did not come up: %w; the end of its log:\n%s", name, last, logTail(dir))
		s.Stop()
	}
	return nil, "", last
}

// await asks whether the server is ready until it is, has died or startLimit has passed.
func (s *Server) await() error {
	deadline := time.Now().Add(startLimit)
	for {
		err := s.ready(s.addr)
		if err == nil {
			return s.readPID()
		}
		if s.readPID() == nil && !runs(s.pid) {
			return errors.New("its process has ended")
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %s: %w", startLimit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// runs reports whether the process is there and no zombie: the keeper learns of a death only when it looks.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name, which may hold anything
	return !strings.HasPrefix(rest, "Z")
}

func (s *Server) readPID() error {
	if s.pid != 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "keeper.pid"))
	if err != nil {
		return err
	}
	s.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return err
}

// logTail returns the last lines of the server's own log.
func logTail(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "server.log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// find looks for a program on PATH and where Debian puts servers, which an ordinary user's PATH lacks.
func find(names ...string) (string, bool) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode()&0o111 != 0 {
				return filepath.Join(dir, name), true
			}
		}
	}
	return "", false
}
