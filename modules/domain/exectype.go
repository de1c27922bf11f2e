package domain

import (
	"cmp"
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
	// Description is what it takes, as the target with the newest word of it says; Params nil: nobody says so.
	Description TypeDescription
}

// Catalog is what a worker told of its types and plug-ins.
type Catalog struct {
	Worker  string            `json:"worker"`
	Boot    int64             `json:"boot"`
	Rev     string            `json:"rev"` // the worker's word for this content
	Types   []TypeDescription `json:"types"`
	Plugins []PluginState     `json:"plugins"`
}

// TypeDescription says what a type takes.
type TypeDescription struct {
	Type    string `json:"type"`
	Version string `json:"version"`
	Plugin  string `json:"plugin"` // that runs it; "" = it is built into the worker
	About   Words  `json:"about"`
	// Params are the keys of exec; nil: nobody knows them.
	Params []TypeParam `json:"params"`
}

// TypeParam is one key of an exec.
type TypeParam struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // text, number, boolean, list or map
	Required bool     `json:"required"`
	Default  string   `json:"default"`
	Choices  []string `json:"choices"`
	Label    Words    `json:"label"`
	About    string   `json:"about"` // in English
	Help     Words    `json:"help"`  // the same by language
}

// LabelIn is what people call the parameter in a language: its name where nobody gave it a label.
func (p TypeParam) LabelIn(lang string) string { return cmp.Or(p.Label.In(lang), p.Name) }

// HelpIn is what the parameter is for, in a language where it is said.
func (p TypeParam) HelpIn(lang string) string { return cmp.Or(p.Help.In(lang), p.About) }

// The kinds of a parameter.
const (
	KindText    = "text"
	KindNumber  = "number"
	KindBoolean = "boolean"
	KindList    = "list"
	KindMap     = "map"
)

// Words are a text by language.
type Words map[string]string

// In gives the text in a language, else the one for all languages, else the English one.
func (w Words) In(lang string) string {
	for _, l := range []string{lang, "", "en"} {
		if text := w[l]; text != "" {
			return text
		}
	}
	return ""
}

// PluginState is how a plug-in of a worker stands.
type PluginState struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Types   []string `json:"types"`
	State   string   `json:"state"` // loading, ready or failed
	Fault   string   `json:"fault"` // why it is not ready
}

// The states of a plug-in.
const (
	PluginLoading = "loading"
	PluginReady   = "ready"
	PluginFailed  = "failed"
)
