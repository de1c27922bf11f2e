// Package profile holds the page on which people look after their own account:
// password, language, theme, time zone, API tokens.
package profile

import (
	"time"

	"github.com/axsched/ax/views/layout"
)

// Page is the caller's own account. Posted are: to /prefs lang, theme, zone, next;
// to /profile/password old, password, repeat; to /profile/tokens name, days (0: for
// ever); csrf with each. Key makes a token once however often it is sent.
type Page struct {
	layout.Shell
	Roles  []Role
	Tokens []Token
	Made   *Made // set on the answer to the making of a token, never again
	URL    string
	Key    string

	PasswordErrors map[string]string // by field; "" for the whole form
	TokenName      string
	TokenError     string
}

// Role is what somebody is in a project. Project "" is every project.
type Role struct {
	Project string
	Role    string
}

// Token is an API token without its secret. The zero Expires is never.
type Token struct {
	ID      string
	Name    string
	Created time.Time
	Expires time.Time
	Expired bool
}

// Made is a token with its secret.
type Made struct {
	Name   string
	Secret string
}
