// Package ui holds the pieces that every page is made of: state badges, tables'
// foot, fields, buttons, dialogs, times and small pictures. It owns how a state
// looks and is said; it refuses to know any page.
package ui

import "time"

// Status is a state and the label beside it, in the words of the domain
// ("running", "queued"). The zero value is a date with nothing on it.
type Status struct {
	State string
	Label string
}

// Action is something that a person may do. Without URL it is not shown. With
// Denied it is shown disabled, and Denied says why and who could.
type Action struct {
	URL    string
	Denied string
}

// Shown reports whether the action has a place on the page.
func (a Action) Shown() bool { return a.URL != "" || a.Denied != "" }

// Option is one choice of a select or a filter.
type Option struct {
	Value string
	Text  string
}

// Tab is one of several views of the same thing. Count < 0 shows no count.
type Tab struct {
	Text   string
	URL    string
	Count  int64
	Active bool
	Alarm  bool
}

// Pager is keyset paging: there is no page number and no total. Empty URLs are
// ends of the list.
type Pager struct {
	FirstURL string
	NextURL  string
	// PartialUntil is set when the search stopped early: everything back to this
	// moment was looked at, NextURL goes on from there.
	PartialUntil time.Time
}

// Run is one bar of a strip of past runs. URL may be empty.
type Run struct {
	Status   Status
	BizDate  string
	Duration time.Duration
	URL      string
}

// Fire is a planned moment in its job's zone: At carries that zone. Note says
// what is odd about it (clock change, catch-up) or is empty.
type Fire struct {
	At      time.Time
	BizDate string // that it is about; empty: not shown
	Note    string
	Passed  []string // what its calendar passed over since the one before
}

// Ref names a thing and leads to it. Title may be empty: then ID is shown alone.
type Ref struct {
	ID    string
	Title string
	URL   string
	Gone  time.Time // when it was deleted; zero: it is there
}

// Namesake is another job of the same name, there or deleted at Gone.
type Namesake struct {
	ID   string
	URL  string // of the same page about it
	Gone time.Time
}

// Name is the title if there is one, else the id.
func (r Ref) Name() string {
	if r.Title != "" {
		return r.Title
	}
	return r.ID
}

// FieldError is what is wrong with one field of a form.
type FieldError struct {
	Field   string
	Message string
}

// ErrorOf returns the message for field, or "".
func ErrorOf(errors []FieldError, field string) string {
	for _, e := range errors {
		if e.Field == field {
			return e.Message
		}
	}
	return ""
}
