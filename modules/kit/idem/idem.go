// Package idem is the vocabulary of "once": what names a creating call, and what
// was answered to it. It owns two types and the port between whoever takes calls
// (kit/httpx) and whoever keeps their answers; it stores nothing.
package idem

import "context"

// Key names one creating call of one principal. Hash is the hash of the caller's
// own key; "" means that the caller gave none, so nothing is kept. Body is the hash
// of everything that was asked: the same key with another body is a conflict.
type Key struct {
	Principal string // at most 100 bytes
	Route     string // at most 100 bytes
	Hash      string // hex SHA-256 or ""
	Body      string // hex SHA-256
}

// Answer is what was answered. Location is set for a redirect.
type Answer struct {
	Status   int    `json:"-"`
	Location string `json:"location,omitempty"`
	Body     string `json:"body,omitempty"`
}

// Ledger runs an effect at most once per key. Safe for concurrent use.
type Ledger interface {
	// Once runs effect and keeps its answer, both in one transaction, which effect's
	// context carries. If the key was answered before, that answer is returned and
	// effect does not run; if it was answered to another body, the error is of kind
	// Conflict. An error of effect leaves nothing behind, so the call may be repeated.
	Once(ctx context.Context, k Key, effect func(ctx context.Context) (Answer, error)) (a Answer, replayed bool, err error)
}
