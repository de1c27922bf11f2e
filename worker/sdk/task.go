package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// Task is one attempt that was granted to this process.
type Task struct {
	// TraceID is the run. All attempts of it share it: what must be done once is keyed by it.
	TraceID string
	// Attempt is this sending of it.
	Attempt string
	ID      string // task_20240101020000, for people
	Name    string // of the job
	Project string
	BizDate string // 2024-01-01
	Type    string
	Params  map[string]string
	// Exec is the job's settings of the type, a JSON object.
	Exec json.RawMessage
	// Expected is when it was due; Deadline when it must have ended, by this machine's clock; zero is none.
	Expected, Deadline time.Time
	Shard, Shards      int // part Shard of Shards, from 0

	a *attempt
}

// Progress tells how far the task is: percent from 0 to 100, and up to 200 characters about it. It may be called often; what is new
// goes out once a second.
func (t *Task) Progress(percent int, text string) {
	t.a.tell(min(max(percent, 0), 100), text)
}

// Logf adds to the task's log.
func (t *Task) Logf(format string, args ...any) {
	t.a.lines.add(protocol.StreamOut, fmt.Sprintf(format, args...))
}

// Stdout is a writer into the task's log, line by line.
func (t *Task) Stdout() io.Writer { return t.a.lines.writer(protocol.StreamOut) }

// Stderr is the same, shown as errors.
func (t *Task) Stderr() io.Writer { return t.a.lines.writer(protocol.StreamErr) }

// taskOf is what the handler sees.
func taskOf(a *attempt) *Task {
	p := a.entry.task
	t := &Task{TraceID: p.TraceID, Attempt: p.Attempt, ID: p.TaskID, Name: p.TaskName, Project: p.Project, BizDate: p.BizDate, Type: p.ExecType,
		Params: p.Params, Exec: p.Exec, Deadline: a.deadline(), Shard: p.Shard.Index, Shards: max(p.Shard.Total, 1), a: a}
	if p.ExpectedTime != 0 {
		t.Expected = time.UnixMilli(p.ExpectedTime)
	}
	return t
}
