package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed catalog
var files embed.FS

// catalogs is the embedded text, parsed at the first use. It panics on a file
// that is not a catalog: the files are part of the binary and the tests read them.
var catalogs = sync.OnceValue(func() map[string]map[string]message {
	all := map[string]map[string]message{}
	for _, lang := range Langs() {
		c, err := readCatalog(files, path.Join("catalog", lang))
		if err != nil {
			panic(err)
		}
		all[lang] = c
	}
	return all
})

// message is one text, or its plural forms.
type message struct {
	one, other string
	plural     bool
}

// UnmarshalJSON takes a string or {"one": …, "other": …}.
func (m *message) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &m.other)
	}
	forms := map[string]string{}
	if err := json.Unmarshal(data, &forms); err != nil {
		return err
	}
	for name, text := range forms {
		switch name {
		case "one":
			m.one = text
		case "other":
			m.other = text
		default:
			return fmt.Errorf("plural form %q: known are one and other", name)
		}
	}
	if m.other == "" {
		return fmt.Errorf("plural message lacks the form other")
	}
	m.plural = true
	return nil
}

// form picks the text for the number in args' "n".
func (m message) form(lang string, args []any) string {
	if !m.plural || m.one == "" {
		return m.other
	}
	n, ok := wholeNumber(argument(args, "n"))
	if text, written := argument(args, "n").(string); written { // of what travels as text: problems, errors
		digits, err := strconv.Atoi(text)
		n, ok = int64(digits), err == nil
	}
	if !ok || n < 0 {
		return m.other
	}
	digits := int(n % 1_000_000)
	if plural.Cardinal.MatchPlural(language.Make(lang), digits, 0, 0, 0, 0) == plural.One && n == int64(digits) {
		return m.one
	}
	return m.other
}

func readCatalog(fsys fs.FS, dir string) (map[string]message, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]message{}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		part := map[string]message{}
		if err := json.Unmarshal(data, &part); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for key, m := range part {
			if _, twice := all[key]; twice {
				return nil, fmt.Errorf("%s: key %q stands in another file of this language too", name, key)
			}
			all[key] = m
		}
	}
	return all, nil
}

// placeholder matches {name}, and {{…}} so that it can be left alone.
var placeholder = regexp.MustCompile(`\{\{[^{}]*\}\}|\{([a-zA-Z][a-zA-Z0-9_]*)\}`)

func fill(text string, args []any) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if found[1] == '{' {
			return found
		}
		name := found[1 : len(found)-1]
		value := argument(args, name)
		if value == nil {
			return "⟦" + name + "⟧"
		}
		if n, ok := wholeNumber(value); ok {
			return group(n)
		}
		return fmt.Sprint(value)
	})
}

func argument(args []any, name string) any {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == name {
			return args[i+1]
		}
	}
	return nil
}

func wholeNumber(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case int32:
		return int64(n), true
	}
	return 0, false
}
