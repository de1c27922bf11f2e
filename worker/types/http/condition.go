package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// unmet says which condition on the answer's JSON does not hold; "" where all do. Each is a JSON pointer (RFC 6901) and the
// text, number, true, false or null that must stand there.
func unmet(conditions map[string]json.RawMessage, body []byte) string {
	if len(conditions) == 0 {
		return ""
	}
	var doc any
	if err := decode(body, &doc); err != nil {
		return "the answer is no JSON, and expect_json asks for some: " + err.Error()
	}
	for _, pointer := range slices.Sorted(maps.Keys(conditions)) {
		var want any
		if err := decode(conditions[pointer], &want); err != nil {
			return fmt.Sprintf("exec.expect_json: %s: %v", pointer, err)
		}
		got, there := at(doc, pointer)
		if !there {
			return fmt.Sprintf("the answer has no %s, and it must be %s", pointer, shownJSON(want))
		}
		if !same(got, want) {
			return fmt.Sprintf("%s of the answer is %s, and it must be %s", pointer, shownJSON(got), shownJSON(want))
		}
	}
	return ""
}

// decode reads one JSON value, numbers as they are written.
func decode(text []byte, into *any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the first value")
	}
	return nil
}

// at finds what a JSON pointer leads to; "" is the whole.
func at(doc any, pointer string) (any, bool) {
	if pointer == "" {
		return doc, true
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = unescape.Replace(step)
		switch in := doc.(type) {
		case map[string]any:
			next, there := in[step]
			if !there {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != step {
				return nil, false
			}
			doc = in[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// same compares two plain values. Numbers written differently are the same when they are (1 and 1.0), but whole numbers are
// compared digit by digit: two that a float can't tell apart are not the same.
func same(got, want any) bool {
	g, isNumber := got.(json.Number)
	w, both := want.(json.Number)
	if !isNumber || !both {
		switch got.(type) {
		case map[string]any, []any:
			return false
		}
		return got == want
	}
	if g == w {
		return true
	}
	whole := func(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }
	a, errA := g.Float64()
	b, errB := w.Float64()
	return errA == nil && errB == nil && a == b && !(whole(g) && whole(w))
}

// shownJSON is a value for people, not too much of it.
func shownJSON(v any) string {
	const most = 200
	b, err := json.Marshal(v)
	if err != nil {
		return "unprintable"
	}
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "…"
	}
	return string(b)
}
