package plugin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/axsched/ax/worker/protocol"
)

// entry is a key of the manifest with its value.
type entry struct {
	key  string // as a path: types[0].params[1].kind
	name string // its last word
	line int
	node ast.Node
}

// draft is a manifest while it is read.
type draft struct {
	Manifest
	file   string
	faults []Fault
}

func (d *draft) add(e entry, format string, args ...any) {
	d.faults = append(d.faults, Fault{File: d.file, Line: e.line, Key: e.key, Text: fmt.Sprintf(format, args...)})
}

// parse reads a manifest's text, YAML or the JSON that is YAML too.
func parse(text []byte, file string) (Manifest, []Fault) {
	d := &draft{file: file, Manifest: Manifest{Pool: defaultPool, Timeouts: Timeouts{Start: 30 * time.Second, Prepare: 30 * time.Second, Install: 10 * time.Minute}}}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		line, said := 0, strings.TrimSpace(yaml.FormatError(err, false, false))
		if m := errorPlace.FindStringSubmatch(said); m != nil {
			line, _ = strconv.Atoi(m[1]) // digits
			said = m[2]
		}
		d.add(entry{line: line}, "%s", said)
		return d.Manifest, d.faults
	}
	var body ast.Node
	for _, doc := range tree.Docs {
		if doc.Body != nil && body == nil {
			body = doc.Body
		}
	}
	if body == nil {
		d.add(entry{line: 1}, "the file is empty; it begins with `manifest: v1`")
		return d.Manifest, d.faults
	}
	d.top(entry{line: 1, node: body})
	return d.Manifest, d.faults
}

var errorPlace = regexp.MustCompile(`(?s)^\[(\d+):\d+\] (.*?)(?:\n.*)?$`)

// fields gives the entries of a map by reading those that are known; each other key is a fault.
func (d *draft) fields(e entry, known map[string]func(entry), must ...string) {
	seen := map[string]bool{}
	for _, c := range d.entries(e) {
		seen[c.name] = true
		read, ok := known[c.name]
		if !ok {
			d.add(c, "there is no such key; known are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			continue
		}
		read(c)
	}
	for _, name := range must {
		if !seen[name] {
			d.add(entry{key: join(e.key, name), line: e.line}, "it is missing")
		}
	}
}

// entries lists the keys of a map, each once.
func (d *draft) entries(e entry) []entry {
	var values []*ast.MappingValueNode
	switch n := e.node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.add(e, "a map of keys is wanted")
		return nil
	}
	seen := map[string]bool{}
	var out []entry
	for _, v := range values {
		name := v.Key.GetToken().Value
		c := entry{key: join(e.key, name), name: name, line: v.Key.GetToken().Position.Line, node: v.Value}
		if seen[name] {
			d.add(c, "it stands there twice")
			continue
		}
		seen[name] = true
		out = append(out, c)
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// items lists a list.
func (d *draft) items(e entry) []entry {
	seq, ok := e.node.(*ast.SequenceNode)
	if !ok {
		d.add(e, "a list is wanted")
		return nil
	}
	out := make([]entry, len(seq.Values))
	for i, v := range seq.Values {
		out[i] = entry{key: fmt.Sprintf("%s[%d]", e.key, i), name: e.name, line: lineOf(v, e.line), node: v}
	}
	return out
}

// lineOf is the line on which a node begins.
func lineOf(n ast.Node, or int) int {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position.Line
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position.Line
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return or
}

// text reads a scalar as it is written, one line of at most so many bytes.
func (d *draft) text(e entry, most int) string {
	var s string
	switch n := e.node.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = strings.TrimRight(n.Value.Value, "\n")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		s = n.GetToken().Value
	default:
		d.add(e, "a text is wanted")
		return ""
	}
	switch {
	case len(s) > most:
		d.add(e, "%d bytes, more than the %d allowed", len(s), most)
	case strings.ContainsRune(s, 0):
		d.add(e, "it holds a NUL character")
	default:
		return s
	}
	return ""
}

// word reads a text that names something.
func (d *draft) word(e entry, form *regexp.Regexp, says string) string {
	s := d.text(e, maxWordBytes)
	if s != "" && !form.MatchString(s) || s == "" && d.textual(e) {
		d.add(e, "%q: %s", s, says)
		return ""
	}
	return s
}

// textual reports whether a node is a text at all, so that no second fault is told of it.
func (d *draft) textual(e entry) bool {
	n, ok := e.node.(*ast.StringNode)
	return ok && n.Value == ""
}

// whole reads a whole number between two.
func (d *draft) whole(e entry, least, most int) int {
	n, err := strconv.Atoi(d.text(e, maxWordBytes))
	if err != nil || n < least || n > most {
		d.add(e, "a whole number from %d to %d is wanted", least, most)
		return least
	}
	return n
}

// seconds reads a span.
func (d *draft) seconds(e entry) time.Duration {
	return time.Duration(d.whole(e, 1, 3600)) * time.Second
}

func (d *draft) boolean(e entry) bool {
	b, ok := e.node.(*ast.BoolNode)
	if !ok {
		d.add(e, "true or false is wanted")
		return false
	}
	return b.Value
}

// words reads a text, or one for each language.
func (d *draft) words(e entry) protocol.Words {
	switch e.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		out := protocol.Words{}
		for _, c := range d.entries(e) {
			if c.name != "en" && c.name != "zh-CN" {
				d.add(c, "a language of AX is wanted: en or zh-CN")
				continue
			}
			out[c.name] = d.text(c, maxWordBytes)
		}
		return out
	}
	return protocol.Words{"": d.text(e, maxWordBytes)}
}

// parseParams reads the parameters of one type as describe answers with them.
func parseParams(text []byte, file string) ([]protocol.TypeParam, []Fault) {
	d := &draft{file: file}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil || len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, []Fault{{File: file, Key: "params", Text: "a list is wanted"}}
	}
	params := d.params(entry{key: "params", name: "params", line: 1, node: tree.Docs[0].Body})
	for i := range d.faults {
		d.faults[i].Line = 0 // of an answer that nobody sees
	}
	return params, d.faults
}
