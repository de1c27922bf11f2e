package i18n

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"unicode"

	"github.com/a-h/templ/parser/v2"
)

const root = "../../.."

// placeholders lists the distinct {names} of a text, sorted.
func placeholders(text string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if m[1] != "" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	sort.Strings(names)
	return names
}

// TestCatalogsAgree wants every key in both languages with the same placeholders.
func TestCatalogsAgree(t *testing.T) {
	all := catalogs()
	for _, lang := range Langs() {
		for key, m := range all[lang] {
			for _, other := range Langs() {
				o, ok := all[other][key]
				if !ok {
					t.Errorf("%s has %q, %s lacks it", lang, key, other)
					continue
				}
				if want, got := placeholders(m.other), placeholders(o.other); !slices.Equal(want, got) {
					t.Errorf("%q: placeholders %v in %s, %v in %s", key, want, lang, got, other)
				}
			}
			if m.plural && !slices.Contains(placeholders(m.other), "n") {
				t.Errorf("%q in %s has plural forms but no {n}", key, lang)
			}
			for _, name := range placeholders(m.one) {
				if !slices.Contains(placeholders(m.other), name) {
					t.Errorf("%q in %s: {%s} stands in one form only", key, lang, name)
				}
			}
		}
	}
}

// literal matches a string of Go or templ that looks like a key, or like the
// beginning of one that is completed at run time.
var literal = regexp.MustCompile(`"([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*\.?)"`)

// sources calls visit for every file of the repository with one of the endings.
func sources(t *testing.T, visit func(path, text string), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", ".git", "testdata", "tmp", "data"}, d.Name()) {
			return filepath.SkipDir
		}
		fits := slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) })
		if d.IsDir() || !fits || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil {
			visit(path, string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEveryKeyIsUsed wants each key in the code, whole or as a beginning that
// ends in a dot.
func TestEveryKeyIsUsed(t *testing.T) {
	used, beginnings := map[string]bool{}, map[string]bool{}
	sources(t, func(_, text string) {
		for _, m := range literal.FindAllStringSubmatch(text, -1) {
			if strings.HasSuffix(m[1], ".") {
				beginnings[m[1]] = true
			} else {
				used[m[1]] = true
			}
		}
	}, ".go", ".templ")
	for key := range catalogs()[English] {
		found := used[key]
		for i, r := range key {
			found = found || r == '.' && beginnings[key[:i+1]]
		}
		if !found {
			t.Errorf("key %q is used nowhere", key)
		}
	}
}

// wanted matches the keys that views ask for.
var wanted = regexp.MustCompile(`i18n\.(?:T\(ctx, |In\([a-z.]+, )"([a-z0-9_.]+[a-z0-9_])"`)

// TestEveryKeyExists wants a message for each key that a page or a module asks for.
func TestEveryKeyExists(t *testing.T) {
	seen := 0
	sources(t, func(path, text string) {
		for _, m := range wanted.FindAllStringSubmatch(text, -1) {
			seen++
			if !Has(English, m[1]) {
				t.Errorf("%s asks for %q, which no catalog has", path, m[1])
			}
		}
	}, ".go", ".templ")
	if seen < 100 {
		t.Fatalf("only %d uses found: the pattern no longer fits the code", seen)
	}
}

// saidAttributes are those that people see or hear.
var saidAttributes = []string{"title", "aria-label", "placeholder", "alt"}

// TestTemplatesHoldNoWords wants every text of a page to come from a catalog. The
// name AX, signs and single keys are no words.
func TestTemplatesHoldNoWords(t *testing.T) {
	checked := 0
	sources(t, func(path, text string) {
		if strings.Contains(path, "storybook") {
			return
		}
		file, err := parser.ParseString(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, node := range file.Nodes {
			if tmpl, ok := node.(*parser.HTMLTemplate); ok {
				checked++
				checkNodes(t, path, tmpl.Children)
			}
		}
		for _, r := range text {
			if unicode.Is(unicode.Han, r) {
				t.Errorf("%s holds Chinese text: it belongs into a catalog", path)
				break
			}
		}
	}, ".templ")
	if checked < 50 {
		t.Fatalf("only %d templates found", checked)
	}
}

func checkNodes(t *testing.T, path string, nodes []parser.Node) {
	t.Helper()
	for _, n := range nodes {
		switch x := n.(type) {
		case *parser.Text:
			if wordy(x.Value) {
				t.Errorf("%s: %q stands in the page outside a catalog", path, x.Value)
			}
		case *parser.Element:
			checkAttributes(t, path, x.Attributes)
		}
		if c, ok := n.(parser.CompositeNode); ok {
			checkNodes(t, path, c.ChildNodes())
		}
	}
}

func checkAttributes(t *testing.T, path string, attributes []parser.Attribute) {
	t.Helper()
	for _, a := range attributes {
		c, ok := a.(*parser.ConstantAttribute)
		if !ok {
			continue
		}
		key, _ := c.Key.(parser.ConstantAttributeKey)
		if slices.Contains(saidAttributes, key.Name) && wordy(c.Value) {
			t.Errorf("%s: attribute %s=%q stands outside a catalog", path, key.Name, c.Value)
		}
		if key.Name == "style" || strings.HasPrefix(key.Name, "on") {
			t.Errorf("%s: attribute %s is forbidden by the security policy", path, key.Name)
		}
	}
}

// wordy reports whether a text holds a word: two letters in a row, other than AX.
func wordy(text string) bool {
	letters := 0
	for _, r := range strings.ReplaceAll(text, "AX", "") {
		if !unicode.IsLetter(r) {
			letters = 0
			continue
		}
		if letters++; letters > 1 {
			return true
		}
	}
	return false
}
