package domain

import (
	"errors"
	"fmt"
)

// Kind says what sort of failure an Error is. Edges translate kinds once:
// stores into kinds, kinds into HTTP answers and exit codes.
type Kind string

// The kinds. Anything that is not an *Error is an internal fault.
const (
	Invalid     Kind = "invalid"     // the input is wrong; says where and how to mend it
	NotFound    Kind = "not_found"   // no such thing, or not in a project that the caller may see
	Conflict    Kind = "conflict"    // the row moved meanwhile, or the act does not fit its state
	Exists      Kind = "exists"      // a unique thing is there already
	Denied      Kind = "denied"      // the caller may not
	Unauthentic Kind = "unauthentic" // the caller is not known
	TooLarge    Kind = "too_large"   // over a stated limit
	Unavailable Kind = "unavailable" // a store or a role is away; try again
)

// Error is a failure that a person can act on. Msg is an English sentence that
// says what is wrong; Hint, if any, how to mend it; Field, if any, where. ID and
// Args name the catalog entry that pages show instead of Msg (empty ID: Msg).
type Error struct {
	Kind  Kind
	Field string
	Msg   string
	Hint  string
	ID    string
	Args  map[string]string
	Err   error
}

// Error renders "field: message (hint)".
func (e *Error) Error() string {
	s := e.Msg
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause, if one was kept.
func (e *Error) Unwrap() error { return e.Err }

// Fail makes an Error of a kind from a format.
func Fail(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

// At names the field that is wrong.
func (e *Error) At(field string) *Error { e.Field = field; return e }

// WithHint says how to mend it.
func (e *Error) WithHint(hint string) *Error { e.Hint = hint; return e }

// Coded names the catalog entry of the message, with its placeholders in pairs.
func (e *Error) Coded(id string, pairs ...string) *Error {
	e.ID = id
	e.Args = make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		e.Args[pairs[i]] = pairs[i+1]
	}
	return e
}

// KindOf is the kind of the first *Error in the chain, "" if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Is reports whether err is of the kind.
func Is(err error, k Kind) bool { return KindOf(err) == k }
