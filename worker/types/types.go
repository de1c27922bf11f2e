// Package types says what an executor type is: the part of a worker that knows how to run one kind of task.
//
// It owns the contract between the Node, which knows attempts and reports, and the types in its folders, which know
// shells and HTTP. It refuses to run anything itself, and knows neither queue nor journal. The Node calls Run for a
// granted attempt whose start is in the journal, and ends the output when Run has returned.
package types

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/netguard"
	"github.com/axsched/ax/worker/runner"
)

// Executor runs tasks of one type. All methods may be called by any number of goroutines.
type Executor interface {
	// Type is the word in exec.type of a job.
	Type() string
	// Describe says what the type takes; it never changes while the worker lives.
	Describe() Description
	// Run runs one task to its end and returns when nothing of it is alive. It ends the task early when ctx is
	// cancelled, whose cause decides the outcome (runner.ErrKilled and its kin), and at the task's deadline. What the
	// task says goes to out, which stays open.
	Run(ctx context.Context, t Task, out *runner.Capture) Outcome
}

// Task is one attempt as the center rendered it: no template is left in it.
type Task struct {
	Attempt    int64
	Ordinal    int    // of the attempt within its run, from 1, for people
	Type       string // the word of the type
	TaskID     string // for people
	TraceID    string
	Project    string
	JobName    string
	BizDate    string    // 2026-02-03
	ExpectedAt time.Time // zero when the fire had none
	Deadline   time.Time // zero means no time-out
	Exec       json.RawMessage
	Env        map[string]string
	Params     map[string]string
	Shard      protocol.Shard
	// Unrenewed, when positive, ends the task when the center has not answered for so long (on_worker_lost: wait).
	Unrenewed time.Duration
	// Net is where a type that connects to a URL may go; the zero value: to the public network.
	Net netguard.Policy
}

// Outcome is how a task ended.
type Outcome struct {
	Run runner.Result
	// Result is what the task hands to its downstream, a JSON object of at most 64 KB, or nil.
	Result json.RawMessage
	// Refused says that it was not tried, for no fault of the task: it goes elsewhere and no retry is spent.
	Refused bool
}

// ResultMax is the size limit of a result, in bytes.
const ResultMax = 64 << 10

// Failure is the outcome of a task that could not even be tried: its settings are wrong.
func Failure(now time.Time, message string) Outcome {
	return Outcome{Run: Ended(runner.Failed, time.Time{}, now, message)}
}

// Ended makes the result of a task that runs in no process of its own, and so has no exit code.
func Ended(o runner.Outcome, started, now time.Time, message string) runner.Result {
	return runner.Result{Outcome: o, ExitCode: -1, StartedAt: started, FinishedAt: now, Message: runner.CleanMessage(message)}
}

// Description tells people and forms what a type takes.
type Description = protocol.TypeDescription

// Param is one key of a job's exec.
type Param = protocol.TypeParam

// Unsteady is an executor that may be of no use for a while, as one whose program does not start. It may be asked by any
// number of goroutines.
type Unsteady interface {
	// Fault says why it can run nothing now, "" = it can. A type with a fault is not announced, and what was sent to it
	// all the same goes elsewhere.
	Fault() string
}

// DecodeExec reads a task's settings into v. An unknown key is an error: a setting that this worker's version does not
// know must not be ignored in silence. The key "type" is allowed, and missing settings are an empty object.
func DecodeExec(raw json.RawMessage, v any) error {
	var keys map[string]json.RawMessage
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("exec is not an object: %w", err)
	}
	delete(keys, "type")
	clean, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(clean))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil && err != io.EOF {
		return fmt.Errorf("exec: %w; this worker's version may be older than the job needs", err)
	}
	return nil
}
