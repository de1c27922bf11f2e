package protocol_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/axsched/ax/worker/protocol"
)

const trace, attempt = "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "7215840113459200001"

func externalTask() protocol.ExternalTask {
	return protocol.ExternalTask{TaskID: "task_20240101020000", TaskName: "order_stat_daily", BizDate: "2024-01-01", ExecType: "shell",
		Params: map[string]string{"source": "order_table", "date": "2024-01-01"}, TraceID: trace, Attempt: attempt, Project: "default",
		ExpectedTime: 1704045600000, Deadline: 1704045720000, CallbackURL: "https://ax.example/executor/v1/report?attempt=" + attempt,
		Shard: protocol.Shard{Index: 1, Total: 4}, Exec: json.RawMessage(`{"table":"orders"}`)}
}

// externalSamples are the bodies between the center and external executors, every field set.
func externalSamples() map[string]any {
	task := externalTask()
	result := json.RawMessage(`{"rows":12}`)
	return map[string]any{
		"external-task":             task,
		"external-outcome":          protocol.ExternalOutcome{Success: true, Message: "12 rows", Result: result},
		"external-claim":            protocol.ExternalClaim{TraceID: trace, Attempt: attempt},
		"external-claim-granted":    protocol.ClaimAnswer{Granted: true, Deadline: 1704045720000, Task: &task},
		"external-claim-denied":     protocol.ClaimAnswer{Reason: "withdrawn"},
		"external-heartbeat":        protocol.ExternalHeartbeat{TraceID: trace, Attempt: attempt, Progress: pointer(40), Text: "part 2 of 5"},
		"external-heartbeat-answer": protocol.HeartbeatAnswer{Cancel: true, Reason: "killed by anna"},
		"external-log": protocol.ExternalLog{TraceID: trace, Attempt: attempt, First: 1, Lines: []protocol.ExternalLine{
			{At: 1704045600200, Stream: protocol.StreamOut, Text: "hello <b>"}, {At: 1704045600201, Stream: protocol.StreamErr, Text: "日终对账🚀"}}},
		"external-log-answer":    protocol.LogAnswer{UpTo: 2},
		"external-report":        protocol.ExternalReport{TraceID: trace, ExternalOutcome: protocol.ExternalOutcome{Success: true, Message: "12 rows", Result: result}, Attempt: attempt},
		"external-report-answer": protocol.ReportAnswer{Stored: true},
		"external-cancel":        protocol.ExternalCancel{TraceID: trace, Attempt: attempt, Reason: "killed by anna"},
		"external-error":         protocol.ExternalError{Error: "traceId is missing: send that of the task", Field: "traceId", Time: 1704045600000},
	}
}

func TestTaskWithoutParamsHasObjects(t *testing.T) {
	task := externalTask()
	task.Params, task.Exec = nil, nil
	body, err := task.Encode()
	if err != nil || !bytes.Contains(body, []byte(`"params":{},`)) || !bytes.HasSuffix(body, []byte(`"exec":{}}`)) {
		t.Errorf("%v %s", err, body)
	}
}

// The six keys of the contract stand first and in their order, whatever is added.
func TestTaskBeginsWithTheContract(t *testing.T) {
	body, err := externalTask().Encode()
	const want = `{"taskId":"task_20240101020000","taskName":"order_stat_daily","bizDate":"2024-01-01","execType":"shell",` +
		`"params":{"date":"2024-01-01","source":"order_table"},"traceId":"` + trace + `",`
	if err != nil || !bytes.HasPrefix(body, []byte(want)) {
		t.Errorf("%v %s", err, body)
	}
}

func TestCallbackFor(t *testing.T) {
	for _, c := range [][3]string{
		{"https://c.example/executor/v1/report?attempt=7", "claim", "https://c.example/executor/v1/claim?attempt=7"},
		{"http://c.example:8080/ax/executor/v1/report", "log", "http://c.example:8080/ax/executor/v1/log"},
		{"http://c.example/a%2Fb/report?x=1", "heartbeat", "http://c.example/a%2Fb/heartbeat?x=1"},
		{"http://c.example", "report", "http://c.example/report"},
	} {
		if got, err := protocol.CallbackFor(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("%s → %s, %v; want %s", c[0], got, err, c[2])
		}
	}
	for _, bad := range []string{"", "/executor/v1/report", "ftp://c.example/report", "http://", "://"} {
		if got, err := protocol.CallbackFor(bad, "claim"); err == nil {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}
