package web

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/views/instances"
)

// How much of a result a page shows; the API has all of it.
const (
	shownKeys  = 50
	shownValue = 300 // characters
)

// resultOf is what the run in force handed over, by key, and how many keys are not among them.
func resultOf(w whole) (shown []instances.Param, more int) {
	var keys map[string]json.RawMessage
	for _, a := range w.attempts {
		if a.RunID == w.facts.Instance.RunID && a.Outcome == domain.OutcomeSuccess && a.Result != nil {
			keys = nil
			_ = json.Unmarshal(a.Result, &keys) // what is no object has no keys to show
		}
	}
	names := slices.Sorted(maps.Keys(keys))
	more = max(len(names)-shownKeys, 0)
	for _, name := range names[:len(names)-more] {
		shown = append(shown, instances.Param{Name: name, Value: shownText(keys[name])})
	}
	return shown, more
}

// shownText is a value for a page: a text as it is, anything else as JSON.
func shownText(raw json.RawMessage) string {
	text := string(raw)
	var plain string
	if json.Unmarshal(raw, &plain) == nil && raw[0] == '"' {
		text = plain
	}
	if all := []rune(text); len(all) > shownValue {
		return string(all[:shownValue]) + "…"
	}
	return text
}
