package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
	"github.com/axsched/ax/worker/types"
)

const (
	// bodyMax is how much of an answer goes into the log.
	bodyMax = 64 << 10
	// jsonMax is how much of an answer is read where its JSON is judged.
	jsonMax = 1 << 20
)

// unanswered tells a time-out and a kill from a failure to connect.
func unanswered(ctx context.Context, started time.Time, err error) types.Outcome {
	now := time.Now()
	if ctx.Err() != nil {
		return stopped(ctx, started, now)
	}
	var refused *netguard.Refused
	if errors.As(err, &refused) {
		return types.Outcome{Run: types.Ended(runner.Failed, started, now, "not sent: "+refused.Error())}
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // the address is in the log, and may hold secrets
	}
	return types.Outcome{Run: types.Ended(runner.Failed, started, now, "no answer: "+err.Error())}
}

// stopped is the outcome of a request that was given up.
func stopped(ctx context.Context, started, now time.Time) types.Outcome {
	o := runner.OutcomeOf(ctx)
	message := context.Cause(ctx).Error()
	if o == runner.Timeout {
		message = "timed out after " + now.Sub(started).Round(time.Millisecond).String()
	}
	return types.Outcome{Run: types.Ended(o, started, now, message+"; the other side may have done its work")}
}

// answered logs the answer and judges it: its status, then the conditions on its JSON.
func answered(ctx context.Context, s settings, started time.Time, resp *http.Response, out *runner.Capture) types.Outcome {
	out.Log(time.Now(), resp.Proto+" "+resp.Status)
	most := bodyMax
	if len(s.ExpectJSON) > 0 {
		most = jsonMax
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	now := time.Now()
	if logged := body[:min(len(body), bodyMax)]; len(logged) > 0 {
		out.Write(runner.Out, now, logged)
	}
	if len(body) > bodyMax {
		out.Log(now, "the answer is longer: its first 64 KB are kept")
	}
	failed := func(message string) types.Outcome {
		return types.Outcome{Run: types.Ended(runner.Failed, started, now, message)}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return stopped(ctx, started, now)
	case err != nil:
		return failed("the answer broke off: " + err.Error())
	case !s.expects(resp.StatusCode):
		return failed("answered " + resp.Status)
	case len(s.ExpectJSON) > 0 && len(body) > jsonMax:
		return failed(fmt.Sprintf("answered %s, but with more than %d MB, too much for expect_json", resp.Status, jsonMax>>20))
	}
	if why := unmet(s.ExpectJSON, body); why != "" {
		return failed("answered " + resp.Status + ", but " + why)
	}
	return types.Outcome{Run: types.Ended(runner.Success, started, now, ""), Result: resultOf(resp.Header, body)}
}

// resultOf returns the body where it can be a result: a JSON object of at most 64 KB.
func resultOf(h http.Header, body []byte) json.RawMessage {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") || len(body) > types.ResultMax {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return nil
	}
	return body
}
