package cron

import (
	"fmt"
	"strings"
)

// Error says why an expression was refused.
type Error struct {
	Dialect Dialect // the dialect it was read in; Auto when that was not yet known
	Pos     int     // byte offset of the fault in the expression, from 0
	Field   string  // second, minute, hour, day, month, weekday, year; "" = the whole expression
	Msg     string  // what is wrong, in English
	Hint    string  // how to mend it; may be empty

	// ID and HintID name the two sentences for whoever says them in another language, with Args for
	// their {places}; HintID is "" where Hint is.
	ID, HintID string
	Args       map[string]string
}

// sentence is one that an error is made of: its name and its English, with {places}.
type sentence struct{ id, english string }

func (s sentence) filled(args map[string]string) string {
	pairs := make([]string, 0, 2*len(args))
	for name, value := range args {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(s.english)
}

// refusal is an error at a place, of no field; args are name, value, name, value….
func refusal(dialect Dialect, pos int, fault, hint sentence, args ...string) *Error {
	e := &Error{Dialect: dialect, Pos: pos, ID: fault.id, HintID: hint.id, Args: make(map[string]string, len(args)/2)}
	for i := 0; i+1 < len(args); i += 2 {
		e.Args[args[i]] = args[i+1]
	}
	e.Msg, e.Hint = fault.filled(e.Args), hint.filled(e.Args)
	return e
}

// noHint is the hint where there is none.
func noHint() sentence { return sentence{} }

// Error is one line: dialect, field, position counted from 1, fault, hint.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cron")
	if e.Dialect != Auto {
		fmt.Fprintf(&b, " (%s)", e.Dialect)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + " field, ")
	}
	fmt.Fprintf(&b, "position %d: %s", e.Pos+1, e.Msg)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// quote shows a piece of the user's text, cut to a length that fits a message.
func quote(s string) string {
	const most = 24
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
