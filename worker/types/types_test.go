package types

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecodeExec(t *testing.T) {
	type settings struct {
		Command string `json:"command"`
	}
	for raw, want := range map[string]string{
		`{"type":"shell","command":"x"}`: "x",
		`{"command":"x"}`:                "x",
		``:                               "",
		`null`:                           "",
		`{}`:                             "",
	} {
		var s settings
		if err := DecodeExec(json.RawMessage(raw), &s); err != nil || s.Command != want {
			t.Errorf("%s: %+v %v", raw, s, err)
		}
	}
	for raw, says := range map[string]string{
		`{"command":"x","nice":3}`: "nice",
		`{"command":3}`:            "command",
		`[1]`:                      "not an object",
	} {
		var s settings
		if err := DecodeExec(json.RawMessage(raw), &s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
