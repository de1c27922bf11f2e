// Package sqltext reads SQL as far as a scheduler must: where one statement ends and the next begins, and what surrounds a value.
//
// It owns the script of an sql task on its way from the center to a worker: pieces of text as the author wrote them, and
// values beside them, which become bound parameters and never text. It refuses a value at a place where no parameter can stand
// (a string, a comment, a quoted name, a part of a word), and knows no server: a statement that is wrong otherwise is for the
// database to refuse. Center and worker both read a script with it, the center at save, the worker in the dialect of the
// source. Standard library only; pure functions, safe for concurrent use.
package sqltext

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect is whose SQL it is.
type Dialect string

// The dialects.
const (
	MySQL    Dialect = "mysql" // and MariaDB
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Dialects are all of them.
func Dialects() []Dialect { return []Dialect{MySQL, Postgres, SQLite} }

// Piece is a stretch of SQL text, or a value that stands between two.
type Piece struct {
	Text  string  `json:"text,omitempty"`
	Value *string `json:"value,omitempty"`
}

// Statement is one statement of a script, without what surrounds it and without its semicolon.
type Statement struct {
	Pieces []Piece
	Line   int // of the script on which it begins, from 1
	// words are those outside of quotes, comments and parentheses, in upper case; "(" stands for a parenthesis.
	words []string
}

// Fault says what is wrong with a script, and at which of its pieces.
type Fault struct {
	Piece int    // its number, from 0
	Line  int    // of the script, from 1
	Kind  string // one of those below
}

// The kinds of faults.
const (
	InString    = "string"   // a value inside of a string
	InComment   = "comment"  // inside of a comment
	InName      = "name"     // inside of a quoted name
	InWord      = "word"     // directly beside a name, a number or another value
	Unclosed    = "unclosed" // a quote or comment that never ends
	NoStatement = "empty"    // there is no statement at all
	Commits     = "commits"  // a statement that ends the transaction which surrounds it
	Several     = "several"  // more than one statement where one must stand
)

// Error says it in English.
func (f *Fault) Error() string {
	text := map[string]string{
		InString:    "a value stands inside of a string: take the quotes away, a value is bound as a whole",
		InComment:   "a value stands inside of a comment",
		InName:      "a value stands inside of a quoted name, and a name can be no value",
		InWord:      "a value stands directly beside a word, a number or another value: put a blank or an operator between; it can be no part of a name",
		Unclosed:    "a quote or a comment that begins here is never closed",
		NoStatement: "there is no statement",
		Commits:     "a statement here ends the transaction in which all run: take it out, or say transaction: false",
		Several:     "more than one statement stands where one must",
	}[f.Kind]
	return fmt.Sprintf("line %d: %s", f.Line, text)
}

// Split parts a script into its statements as the dialect reads it. The error is a *Fault.
func Split(d Dialect, script []Piece) ([]Statement, error) {
	l := &lexer{dialect: d, line: 1}
	for i, p := range script {
		if p.Value != nil {
			l.in = append(l.in, item{piece: i, value: p.Value})
			continue
		}
		for _, r := range p.Text {
			l.in = append(l.in, item{piece: i, r: r})
		}
	}
	if err := l.run(); err != nil {
		return nil, err
	}
	if len(l.out) == 0 {
		return nil, &Fault{Line: 1, Kind: NoStatement}
	}
	return l.out, nil
}

// One reads a script that is one statement as a whole, also where semicolons stand in it, as in the body of a trigger.
func One(d Dialect, script []Piece) (Statement, error) {
	all, err := Split(d, script)
	if err != nil {
		return Statement{}, err
	}
	one := all[0]
	one.Pieces = script
	return one, nil
}

// Bind writes a statement with its placeholders, and the values that belong to them.
func (s Statement) Bind(d Dialect) (query string, args []any) {
	var b strings.Builder
	for _, p := range s.Pieces {
		if p.Value == nil {
			b.WriteString(p.Text)
			continue
		}
		args = append(args, *p.Value)
		if d == Postgres {
			b.WriteString("$" + strconv.Itoa(len(args)))
		} else {
			b.WriteByte('?')
		}
	}
	return b.String(), args
}

// Text is the statement for people, with {} in place of its values.
func (s Statement) Text() string {
	var b strings.Builder
	for _, p := range s.Pieces {
		if p.Value != nil {
			b.WriteString("{}")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// verb is the word that says what the statement does: behind a WITH it comes later.
func (s Statement) verb() string {
	if len(s.words) == 0 {
		return ""
	}
	if s.words[0] != "WITH" {
		return s.words[0]
	}
	for _, w := range s.words[1:] {
		switch w {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "VALUES", "TABLE":
			return w
		}
	}
	return "SELECT"
}

// Rows reports whether the statement answers with rows rather than with how many it changed.
func (s Statement) Rows() bool {
	switch s.verb() {
	case "SELECT", "(", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "VALUES", "TABLE", "PRAGMA", "CALL", "CHECK", "FETCH", "EXECUTE":
		return true
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE":
		return s.has("RETURNING")
	}
	return false
}

// Ends reports whether the statement begins or ends a transaction by itself.
func (s Statement) Ends() bool {
	if len(s.words) == 0 {
		return false
	}
	switch s.words[0] {
	case "BEGIN", "COMMIT", "START", "END", "ABORT":
		return true
	case "ROLLBACK":
		return !s.has("TO")
	}
	return false
}

func (s Statement) has(word string) bool {
	for _, w := range s.words {
		if w == word {
			return true
		}
	}
	return false
}
