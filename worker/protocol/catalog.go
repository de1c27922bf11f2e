package protocol

import "encoding/json"

// Catalog is what a worker can run and with what, told once per boot and change and never in a heartbeat, which only names
// its Rev.
type Catalog struct {
	Worker string `json:"worker"`
	Boot   int64  `json:"boot"`
	// Rev is equal where all else is equal.
	Rev     string            `json:"rev"`
	Types   []TypeDescription `json:"types"`
	Plugins []PluginState     `json:"plugins,omitempty"`
}

// MaxCatalog bounds a catalogue as JSON, in bytes. What does not fit is told without its words.
const MaxCatalog = 512 << 10

// TypeDescription tells people and forms what a type takes.
type TypeDescription struct {
	Type    string `json:"type"`
	Version string `json:"version"`
	// Plugin is the plug-in that runs it; "" = it is built into the worker.
	Plugin string `json:"plugin,omitempty"`
	// About says what it does, by language ("en", "zh-CN"); "" is the language of those that are missing.
	About Words `json:"about,omitempty"`
	// Threadless types take no thread of a lane: Run returns at once, has nothing to say and gets no out.
	Threadless bool `json:"threadless,omitempty"`
	// Params are the keys of a job's exec; null = whatever the job gives.
	Params []TypeParam `json:"params"`
}

// TypeParam is one key of a job's exec.
type TypeParam struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // one of the kinds below
	Required bool     `json:"required,omitempty"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	// Label is what people call it; missing: its name. About says more, in English; Help says that in any language.
	Label Words  `json:"label,omitempty"`
	About string `json:"about"`
	Help  Words  `json:"help,omitempty"`
}

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
	Name    string   `json:"name"` // of its folder, where its manifest can't be read
	Version string   `json:"version,omitempty"`
	Types   []string `json:"types,omitempty"` // that it would run
	// State is loading, ready or failed; Fault says why it is not ready.
	State string `json:"state"`
	Fault string `json:"fault,omitempty"`
}

// The states of a plug-in.
const (
	PluginLoading = "loading"
	PluginReady   = "ready"
	PluginFailed  = "failed"
)

// Fitted is the catalogue as JSON of at most MaxCatalog bytes: where it is more, the words go first.
func (c Catalog) Fitted() ([]byte, error) {
	out, err := json.Marshal(c)
	if err != nil || len(out) <= MaxCatalog {
		return out, err
	}
	bare := make([]TypeDescription, len(c.Types))
	for i, t := range c.Types {
		bare[i] = TypeDescription{Type: t.Type, Version: t.Version, Plugin: t.Plugin, Threadless: t.Threadless}
	}
	c.Types = bare
	return json.Marshal(c)
}
