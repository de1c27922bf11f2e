package conform

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const noClaims = "it makes no claims: for an executor to which running twice does no harm"

// mayClaim says why a case about claims is not applicable, or nil.
func (k *kit) mayClaim() *verdict {
	switch {
	case k.sync:
		return notApplicable("it answers with the outcome (sync), so it claims nothing")
	case !k.claims:
		return notApplicable(noClaims)
	}
	return nil
}

// sleeping is an attempt that takes so many seconds, where the executor sleeps.
func (k *kit) sleeping(seconds string) *attempt {
	params := map[string]string{"a": "b"}
	if k.sleeps {
		params["sleep"] = seconds
	}
	return k.attempt(params)
}

func duplicate(ctx context.Context, k *kit) *verdict {
	if k.sync {
		return notApplicable("it answers with the outcome (sync): a center sends such a task once")
	}
	a := k.sleeping("1")
	var mu sync.Mutex
	var fault *verdict
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if _, v := k.deliver(ctx, a); v != nil {
				mu.Lock()
				fault = v
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if fault != nil {
		return fault
	}
	if o, v := a.awaited(40 * time.Second); v != nil {
		return v
	} else if v := a.echoed(o); v != nil {
		return v
	}
	if v := k.again(ctx, a); v != nil {
		return v
	}
	if a.until(settleFor, func() bool { return a.count(reports) > 1 }) {
		return failed("%d reports came, though the first was answered with 200: it was done more than once", a.count(reports))
	}
	return a.fault()
}

// again delivers an attempt that is over.
func (k *kit) again(ctx context.Context, a *attempt) *verdict {
	body, err := a.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	got, err := k.post(ctx, a, "", body, nil)
	if err != nil {
		return failed("delivered once more after its report: no answer: %v", err)
	}
	if got.status/100 == 5 {
		return failed("delivered once more after its report it was answered with %d", got.status)
	}
	return nil
}

func lostAck(ctx context.Context, k *kit) *verdict {
	if v := k.mayClaim(); v != nil {
		return v
	}
	lost := k.sleeping("1")
	lost.answers[claims] = func(w http.ResponseWriter, _ int, _ []byte) bool { deny(w); return true }
	if v := k.sendAndLeave(ctx, lost); v != nil {
		return v
	}
	next := k.sleeping("1")
	next.task.TraceID = lost.task.TraceID
	if v := k.mustSucceed(ctx, next); v != nil {
		return v
	}
	if o := lost.result(); o != nil && o.Success {
		return failed("the attempt whose claim was denied was reported as success")
	}
	return lost.fault()
}

// sendAndLeave writes the request and closes the connection before an answer can come.
func (k *kit) sendAndLeave(ctx context.Context, a *attempt) *verdict {
	body, err := a.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	r, err := k.request(ctx, a, "", body, nil)
	if err != nil {
		return failed("%v", err)
	}
	var raw bytes.Buffer
	if err := r.Write(&raw); err != nil {
		return failed("%v", err)
	}
	conn, err := dial(ctx, r)
	if err != nil {
		return failed("no connection: %v", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(raw.Bytes()); err != nil {
		return failed("the task could not be sent: %v", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // it may answer; nobody hears it
	_, _ = bufio.NewReader(conn).ReadByte()
	return nil
}

func dial(ctx context.Context, r *http.Request) (net.Conn, error) {
	host, port := r.URL.Hostname(), r.URL.Port()
	if r.URL.Scheme == "https" {
		if port == "" {
			port = "443"
		}
		return (&tls.Dialer{Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	}
	if port == "" {
		port = "80"
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
}

func slowClaim(ctx context.Context, k *kit) *verdict {
	if v := k.mayClaim(); v != nil {
		return v
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[claims] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n > 1 {
			return false
		}
		time.Sleep(3 * time.Second) // as long as a center tries to decide
		answer(w, http.StatusServiceUnavailable, protocol.ExternalError{Error: "not decided yet: claim again"})
		return true
	}
	start := time.Now()
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	acked := time.Now()
	if claimed := a.at(claims, 1); !claimed.IsZero() && acked.Sub(claimed) > 2*time.Second {
		return failed("the ack came %v after the task, %v after its claim: it waits for the claim's answer", acked.Sub(start).Round(time.Millisecond), acked.Sub(claimed).Round(time.Millisecond))
	}
	o, v := a.awaited(40 * time.Second)
	if v != nil {
		return v
	}
	return a.echoed(o)
}

func undecided(ctx context.Context, k *kit) *verdict {
	if v := k.mayClaim(); v != nil {
		return v
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[claims] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n <= 2 {
			answer(w, http.StatusServiceUnavailable, protocol.ExternalError{Error: "not decided yet: claim again"})
		}
		return n <= 2
	}
	if v := k.mustSucceed(ctx, a); v != nil {
		return v
	}
	if n := a.count(claims); n < 3 {
		return failed("it ran after %d claims, though the first two were not decided", n)
	}
	return nil
}

// mustNotRun expects no success and no output.
func (a *attempt) mustNotRun(why string) *verdict {
	ran := func() bool { o := a.result(); return o != nil && o.Success || a.count(logs) > 0 }
	if a.until(settleFor, ran) {
		return failed("it was run, though %s", why)
	}
	return a.fault()
}

func denied(ctx context.Context, k *kit) *verdict {
	if v := k.mayClaim(); v != nil {
		return v
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[claims] = func(w http.ResponseWriter, _ int, _ []byte) bool { deny(w); return true }
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	if !a.until(10*time.Second, func() bool { return a.count(claims) > 0 }) {
		return failed("no claim came within 10 s of the ack")
	}
	return a.mustNotRun("its claim was denied")
}

func lateAnswer(ctx context.Context, k *kit) *verdict {
	if v := k.mayClaim(); v != nil {
		return v
	}
	a := k.attempt(map[string]string{"a": "b"})
	a.answers[claims] = func(w http.ResponseWriter, n int, _ []byte) bool {
		if n == 1 {
			time.Sleep(4 * time.Second)
			a.grant(w)
		} else { // by then it has been given to another
			deny(w)
		}
		return true
	}
	if _, v := k.deliver(ctx, a); v != nil {
		return v
	}
	if !a.until(10*time.Second, func() bool { return a.count(claims) > 1 || a.count(logs)+a.count(reports) > 0 }) {
		return failed("the grant came 4 s after its claim, and no second claim came")
	}
	return a.mustNotRun("its grant came 4 s after its claim, and the next claim was denied")
}
