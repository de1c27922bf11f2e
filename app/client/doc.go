// Package client speaks AX's JSON API for the binary's own commands and the demo.
//
// It owns the token, the idempotency key of each change, the bounded repetition of
// calls that got no answer, event streams that go on where they broke off, and the
// one translation of an API error into an [Error]. It refuses to know what a call is
// about: answers are handed on as JSON, so that a command never hides a field that
// the server sent.
package client
