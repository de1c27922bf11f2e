package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

const (
	ackWithin = protocol.AckWithinMs * time.Millisecond
	// settleFor is how long it is watched that something does not happen.
	settleFor = 3 * time.Second
	// heedFor is how long a task may go on after it was told to stop.
	heedFor = 10 * time.Second
)

// answered is what came back to a POST.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// address is the executor's, for the type, with more at the end of its path.
func (k *kit) address(kind, more string) (string, error) {
	u, err := url.Parse(strings.ReplaceAll(k.options.URL, "{type}", url.PathEscape(kind)))
	if err != nil {
		return "", err
	}
	if more != "" {
		u = u.JoinPath(more)
	}
	return u.String(), nil
}

// request makes a POST of a body that is signed as it should be, and then changed.
func (k *kit) request(ctx context.Context, a *attempt, more string, body []byte, change func(*http.Request)) (*http.Request, error) {
	to, err := k.address(a.task.ExecType, more)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	protocol.SignRequest(r, k.options.Executor, []byte(k.options.Secret), time.Now().Add(a.skew), body)
	if change != nil {
		change(r)
	}
	return r, nil
}

// post sends one request and reads its answer, which must come while the center waits.
func (k *kit) post(ctx context.Context, a *attempt, more string, body []byte, change func(*http.Request)) (answered, error) {
	ctx, stop := context.WithTimeout(ctx, 35*time.Second)
	defer stop()
	r, err := k.request(ctx, a, more, body, change)
	if err != nil {
		return answered{}, err
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answered{resp.StatusCode, resp.Header, text}, err
}

// deliver POSTs the task until the executor is not busy. The verdict is nil when it was acknowledged, or done at once.
func (k *kit) deliver(ctx context.Context, a *attempt) (answered, *verdict) {
	body, err := a.task.Encode()
	if err != nil {
		return answered{}, failed("%v", err)
	}
	for end := time.Now().Add(time.Minute); ; {
		start := time.Now()
		got, err := k.post(ctx, a, "", body, nil)
		if err != nil {
			return got, failed("the task could not be sent: %v", err)
		}
		if busy := got.status == http.StatusTooManyRequests || got.status == http.StatusServiceUnavailable; busy && time.Now().Before(end) {
			wait(ctx, retryAfter(got.header))
			continue
		}
		if a.takes(got) {
			return got, nil
		}
		if got.status != http.StatusAccepted && got.status != http.StatusConflict {
			return got, failed("the task was answered with %d %.200s; 202 acknowledges it", got.status, got.body)
		}
		if late := time.Since(start); late > ackWithin {
			return got, failed("the task was acknowledged after %v; a center withdraws it after 5 s", late.Round(time.Millisecond))
		}
		return got, nil
	}
}

// takes keeps the outcome where the answer is one.
func (a *attempt) takes(got answered) bool {
	if got.status/100 != 2 {
		return false
	}
	var o struct {
		Success *bool `json:"success"`
		protocol.ExternalOutcome
	}
	if json.Unmarshal(got.body, &o) != nil || o.Success == nil {
		return false
	}
	o.ExternalOutcome.Success = *o.Success
	a.end(o.ExternalOutcome, true)
	return true
}

func retryAfter(h http.Header) time.Duration {
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s >= 0 && s < 30 {
		return max(time.Duration(s)*time.Second, 200*time.Millisecond)
	}
	return time.Second
}

func wait(ctx context.Context, span time.Duration) {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// done sends a task and waits for its outcome.
func (k *kit) done(ctx context.Context, a *attempt) (protocol.ExternalOutcome, *verdict) {
	if _, v := k.deliver(ctx, a); v != nil {
		return protocol.ExternalOutcome{}, v
	}
	return a.awaited(40 * time.Second)
}

// awaited waits for the outcome.
func (a *attempt) awaited(most time.Duration) (protocol.ExternalOutcome, *verdict) {
	a.until(most, func() bool { return a.result() != nil || a.fault() != nil })
	if v := a.fault(); v != nil {
		return protocol.ExternalOutcome{}, v
	}
	if o := a.result(); o != nil {
		return *o, nil
	}
	return protocol.ExternalOutcome{}, failed("no report came within %v: the executor reports to callbackUrl %s", most, a.task.CallbackURL)
}

// mustSucceed sends a task and expects that it returns its parameters.
func (k *kit) mustSucceed(ctx context.Context, a *attempt) *verdict {
	o, v := k.done(ctx, a)
	if v != nil {
		return v
	}
	return a.echoed(o)
}

// echoed compares the result with the parameters, byte for byte.
func (a *attempt) echoed(o protocol.ExternalOutcome) *verdict {
	if !o.Success {
		return failed("it was reported as failed: %s", o.Message)
	}
	var result map[string]any
	if err := json.Unmarshal(o.Result, &result); err != nil {
		return failed("the result is no JSON object: %.200s; message: %.200s", o.Result, o.Message)
	}
	for name, want := range a.task.Params {
		if got, ok := result[name]; !ok {
			return failed("the parameter %s did not come back", name)
		} else if got != want {
			return failed("the parameter %s was %.200q and came back as %s", name, want, fmt.Sprintf("%.200q", got))
		}
	}
	if len(result) != len(a.task.Params) {
		return failed("%d parameters came back as %d", len(a.task.Params), len(result))
	}
	return nil
}

// untouched watches that an attempt is neither claimed nor reported.
func (a *attempt) untouched() *verdict {
	if a.until(settleFor, func() bool { return a.count(claims)+a.count(logs)+a.count(reports) > 0 }) {
		return failed("a request that it had to refuse was worked on: it made %d claims, %d reports", a.count(claims), a.count(reports))
	}
	return nil
}

// readAll is the body of a request that is still to be sent.
func readAll(r *http.Request) ([]byte, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(body)
}
