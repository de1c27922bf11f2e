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
	"path/filepath"
	"slices"
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

func workerMain(url, data string) int {
	c, err := transport.Open(context.Background(), url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := worker.Open(worker.Config{Name: "w1", Data: data}, &transport.Link{Transport: c, Registry: c}, executors)
	if err == nil {
		err = n.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func executors(r *runner.Runner) []types.Executor {
	return []types.Executor{noop.Executor{}, shell.New(r, "")}
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

// center is a fake center: it grants what it knows and confirms what it hears, and fails on purpose where told.
type center struct {
	t      testing.TB
	link   *transport.Link
	sender *transport.Sender

	// onClaim, when set, answers instead; it may write anything or nothing.
	onClaim func(c protocol.Claim, nth int) []protocol.Downlink
	mute    bool // confirm and ack nothing

	mu      sync.Mutex
	tasks   map[int64]protocol.Task
	claims  map[string][]protocol.Claim
	started map[int64]int
	reports map[int64][]protocol.Report
	refused map[int64]string
	lines   map[int64]map[int64]string // by place
	total   int                        // distinct attempts reported
}

func newCenter(t testing.TB, l *transport.Link) *center {
	return &center{t: t, link: l, sender: transport.NewSender(l.Transport), tasks: map[int64]protocol.Task{},
		claims: map[string][]protocol.Claim{}, started: map[int64]int{}, reports: map[int64][]protocol.Report{},
		refused: map[int64]string{}, lines: map[int64]map[int64]string{}}
}

// run reads both streams until the test ends.
func (c *center) run() *center {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	follow := func(g *transport.Group, hear func(transport.Raw) []transport.Entry) {
		for ctx.Err() == nil {
			raws, err := g.Read(ctx, 1000, 50*time.Millisecond)
			if err != nil {
				time.Sleep(20 * time.Millisecond) // Redis is away: a test took it
				continue
			}
			var out []transport.Entry
			var ids []string
			for _, r := range raws {
				out, ids = append(out, hear(r)...), append(ids, r.ID)
			}
			_ = c.link.Write(ctx, out...)
			_ = g.Remove(ctx, ids...)
		}
	}
	wg.Go(func() { follow(transport.NewUplinkGroup(c.link.Transport, "c"), c.hear) })
	wg.Go(func() { follow(transport.NewLogsGroup(c.link.Transport, "c"), c.hearLog) })
	c.t.Cleanup(func() { cancel(); wg.Wait() })
	return c
}

func (c *center) hear(r transport.Raw) []transport.Entry {
	var u protocol.Uplink
	if err := json.Unmarshal(r.Body, &u); err != nil {
		c.t.Errorf("uplink entry %q: %v", r.Body, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var down []protocol.Downlink
	for _, s := range u.Started {
		c.started[s.Attempt]++
	}
	if u.Refuse != nil {
		for _, id := range u.Refuse.IDs {
			c.refused[id] = u.Refuse.Reason
		}
	}
	if u.Claim != nil {
		down = append(down, c.claim(*u.Claim)...)
	}
	var confirm []int64
	for _, rep := range u.Reports {
		if len(c.reports[rep.Attempt]) == 0 {
			c.total++
		}
		c.reports[rep.Attempt] = append(c.reports[rep.Attempt], rep)
		confirm = append(confirm, rep.Attempt)
	}
	if len(confirm) > 0 && !c.mute {
		down = append(down, protocol.Downlink{Confirm: confirm})
	}
	var out []transport.Entry
	for _, d := range down {
		out = append(out, transport.InboxEntry(u.Worker, u.Boot, d))
	}
	return out
}

func (c *center) claim(cl protocol.Claim) []protocol.Downlink {
	c.claims[cl.Message] = append(c.claims[cl.Message], cl)
	if c.onClaim != nil {
		return c.onClaim(cl, len(c.claims[cl.Message]))
	}
	return []protocol.Downlink{{Answer: c.grantAll(cl)}}
}

// grantAll is the honest answer. The lock is held.
func (c *center) grantAll(cl protocol.Claim) *protocol.Answer {
	a := &protocol.Answer{Message: cl.Message, Nonce: cl.Nonce}
	for _, id := range cl.IDs {
		if t, ok := c.tasks[id]; ok {
			a.Grants = append(a.Grants, t)
		} else {
			a.Denied = append(a.Denied, protocol.Deny{Attempt: id, Reason: "unknown"})
		}
	}
	return a
}

func (c *center) hearLog(r transport.Raw) []transport.Entry {
	var l protocol.LogLines
	if err := json.Unmarshal(r.Body, &l); err != nil {
		c.t.Errorf("log entry %q: %v", r.Body, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.lines[l.Attempt]
	if at == nil {
		at = map[int64]string{}
		c.lines[l.Attempt] = at
	}
	if int(l.Last-l.First+1) != len(l.Lines) {
		c.t.Errorf("entry says lines %d to %d and carries %d", l.First, l.Last, len(l.Lines))
	}
	for i, raw := range l.Lines {
		at[l.First+int64(i)] = string(raw)
	}
	if c.mute {
		return nil
	}
	ack := protocol.Downlink{LogAcks: []protocol.LogAck{{Attempt: l.Attempt, UpTo: l.Last}}}
	return []transport.Entry{transport.InboxEntry(l.Worker, l.Boot, ack)}
}

// send commits tasks and sends them as one message.
func (c *center) send(n boot, message, lane string, tasks ...protocol.Task) {
	c.t.Helper()
	m := protocol.Message{ID: message}
	c.mu.Lock()
	for _, task := range tasks {
		task.Lane = lane
		c.tasks[task.Attempt] = task
		m.IDs = append(m.IDs, task.Attempt)
	}
	c.mu.Unlock()
	if err := c.sender.Send(c.t.Context(), n.name, n.number, lane, m); err != nil {
		c.t.Fatal(err)
	}
}

// tell writes into the inbox.
func (c *center) tell(n boot, ds ...protocol.Downlink) {
	c.t.Helper()
	for _, d := range ds {
		if err := c.link.Write(c.t.Context(), transport.InboxEntry(n.name, n.number, d)); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *center) report(id int64) *protocol.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rs := c.reports[id]; len(rs) > 0 {
		return &rs[len(rs)-1]
	}
	return nil
}

// await waits for an attempt's outcome.
func (c *center) await(id int64, outcome string) protocol.Report {
	c.t.Helper()
	within(c.t, 30*time.Second, fmt.Sprintf("attempt %d is reported", id), func() bool { return c.report(id) != nil })
	r := *c.report(id)
	if r.Outcome != outcome {
		c.t.Errorf("attempt %d: outcome %q (%s), want %q", id, r.Outcome, r.Message, outcome)
	}
	return r
}

func (c *center) isStarted(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started[id] > 0
}

func (c *center) claimed(message string) []protocol.Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.claims[message])
}

func (c *center) refusal(id int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[id]
}

func (c *center) log(id int64) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for place := int64(1); c.lines[id][place] != ""; place++ {
		out = append(out, c.lines[id][place])
	}
	return strings.Join(out, "\n")
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
	w, err := worker.Open(cfg, l, executors)
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
func spawn(t *testing.T, url, data string, number int64) (*exec.Cmd, boot) {
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
