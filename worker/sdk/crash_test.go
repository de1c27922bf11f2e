package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// childVar makes this test binary an executor: its value is the folder with the journal and the file of starts.
const childVar, hookVar = "AX_SDK_TEST_CHILD", "AX_SDK_TEST_HOOK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// child writes each start into a file before it does anything else, and its address into another once it listens.
func child(dir string) {
	c := Config{Executor: testExecutor, Secrets: []string{testSecret}, Journal: filepath.Join(dir, "journal"), Logger: slog.New(slog.DiscardHandler)}
	if os.Getenv(hookVar) != "" {
		c.Interrupted = func(context.Context, *Task) (any, error) { return map[string]string{"found": "done"}, nil }
	}
	e, err := open(c, map[string]Handler{"echo": func(ctx context.Context, task *Task) (any, error) {
		starts, err := os.OpenFile(filepath.Join(dir, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer func() { _ = starts.Close() }()
		if _, err := fmt.Fprintln(starts, task.Attempt); err != nil {
			return nil, err
		}
		span, err := strconv.ParseFloat(task.Params["span"], 64)
		pause(ctx, time.Duration(span*float64(time.Second)))
		return task.Params, err
	}}, quick(), time.Now)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(e)
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte(server.URL), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "url")); err != nil {
		panic(err)
	}
	select {}
}

type process struct {
	t    *testing.T
	kind string // go or python
	dir  string
	cmd  *exec.Cmd
	url  string
}

// start runs the executor and waits until it listens.
func (p *process) start(env ...string) {
	p.t.Helper()
	_ = os.Remove(filepath.Join(p.dir, "url"))
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(append(os.Environ(), childVar+"="+p.dir), env...)
	if p.kind == "python" {
		p.cmd = exec.Command("python3", "testdata/child.py", p.dir, testExecutor, testSecret)
		p.cmd.Env = append(append(os.Environ(), "PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1"), env...)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	until(p.t, "the executor's address", func() bool {
		url, err := os.ReadFile(filepath.Join(p.dir, "url"))
		p.url = string(url)
		return err == nil
	})
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) starts() []string {
	text, err := os.ReadFile(filepath.Join(p.dir, "starts"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// each runs a test with the SDK of each language.
func each(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{"go", "python"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); kind == "python" && err != nil {
				t.Skip("python3 is not there; the SDK for it is not tested")
			}
			test(t, kind)
		})
	}
}

func startProcess(t *testing.T, kind string) *process {
	p := &process{t: t, kind: kind, dir: t.TempDir()}
	p.start()
	t.Cleanup(func() { p.kill() })
	return p
}

func TestATaskThatAKillInterruptedIsSettled(t *testing.T) {
	each(t, func(t *testing.T, kind string) {
		for name, row := range map[string]struct {
			env     []string
			success bool
			said    string
		}{"reported as failed": {nil, false, "the executor was restarted"}, "handed to the hook": {[]string{hookVar + "=1"}, true, ""}} {
			t.Run(name, func(t *testing.T) {
				c, p := newCenter(t), startProcess(t, kind)
				task := c.task(1)
				task.Params["span"] = "60"
				if status := send(t, p.url, task); status != http.StatusAccepted {
					t.Fatalf("answered %d", status)
				}
				until(t, "the start", func() bool { return len(p.starts()) == 1 })
				p.kill()
				p.start(row.env...)
				if r := c.report(); r.Success != row.success || !strings.Contains(r.Message, row.said) {
					t.Errorf("reported %+v", r)
				}
				if n := len(p.starts()); n != 1 {
					t.Errorf("%d starts", n)
				}
			})
		}
	})
}

func TestAnOutcomeOutlivesAKill(t *testing.T) { each(t, outcomeOutlivesAKill) }

func outcomeOutlivesAKill(t *testing.T, kind string) {
	c, p := newCenter(t), startProcess(t, kind)
	c.hooks[protocol.CallReport] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n < 4 {
			w.WriteHeader(503)
		}
		return n < 4
	}
	task := c.task(1)
	task.Params["span"] = "0.001"
	send(t, p.url, task)
	c.report()
	p.kill()
	p.start()
	until(t, "four reports", func() bool { return c.count(protocol.CallReport) == 4 })
	for _, r := range c.reports() {
		if !r.Success || !strings.Contains(string(r.Result), `"span":"0.001"`) {
			t.Errorf("reported %+v", r)
		}
	}
	if n := len(p.starts()); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// Killed again and again, at any moment: what was acknowledged is reported, nothing is started twice, and no report contradicts another.
func TestKillsAtAnyMoment(t *testing.T) { each(t, killsAtAnyMoment) }

func killsAtAnyMoment(t *testing.T, kind string) {
	c, p := newCenter(t), startProcess(t, kind)
	const tasks = 60
	acked := map[string]bool{}
	next := time.Now()
	for i := 1; i <= tasks; i++ {
		task := c.task(i)
		task.Params["span"] = fmt.Sprintf("0.0%02d", rand.N(60))
		if send(t, p.url, task) == http.StatusAccepted {
			acked[task.Attempt] = true
		}
		if time.Now().After(next) {
			pause(t.Context(), rand.N(40*time.Millisecond))
			p.kill()
			p.start()
			next = time.Now().Add(rand.N(200 * time.Millisecond))
		}
	}
	settledRight(t, c, p, acked)
	if len(acked) < tasks/2 {
		t.Errorf("only %d of %d were acknowledged", len(acked), tasks)
	}
}

// settledRight waits for a report of each attempt and compares reports with each other and with the starts.
func settledRight(t *testing.T, c *center, p *process, acked map[string]bool) {
	t.Helper()
	outcomes := func() map[string]string {
		found := map[string]string{}
		for _, r := range c.reports() {
			one, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if was, twice := found[r.Attempt]; twice && was != string(one) {
				t.Errorf("attempt %s: %s and %s", r.Attempt, was, one)
			}
			found[r.Attempt] = string(one)
		}
		return found
	}
	until(t, "all reports", func() bool { return len(outcomes()) >= len(acked) })
	found := outcomes()
	for attempt := range acked {
		if found[attempt] == "" {
			t.Errorf("attempt %s was acknowledged and not reported", attempt)
		}
	}
	times := map[string]int{}
	for _, attempt := range p.starts() {
		if times[attempt]++; times[attempt] > 1 {
			t.Errorf("attempt %s was started twice", attempt)
		}
	}
	for attempt, r := range found {
		if strings.Contains(r, `"success":true`) && times[attempt] != 1 {
			t.Errorf("attempt %s is a success without a start", attempt)
		}
	}
}
