package client

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Error is a refusal that the server explained.
type Error struct {
	Status    int       `json:"-"`
	Kind      string    `json:"kind"`
	Message   string    `json:"message"`
	Field     string    `json:"field"`
	Hint      string    `json:"hint"`
	RequestID string    `json:"requestId"`
	Problems  []Problem `json:"problems"`
	// Document is the answer as it came, nil where it was no API error.
	Document json.RawMessage `json:"-"`
}

// Problem is one thing wrong in a job file.
type Problem struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path"`
	ID       string `json:"id"`
	Message  string `json:"message"`
	Hint     string `json:"hint"`
	Excerpt  string `json:"excerpt"`
	Severity string `json:"severity"`
}

// Error is "field: message (hint)", and for a fault inside AX the id to look for.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	if e.Status == http.StatusUnauthorized {
		b.WriteString("; AX_TOKEN must be an API token of this AX")
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return b.String()
}

func isLost(err error) bool {
	var l *lost
	return errors.As(err, &l)
}

// lost is a call without an answer.
type lost struct {
	base string
	err  error
}

// Error says what most likely stands in the way.
func (l *lost) Error() string {
	var dns *net.DNSError
	var s *silent
	var op *net.OpError
	switch {
	case errors.As(l.err, &s):
		return "no answer from " + l.base + ": " + s.Error() + "; it may be frozen, overloaded or cut off"
	case errors.As(l.err, &op) && op.Op == "dial" && op.Timeout():
		return l.base + " cannot be reached: no connection came about in time; it may be cut off, or not be where AX_URL says"
	case errors.Is(l.err, syscall.ECONNREFUSED):
		return "nothing listens at " + l.base + ": start AX there, or set AX_URL to where it is"
	case errors.As(l.err, &dns):
		return "the host of " + l.base + " is not known: set AX_URL to where AX is"
	}
	return "no answer from " + l.base + ": " + l.err.Error()
}

// Unwrap gives the network's error.
func (l *lost) Unwrap() error { return l.err }

// Passing reports whether another try may succeed: there was no answer, or one that
// says that a part of AX is away just now.
func Passing(err error) bool {
	var l *lost
	var dns *net.DNSError
	if errors.As(err, &l) {
		return !errors.As(err, &dns) || dns.IsTemporary
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	}
	return false
}
