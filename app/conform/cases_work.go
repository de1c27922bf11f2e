package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const noSleep = "it does not take time for a parameter sleep, so there is nothing to stop"

// mayStop says why a case about long tasks is not applicable, or nil.
func (k *kit) mayStop() *verdict {
	switch {
	case k.sync:
		return notApplicable("it answers with the outcome (sync), and is only waited for until the deadline")
	case !k.sleeps:
		return notApplicable(noSleep)
	}
	return nil
}

func heartbeat(ctx context.Context, k *kit) *verdict {
	if v := k.mayStop(); v != nil {
		return v
	}
	const most = 11500 * time.Millisecond
	a := k.sleeping("13")
	start := time.Now()
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	if !a.until(most, func() bool { return a.count(beats) > 0 }) {
		return notApplicable("it sends no heartbeats: it is known by its deadline only")
	}
	o, v := a.awaited(40 * time.Second)
	if v != nil {
		return v
	}
	last := start
	for n := 1; !a.at(beats, n).IsZero(); n++ {
		if gap := a.at(beats, n).Sub(last); gap > most {
			return failed("%v passed without a heartbeat", gap.Round(time.Millisecond))
		}
		last = a.at(beats, n)
	}
	if gap := a.at(reports, 1).Sub(last); gap > most {
		return failed("%v passed without a heartbeat before the report", gap.Round(time.Millisecond))
	}
	return a.echoed(o)
}

func logLines(ctx context.Context, k *kit) *verdict {
	if k.sync || !k.logs {
		return notApplicable("its echo says nothing to the log")
	}
	a := k.sleeping("2")
	a.answers[logs] = func(w http.ResponseWriter, n int, body []byte) bool {
		switch n {
		case 1: // lost on the way
			answer(w, http.StatusServiceUnavailable, protocol.ExternalError{Error: "later"})
		case 2: // stored, and the answer is lost
			a.store(body)
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
	if v := k.mustSucceed(ctx, a); v != nil {
		return v
	}
	if !a.until(10*time.Second, func() bool { return a.count(logs) >= 3 }) {
		return failed("lines answered with 503, then with a cut connection, were not sent a third time")
	}
	return a.fault()
}

// mustStop expects a failure soon after the moment.
func (a *attempt) mustStop(what string) *verdict {
	o, v := a.awaited(heedFor)
	if v != nil {
		if a.fault() != nil {
			return v
		}
		return failed("%s, and %v later there was no report", what, heedFor)
	}
	if o.Success {
		return failed("%s, and it was reported as success", what)
	}
	return nil
}

func cancelByHeartbeat(ctx context.Context, k *kit) *verdict {
	if v := k.mayStop(); v != nil {
		return v
	}
	a := k.sleeping("25")
	a.answers[beats] = func(w http.ResponseWriter, _ int, _ []byte) bool {
		answer(w, http.StatusOK, protocol.HeartbeatAnswer{Cancel: true, Reason: "ax conform wants it to stop"})
		return true
	}
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	if !a.until(12*time.Second, func() bool { return a.count(beats) > 0 }) {
		return notApplicable("it sends no heartbeats, so it can't hear this way")
	}
	return a.mustStop("the answer to its heartbeat said cancel")
}

func cancelByPost(ctx context.Context, k *kit) *verdict {
	if v := k.mayStop(); v != nil {
		return v
	}
	a := k.sleeping("25")
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	begun := func() bool { return a.count(claims)+a.count(beats)+a.count(logs) > 0 || !k.claims }
	if !a.until(10*time.Second, begun) {
		return failed("the task was not begun within 10 s")
	}
	wait(ctx, time.Second)
	body, err := json.Marshal(protocol.ExternalCancel{TraceID: a.task.TraceID, Attempt: a.task.Attempt, Reason: "ax conform wants it to stop"})
	if err != nil {
		return failed("%v", err)
	}
	got, err := k.post(ctx, a, "cancel", body, nil)
	switch {
	case err != nil:
		return failed("no answer to the cancel: %v", err)
	case got.status == http.StatusNotFound || got.status == http.StatusMethodNotAllowed:
		return notApplicable(fmt.Sprintf("it answers %d: it hears a cancel by its heartbeats only", got.status))
	case got.status/100 != 2:
		return failed("the cancel was answered with %d", got.status)
	}
	return a.mustStop("POST …/cancel was answered with 2xx")
}

func timeOut(ctx context.Context, k *kit) *verdict {
	if v := k.mayStop(); v != nil {
		return v
	}
	a := k.sleeping("25")
	a.task.Deadline = time.Now().Add(4 * time.Second).UnixMilli()
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	wait(ctx, time.Until(time.UnixMilli(a.task.Deadline)))
	return a.mustStop("its deadline came")
}

func skewed(ctx context.Context, k *kit) *verdict {
	for _, skew := range []time.Duration{200 * time.Second, -200 * time.Second} {
		a := k.sleeping("2")
		a.behind(skew)
		if v := k.mustSucceed(ctx, a); v != nil {
			v.reason = fmt.Sprintf("with the center's clock at %+d s: %s", int(skew/time.Second), v.reason)
			return v
		}
	}
	if k.sync || !k.sleeps {
		return nil
	}
	a := k.sleeping("25")
	a.behind(200 * time.Second)
	a.task.Deadline = time.Now().Add(204 * time.Second).UnixMilli()
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	wait(ctx, 4*time.Second)
	return a.mustStop("its deadline came by the center's clock, which is 200 s ahead")
}

func huge(ctx context.Context, k *kit) *verdict {
	params := map[string]string{}
	for i := range 64 {
		params[fmt.Sprintf("p%02d", i)] = strings.Repeat(string(rune('a'+i%26)), 1008)
	}
	return k.mustSucceed(ctx, k.attempt(params))
}

func oddValues(ctx context.Context, k *kit) *verdict {
	file := filepath.Join(k.canary, "evaluated")
	values := []string{
		`; $(id) "x" '中文🚀`, "`touch " + file + "`", "$(touch " + file + ")", "'; touch " + file + "; '", `"; touch ` + file + `; "`, "| touch " + file,
		"&& touch " + file, "\ntouch " + file + "\n", "", " ", "  two  blanks  ", "\ttab\r\nlines\n\n", `back\slash \n \\ \" \u0041`, "%s %d %% {} {{biz_date}} ${HOME} $HOME ~ * ?",
		"<script>alert(1)</script>&amp;", "9007199254740993", "1e400", "true", "null", "[1,2]", `{"a":1}`, "-rf", "--help", "#", "e\u0301 é ﷺ", "\u202eright to left\u202c", "\u2028\u2029\ufeff",
		"\x01\x1b[31m\x7f", "日终对账🚀", "😀😀", "'", `"`, `\`, "''", "\\'", "a=b&c=d", "%2F..%2F", "../../etc/passwd", "C:\\x", strings.Repeat("'\"\\", 300),
	}
	params := map[string]string{}
	for i, v := range values {
		params[fmt.Sprintf("v%02d", i)] = v
	}
	if v := k.mustSucceed(ctx, k.attempt(params)); v != nil {
		return v
	}
	if _, err := os.Stat(file); err == nil {
		return failed("a value was evaluated by a shell")
	}
	return nil
}

// oneReport expects that after its n-th report, which was stored, no other comes.
func (a *attempt) oneReport(ctx context.Context, k *kit, n int) *verdict {
	if v := k.mustSucceed(ctx, a); v != nil {
		return v
	}
	if a.until(settleFor, func() bool { return a.count(reports) > n }) {
		return failed("a report came after one that was answered with 200")
	}
	return a.fault()
}

func reportRefused(ctx context.Context, k *kit) *verdict {
	if k.sync {
		return notApplicable("it answers with the outcome (sync), so it reports nothing")
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[reports] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n <= 2 {
			answer(w, http.StatusServiceUnavailable, protocol.ExternalError{Error: "the database is away: later"})
		}
		return n <= 2
	}
	return a.oneReport(ctx, k, 3)
}

func reportCut(ctx context.Context, k *kit) *verdict {
	if k.sync {
		return notApplicable("it answers with the outcome (sync), so it reports nothing")
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[reports] = func(_ http.ResponseWriter, n int, _ []byte) bool {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	return a.oneReport(ctx, k, 2)
}

func drain(ctx context.Context, k *kit) *verdict {
	switch {
	case k.options.PID == 0:
		return notApplicable("no --pid of the executor was given")
	case k.sync:
		return notApplicable("it answers with the outcome (sync)")
	}
	a := k.sleeping("4")
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	if k.claims && !a.until(10*time.Second, func() bool { return a.count(claims) > 0 }) {
		return failed("the task was not begun within 10 s")
	}
	p, err := os.FindProcess(k.options.PID)
	if err == nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return failed("SIGTERM to process %d: %v", k.options.PID, err)
	}
	wait(ctx, 1500*time.Millisecond)
	next := k.attempt(map[string]string{"a": "b"})
	body, err := next.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	if got, err := k.post(ctx, next, "", body, nil); err == nil && got.status != http.StatusServiceUnavailable && got.status != http.StatusTooManyRequests {
		return failed("1.5 s after SIGTERM a task was answered with %d, not with 503", got.status)
	}
	o, v := a.awaited(30 * time.Second)
	if v != nil {
		return v
	}
	return a.echoed(o)
}
