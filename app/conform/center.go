package conform

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// The calls of an executor.
const (
	claims  = protocol.CallClaim
	beats   = protocol.CallHeartbeat
	logs    = protocol.CallLog
	reports = protocol.CallReport
)

// call is one that came, signed rightly.
type call struct {
	at   time.Time
	body []byte
}

// attempt is one that was sent, and what the executor did about it.
type attempt struct {
	task protocol.ExternalTask
	skew time.Duration // of the clock that the kit plays to this attempt
	// answers are asked before the usual answer to a call; n counts the calls of its kind from 1, true says that it has answered.
	answers map[string]func(w http.ResponseWriter, n int, body []byte) bool

	mu       sync.Mutex
	sent     time.Time
	ended    time.Time // of the first outcome
	answered bool      // the answer to the POST was the outcome
	outcome  *protocol.ExternalOutcome
	calls    map[string][]call
	lines    map[int64]protocol.ExternalLine
	faults   []string // of the executor's calls
	changed  chan struct{}
}

// attempt makes one with new ids. It may run for half a minute.
func (k *kit) attempt(params map[string]string) *attempt {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	id := strconv.FormatInt(k.last, 10)
	now := time.Now()
	a := &attempt{answers: map[string]func(http.ResponseWriter, int, []byte) bool{}, calls: map[string][]call{}, lines: map[int64]protocol.ExternalLine{},
		changed: make(chan struct{}), sent: now}
	a.task = protocol.ExternalTask{TaskID: "task_" + now.UTC().Format("20060102150405"), TaskName: "conformance", BizDate: now.UTC().Format(time.DateOnly),
		ExecType: k.options.Type, Params: params, TraceID: fmt.Sprintf("c0f02000-0000-4000-8000-%012x", k.last&0xffffffffffff), Attempt: id, Project: "conform",
		ExpectedTime: now.UnixMilli(), Deadline: now.Add(30 * time.Second).UnixMilli(), CallbackURL: k.callback + "?attempt=" + id, Shard: protocol.Shard{Total: 1}}
	k.attempts[id] = a
	return a
}

// behind lets the kit's clock stand off the machine's for this attempt.
func (a *attempt) behind(skew time.Duration) {
	a.skew = skew
	a.task.ExpectedTime += skew.Milliseconds()
	a.task.Deadline += skew.Milliseconds()
}

// ServeHTTP takes an executor's call as a center does.
func (k *kit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	var said struct{ TraceID, Attempt string }
	fault := json.Unmarshal(body, &said)
	a := k.find(r.URL.Query().Get("attempt"), said.TraceID, said.Attempt)
	if a == nil {
		answer(w, http.StatusNotFound, protocol.ExternalError{Error: "there is no such attempt: call callbackUrl with its query, and send traceId and attempt of the task"})
		return
	}
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if why := k.refused(r, body, a); why != nil {
		a.blame("its %s was refused: %s", name, why.Error)
		answer(w, http.StatusUnauthorized, why)
		return
	}
	if fault != nil || r.Method != http.MethodPost || said.TraceID != a.task.TraceID {
		a.blame("its %s was no POST of a JSON object with the task's traceId: %s %.200s", name, r.Method, body)
		answer(w, http.StatusBadRequest, protocol.ExternalError{Error: "POST a JSON object with the task's traceId", Field: "traceId"})
		return
	}
	n := a.came(name, body)
	if hook := a.answers[name]; hook == nil || !hook(w, n, body) {
		k.usual(w, a, name, body)
	}
}

func (k *kit) find(inQuery, trace, inBody string) *attempt {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range []string{inQuery, inBody} {
		if a := k.attempts[id]; a != nil {
			return a
		}
	}
	for _, a := range k.attempts {
		if a.task.TraceID == trace {
			return a
		}
	}
	return nil
}

// refused judges the signature by the clock that this attempt is played.
func (k *kit) refused(r *http.Request, body []byte, a *attempt) *protocol.ExternalError {
	if name := r.Header.Get(protocol.HeaderExecutor); name != k.options.Executor {
		return &protocol.ExternalError{Error: fmt.Sprintf("%s is %q, not %q", protocol.HeaderExecutor, name, k.options.Executor)}
	}
	if err := protocol.VerifyRequest(r, body, [][]byte{[]byte(k.options.Secret)}, time.Now().Add(a.skew)); err != nil {
		return &protocol.ExternalError{Error: err.Error(), Time: time.Now().Add(a.skew).UnixMilli()}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	nonce := r.Header.Get(protocol.HeaderNonce)
	if k.nonces[nonce] {
		return &protocol.ExternalError{Error: protocol.HeaderNonce + " was seen before: sign anew when sending again"}
	}
	k.nonces[nonce] = true
	return nil
}

func (k *kit) usual(w http.ResponseWriter, a *attempt, name string, body []byte) {
	switch name {
	case claims:
		a.grant(w)
	case beats:
		answer(w, http.StatusOK, protocol.HeartbeatAnswer{})
	case logs:
		answer(w, http.StatusOK, protocol.LogAnswer{UpTo: a.store(body)})
	case reports:
		a.ends(body)
		answer(w, http.StatusOK, protocol.ReportAnswer{Stored: true})
	default:
		a.blame("it called %q, which no center has", name)
		answer(w, http.StatusNotFound, protocol.ExternalError{Error: "there is claim, heartbeat, log and report"})
	}
}

func (a *attempt) grant(w http.ResponseWriter) {
	answer(w, http.StatusOK, protocol.ClaimAnswer{Granted: true, Deadline: a.task.Deadline, Task: &a.task})
}

func deny(w http.ResponseWriter) {
	answer(w, http.StatusOK, protocol.ClaimAnswer{Reason: "withdrawn: another attempt has taken its place"})
}

// store keeps lines that follow what is there, and says up to where that is.
func (a *attempt) store(body []byte) int64 {
	var l protocol.ExternalLog
	if err := json.Unmarshal(body, &l); err != nil || l.First < 1 {
		a.blame("its log is not {traceId, attempt, first ≥ 1, lines[{at, stream, text}]}: %.200s", body)
	}
	if len(l.Lines) > protocol.MaxLogLines || len(body) > protocol.MaxLogBody {
		a.blame("it sent %d lines in %d bytes of log in one call", len(l.Lines), len(body))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := int64(len(a.lines)) + 1
	for i, line := range l.Lines {
		if l.First+int64(i) == next {
			a.lines[next] = line
			next++
		}
	}
	return next - 1
}

// ends keeps the first outcome.
func (a *attempt) ends(body []byte) {
	var r protocol.ExternalReport
	if err := json.Unmarshal(body, &r); err != nil {
		a.blame("its report is not {traceId, success, message, result}: %.200s", body)
		return
	}
	a.end(r.ExternalOutcome, false)
}

func (a *attempt) end(o protocol.ExternalOutcome, inAnswer bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outcome == nil {
		a.outcome, a.ended, a.answered = &o, time.Now(), inAnswer
	}
	a.tell()
}

// came notes a call and counts those of its kind.
func (a *attempt) came(name string, body []byte) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[name] = append(a.calls[name], call{time.Now(), body})
	a.tell()
	return len(a.calls[name])
}

// tell wakes who waits; the caller holds the lock.
func (a *attempt) tell() {
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *attempt) blame(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// fault is the first thing that was wrong with the calls themselves, or nil.
func (a *attempt) fault() *verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.faults) == 0 {
		return nil
	}
	return failed("%s", a.faults[0])
}

func (a *attempt) count(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls[name])
}

// at is the moment of the n-th call of a kind, counted from 1; zero before it came.
func (a *attempt) at(name string, n int) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls[name]) < n {
		return time.Time{}
	}
	return a.calls[name][n-1].at
}

// took is from the sending to the outcome.
func (a *attempt) took() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended.IsZero() {
		return 0
	}
	return a.ended.Sub(a.sent)
}

func (a *attempt) result() *protocol.ExternalOutcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outcome
}

// until waits for something about an attempt; false after the time.
func (a *attempt) until(most time.Duration, ok func() bool) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return ok()
		}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked is gone
}
