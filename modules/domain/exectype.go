package domain

import (
	"regexp"
	"slices"
)

// BuiltInTypes are the executor types that AX itself knows, in the order in which they are offered: their settings are
// judged at save. Every other word is a type of plug-ins and external executors, whose settings are theirs alone.
func BuiltInTypes() []string { return []string{"shell", "python", "http", "sql", "noop"} }

// BuiltIn reports whether AX knows a type itself.
func BuiltIn(kind string) bool { return slices.Contains(BuiltInTypes(), kind) }

// MaxTypeBytes bounds the word that names a type.
const MaxTypeBytes = 63

var typeWord = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// TypeWord reports whether a word can name a type.
func TypeWord(kind string) bool { return typeWord.MatchString(kind) }

// TypeOffer is a type that targets which are up announce.
type TypeOffer struct {
	Type string
	By   []string // the targets, by name
}
