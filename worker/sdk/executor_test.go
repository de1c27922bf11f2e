package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

func TestATaskFromPostToReport(t *testing.T) {
	c := newCenter(t)
	seen := make(chan *Task, 1)
	e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) {
		task.Progress(40, "part 2 of 5")
		task.Logf("hello\nworld %d", 7)
		_, _ = task.Stderr().Write([]byte("no line feed"))
		seen <- task
		return map[string]int{"rows": 12}, nil
	}})
	if status := send(t, url, c.task(1)); status != http.StatusAccepted {
		t.Fatalf("answered %d", status)
	}
	r := c.report()
	if !r.Success || string(r.Result) != `{"rows":12}` || r.TraceID != "trace-1" || r.Attempt != "1" {
		t.Errorf("reported %+v", r)
	}
	task := <-seen
	if task.Params["source"] != "orders" || task.Name != "order_stat_daily" || task.BizDate != "2024-01-01" || task.Shard != 2 || task.Shards != 5 || task.Expected.UnixMilli() != 1704045600000 {
		t.Errorf("the handler saw %+v", task)
	}
	if got := strings.Join(c.log(), "|"); got != "hello|world 7|no line feed" {
		t.Errorf("logged %s", got)
	}
	until(t, "the settling", func() bool { return len(e.journal.open()) == 0 })
	if status := send(t, url, c.task(1)); status != http.StatusConflict {
		t.Errorf("the attempt that was settled is answered with %d", status)
	}
}

func TestProgressGoesOutAtOnceAndTheLastCounts(t *testing.T) {
	c := newCenter(t)
	p := quick()
	p.beat = time.Hour
	end := make(chan struct{})
	_, url := serve(t, testConfig(t), p, map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) {
		for i := range 101 {
			task.Progress(i, "row "+strconv.Itoa(i))
		}
		task.Progress(140, strings.Repeat("字", 300))
		<-end
		return nil, nil
	}})
	send(t, url, c.task(1))
	var last protocol.ExternalHeartbeat
	until(t, "the last progress", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		calls := c.calls[protocol.CallHeartbeat]
		return len(calls) > 0 && json.Unmarshal(calls[len(calls)-1], &last) == nil && last.Progress != nil && *last.Progress == 100 && last.Text != "row 100"
	})
	if last.Text != strings.Repeat("字", 200) {
		t.Errorf("text %q", last.Text)
	}
	if n := c.count(protocol.CallHeartbeat); n > 20 {
		t.Errorf("%d heartbeats for one burst", n)
	}
	close(end)
	c.report()
}

func TestForeignRequestsAreRefused(t *testing.T) {
	c := newCenter(t)
	var ran atomic.Int32
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) { ran.Add(1); return nil, nil }})
	body := encoded(t, c.task(1))
	sign := func(at time.Time, secret string) func(*http.Request) {
		return func(r *http.Request) { protocol.SignRequest(r, testExecutor, []byte(secret), at, body) }
	}
	for name, change := range map[string]func(*http.Request){
		"unsigned":       func(r *http.Request) { r.Header = http.Header{} },
		"wrong secret":   sign(time.Now(), "another"),
		"old":            sign(time.Now().Add(-6*time.Minute), testSecret),
		"in the future":  sign(time.Now().Add(6*time.Minute), testSecret),
		"other executor": func(r *http.Request) { r.Header.Set(protocol.HeaderExecutor, "default/other") },
		"other path":     func(r *http.Request) { r.URL.Path = "/elsewhere" },
	} {
		status, said := post(t, url, body, change)
		var e protocol.ExternalError
		if err := json.Unmarshal([]byte(said), &e); status != http.StatusUnauthorized || err != nil || e.Error == "" {
			t.Errorf("%s: %d %s", name, status, said)
		}
		if aged := name == "old" || name == "in the future"; aged != (e.Time != 0) {
			t.Errorf("%s: its clock is %d", name, e.Time)
		}
	}
	var nonce string
	if status, said := post(t, url+"/cancel", []byte(`{}`), func(r *http.Request) { nonce = r.Header.Get(protocol.HeaderNonce) }); status != http.StatusNotFound {
		t.Errorf("a cancel of nothing: %d %s", status, said)
	}
	at := time.Now()
	replay := func(r *http.Request) {
		r.Header.Set(protocol.HeaderNonce, nonce)
		r.Header.Set(protocol.HeaderTime, strconv.FormatInt(at.UnixMilli(), 10))
		r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(testSecret), "POST", "/", at, nonce, body))
	}
	if status, said := post(t, url+"/", body, replay); status != http.StatusUnauthorized || !strings.Contains(said, "seen before") {
		t.Errorf("a nonce twice: %d %s", status, said)
	}
	if c.count(protocol.CallClaim) != 0 || ran.Load() != 0 {
		t.Error("a refused request was worked on")
	}
}

func TestTheSecretBeforeIsTakenAndTheOneThatFitsSigns(t *testing.T) {
	c := newCenter(t)
	config := testConfig(t)
	config.Secrets = []string{"new one", testSecret} // the center has only the old one
	_, url := serve(t, config, quick(), map[string]Handler{"echo": echo})
	if status := send(t, url, c.task(1)); status != http.StatusAccepted {
		t.Fatalf("answered %d", status)
	}
	if r := c.report(); !r.Success {
		t.Errorf("reported %+v", r)
	}
}

func TestWhatIsNoTask(t *testing.T) {
	c := newCenter(t)
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": echo})
	other := c.task(1)
	other.ExecType = "unknown"
	nameless := c.task(1)
	nameless.Attempt = ""
	for _, row := range []struct {
		body []byte
		want int
	}{{[]byte("<html>"), 400}, {encoded(t, nameless), 400}, {encoded(t, other), 404}, {make([]byte, maxBody+1), 413}} {
		if status, said := post(t, url, row.body, nil); status != row.want || !strings.Contains(said, `"error"`) {
			t.Errorf("%d, want %d: %s", status, row.want, said)
		}
	}
	for path, want := range map[string]int{"/": 405, "/health": 200, "/run/echo/health": 200} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("GET %s: %d", path, answer.StatusCode)
		}
	}
}

func TestATaskDeliveredOftenRunsOnce(t *testing.T) {
	c := newCenter(t)
	var ran atomic.Int32
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) { ran.Add(1); return nil, nil }})
	var taken, known atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			switch send(t, url, c.task(1)) {
			case http.StatusAccepted:
				taken.Add(1)
			case http.StatusConflict:
				known.Add(1)
			}
		})
	}
	all.Wait()
	c.report()
	if taken.Load() != 1 || known.Load() != 19 || ran.Load() != 1 || c.count(protocol.CallReport) != 1 {
		t.Errorf("%d taken, %d known, ran %d times, %d reports", taken.Load(), known.Load(), ran.Load(), c.count(protocol.CallReport))
	}
}

func TestOnlyWhatIsGrantedRuns(t *testing.T) {
	late := func(w http.ResponseWriter, n int, _ []byte) bool {
		if n > 1 {
			answer(w, 200, protocol.ClaimAnswer{Reason: "withdrawn"})
		} else {
			time.Sleep(protocol.ClaimHoldsMs*time.Millisecond + 100*time.Millisecond) // the answer is held up longer than it holds
			answer(w, 200, protocol.ClaimAnswer{Granted: true})
		}
		return true
	}
	status := func(first, then int) func(http.ResponseWriter, int, []byte) bool {
		return func(w http.ResponseWriter, n int, _ []byte) bool {
			if n < 3 {
				w.WriteHeader(first)
			} else if then == 200 {
				return false
			} else {
				w.WriteHeader(then)
			}
			return true
		}
	}
	for name, row := range map[string]struct {
		hook func(http.ResponseWriter, int, []byte) bool
		runs int32
	}{
		"denied": {func(w http.ResponseWriter, _ int, _ []byte) bool {
			answer(w, 200, protocol.ClaimAnswer{Reason: "withdrawn"})
			return true
		}, 0},
		"not known":   {status(503, 404), 0},
		"not decided": {status(503, 200), 1},
		"broken":      {status(500, 200), 1},
		"a page": {func(w http.ResponseWriter, n int, _ []byte) bool {
			if n < 4 {
				_, _ = w.Write([]byte("<html>"))
			}
			return n < 4
		}, 1},
		"granted too late": {late, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			c.hooks[protocol.CallClaim] = row.hook
			var ran atomic.Int32
			e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) { ran.Add(1); return nil, nil }})
			if got := send(t, url, c.task(1)); got != http.StatusAccepted {
				t.Fatalf("answered %d", got)
			}
			until(t, "the settling", func() bool { return e.find(keyOf("trace-1", "1")) == nil })
			if ran.Load() != row.runs || c.count(protocol.CallReport) != int(row.runs) {
				t.Errorf("ran %d times, %d reports", ran.Load(), c.count(protocol.CallReport))
			}
		})
	}
}

// waits ends with its context.
func waits(ctx context.Context, _ *Task) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestATaskIsStopped(t *testing.T) {
	for name, row := range map[string]struct {
		set  func(c *center, task *protocol.ExternalTask)
		act  func(t *testing.T, url string)
		text string
	}{
		"by the heartbeat's answer": {set: func(c *center, _ *protocol.ExternalTask) {
			c.hooks[protocol.CallHeartbeat] = func(w http.ResponseWriter, n int, _ []byte) bool {
				answer(w, 200, protocol.HeartbeatAnswer{Cancel: n > 1, Reason: "killed by anna"})
				return true
			}
		}, text: "cancelled by the center: killed by anna"},
		"by a POST": {act: func(t *testing.T, url string) {
			if status, said := post(t, url+"/cancel", []byte(`{"traceId":"trace-1","attempt":"1","reason":"enough"}`), nil); status != http.StatusAccepted {
				t.Errorf("%d %s", status, said)
			}
		}, text: "cancelled by the center: enough"},
		"by its deadline": {set: func(_ *center, task *protocol.ExternalTask) {
			task.Deadline = time.Now().Add(200 * time.Millisecond).UnixMilli()
		},
			text: "stopped at its deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCenter(t)
			_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": waits})
			task := c.task(1)
			if row.set != nil {
				row.set(c, &task)
			}
			send(t, url, task)
			until(t, "a heartbeat", func() bool { return c.count(protocol.CallHeartbeat) > 0 })
			if row.act != nil {
				row.act(t, url)
			}
			if r := c.report(); r.Success || r.Message != row.text {
				t.Errorf("reported %+v", r)
			}
		})
	}
}

func TestACancelBeforeTheGrantIsReported(t *testing.T) {
	c := newCenter(t)
	c.hooks[protocol.CallClaim] = func(w http.ResponseWriter, _ int, _ []byte) bool { w.WriteHeader(503); return true }
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) { t.Error("it ran"); return nil, nil }})
	send(t, url, c.task(1))
	post(t, url+"/cancel", []byte(`{"traceId":"trace-1","attempt":"1"}`), nil)
	if r := c.report(); r.Success || !strings.Contains(r.Message, "had not been started") {
		t.Errorf("reported %+v", r)
	}
}

// The deadline is the center's; a clock that is three minutes off moves nothing.
func TestADeadlineIsThatOfTheCentersClock(t *testing.T) {
	for _, ahead := range []time.Duration{-200 * time.Second, 200 * time.Second} {
		c := newCenter(t)
		left := make(chan time.Duration, 1)
		_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(_ context.Context, task *Task) (any, error) { left <- time.Until(task.Deadline); return nil, nil }})
		task := c.task(1)
		task.Deadline = time.Now().Add(ahead + time.Minute).UnixMilli()
		body := encoded(t, task)
		status, said := post(t, url, body, func(r *http.Request) {
			protocol.SignRequest(r, testExecutor, []byte(testSecret), time.Now().Add(ahead), body)
		})
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, said)
		}
		if got := <-left; got < 50*time.Second || got > 61*time.Second {
			t.Errorf("clock %v ahead: %v left", ahead, got)
		}
		c.report()
	}
}

func TestHowATaskEnds(t *testing.T) {
	c := newCenter(t)
	var result any
	var fault error
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) {
		if fault != nil && fault.Error() == "panic" {
			panic("boom")
		}
		return result, fault
	}})
	for i, row := range []struct {
		result  any
		err     error
		success bool
		message string
	}{
		{nil, nil, true, ""},
		{struct{ A string }{"<b>"}, nil, true, ""},
		{nil, errors.New("no rows\x00"), false, "no rows␀"},
		{nil, errors.New(strings.Repeat("字", 5000)), false, strings.Repeat("字", 1364) + "…"},
		{nil, errors.New("panic"), false, "panic: boom"},
		{[]int{1}, nil, true, "the result was not kept: it is no JSON object"},
		{map[string]string{"a": strings.Repeat("x", 64<<10)}, nil, true, "the result was not kept: it has 65544 bytes, at most 65536 are taken"},
		{map[string]string{"a": "\x00"}, nil, true, "the result was not kept: it holds a NUL character"},
		{map[string]string{"a": `\u0000`}, nil, true, ""},
		{map[string]any{"a": func() {}}, nil, true, "the result was not kept: it can't be written as JSON: json: unsupported type: func()"},
	} {
		result, fault = row.result, row.err
		send(t, url, c.task(i+1))
		until(t, "the report", func() bool { return c.count(protocol.CallReport) == i+1 })
		if r := c.reports()[i]; r.Success != row.success || r.Message != row.message || len(r.Message) > protocol.MaxMessage {
			t.Errorf("%d: reported %+v", i, r)
		}
	}
	if got := strings.Join(c.log(), "\n"); !strings.Contains(got, "panic: boom") || !strings.Contains(got, "executor_test.go") {
		t.Errorf("the stack is not in the log: %s", got)
	}
}

func TestAReportIsSentUntilItIsTaken(t *testing.T) {
	c := newCenter(t)
	c.hooks[protocol.CallReport] = func(w http.ResponseWriter, n int, _ []byte) bool {
		switch n {
		case 1, 2:
			w.WriteHeader(503)
		case 3:
			panic(http.ErrAbortHandler) // the connection is cut
		case 4:
			w.WriteHeader(404)
		case 5:
			w.WriteHeader(302)
		default:
			return false
		}
		return true
	}
	e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": echo})
	send(t, url, c.task(1))
	until(t, "the settling", func() bool { return c.count(protocol.CallReport) >= 6 && e.find(keyOf("trace-1", "1")) == nil })
	all := c.reports()
	for _, r := range all {
		if !r.Success || string(r.Result) != `{"source":"orders"}` {
			t.Errorf("reported %+v", r)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d reports", len(all))
	}
	if c.count(protocol.CallHeartbeat) == 0 {
		t.Error("no heartbeat")
	}
}

func TestAResultThatTheCenterRefusesIsLeftOut(t *testing.T) {
	c := newCenter(t)
	c.hooks[protocol.CallReport] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n == 1 {
			answer(w, 413, protocol.ExternalError{Error: "too much"})
		}
		return n == 1
	}
	_, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": echo})
	send(t, url, c.task(1))
	until(t, "two reports", func() bool { return c.count(protocol.CallReport) == 2 })
	if r := c.reports()[1]; !r.Success || r.Result != nil || !strings.Contains(r.Message, "too much") {
		t.Errorf("reported %+v", r)
	}
}

func TestAFullOneIsBusyAndADrainedOneToo(t *testing.T) {
	c := newCenter(t)
	config := testConfig(t)
	config.Concurrency = 1
	end := make(chan struct{})
	e, url := serve(t, config, quick(), map[string]Handler{"echo": func(context.Context, *Task) (any, error) { <-end; return nil, nil }})
	send(t, url, c.task(1))
	busy := func(why string) {
		t.Helper()
		status, said := post(t, url, encoded(t, c.task(2)), nil)
		if status != 503 || !strings.Contains(said, why) {
			t.Errorf("%d %s", status, said)
		}
		answer, err := http.Get(url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("health: %d", answer.StatusCode)
		}
	}
	busy("no more at a time")
	drained := make(chan error, 1)
	go func() { drained <- e.Drain(context.Background()) }()
	until(t, "the draining", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.draining })
	busy("is being stopped")
	close(end)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if r := c.report(); !r.Success {
		t.Errorf("reported %+v", r)
	}
}

func TestDrainSaysWhatIsLeft(t *testing.T) {
	c := newCenter(t)
	e, url := serve(t, testConfig(t), quick(), map[string]Handler{"echo": waits})
	send(t, url, c.task(1))
	until(t, "the start", func() bool { return c.count(protocol.CallHeartbeat) > 0 })
	ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
	defer stop()
	if err := e.Drain(ctx); err == nil || !strings.Contains(err.Error(), "1 tasks are not settled yet, 1 of them run") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsTakenIsClaimedAfterAStop(t *testing.T) {
	c := newCenter(t)
	var open atomic.Bool
	c.hooks[protocol.CallClaim] = func(w http.ResponseWriter, _ int, _ []byte) bool {
		if !open.Load() {
			w.WriteHeader(503)
		}
		return !open.Load()
	}
	config := testConfig(t)
	first, err := New(config, map[string]Handler{"echo": echo})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.journal.accepted(entry{key: keyOf("trace-1", "1"), state: stateAccepted, task: c.task(1), at: time.Now().UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(config, map[string]Handler{"echo": echo}); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("two on one journal: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, config, quick(), map[string]Handler{"echo": echo})
	until(t, "a claim", func() bool { return c.count(protocol.CallClaim) > 0 })
	if status := send(t, url, c.task(1)); status != http.StatusConflict {
		t.Errorf("the attempt that is at work is answered with %d", status)
	}
	open.Store(true)
	if r := c.report(); !r.Success {
		t.Errorf("reported %+v", r)
	}
}

func TestATypeThatIsGoneFailsWhatWasTaken(t *testing.T) {
	c := newCenter(t)
	config := testConfig(t)
	j, _, err := openJournal(config.Journal, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.accepted(entry{key: keyOf("trace-1", "1"), state: stateAccepted, task: c.task(1), at: time.Now().UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	serve(t, config, quick(), map[string]Handler{"other": echo})
	if r := c.report(); r.Success || !strings.Contains(r.Message, `no type "echo"`) {
		t.Errorf("reported %+v", r)
	}
}

func TestAConfigThatLacksSomething(t *testing.T) {
	good := testConfig(t)
	good.Listen = "127.0.0.1:0"
	handlers := map[string]Handler{"echo": echo}
	for word, change := range map[string]func(*Config, *map[string]Handler){
		"Config.Executor":    func(c *Config, _ *map[string]Handler) { c.Executor = "billing" },
		"Config.Secrets":     func(c *Config, _ *map[string]Handler) { c.Secrets = []string{""} },
		"Config.Journal":     func(c *Config, _ *map[string]Handler) { c.Journal = "" },
		"Config.Concurrency": func(c *Config, _ *map[string]Handler) { c.Concurrency = -1 },
		"no handler":         func(_ *Config, h *map[string]Handler) { *h = nil },
		`type "x"`:           func(_ *Config, h *map[string]Handler) { *h = map[string]Handler{"x": nil} },
		"no such file":       func(c *Config, _ *map[string]Handler) { c.Journal = "/no/such/folder/journal" },
		"Config.Listen":      func(c *Config, _ *map[string]Handler) { c.Listen = "" },
	} {
		c, h := good, handlers
		change(&c, &h)
		if err := Serve(t.Context(), c, h); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	if _, err := os.Stat(good.Journal); err == nil {
		t.Error("a refused set-up made a journal")
	}
}
