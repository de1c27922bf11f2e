package job

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// entry is one key of a map with its value.
type entry struct {
	key   string
	path  string // of the value
	keyAt Place
	at    Place // of the value
	node  ast.Node
}

// entries lists a map's keys in order; ok is false when the node is no map. Keys that are no
// plain text, and keys given twice, are problems and are left out.
func (r *reader) entries(e entry) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := e.node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.wrongType(e, "map")
		return nil, false
	}
	seen := map[string]Place{}
	var out []entry
	for _, v := range values {
		at := r.place(v.Key.GetToken())
		key, plain := keyText(v.Key)
		if !plain {
			r.add(at, e.path, idKeyNotText, "")
			continue
		}
		if first, twice := seen[key]; twice {
			r.add(at, e.path, idKeyTwice, "", "key", clip(key), "line", strconv.Itoa(first.Line))
			continue
		}
		seen[key] = at
		child := entry{key: key, path: join(e.path, key), keyAt: at, at: r.valuePlace(v), node: v.Value}
		r.places[child.path], r.nodes[child.path] = child.at, child
		out = append(out, child)
	}
	return out, true
}

func keyText(key ast.MapKeyNode) (string, bool) {
	switch key.Type() {
	case ast.StringType, ast.IntegerType, ast.BoolType, ast.FloatType, ast.NullType:
		return key.GetToken().Value, true
	}
	return "", false
}

// valuePlace is where a value begins; for an absent one, its key.
func (r *reader) valuePlace(v *ast.MappingValueNode) Place {
	if t := v.Value.GetToken(); v.Value.Type() != ast.NullType || t.Type != token.ImplicitNullType {
		return r.nodePlace(v.Value)
	}
	return r.place(v.Key.GetToken())
}

// nodePlace is where a node begins: a map's token is its first colon, so its first key counts.
func (r *reader) nodePlace(n ast.Node) Place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 && !n.IsFlowStyle {
			return r.place(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return r.place(n.Key.GetToken())
	}
	return r.place(n.GetToken())
}

// items lists a sequence.
func (r *reader) items(e entry) ([]entry, bool) {
	seq, ok := e.node.(*ast.SequenceNode)
	if !ok {
		r.wrongType(e, "list")
		return nil, false
	}
	out := make([]entry, len(seq.Values))
	for i, v := range seq.Values {
		path := e.path + "[" + strconv.Itoa(i) + "]"
		at := r.nodePlace(v)
		out[i] = entry{key: e.key, path: path, keyAt: at, at: at, node: v}
		r.places[path], r.nodes[path] = at, out[i]
	}
	return out, true
}

// scalar gives a value's text as it was written: 007 stays 007 and on stays on. Empty values,
// lists and maps are no scalars.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// isNull reports whether a value is null, or not there.
func isNull(n ast.Node) bool { return n == nil || n.Type() == ast.NullType }

// text reads any scalar as text.
func (r *reader) text(e entry) (string, bool) {
	s, ok := scalar(e.node)
	if !ok {
		r.wrongType(e, "text")
		return "", false
	}
	if strings.ContainsRune(s, 0) {
		r.add(e.at, e.path, idTextNUL, "", "key", e.key)
		return "", false
	}
	return s, true
}

// line reads text of one line and at most n characters, without blanks around it.
func (r *reader) line(e entry, n int) string {
	s, ok := r.text(e)
	if !ok {
		return ""
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		r.add(e.at, e.path, idTextControl, "", "key", e.key)
		return ""
	}
	return r.capped(e, strings.TrimSpace(s), n)
}

func (r *reader) capped(e entry, s string, n int) string {
	if len([]rune(s)) > n {
		r.add(e.at, e.path, idTextLong, "", "key", e.key, "n", strconv.Itoa(len([]rune(s))), "max", strconv.Itoa(n))
		return ""
	}
	return s
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// whole reads a whole number from least to most. Quoted numbers are refused, and so is a
// leading zero, which YAML readers take for octal or for text as they please.
func (r *reader) whole(e entry, least, most int) (int, bool) {
	s, ok := scalar(e.node)
	if !ok || e.node.GetToken().Type == token.DoubleQuoteType || e.node.GetToken().Type == token.SingleQuoteType {
		r.wrongType(e, "number")
		return 0, false
	}
	if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0123456789") == "" {
		r.add(e.at, e.path, idNumberZero, hintNumberZero, "key", e.key, "value", clip(s), "suggestion", strings.TrimLeft(s[:len(s)-1], "0")+s[len(s)-1:])
		return 0, false
	}
	negative := strings.HasPrefix(s, "-") && decimal.MatchString(s[1:])
	if !decimal.MatchString(s) && !negative {
		r.wrongType(e, "number")
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		r.add(e.at, e.path, idNumberRange, "", "key", e.key, "value", clip(s), "min", strconv.Itoa(least), "max", strconv.Itoa(most))
		return 0, false
	}
	return n, true
}

func (r *reader) boolean(e entry) (value, ok bool) {
	if b, is := e.node.(*ast.BoolNode); is {
		return b.Value, true
	}
	r.wrongType(e, "boolean")
	return false, false
}

// choice reads one of a few words. Words of the design that are not built are told apart from
// words that are none.
func (r *reader) choice(e entry, built, unbuilt []string) (string, bool) {
	s, ok := r.text(e)
	if !ok {
		return "", false
	}
	if slices.Contains(built, s) {
		return s, true
	}
	if slices.Contains(unbuilt, s) {
		r.add(e.at, e.path, idNotBuiltValue, hintOneOf, "key", e.key, "value", s, "known", strings.Join(built, ", "))
		return "", false
	}
	args := []string{"key", e.key, "value", clip(s), "known", strings.Join(built, ", ")}
	if near := nearest(s, built); near != "" {
		r.add(e.at, e.path, idValueUnknown, hintMeant, append(args, "suggestion", near)...)
	} else {
		r.add(e.at, e.path, idValueUnknown, hintOneOf, args...)
	}
	return "", false
}

// wrongType says what was wanted and what is there.
func (r *reader) wrongType(e entry, want string) {
	hint := map[string]string{"number": hintWantNumber, "boolean": hintWantBoolean, "list": hintWantList}[want]
	args := []string{"key", e.key}
	if value, ok := scalar(e.node); ok {
		args = append(args, "value", clip(value))
	}
	id := map[string]string{"map": idWantMap, "list": idWantList, "text": idWantText, "number": idWantNumber, "boolean": idWantBoolean}[want]
	switch e.node.(type) {
	case *ast.NullNode:
		id, hint = idValueEmpty, ""
	case *ast.SequenceNode:
		args = append(args, "value", "[…]")
	case *ast.MappingNode, *ast.MappingValueNode:
		args = append(args, "value", "{…}")
	}
	r.add(e.at, e.path, id, hint, args...)
}

// asJSON turns a value into JSON, keys in the order written.
func (r *reader) asJSON(e entry) (json.RawMessage, bool) {
	switch n := e.node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		children, _ := r.entries(e)
		return r.jsonOf(children, '{', '}')
	case *ast.SequenceNode:
		children, _ := r.items(e)
		return r.jsonOf(children, '[', ']')
	case *ast.NullNode:
		return json.RawMessage("null"), true
	case *ast.BoolNode:
		return strconv.AppendBool(nil, n.Value), true
	case *ast.IntegerNode, *ast.FloatNode:
		if s := n.GetToken().Value; json.Valid([]byte(s)) {
			return json.RawMessage(s), true
		}
	}
	s, ok := r.text(e)
	return quoteJSON(s), ok
}

func (r *reader) jsonOf(children []entry, open, shut byte) (json.RawMessage, bool) {
	out, ok := []byte{open}, true
	for i, c := range children {
		if i > 0 {
			out = append(out, ',')
		}
		if open == '{' {
			out = append(append(out, quoteJSON(c.key)...), ':')
		}
		value, fine := r.asJSON(c)
		ok = ok && fine
		out = append(out, value...)
	}
	return append(out, shut), ok
}

// join steps into a map. Dots and brackets in a key become middle dots, so that parent still
// finds what is around it.
func join(path, key string) string {
	if strings.ContainsAny(key, ".[]") {
		key = strings.NewReplacer(".", "·", "[", "·", "]", "·").Replace(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
