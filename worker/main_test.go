package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/transport"
	"github.com/axsched/ax/worker/types"
	"github.com/axsched/ax/worker/types/noop"
	"github.com/axsched/ax/worker/types/program"
	"github.com/axsched/ax/worker/types/shell"
)

// TestMain lets the test binary play the watchdog and a worker of its own, which tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	if url := os.Getenv("AX_TEST_WORKER_REDIS"); url != "" {
		os.Exit(workerMain(url, os.Getenv("AX_TEST_WORKER_DATA")))
	}
	os.Exit(m.Run())
}

// workerMain is a worker until it is killed, or until SIGTERM where a benchmark wants its CPU profile.
func workerMain(url, data string) int {
	ctx := context.Background()
	if path := os.Getenv("AX_TEST_WORKER_PROFILE"); path != "" {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
		if f, err := os.Create(path); err == nil && pprof.StartCPUProfile(f) == nil {
			defer pprof.StopCPUProfile()
		}
	}
	c, err := transport.Open(ctx, url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := worker.Open(worker.Config{Name: "w1", Data: data}, &transport.Link{Transport: c, Registry: c}, executors)
	if err == nil {
		err = n.Run(ctx)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func executors(r *runner.Runner) []types.Executor {
	return []types.Executor{noop.Executor{}, shell.New(r, "", program.Users{})}
}

// each runs the same test on the in-process Redis and on a server.
func each(t *testing.T, fn func(t *testing.T, l *transport.Link)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { fn(t, embedded(t)) })
	t.Run("redis", func(t *testing.T) { fn(t, dial(t, redisServer(t).URL)) })
}

func embedded(t testing.TB) *transport.Link {
	t.Helper()
	e := transport.NewEmbedded()
	c := e.Client()
	t.Cleanup(func() { _ = c.Close(); e.Close() })
	return &transport.Link{Transport: c, Registry: c, Embedded: true}
}

func redisServer(t testing.TB) *stores.Server {
	t.Helper()
	if !stores.HasRedis() {
		t.Skip("Redis is not installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := stores.Redis("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func dial(t testing.TB, url string) *transport.Link {
	t.Helper()
	c, err := transport.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &transport.Link{Transport: c, Registry: c}
}

// boot addresses one life of a worker.
type boot struct {
	name   string
	number int64
}

// node is a Node that runs in the test.
type node struct {
	*worker.Node
	boot
	stop  context.CancelFunc
	ended chan error
}

func start(t testing.TB, l *transport.Link, cfg worker.Config) *node {
	t.Helper()
	return startWith(t, l, cfg, executors)
}

// startWith starts a Node that has these types.
func startWith(t testing.TB, l *transport.Link, cfg worker.Config, build func(*runner.Runner) []types.Executor) *node {
	t.Helper()
	if cfg.Data == "" {
		cfg.Data = t.TempDir()
	}
	if cfg.Name == "" {
		cfg.Name = "w1"
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if os.Getenv("AX_TEST_LOG") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	w, err := worker.Open(cfg, l, build)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{Node: w, boot: boot{w.Name(), w.Boot()}, stop: cancel, ended: make(chan error, 1)}
	go func() { n.ended <- w.Run(ctx) }()
	t.Cleanup(func() { n.stop(); n.end(t) })
	within(t, 10*time.Second, "the worker is ready", func() bool { return w.Status().Error == "" })
	return n
}

// end waits for the node's end and returns its error; the channel keeps it for whoever asks again.
func (n *node) end(t testing.TB) error {
	t.Helper()
	select {
	case err := <-n.ended:
		n.ended <- err
		return err
	case <-time.After(40 * time.Second):
		t.Fatal("the worker did not end")
		return nil
	}
}

// spawn starts a worker process and returns it with its boot.
func spawn(t testing.TB, url, data string, number int64) (*exec.Cmd, boot) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "AX_TEST_WORKER_REDIS="+url, "AX_TEST_WORKER_DATA="+data)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, boot{"w1", number}
}

func within(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

func sh(id int64, command string) protocol.Task {
	exec, _ := json.Marshal(map[string]string{"command": command})
	return protocol.Task{Attempt: id, ExecType: "shell", Exec: exec, Timeout: 60_000, OnLost: protocol.OnLostRetry}
}

func nothing(id int64) protocol.Task { return protocol.Task{Attempt: id, ExecType: "noop"} }

// countLines is how often a task of the test wrote into a file.
func countLines(t testing.TB, path string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// jump is the boot clock, which a test can put forward.
type jump struct{ ahead atomic.Int64 }

func (j *jump) now() time.Duration { return runner.BootClock() + time.Duration(j.ahead.Load()) }

func (j *jump) by(d time.Duration) { j.ahead.Add(int64(d)) }

// cable is a network between workers and a Redis that a test can cut.
type cable struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// lay puts a cable before the server at url and returns it with the URL of its near end.
func lay(t *testing.T, rawURL string) (*cable, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, target: u.Host}
	go c.serve()
	t.Cleanup(func() { _ = l.Close(); c.sever(true) })
	return c, "redis://" + l.Addr().String()
}

func (c *cable) serve() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		c.mu.Lock()
		if err != nil || c.cut {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
			c.mu.Unlock()
			continue
		}
		c.conns = append(c.conns, near, far)
		c.mu.Unlock()
		go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
	}
}

// sever cuts the cable, or mends it.
func (c *cable) sever(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}
