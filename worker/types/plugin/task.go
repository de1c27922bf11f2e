package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/types"
)

// task is what prepare and run are given: the same keys as an external executor's.
type task struct {
	TaskID       string            `json:"taskId"`
	TaskName     string            `json:"taskName"`
	BizDate      string            `json:"bizDate"`
	ExecType     string            `json:"execType"`
	Params       map[string]string `json:"params"`
	TraceID      string            `json:"traceId"`
	Attempt      string            `json:"attempt"` // a string: 63 bits are too many for the numbers of some languages
	Ordinal      int               `json:"ordinal"`
	Project      string            `json:"project"`
	ExpectedTime int64             `json:"expectedTime"` // UTC milliseconds; 0 = the fire had none
	Deadline     int64             `json:"deadline"`     // likewise; 0 = no time-out
	Shard        protocol.Shard    `json:"shard"`
	Env          map[string]string `json:"env"`
	Exec         json.RawMessage   `json:"exec"`
}

func taskOf(t types.Task) task {
	out := task{TaskID: t.TaskID, TaskName: t.JobName, BizDate: t.BizDate, ExecType: t.Type, Params: t.Params, TraceID: t.TraceID,
		Attempt: strconv.FormatInt(t.Attempt, 10), Ordinal: t.Ordinal, Project: t.Project, Shard: t.Shard, Env: t.Env, Exec: t.Exec}
	if !t.ExpectedAt.IsZero() {
		out.ExpectedTime = t.ExpectedAt.UnixMilli()
	}
	if !t.Deadline.IsZero() {
		out.Deadline = t.Deadline.UnixMilli()
	}
	if out.Params == nil {
		out.Params = map[string]string{}
	}
	if out.Env == nil {
		out.Env = map[string]string{}
	}
	return out
}

// settle judges a job's settings by what the type takes and fills in what it left out. A text that came from a template
// counts as the number, boolean, list or map that it says.
func settle(raw json.RawMessage, params []protocol.TypeParam) (json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &keys); err != nil {
			return nil, fmt.Errorf("exec is not an object: %w", err)
		}
	}
	delete(keys, "type")
	if params == nil {
		return json.Marshal(keys)
	}
	var known []string
	for _, p := range params {
		known = append(known, p.Name)
		value, given := keys[p.Name]
		switch {
		case !given && p.Required:
			return nil, fmt.Errorf("exec.%s is missing: the type needs it", p.Name)
		case !given && p.Default == "":
			continue
		case !given:
			value = quote(p.Default)
		}
		settled, err := fit(p, value)
		if err != nil {
			return nil, fmt.Errorf("exec.%s: %w", p.Name, err)
		}
		keys[p.Name] = settled
	}
	for k := range keys {
		if !slices.Contains(known, k) {
			return nil, fmt.Errorf("exec.%s: the type has no such parameter; it has %s", k, strings.Join(known, ", "))
		}
	}
	return json.Marshal(keys)
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}

// fit turns a value into its parameter's kind.
func fit(p protocol.TypeParam, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	var text string
	isText := json.Unmarshal(raw, &text) == nil && raw[0] == '"'
	if len(p.Choices) > 0 && !slices.Contains(p.Choices, plain(raw, text, isText)) {
		return nil, fmt.Errorf("%s is none of %s", excerpt(raw), strings.Join(p.Choices, ", "))
	}
	inner := raw
	if isText {
		inner = bytes.TrimSpace([]byte(text))
	}
	ok := false
	switch p.Kind {
	case protocol.KindNumber:
		ok = isNumber(string(inner))
	case protocol.KindBoolean:
		ok = string(inner) == "true" || string(inner) == "false"
	case protocol.KindList:
		ok = len(inner) > 0 && inner[0] == '[' && json.Valid(inner)
	case protocol.KindMap:
		ok = len(inner) > 0 && inner[0] == '{' && json.Valid(inner)
	default: // a text: numbers and booleans as they are written
		switch {
		case isText:
			return raw, nil
		case raw[0] == '[' || raw[0] == '{' || string(raw) == "null":
			return nil, fmt.Errorf("%s is no text", excerpt(raw))
		}
		return quote(string(raw)), nil
	}
	if !ok {
		return nil, fmt.Errorf("%s is no %s", excerpt(raw), p.Kind)
	}
	return inner, nil
}

// plain is a value as it stands among choices.
func plain(raw json.RawMessage, text string, isText bool) string {
	if isText {
		return text
	}
	return string(raw)
}
