package stores

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// killLimit is how long a killed server may take until its process is gone.
const killLimit = 10 * time.Second

// Kill ends the server with SIGKILL, also a frozen one. Its folder stays, so that Restart finds what it kept.
func (s *Server) Kill() error {
	if s.pid == 0 {
		return fmt.Errorf("the server on %s is not running", s.addr)
	}
	pid := s.pid
	s.pid = 0
	if _, err := io.WriteString(s.end, "kill\n"); err != nil {
		return fmt.Errorf("killing the server on %s: %w", s.addr, err)
	}
	// The keeper's note of the process must be gone too, or the next life would be taken for this one.
	noted := func() bool { _, err := os.Stat(filepath.Join(s.Dir, "keeper.pid")); return err == nil }
	for deadline := time.Now().Add(killLimit); runs(pid) || noted(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d of the server on %s was not gone %s after SIGKILL", pid, s.addr, killLimit)
		}
	}
	return nil
}

// Restart begins the next life of a killed server, on the same address with the data that it kept (of Redis: none),
// and waits until it answers.
func (s *Server) Restart() error {
	if s.pid != 0 {
		return fmt.Errorf("the server on %s is running; kill it before the restart", s.addr)
	}
	if _, err := io.WriteString(s.end, "start\n"); err != nil {
		return fmt.Errorf("starting the server on %s: %w", s.addr, err)
	}
	if err := s.await(); err != nil {
		return fmt.Errorf("the server on %s did not come back: %w; the end of its log:\n%s", s.addr, err, logTail(s.Dir))
	}
	return nil
}
