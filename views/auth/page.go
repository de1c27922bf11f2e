// Package auth holds the pages before a session: login and the first start.
package auth

import "github.com/axsched/ax/views/layout"

// LoginPage asks for name and password. Fields posted: name, password, next, csrf.
// Error says why the last try failed (wrong pair, throttled until when).
type LoginPage struct {
	Shell layout.Shell
	Name  string
	Next  string
	Error string
}

// SetupPage makes the first admin. Fields posted: token, name, password, repeat,
// csrf. NoToken is set when the link lacks its one-time token or it was used:
// then only the way to a new one is shown.
type SetupPage struct {
	Shell   layout.Shell
	Token   string
	Name    string
	NoToken bool
	Errors  map[string]string // by field; "" for the whole form
}
