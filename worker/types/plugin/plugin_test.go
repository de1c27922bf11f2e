package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
	"github.com/axsched/ax/worker/types/program"
)

// TestMain lets the test binary play the watchdog.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "watchdog" {
		os.Exit(runner.WatchdogMain(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	os.Exit(m.Run())
}

// house is a worker's plug-ins in a folder of the test.
type house struct {
	*Set
	t      *testing.T
	folder string
	spool  *runner.Spool
	log    *lines

	mu   sync.Mutex
	last int64
}

// lines is a log that can be looked at.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func open(t *testing.T, folder string) *house {
	t.Helper()
	r, err := runner.New(runner.Config{Marker: runner.Marker{UID: filepath.Base(t.TempDir()) + fmt.Sprint(time.Now().UnixNano()), Boot: 1}})
	if err != nil {
		t.Fatal(err)
	}
	spool, err := runner.OpenSpool(t.TempDir(), runner.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, folder: folder, spool: spool, log: &lines{}}
	h.Set = Open(Options{Folder: folder, Home: t.TempDir(), Runner: r, Env: program.BaseEnv(), Log: slog.New(slog.NewTextHandler(h.log, nil)), Taken: []string{"shell"}})
	t.Cleanup(func() {
		_ = h.Close()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// copied is a folder of plug-ins with copies of these.
func copied(t *testing.T, from ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, one := range from {
		if err := os.CopyFS(filepath.Join(folder, filepath.Base(one)), os.DirFS(one)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// ready waits until the type can run something.
func (h *house) ready(kind string) types.Executor {
	h.t.Helper()
	all := h.Executors()
	i := slices.IndexFunc(all, func(e types.Executor) bool { return e.Type() == kind })
	if i < 0 {
		h.t.Fatalf("no plug-in runs %s: %+v", kind, h.States())
	}
	h.until("ready "+kind, func() bool { return all[i].(types.Unsteady).Fault() == "" })
	return all[i]
}

func (h *house) until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("never %s: %+v\n%s", what, h.States(), h.log)
		}
	}
}

// do runs one task and returns its outcome and log.
func (h *house) do(ctx context.Context, kind, exec string, task types.Task) (types.Outcome, string) {
	h.t.Helper()
	e := h.ready(kind)
	h.mu.Lock()
	h.last++
	task.Attempt = h.last
	h.mu.Unlock()
	task.Exec = json.RawMessage(exec)
	out := h.spool.Create(task.Attempt)
	o := e.Run(ctx, task, out)
	out.Finish(time.Now())
	var log strings.Builder
	for from := int64(1); ; {
		b, err := out.Lines(from, 1000)
		if err != nil {
			h.t.Error(err)
		}
		for _, l := range b.Lines {
			if log.Len() < 1<<20 {
				fmt.Fprintf(&log, "%d:%s\n", l.Stream, l.Text)
			}
		}
		if from = b.Next; b.Done || len(b.Lines) == 0 {
			break
		}
	}
	_ = out.Remove()
	return o, log.String()
}

func (h *house) act(what string, n int) (types.Outcome, string) {
	h.t.Helper()
	return h.do(context.Background(), "odd_act", fmt.Sprintf(`{"act":%q,"n":%d}`, what, n), types.Task{Deadline: time.Now().Add(5 * time.Minute)})
}

// odd is text that would be code somewhere.
const oddText = "; $(id) \"x\" '中文🚀\\ `id` {{biz_date}} \"}],\n\t--</script>\u2028\x01"

// Everything of a task arrives byte for byte, and nothing of it is ever more than text.
func TestATaskArrivesByteForByte(t *testing.T) {
	h := open(t, copied(t, "testdata/odd"))
	exec, err := json.Marshal(map[string]any{"a": oddText, "list": []any{oddText, 12345678901, true, nil, map[string]any{oddText: oddText}}})
	if err != nil {
		t.Fatal(err)
	}
	o, log := h.do(context.Background(), "odd_echo", string(exec), types.Task{TaskID: "task_1", TraceID: "trace", Project: "p", JobName: oddText, BizDate: "2026-02-03", Ordinal: 2,
		ExpectedAt: time.UnixMilli(1000), Deadline: time.UnixMilli(9_000_000_000_000), Env: map[string]string{"A": oddText}, Params: map[string]string{"odd": oddText}, Shard: protocol.Shard{Index: 1, Total: 3}})
	if o.Run.Outcome != runner.Success || o.Run.ExitCode != 0 || log != "2:stderr belongs to 1\n" {
		t.Fatalf("%+v, log %q", o, log)
	}
	var got struct {
		Task   map[string]any
		Env    string
		Cwd    string
		Config map[string]any
	}
	if err := json.Unmarshal(o.Result, &got); err != nil {
		t.Fatal(err)
	}
	var wantExec any
	if err := json.Unmarshal(exec, &wantExec); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"taskId": "task_1", "taskName": oddText, "bizDate": "2026-02-03", "execType": "odd_echo", "params": map[string]any{"odd": oddText}, "traceId": "trace", "attempt": "1",
		"ordinal": 2.0, "project": "p", "expectedTime": 1000.0, "deadline": 9_000_000_000_000.0, "shard": map[string]any{"index": 1.0, "total": 3.0}, "env": map[string]any{"A": oddText}, "exec": wantExec}
	if a, b := jsonOf(t, got.Task), jsonOf(t, want); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	if got.Env != "héllo" || filepath.Base(got.Cwd) != "odd" || got.Config["plugin"] != "odd" || jsonOf(t, got.Config["config"]) != `{"deep":[1,{"x":"y"}]}` {
		t.Errorf("%+v", got)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a plug-in answers or does decides the outcome; a process that broke the conversation or died is replaced.
func TestWhatAPlugInDoesIsTheOutcome(t *testing.T) {
	h := open(t, copied(t, "testdata/odd"))
	for what, c := range map[string]struct {
		outcome runner.Outcome
		says    string
		same    bool // the process goes on
	}{
		"fine":    {runner.Success, "", true},
		"none":    {runner.Success, "", true},
		"no":      {runner.Failed, "the figures do not add up", true},
		"error":   {runner.Failed, "no table orders", true},
		"text":    {runner.Failed, `"\"done\""`, true},
		"list":    {runner.Failed, "no object", true},
		"big":     {runner.Failed, "65536", true},
		"die":     {runner.Failed, "exit code 1): the last words", false},
		"segv":    {runner.Failed, "SIGSEGV", false},
		"print":   {runner.Failed, "I only wanted to say hello", false},
		"long":    {runner.Failed, "1048576 bytes", false},
		"unasked": {runner.Failed, "nobody asked", false},
	} {
		before := h.pid()
		o, log := h.act(what, 1)
		if o.Run.Outcome != c.outcome || !strings.Contains(o.Run.Message, c.says) || o.Refused || o.Run.StartedAt.IsZero() || c.outcome != runner.Success && o.Result != nil {
			t.Errorf("%s: %+v, log %q", what, o, log)
		}
		if after := h.pid(); (after == before) != c.same {
			t.Errorf("%s: process %v before, %v after", what, before, after)
		}
	}
	if o, log := h.act("ask", 1); string(o.Result) != `{"code": -32601}` || log != "" {
		t.Errorf("a question of the plug-in: %s", o.Result)
	}
	o, log := h.act("steps", 1)
	if o.Run.Outcome != runner.Success || strings.Count(log, "progress: ") != 5 || !strings.Contains(log, "3:progress: 25 %, step 25\n2:at 25\n") {
		t.Errorf("%+v, log %q", o, log)
	}
	for exec, says := range map[string]string{`{"act":"fine","m":1}`: "exec.m", `{}`: "exec.act is missing", `{"act":"fine","n":"x"}`: "no number", `{"act":["x"]}`: "no text"} {
		if o, _ := h.do(context.Background(), "odd_act", exec, types.Task{}); o.Run.Outcome != runner.Failed || !strings.Contains(o.Run.Message, says) || !o.Run.StartedAt.IsZero() {
			t.Errorf("%s: %+v", exec, o)
		}
	}
}

// pid is the process that is given the next task.
func (h *house) pid() float64 {
	h.t.Helper()
	o, log := h.act("fine", 1)
	var r struct{ PID float64 }
	if err := json.Unmarshal(o.Result, &r); err != nil {
		h.t.Fatalf("%+v, log %q", o, log)
	}
	return r.PID
}

// An endless loop is ended at its deadline with its stacks in the log, with all that it started; its neighbour never notices.
func TestAnEndlessLoopLeavesItsNeighbourAlone(t *testing.T) {
	h := open(t, copied(t, "testdata/odd"))
	h.ready("odd_act")
	neighbour := make(chan types.Outcome, 1)
	go func() {
		o, _ := h.act("sleep", 6)
		neighbour <- o
	}()
	h.until("busy", func() bool { return len(h.plugins[0].pool.places) == 1 })
	o, log := h.do(context.Background(), "odd_act", `{"act":"spin"}`, types.Task{Deadline: time.Now().Add(2 * time.Second)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(o.Run.Message, "timed out after ") || !strings.Contains(log, "in stuck_here") {
		t.Errorf("%+v, log %q", o, log)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(500*time.Millisecond, func() { cancel(fmt.Errorf("%w: by ann", runner.ErrKilled)) })
	o, _ = h.do(ctx, "odd_act", `{"act":"child"}`, types.Task{})
	if o.Run.Outcome != runner.Killed || !strings.Contains(o.Run.Message, "by ann") || !strings.Contains(o.Run.Message, "left behind") {
		t.Errorf("a kill: %+v", o)
	}
	if o := <-neighbour; o.Run.Outcome != runner.Success {
		t.Errorf("the neighbour: %+v", o)
	}
}

// With all processes at work a task waits for one, says so, and times out like any other.
func TestATaskWaitsForAProcess(t *testing.T) {
	h := open(t, copied(t, "testdata/odd"))
	h.ready("odd_act")
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { _, _ = h.act("sleep", 3) })
	}
	h.until("full", func() bool { return len(h.plugins[0].pool.places) == 2 })
	o, log := h.do(context.Background(), "odd_act", `{"act":"fine"}`, types.Task{Deadline: time.Now().Add(300 * time.Millisecond)})
	if o.Run.Outcome != runner.Timeout || !strings.Contains(o.Run.Message, "larger pool") || !strings.Contains(log, "all 2 processes") {
		t.Errorf("%+v, log %q", o, log)
	}
	if o, _ := h.act("fine", 1); o.Run.Outcome != runner.Success {
		t.Errorf("%+v", o)
	}
	all.Wait()
}

// A plug-in that does not start is told with its last words, its types can't be used, the others can; mended, it comes back by
// itself, and so does one that breaks later.
func TestAPlugInThatDoesNotStartTouchesNoOther(t *testing.T) {
	folder := copied(t, "testdata/odd")
	if err := os.CopyFS(filepath.Join(folder, "bad"), os.DirFS("testdata/odd")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(folder, "bad", "plugin.yaml")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(manifest, strings.NewReplacer("name: odd\n", "name: bad\n", "odd_", "bad_").Replace(string(text)))
	broken := filepath.Join(folder, "bad", "broken")
	write(broken, "no licence file")
	for name, text := range map[string]string{"typo": "manifest: v1\nname: typo\nversion: 1\ncomand: [x]\ntypes: [{name: x}]\n", "taken": "manifest: v1\nname: taken\nversion: 1\ncommand: [x]\ntypes: [{name: shell}]\n", "empty": ""} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			write(filepath.Join(folder, name, "plugin.yml"), text)
		}
	}
	h := open(t, folder)
	h.ready("odd_act")
	state := func(name string) protocol.PluginState {
		i := slices.IndexFunc(h.States(), func(s protocol.PluginState) bool { return s.Name == name })
		return h.States()[i]
	}
	h.until("failed", func() bool { return state("bad").State == protocol.PluginFailed })
	for name, says := range map[string]string{"bad": "it said last: no licence file", "typo": "plugin.yml:4: comand: there is no such key", "taken": "shell is already run by AX itself", "empty": "no plugin.yaml"} {
		if s := state(name); s.State != protocol.PluginFailed || !strings.Contains(s.Fault, says) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	bad := slices.IndexFunc(h.Executors(), func(e types.Executor) bool { return e.Type() == "bad_act" })
	o := h.Executors()[bad].Run(context.Background(), types.Task{Attempt: 9, Exec: json.RawMessage(`{"act":"fine"}`)}, h.spool.Create(9))
	if !o.Refused || !strings.Contains(o.Run.Message, "no licence file") {
		t.Errorf("a task for it: %+v", o)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if o, _ := h.do(context.Background(), "bad_act", `{"act":"fine"}`, types.Task{}); o.Run.Outcome != runner.Success {
		t.Errorf("mended: %+v", o)
	}
	write(broken, "disk gone")
	if o, _ := h.do(context.Background(), "bad_act", `{"act":"die"}`, types.Task{}); o.Run.Outcome != runner.Failed || o.Refused {
		t.Errorf("its death: %+v", o)
	}
	if o, _ := h.do(context.Background(), "bad_act", `{"act":"fine"}`, types.Task{}); !o.Refused || state("bad").State != protocol.PluginFailed {
		t.Errorf("with nothing to start: %+v, %+v", o, state("bad"))
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	h.ready("bad_act")
}

// The pause before a start grows with the crashes that follow one another, and a task done ends it.
func TestCrashesAreFollowedByPauses(t *testing.T) {
	if a, b, c, d := backoff(1), backoff(2), backoff(4), backoff(40); a != 0 || b != time.Second || c != 4*time.Second || d != 30*time.Second {
		t.Errorf("%v %v %v %v", a, b, c, d)
	}
	h := open(t, copied(t, "testdata/odd"))
	h.ready("odd_act")
	for range 2 {
		_, _ = h.act("die", 1)
	}
	since := time.Now()
	if o, log := h.act("fine", 1); o.Run.Outcome != runner.Success || !strings.Contains(log, "broke down") || time.Since(since) < 500*time.Millisecond {
		t.Errorf("after two crashes: %+v, log %q, after %v", o, log, time.Since(since))
	}
	if n := h.plugins[0].pool.crashes; n != 0 {
		t.Errorf("%d crashes are remembered after a task that was done", n)
	}
}

// 500 MB of output on either road keep the head and the tail of the log and leave the memory as it was.
func TestMuchOutputKeepsMemoryFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("500 MB of output")
	}
	h := open(t, copied(t, "testdata/odd"))
	h.ready("odd_act")
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	for what, stream := range map[string]string{"loud": "2:e", "logs": "1:o"} {
		o, log := h.act(what, 250_000)
		if o.Run.Outcome != runner.Success || !strings.HasPrefix(log, stream+"0000000 ") || !strings.Contains(log, stream+"0000500 ") {
			t.Errorf("%s: %+v, log %.100q", what, o, log)
		}
	}
	close(stop)
	if most := <-peak; most > 64<<20 {
		t.Errorf("the heap grew to %d MB", most>>20)
	} else {
		t.Logf("500 MB of output, heap at most %d MB", most>>20)
	}
}
