package protocol_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/axsched/ax/worker/protocol"
)

// What the center writes for every attempt is read the fast way, whatever its values are: a field that is new in Task must be
// new in the decoder too. The samples have every field set.
func TestAnswersAndConfirmationsAreReadTheFastWay(t *testing.T) {
	all := samples()
	for _, name := range []string{"downlink-answer", "downlink-confirm"} {
		text, err := json.Marshal(all[name])
		if err != nil {
			t.Fatal(err)
		}
		if !protocol.Plain(string(text)) {
			t.Errorf("%s is left to encoding/json: %s", name, text)
		}
		sameAsJSON(t, string(text))
	}
}

// Each text is read as encoding/json reads it, or refused as it does.
func TestUnusualEntriesAreReadAsEverByJSON(t *testing.T) {
	grant := func(task string) string { return `{"answer":{"message":"m","nonce":"n","grants":[` + task + `]}}` }
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `{"confirm":[]}`, `{"confirm":null}`, `{"confirm":[1,2,]}`, `{"confirm":[1]} `, `{"confirm":[1]}x`,
		`{"confirm":[1.0]}`, `{"confirm":[1e3]}`, `{"confirm":[01]}`, `{"confirm":[-0,-5]}`, `{"confirm":[9223372036854775807]}`,
		`{"confirm":[9223372036854775808]}`, `{"confirm":[18446744073709551617]}`, `{"confirm":[-9223372036854775808]}`,
		`{"confirm":[1],"confirm":[2]}`, `{"Confirm":[1]}`, `{"confirm":[1],"new":{"a":[1]}}`, ` { "confirm" : [ 1 ] } `,
		`{"kill":{"attempt":1,"reason":"x"}}`, `{"drain":true}`, `{"answer":null}`, `{"answer":{}}`,
		grant(``), grant(`{}`), grant(`null`), grant(`{"attempt":1,"exec":null}`), grant(`{"attempt":1,"exec":5}`),
		grant(`{"exec":{"a":"\u003c\"}]"}}`), grant(`{"exec":{"a":"\x"}}`), grant(`{"exec":{"a":[}}}`), grant(`{"exec":{`),
		grant(`{"exec": {"a" : 1 } }`), grant(`{"env":{"A":"1","A":"2"}}`), grant(`{"env":{}}`), grant(`{"env":{"A":1}}`),
		grant(`{"env":{"A":"甲乙","B":"\u7532","C":"\ud800","D":"` + "\xff" + `","E":"` + "\x01" + `","` + strings.Repeat("k", 99) + `":"` + strings.Repeat("v", 99) + `"}}`),
		grant(`{"early":true},{"early":false},{"early":truex}`), grant(`{"early":fals}`), grant(`{"shard":{"index":1,"total":2}}`),
		grant(`{"shard":{"index":1,"total":2,"x":3}}`), grant(`{"ordinal":1},{"ordinal":"1"}`), grant(`{"attempt":1},`),
		`{"answer":{"message":"m","nonce":"n","denied":[{"attempt":1,"reason":"r"},{"attempt":2,"why":"r"}]}}`,
	} {
		sameAsJSON(t, text)
	}
}

func FuzzDecodeDownlink(f *testing.F) {
	for _, v := range samples() {
		text, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsJSON(t, text) })
}

func sameAsJSON(t *testing.T, text string) {
	t.Helper()
	var want protocol.Downlink
	wantErr := json.Unmarshal([]byte(text), &want)
	got, err := protocol.DecodeDownlink(text)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, want %v", text, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %+v\nwant %+v", text, got, want)
	}
}

// BenchmarkDecodeAnswer reads an answer of a hundred grants; an iteration is the answer.
func BenchmarkDecodeAnswer(b *testing.B) {
	var a protocol.Answer
	for i := range int64(100) {
		a.Grants = append(a.Grants, protocol.Task{Attempt: 7215840113459200001 + i, TraceID: "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
			TaskID: "task_20240101020000", Project: "default", TaskName: "order_stat_daily", BizDate: "2024-01-01", ExecType: "noop",
			Exec: json.RawMessage(`{"type":"noop"}`), Timeout: 60_000, Ordinal: 1, Shard: protocol.Shard{Total: 1}, Lane: "default",
			OnLost: "retry", Env: map[string]string{"AX_PROJECT": "default", "AX_JOB": "order_stat_daily", "AX_BIZ_DATE": "2024-01-01",
				"AX_TRACE_ID": "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "AX_ATTEMPT_NO": "1", "AX_SHARD_INDEX": "0", "AX_SHARD_TOTAL": "1",
				"AX_EXPECTED_TIME": "2024-01-01T02:00:00+08:00"}})
	}
	body, err := json.Marshal(protocol.Downlink{Answer: &a})
	if err != nil {
		b.Fatal(err)
	}
	text := string(body)
	b.Run("fast", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := protocol.DecodeDownlink(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var d protocol.Downlink
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
