package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/axsched/ax/worker/protocol"
)

// successOf makes a handler's result an outcome. One that can't be handed on does not make the work undone: the outcome stays a
// success, and its message says what is missing.
func successOf(result any) protocol.ExternalOutcome {
	if result == nil {
		return protocol.ExternalOutcome{Success: true}
	}
	body, err := json.Marshal(result)
	why := ""
	switch {
	case err != nil:
		why = "it can't be written as JSON: " + err.Error()
	case string(body) == "null":
		return protocol.ExternalOutcome{Success: true}
	case body[0] != '{':
		why = "it is no JSON object"
	case len(body) > protocol.MaxResult:
		why = fmt.Sprintf("it has %d bytes, at most %d are taken", len(body), protocol.MaxResult)
	case hasNUL(body):
		why = "it holds a NUL character"
	default:
		return protocol.ExternalOutcome{Success: true, Result: body}
	}
	return protocol.ExternalOutcome{Success: true, Message: cleanText("the result was not kept: "+why, protocol.MaxMessage)}
}

// hasNUL looks for the escape of a NUL, past pairs of backslashes.
func hasNUL(body []byte) bool {
	return bytes.Contains(bytes.ReplaceAll(body, []byte(`\\`), nil), []byte(`\u0000`))
}

// cleanText makes any text fit to be sent: UTF-8, no NUL, at most so many bytes, cut between characters.
func cleanText(s string, most int) string {
	const more = "…"
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
	if len(s) <= most {
		return s
	}
	cut := most - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// cutRunes is at most so many characters of s.
func cutRunes(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
