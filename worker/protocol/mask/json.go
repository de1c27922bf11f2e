package mask

import (
	"bytes"
	"encoding/json"
	"io"
)

// JSON masks the strings, keys too, of a JSON value; a number in which a secret stands becomes the string of stars. What
// holds none is given back as it is, byte for byte, and so is what is no JSON value: that is for its owner to refuse.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if m == nil || len(raw) == 0 {
		return raw
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	if _, err := dec.Token(); err != io.EOF {
		return raw
	}
	masked, changed := m.value(v)
	if !changed {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(masked); err != nil {
		return json.RawMessage(`"` + Stars + `"`) // not reached: it was decoded
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

func (m *Masker) value(v any) (masked any, changed bool) {
	switch v := v.(type) {
	case string:
		out := m.String(v)
		return out, out != v
	case json.Number:
		if m.In(v.String()) {
			return Stars, true
		}
	case []any:
		for i := range v {
			one, other := m.value(v[i])
			v[i], changed = one, changed || other
		}
	case map[string]any:
		for key, inner := range v {
			one, other := m.value(inner)
			name := m.String(key)
			if name != key {
				delete(v, key)
			}
			if name != key || other {
				v[name], changed = one, true
			}
		}
	}
	return v, changed
}
