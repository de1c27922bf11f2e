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
	Msg     string  // what is wrong
	Hint    string  // how to mend it; may be empty
}

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
