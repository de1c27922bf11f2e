package protocol

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// ExternalTask is the body that the center POSTs to an external executor, and that the answer to a claim repeats.
// The first six keys are the contract's oldest and stay first. Numbers of 63 bits travel as text.
type ExternalTask struct {
	TaskID       string            `json:"taskId"` // for people; identity is TraceID
	TaskName     string            `json:"taskName"`
	BizDate      string            `json:"bizDate"`
	ExecType     string            `json:"execType"`
	Params       map[string]string `json:"params"`
	TraceID      string            `json:"traceId"`
	Attempt      string            `json:"attempt"` // the fencing token, digits
	Project      string            `json:"project"`
	ExpectedTime int64             `json:"expectedTime"` // UTC milliseconds
	Deadline     int64             `json:"deadline"`     // UTC milliseconds of the center's clock
	CallbackURL  string            `json:"callbackUrl"`  // where to report; CallbackFor finds the others
	Shard        Shard             `json:"shard"`
	Exec         json.RawMessage   `json:"exec"` // the rendered settings of the type, an object without "type"
}

// Encode gives the body as it is sent: params and exec are objects also when there are none.
func (t ExternalTask) Encode() ([]byte, error) {
	if t.Params == nil {
		t.Params = map[string]string{}
	}
	if len(t.Exec) == 0 {
		t.Exec = json.RawMessage(`{}`)
	}
	return json.Marshal(t)
}

// ExternalOutcome is how a task ended: the answer of a sync executor, and what a report says.
// Result is a JSON object of at most MaxResult bytes, or nil.
type ExternalOutcome struct {
	Success bool            `json:"success"`
	Message string          `json:"message,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// ExternalClaim asks for the right to run an attempt.
type ExternalClaim struct {
	TraceID string `json:"traceId"`
	Attempt string `json:"attempt"`
}

// ClaimAnswer gives that right or denies it. A right holds for a start within ClaimHolds of the claim's sending.
type ClaimAnswer struct {
	Granted  bool          `json:"granted"`
	Deadline int64         `json:"deadline,omitempty"` // UTC milliseconds of the center's clock
	Task     *ExternalTask `json:"task,omitempty"`
	Reason   string        `json:"reason,omitempty"` // why it was denied
}

// ExternalHeartbeat says that the attempt is being worked on, and how far it is.
type ExternalHeartbeat struct {
	TraceID  string `json:"traceId"`
	Attempt  string `json:"attempt"`
	Progress *int   `json:"progress,omitempty"` // 0–100
	Text     string `json:"text,omitempty"`     // at most MaxProgressText characters count
}

// HeartbeatAnswer tells an executor to stop, also for an attempt that is over.
type HeartbeatAnswer struct {
	Cancel bool   `json:"cancel"`
	Reason string `json:"reason,omitempty"`
}

// ExternalLog is a stretch of an attempt's output. First is the place of its first line, from 1 without a gap.
type ExternalLog struct {
	TraceID string         `json:"traceId"`
	Attempt string         `json:"attempt"`
	First   int64          `json:"first"`
	Lines   []ExternalLine `json:"lines"`
}

// ExternalLine is one line of output; Stream is StreamOut or StreamErr.
type ExternalLine struct {
	At     int64  `json:"at"` // UTC milliseconds
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

// LogAnswer says up to which place, and with it, lines are stored. The next call begins after it.
type LogAnswer struct {
	UpTo int64 `json:"upTo"`
}

// ExternalReport is the outcome of a run. Without an attempt, that in the query of the callback's URL counts.
type ExternalReport struct {
	TraceID string `json:"traceId"`
	ExternalOutcome
	Attempt string `json:"attempt,omitempty"`
}

// ReportAnswer follows the commit of the report.
type ReportAnswer struct {
	Stored bool `json:"stored"`
}

// ExternalCancel is POSTed by the center when an attempt should stop.
type ExternalCancel struct {
	TraceID string `json:"traceId"`
	Attempt string `json:"attempt"`
	Reason  string `json:"reason"`
}

// ExternalError is the body of every answer of 400 and above, in both directions.
type ExternalError struct {
	Error string `json:"error"`           // what, where, how to mend it
	Field string `json:"field,omitempty"` // the key at fault
	Time  int64  `json:"time,omitempty"`  // the clock of who refuses a request's time, UTC milliseconds
}

// Limits of what an external executor sends.
const (
	MaxLogLines     = 1000      // lines of one call
	MaxLogBody      = 256 << 10 // bytes of one call
	MaxProgressText = 200       // characters
)

// What an executor keeps to, in milliseconds.
const (
	ClaimHoldsMs     = 3000  // a grant is for a start so soon after its claim was sent; later it is claimed again
	HeartbeatEveryMs = 10000 // a heartbeat for each attempt that runs
	HeartbeatLostMs  = 35000 // silence after which an attempt that sent one is taken as lost
	AckWithinMs      = 5000  // the POST of a task is answered so soon
)

// The endpoints of the center below the folder of callbackUrl.
const (
	CallClaim     = "claim"
	CallHeartbeat = "heartbeat"
	CallLog       = "log"
	CallReport    = "report"
)

// CallbackFor gives the URL of another endpoint: callbackUrl with its last path segment replaced, same query.
func CallbackFor(callbackURL, call string) (string, error) {
	u, err := url.Parse(callbackURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("callbackUrl %q is no http or https URL", callbackURL)
	}
	path := u.EscapedPath()
	raw := path[:strings.LastIndex(path, "/")+1] + call
	if u.Path, err = url.PathUnescape(raw); err != nil {
		return "", fmt.Errorf("callbackUrl %q: %w", callbackURL, err)
	}
	u.RawPath = raw
	return u.String(), nil
}
