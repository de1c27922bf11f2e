package conform

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// mustRefuse sends a changed request and expects 401 and nothing else.
func (k *kit) mustRefuse(ctx context.Context, what string, change func(*http.Request)) *verdict {
	a := k.attempt(map[string]string{"a": "b"})
	body, err := a.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	got, err := k.post(ctx, a, "", body, change)
	if err != nil {
		return failed("%s: no answer: %v", what, err)
	}
	if got.status != http.StatusUnauthorized {
		return failed("%s was answered with %d, not with 401", what, got.status)
	}
	return a.untouched()
}

func unsigned(ctx context.Context, k *kit) *verdict {
	for what, headers := range map[string][]string{
		"a request without any of the headers": {protocol.HeaderExecutor, protocol.HeaderTime, protocol.HeaderNonce, protocol.HeaderSignature},
		"a request without X-Ax-Signature":     {protocol.HeaderSignature},
		"a request without X-Ax-Nonce":         {protocol.HeaderNonce},
		"a request without X-Ax-Time":          {protocol.HeaderTime},
	} {
		v := k.mustRefuse(ctx, what, func(r *http.Request) {
			for _, h := range headers {
				r.Header.Del(h)
			}
		})
		if v != nil {
			return v
		}
	}
	return nil
}

func wrongSignature(ctx context.Context, k *kit) *verdict {
	resign := func(secret, method, target string, body []byte) func(*http.Request) {
		return func(r *http.Request) {
			at, nonce := time.Now(), r.Header.Get(protocol.HeaderNonce)
			if target == "" {
				target = r.URL.RequestURI()
			}
			if body == nil {
				body, _ = readAll(r)
			}
			r.Header.Set(protocol.HeaderTime, strconv.FormatInt(at.UnixMilli(), 10))
			r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(secret), method, target, at, nonce, body))
		}
	}
	secret := k.options.Secret
	for what, change := range map[string]func(*http.Request){
		"a request signed with another secret": resign(secret+"x", http.MethodPost, "", nil),
		"a request signed for another body":    resign(secret, http.MethodPost, "", []byte(`{"traceId":"other"}`)),
		"a request signed for another path":    resign(secret, http.MethodPost, "/another/path", nil),
		"a request signed for another method":  resign(secret, http.MethodPut, "", nil),
		"a request signed with no secret":      resign("", http.MethodPost, "", nil),
	} {
		if v := k.mustRefuse(ctx, what, change); v != nil {
			return v
		}
	}
	return nil
}

func otherExecutor(ctx context.Context, k *kit) *verdict {
	return k.mustRefuse(ctx, "a request for another executor", func(r *http.Request) { r.Header.Set(protocol.HeaderExecutor, k.options.Executor+"-other") })
}

func oldTime(ctx context.Context, k *kit) *verdict {
	for what, off := range map[string]time.Duration{"a request signed 310 s ago": -310 * time.Second, "a request signed 310 s in the future": 310 * time.Second} {
		v := k.mustRefuse(ctx, what, func(r *http.Request) {
			body, err := readAll(r)
			if err == nil {
				protocol.SignRequest(r, k.options.Executor, []byte(k.options.Secret), time.Now().Add(off), body)
			}
		})
		if v != nil {
			return v
		}
	}
	return nil
}

func replayedNonce(ctx context.Context, k *kit) *verdict {
	var nonce string
	first := k.attempt(map[string]string{"a": "b"})
	body, err := first.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	for { // until it is not busy
		got, err := k.post(ctx, first, "", body, func(r *http.Request) { nonce = r.Header.Get(protocol.HeaderNonce) })
		if err != nil {
			return failed("the task could not be sent: %v", err)
		}
		if got.status != http.StatusServiceUnavailable && got.status != http.StatusTooManyRequests || ctx.Err() != nil {
			break
		}
		wait(ctx, retryAfter(got.header))
	}
	return k.mustRefuse(ctx, "a second request with the nonce of the one before", func(r *http.Request) {
		at := time.Now()
		body, err := readAll(r)
		if err != nil {
			return
		}
		r.Header.Set(protocol.HeaderNonce, nonce)
		r.Header.Set(protocol.HeaderTime, strconv.FormatInt(at.UnixMilli(), 10))
		r.Header.Set(protocol.HeaderSignature, protocol.Sign([]byte(k.options.Secret), r.Method, r.URL.RequestURI(), at, nonce, body))
	})
}

func unknownType(ctx context.Context, k *kit) *verdict {
	a := k.attempt(nil)
	a.task.ExecType = "ax-conform-no-such-type"
	body, err := a.task.Encode()
	if err != nil {
		return failed("%v", err)
	}
	got, err := k.post(ctx, a, "", body, nil)
	if err != nil {
		return failed("no answer: %v", err)
	}
	if got.status/100 != 4 || got.status == http.StatusConflict || got.status == http.StatusUnauthorized || got.status == http.StatusForbidden {
		return failed("it was answered with %d; 404 says that the type is not there", got.status)
	}
	return a.untouched()
}

func health(ctx context.Context, k *kit) *verdict {
	to, err := k.address(k.options.Type, "health")
	if err != nil {
		return failed("%v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return failed("%v", err)
	}
	protocol.SignRequest(r, k.options.Executor, []byte(k.options.Secret), time.Now(), nil)
	resp, err := k.client.Do(r)
	if err != nil {
		return failed("no answer: a center takes it for out: %v", err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusServiceUnavailable {
		return failed("it was answered with %d; below 500 is alive, 503 is busy", resp.StatusCode)
	}
	return nil
}
