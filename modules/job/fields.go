package job

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// Setting is one key of an exec as a field of the form has it. Text "" is a key that is not there.
type Setting struct {
	Key  string
	Kind string // of domain's kinds of parameters
	Text string // a list has an item a line, a map key: value; else both may be JSON
}

// SettingsOf shows the keys of an exec in fields, which come with key and kind; rest are the keys that no field is for, as
// lines of YAML.
func SettingsOf(raw json.RawMessage, fields []Setting) (filled []Setting, rest string) {
	keys, err := objectOf(raw)
	if err != nil {
		return fields, ""
	}
	filled = append(filled, fields...)
	for i, f := range filled {
		if v, there := keys[f.Key]; there {
			filled[i].Text = fieldText(f.Kind, v)
			delete(keys, f.Key)
		}
	}
	left, err := json.Marshal(keys)
	if err != nil {
		return filled, ""
	}
	return filled, SettingsText(left)
}

// fieldText is a value as somebody types it.
func fieldText(kind string, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		if lines, plain := plainLines(v); plain && kind == domain.KindList {
			return strings.Join(lines, "\n")
		}
	case map[string]any:
		if kind == domain.KindMap {
			if lines, plain := plainPairs(v); plain {
				return strings.Join(lines, "\n")
			}
		}
	}
	return flowText(v)
}

// plainLines are the items of a list, where each is a text that a line can hold.
func plainLines(all []any) (lines []string, plain bool) {
	for _, one := range all {
		s, ok := one.(string)
		if !ok || s == "" || strings.TrimSpace(s) != s || strings.Contains(s, "\n") || len(lines) == 0 && strings.HasPrefix(s, "[") {
			return nil, false
		}
		lines = append(lines, s)
	}
	return lines, len(lines) > 0
}

// plainPairs are the entries of a map, where each is a text that a line can hold.
func plainPairs(all map[string]any) (lines []string, plain bool) {
	for _, k := range sortedNames(all) {
		s, ok := all[k].(string)
		if !ok || strings.TrimSpace(s) != s || strings.Contains(s, "\n") || strings.ContainsAny(k, ":\n{") || strings.TrimSpace(k) != k || k == "" {
			return nil, false
		}
		lines = append(lines, k+": "+s)
	}
	return lines, len(lines) > 0
}

var numberText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// SettingsYAML writes fields, and below them the rest as it was typed, as lines of YAML.
func SettingsYAML(fields []Setting, rest string) string {
	var b strings.Builder
	for _, f := range fields {
		if text := f.value(); text != "" {
			b.WriteString(scalarText(f.Key) + ": " + text + "\n")
		}
	}
	return strings.TrimRight(b.String()+strings.ReplaceAll(rest, "\r\n", "\n"), " \n")
}

// value is what was typed as YAML; "" = nothing was. What does not fit its kind is written as text: the type judges it.
func (f Setting) value() string {
	text := strings.ReplaceAll(f.Text, "\r\n", "\n")
	bare := strings.TrimSpace(text)
	switch {
	case bare == "":
		return ""
	case f.Kind == domain.KindNumber && numberText.MatchString(bare), f.Kind == domain.KindBoolean && (bare == "true" || bare == "false"):
		return bare
	case f.Kind == domain.KindNumber || f.Kind == domain.KindBoolean:
		return quoted(bare)
	case (f.Kind == domain.KindList || f.Kind == domain.KindMap) && json.Valid([]byte(bare)) && strings.ContainsAny(bare[:1], "[{"):
		var v any
		d := json.NewDecoder(strings.NewReader(bare))
		d.UseNumber()
		if d.Decode(&v) == nil {
			return flowText(v)
		}
	case f.Kind == domain.KindList:
		var items []any
		for _, l := range lines(text) {
			items = append(items, l)
		}
		return flowText(items)
	case f.Kind == domain.KindMap:
		pairs := map[string]any{}
		for _, l := range lines(text) {
			k, v, _ := strings.Cut(l, ":")
			pairs[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
		return flowText(pairs)
	}
	return valueText(text)
}
