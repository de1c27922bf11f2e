package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const testExecutor, testSecret = "default/billing", "correct horse battery staple"

// center plays the other side. Each hook is asked before the usual answer; one that has answered gives true.
type center struct {
	t      *testing.T
	url    string
	hooks  map[string]func(w http.ResponseWriter, n int, body []byte) bool // by endpoint; n counts its calls from 1
	mu     sync.Mutex
	calls  map[string][][]byte
	nonces map[string]bool
	logged map[int64]string
}

func newCenter(t *testing.T) *center {
	c := &center{t: t, hooks: map[string]func(http.ResponseWriter, int, []byte) bool{}, calls: map[string][][]byte{}, nonces: map[string]bool{}, logged: map[int64]string{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ServeHTTP judges every call as a center would.
func (c *center) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	c.mu.Lock()
	nonce := r.Header.Get(protocol.HeaderNonce)
	if err := protocol.VerifyRequest(r, body, [][]byte{[]byte(testSecret)}, time.Now()); err != nil || c.nonces[nonce] || r.Header.Get(protocol.HeaderExecutor) != testExecutor {
		c.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c.nonces[nonce] = true
	c.calls[name] = append(c.calls[name], body)
	n, hook := len(c.calls[name]), c.hooks[name]
	c.mu.Unlock()
	if hook == nil || !hook(w, n, body) {
		c.usual(w, name, body)
	}
}

func (c *center) usual(w http.ResponseWriter, name string, body []byte) {
	switch name {
	case protocol.CallClaim:
		answer(w, 200, protocol.ClaimAnswer{Granted: true})
	case protocol.CallHeartbeat:
		answer(w, 200, protocol.HeartbeatAnswer{})
	case protocol.CallLog:
		answer(w, 200, protocol.LogAnswer{UpTo: c.store(body)})
	case protocol.CallReport:
		answer(w, 200, protocol.ReportAnswer{Stored: true})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// store keeps the lines that follow what is there.
func (c *center) store(body []byte) int64 {
	var l protocol.ExternalLog
	if err := json.Unmarshal(body, &l); err != nil {
		c.t.Error(err)
	}
	if len(l.Lines) > protocol.MaxLogLines || len(body) > protocol.MaxLogBody {
		c.t.Errorf("a call of %d lines and %d bytes", len(l.Lines), len(body))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := int64(len(c.logged)) + 1
	for i, line := range l.Lines {
		if at := l.First + int64(i); at == next {
			c.logged[at] = line.Text
			next++
		}
	}
	return next - 1
}

func (c *center) log() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for i := int64(1); i <= int64(len(c.logged)); i++ {
		all = append(all, c.logged[i])
	}
	return all
}

func (c *center) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls[name])
}

// reports are those that came, oldest first.
func (c *center) reports() []protocol.ExternalReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []protocol.ExternalReport
	for _, body := range c.calls[protocol.CallReport] {
		var r protocol.ExternalReport
		if err := json.Unmarshal(body, &r); err != nil {
			c.t.Error(err)
		}
		all = append(all, r)
	}
	return all
}

// report waits for the first.
func (c *center) report() protocol.ExternalReport {
	c.t.Helper()
	until(c.t, "a report", func() bool { return c.count(protocol.CallReport) > 0 })
	return c.reports()[0]
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// task is one that may run for a minute.
func (c *center) task(number int) protocol.ExternalTask {
	return protocol.ExternalTask{TaskID: "task_20240101020000", TaskName: "order_stat_daily", BizDate: "2024-01-01", ExecType: "echo", Params: map[string]string{"source": "orders"},
		TraceID: fmt.Sprintf("trace-%d", number), Attempt: fmt.Sprint(number), Project: "default", ExpectedTime: 1704045600000,
		Deadline: time.Now().Add(time.Minute).UnixMilli(), CallbackURL: c.url + "/executor/v1/report?attempt=" + fmt.Sprint(number), Shard: protocol.Shard{Index: 2, Total: 5}}
}

// post sends a signed body and gives status and answer.
func post(t *testing.T, to string, body []byte, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	protocol.SignRequest(r, testExecutor, []byte(testSecret), time.Now(), body)
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func encoded(t *testing.T, task protocol.ExternalTask) []byte {
	t.Helper()
	body, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func send(t *testing.T, to string, task protocol.ExternalTask) int {
	t.Helper()
	status, _ := post(t, to, encoded(t, task), nil)
	return status
}

// quick is the usual pace, hundred times faster.
func quick() pace {
	return pace{beat: 100 * time.Millisecond, progress: 10 * time.Millisecond, logs: 3 * time.Millisecond, first: 3 * time.Millisecond, claim: 50 * time.Millisecond,
		report: 100 * time.Millisecond, linger: 300 * time.Millisecond, giveUp: time.Hour, forget: time.Hour}
}

func testConfig(t *testing.T) Config {
	return Config{Executor: testExecutor, Secrets: []string{testSecret}, Journal: filepath.Join(t.TempDir(), "journal"), Logger: slog.New(slog.DiscardHandler)}
}

// serve opens an executor on a real listener.
func serve(t *testing.T, c Config, p pace, handlers map[string]Handler) (*Executor, string) {
	t.Helper()
	e, err := open(c, handlers, p, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return e, server.URL
}

func echo(_ context.Context, task *Task) (any, error) { return task.Params, nil }
