package job

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// SettingsText writes the keys of an exec but its type as lines of YAML, as the form shows them: sorted, each value so
// that it is read back as it is. What is no JSON object gives "".
func SettingsText(raw json.RawMessage) string {
	keys, err := objectOf(raw)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, k := range sortedNames(keys) {
		b.WriteString(scalarText(k) + ": " + valueText(keys[k]) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// objectOf reads a JSON object, its numbers as they are written.
func objectOf(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var keys map[string]any
	err := dec.Decode(&keys)
	return keys, err
}

// valueText writes a value as YAML: a text of several lines as a block, all else on one line.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		if block := commandText(v); strings.HasPrefix(block, "|") && strings.TrimRight(v, " \n") == v {
			return "|-\n" + strings.TrimSuffix(indented(v+"\n", "  "), "\n")
		}
		return scalarText(v)
	case []any:
		items := make([]string, len(v))
		for i, one := range v {
			items[i] = flowText(one)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return flowText(v)
}

// flowText writes a value on one line.
func flowText(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []any:
		return valueText(v)
	case map[string]any:
		var items []string
		for _, k := range sortedNames(v) {
			items = append(items, quoted(k)+": "+flowText(v[k]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // a number as it was written, true, false or null
	}
	return string(out)
}

// settingsSection is the exec of a form that is not a command: what was typed stands below the type, moved so that it all
// belongs to exec.
func settingsSection(kind, typed string) string {
	text := "\n  type: " + scalarText(kind)
	rows := strings.Split(strings.TrimRight(strings.ReplaceAll(typed, "\r\n", "\n"), " \n"), "\n")
	least := -1
	for _, row := range rows {
		if bare := strings.TrimLeft(row, " "); bare != "" && (least < 0 || len(row)-len(bare) < least) {
			least = len(row) - len(bare)
		}
	}
	for _, row := range rows {
		if least >= 0 {
			text += "\n"
			if strings.TrimSpace(row) != "" {
				text += "  " + row[least:]
			}
		}
	}
	return text
}
