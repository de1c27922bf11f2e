package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// readYAML finds the keys in a file's text. Messages never quote the text around a fault: it may hold a secret.
func readYAML(file string, text []byte, keys []key, problems *Problems) map[string]given {
	r := fileReader{file: filepath.Base(file), keys: keys, problems: problems, found: map[string]given{}}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		problems.add("", r.file, "no YAML: %s", plain(err))
		return nil
	}
	for i, doc := range parsed.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.NullNode:
		case ast.MapNode:
			if i > 0 {
				problems.add("", r.at(doc.Body), "a second document; one file is one set-up")
				continue
			}
			r.mapping("", body)
		default:
			problems.add("", r.at(doc.Body), "wants lines of the form key: value")
		}
	}
	return r.found
}

// plain is the parser's message without the lines around the fault.
func plain(err error) string {
	var fault yaml.Error
	if errors.As(err, &fault) {
		if token := fault.GetToken(); token != nil && token.Position != nil {
			return fmt.Sprintf("line %d, column %d: %s", token.Position.Line, token.Position.Column, fault.GetMessage())
		}
		return fault.GetMessage()
	}
	return "it can't be parsed"
}

type fileReader struct {
	file     string
	keys     []key
	problems *Problems
	found    map[string]given
}

func (r *fileReader) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", r.file, n.GetToken().Position.Line)
}

// mapping reads the entries of a mapping whose keys start with prefix.
func (r *fileReader) mapping(prefix string, m ast.MapNode) {
	for entries := m.MapRange(); entries.Next(); {
		name := prefix + entries.Key().GetToken().Value
		source := r.at(entries.Key())
		value := entries.Value()
		inner, isMap := value.(ast.MapNode)
		switch known, section := r.what(name); {
		case section && isMap:
			r.mapping(name+".", inner)
		case section && value.Type() == ast.NullType:
		case section:
			r.problems.add(name, source, "wants keys below it")
		case known == nil:
			r.problems.add(name, source, "no such key%s", hint(name, namesOf(r.keys)))
		default:
			r.leaf(*known, value, source)
		}
	}
}

// what says whether name is a key, or a section that holds keys.
func (r *fileReader) what(name string) (known *key, section bool) {
	for i, k := range r.keys {
		if k.name == name {
			return &r.keys[i], false
		}
		if strings.HasPrefix(k.name, name+".") {
			return nil, true
		}
	}
	return nil, false
}

func (r *fileReader) leaf(k key, value ast.Node, source string) {
	isList := k.list()
	list, givenList := value.(*ast.SequenceNode)
	if isList != givenList && value.Type() != ast.NullType {
		r.problems.add(k.name, source, "wants %s", k.wants())
		return
	}
	text, ok := scalar(value)
	if givenList {
		text, ok = words(list)
	}
	if !ok {
		r.problems.add(k.name, source, "wants %s", k.wants())
		return
	}
	if text != "" {
		r.found[k.name] = given{text, source}
	}
}

// scalar is the text of a plain, quoted or block value as it is written; a number keeps its leading zeros.
func scalar(n ast.Node) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		return "", true
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), true
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// words joins a list's scalars as an environment variable would: with commas, which no word may hold.
func words(list *ast.SequenceNode) (text string, ok bool) {
	parts := make([]string, len(list.Values))
	for i, v := range list.Values {
		part, ok := scalar(v)
		if !ok || strings.Contains(part, ",") {
			return "", false
		}
		parts[i] = part
	}
	return strings.Join(parts, ","), true
}
