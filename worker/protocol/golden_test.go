package protocol_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/protocol"
)

var update = flag.Bool("update", false, "write the golden files; look at each difference: old workers read what new centers write")

func pointer[T any](v T) *T { return &v }

// samples holds one value of every message, with every field set: a field that is missing here would not be pinned.
func samples() map[string]any {
	task := protocol.Task{Attempt: 7215840113459200001, TraceID: "a1b2c3d4-e5f6-7890-abcd-ef1234567890", TaskID: "task_20240101020000",
		Project: "default", TaskName: "order_stat_daily", BizDate: "2024-01-01", ExecType: "shell",
		Exec:   json.RawMessage(`{"command":"python3 run_stat.py --date \"$AX_BIZ_DATE\""}`),
		Params: map[string]string{"source": "order_table"}, Env: map[string]string{"AX_BIZ_DATE": "2024-01-01"},
		Expected: 1704045600000, Timeout: 120000, Ordinal: 2, Shard: protocol.Shard{Index: 1, Total: 4},
		Lane: protocol.LaneDefault, OnLost: protocol.OnLostRetry, Early: true, Secrets: []string{"hunter2"},
		Net: &protocol.Net{Allow: []string{"loopback", "10.1.0.0/16"}, Stores: []string{"10.0.0.5:3306"}}}
	report := protocol.Report{Attempt: 7215840113459200001, Outcome: protocol.OutcomeError, ExitCode: pointer(3),
		Message: "exit code 3", Result: json.RawMessage(`{"rows":12}`), Started: 1704045600100, Finished: 1704045601100, LogLines: 12}
	up := func(u protocol.Uplink) protocol.Uplink { u.Worker, u.Boot = "w1", 3; return u }
	param := protocol.TypeParam{Name: "table", Kind: protocol.KindText, Required: true, Default: "orders", Choices: []string{"orders", "pay"},
		Label: protocol.Words{"en": "Table", "zh-CN": "表"}, About: "what is copied", Help: protocol.Words{"zh-CN": "复制什么"}}
	all := map[string]any{
		"catalog": protocol.Catalog{Worker: "w1", Boot: 3, Rev: "0123456789ab", Types: []protocol.TypeDescription{{Type: "acme_copy", Version: "1.0", Plugin: "acme",
			About: protocol.Words{"en": "copies"}, Threadless: true, Params: []protocol.TypeParam{param}}},
			Plugins: []protocol.PluginState{{Name: "acme", Version: "1.0", Types: []string{"acme_copy"}, State: protocol.PluginFailed, Fault: "no licence"}}},
		"message": protocol.Message{ID: "m-1", Epoch: 5, Sent: 1704045600000, IDs: []int64{7215840113459200001, 7215840113459200002}},
		"uplink-claim": up(protocol.Uplink{Claim: &protocol.Claim{Message: "m-1", Nonce: "N1",
			IDs: []int64{7215840113459200001}}}),
		"uplink-refuse":    up(protocol.Uplink{Refuse: &protocol.Refuse{IDs: []int64{7215840113459200001}, Reason: "the worker is draining"}}),
		"uplink-started":   up(protocol.Uplink{Started: []protocol.Started{{Attempt: 7215840113459200001, At: 1704045600100}}}),
		"uplink-reports":   up(protocol.Uplink{Reports: []protocol.Report{report}}),
		"downlink-answer":  protocol.Downlink{Answer: &protocol.Answer{Message: "m-1", Nonce: "N1", Grants: []protocol.Task{task}, Denied: []protocol.Deny{{Attempt: 7215840113459200002, Reason: "withdrawn"}}}},
		"downlink-confirm": protocol.Downlink{Confirm: []int64{7215840113459200001}},
		"downlink-kill":    protocol.Downlink{Kill: &protocol.Kill{Attempt: 7215840113459200001, Reason: "killed by anna"}},
		"downlink-logacks": protocol.Downlink{LogAcks: []protocol.LogAck{{Attempt: 7215840113459200001, UpTo: 120}}},
		"downlink-drain":   protocol.Downlink{Drain: pointer(false)},
		"loglines": protocol.LogLines{Worker: "w1", Boot: 3, Attempt: 7215840113459200001, First: 1, Last: 4, Lines: []json.RawMessage{
			json.RawMessage(`[1,1704045600200,"out","hello <b>"]`), json.RawMessage(`[2,1704045600201,"err","a long"]`),
			json.RawMessage(`[2,1704045600201,"err"," line",true]`), json.RawMessage(`[3,1704045600202,"gap","120 4096"]`)}},
		"heartbeat": protocol.Heartbeat{Name: "w1", UID: "0123456789abcdef0123456789abcdef", Boot: 3, Seq: 12, Threadless: []string{"noop"},
			State: protocol.WorkerDraining, Host: "host-1", IP: "10.0.0.7", Version: "v1.0.0", Types: []string{"http", "shell"}, Catalog: "0123456789ab",
			Tags: []string{"gpu"}, Lanes: map[string]int{"default": 8, "high": 4}, Cores: 2, Running: 1, MeanMs: 1500, SkewMs: -3, Disk: "disk full (no space left on device)",
			Started: 1704045000000, Held: []int64{7215840113459200001}, Stamp: 1},
	}
	maps.Copy(all, externalSamples())
	return all
}

func TestWireFormIsPinned(t *testing.T) {
	for name, v := range samples() {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the wire form changed: old and new processes talk to each other during an update\ngot:\n%s\nwant:\n%s", got, want)
			}
			back := reflect.New(reflect.TypeOf(v))
			dec := json.NewDecoder(bytes.NewReader(want))
			dec.DisallowUnknownFields()
			if err := dec.Decode(back.Interface()); err != nil {
				t.Fatal(err)
			}
			again, err := json.MarshalIndent(back.Interface(), "", "  ")
			if err != nil || !bytes.Equal(append(again, '\n'), want) {
				t.Errorf("what was read is not what was written: %v\n%s", err, again)
			}
		})
	}
}

// TestEveryFieldIsPinned walks the samples: each field of each message must be set in one of them.
func TestEveryFieldIsPinned(t *testing.T) {
	all, set := map[string]bool{}, map[string]bool{}
	for _, v := range samples() {
		walk(reflect.ValueOf(v), all, set)
	}
	for field := range all {
		if !set[field] {
			t.Errorf("%s is set in no sample", field)
		}
	}
	if len(all) < 70 {
		t.Errorf("only %d fields were looked at", len(all))
	}
}

func walk(v reflect.Value, all, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), all, set)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				walk(v.Index(i), all, set)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Name() + "." + v.Type().Field(i).Name
			all[field] = true
			if !v.Field(i).IsZero() {
				set[field] = true
			}
			walk(v.Field(i), all, set)
		}
	}
}

func TestUnknownFieldsAreReadOver(t *testing.T) {
	var d protocol.Downlink
	if err := json.Unmarshal([]byte(`{"confirm":[1],"fromTheFuture":{"x":1}}`), &d); err != nil || len(d.Confirm) != 1 {
		t.Errorf("a newer center is not understood: %v", err)
	}
}

func TestKeysArePinned(t *testing.T) {
	got := strings.Join([]string{protocol.KeyHolders, protocol.KeyWorkers, protocol.KeyUplink, protocol.KeyLogs, protocol.UplinkGroup,
		protocol.LogsGroup, protocol.ChannelNudge, protocol.EntryField, protocol.TaskType, protocol.KeyInbox("w1", 3),
		protocol.KeyFire(7, 1704045600000), protocol.Queue("w1", 3, protocol.LaneHigh), strings.Join(protocol.Lanes[:], ",")}, "\n")
	want := `ax:holders
ax:workers
ax:up
ax:logs
broker
logs
ax:nudge
j
ax:attempts
ax:in:w1:3
ax:fire:7:1704045600000
w1:3:high
high,default,low`
	if got != want {
		t.Errorf("keys changed:\n%s\nwant:\n%s", got, want)
	}
}
