package job

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxNesting bounds lists and maps inside one another.
const maxNesting = 20

// reader turns one document into a job and collects what is wrong with it.
type reader struct {
	opts     Options
	doc      document
	lines    []string // of the whole file
	places   map[string]Place
	nodes    map[string]entry
	problems Problems
}

// add notes an error; args are pairs for the message.
func (r *reader) add(at Place, path, id, hint string, args ...string) {
	r.problems = append(r.problems, Problem{File: r.opts.File, Path: path, Line: at.Line, Column: at.Column,
		ID: id, Hint: hint, Args: pairs(args...), Source: lineOf(r.lines, at.Line)})
}

// warn notes a warning.
func (r *reader) warn(at Place, path, id, hint string, args ...string) {
	r.add(at, path, id, hint, args...)
	r.problems[len(r.problems)-1].Warning = true
}

// root parses the document's YAML; nil after a problem.
func (r *reader) root() ast.Node {
	tokens := lexer.Tokenize(r.doc.text)
	if r.refuseTokens(tokens) {
		return nil
	}
	file, err := parse(tokens)
	if err != nil {
		r.syntax(err)
		return nil
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			return d.Body
		}
	}
	r.add(Place{r.doc.first, 1}, "", idFileEmpty, "")
	return nil
}

// parse guards against a panic in the YAML library: a text from outside must never end the
// process that reads it.
func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", p)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// refuseTokens turns down what a job file has no use for before it is parsed: anchors and
// aliases (and with them alias bombs), merge keys, type tags, and absurd nesting.
func (r *reader) refuseTokens(tokens token.Tokens) bool {
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AliasType:
			r.alias(r.place(t))
			return true
		case token.AnchorType:
			r.add(r.place(t), "", idYAMLAnchor, hintYAMLAnchor)
			return true
		case token.MergeKeyType:
			r.add(r.place(t), "", idYAMLMerge, hintYAMLAnchor)
			return true
		case token.TagType:
			r.add(r.place(t), "", idYAMLTag, hintYAMLTag, "tag", clip(t.Value))
			return true
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxNesting || t.Position != nil && t.Position.IndentNum > 40*maxNesting {
			r.add(r.place(t), "", idYAMLDeep, "", "max", fmt.Sprint(maxNesting))
			return true
		}
	}
	return false
}

var cronLine = regexp.MustCompile(`^\s*["']?cron["']?\s*:\s+\*`)

// alias explains a leading star: an unquoted cron is what people mean by it.
func (r *reader) alias(at Place) {
	line := lineOf(r.lines, at.Line)
	if cronLine.MatchString(line) {
		at.Column = len([]rune(line[:strings.IndexByte(line, '*')])) + 1
		_, value, _ := strings.Cut(line, ":")
		value, _, _ = strings.Cut(value, " #")
		r.add(at, "job.cron", idYAMLCronStar, hintYAMLCronStar, "value", clip(strings.Trim(strings.TrimSpace(value), `"`)))
		return
	}
	r.add(at, "", idYAMLAlias, hintYAMLAlias)
}

// syntax translates an error of the YAML library.
func (r *reader) syntax(err error) {
	at, text := Place{r.doc.first, 1}, err.Error()
	var ye yaml.Error
	if errors.As(err, &ye) {
		text = ye.GetMessage()
		if t := ye.GetToken(); t != nil {
			at = r.place(t)
		}
	}
	line := lineOf(r.lines, at.Line)
	if i := strings.IndexByte(line, '\t'); i >= 0 && strings.TrimSpace(line[:i]) == "" {
		r.add(Place{at.Line, len([]rune(line[:i])) + 1}, "", idYAMLTab, hintYAMLTab)
		return
	}
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case templateValue.MatchString(line) && (has("flow map") || has("'}'") || has("map key") || has("unexpected")):
		at.Column = len([]rune(line[:strings.Index(line, "{{")])) + 1
		r.add(at, "", idYAMLBraces, hintYAMLBraces)
	case has("could not find end character"):
		r.add(at, "", idYAMLQuoteOpen, hintYAMLQuoteOpen)
	case has("not found") || has("flow map") || has("flow sequence"):
		r.add(at, "", idYAMLBracketOpen, hintYAMLBracketOpen)
	case has("reserved character"):
		r.add(at, "", idYAMLReserved, hintYAMLReserved)
	case has("mapping value is not allowed") && !colonAfter(line, at.Column):
		r.add(r.nextText(at), "", idYAMLIndent, hintYAMLIndent)
	case has("mapping value is not allowed"):
		r.add(at, "", idYAMLColon, hintYAMLColon)
	case has("value is not allowed in this context"), has("not allowed in this context"):
		r.add(at, "", idYAMLIndent, hintYAMLIndent)
	default:
		r.add(at, "", idYAMLSyntax, "", "reason", clip(text))
	}
}

// colonAfter tells whether a key's colon stands in the line behind a column.
func colonAfter(line string, column int) bool {
	rs := []rune(line)
	rest := string(rs[min(column, len(rs)):])
	return strings.Contains(rest, ": ") || strings.HasSuffix(rest, ":")
}

// nextText is where the next line with text begins.
func (r *reader) nextText(at Place) Place {
	for i := at.Line; i < len(r.lines); i++ {
		if text := strings.TrimLeft(r.lines[i], " "); text != "" {
			return Place{i + 1, len(r.lines[i]) - len(text) + 1}
		}
	}
	return at
}

var templateValue = regexp.MustCompile(`[:\-]\s+\{\{`)

// place gives a token's position in the file.
func (r *reader) place(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{r.doc.first, 1}
	}
	line := t.Position.Line + r.doc.first - 1
	return Place{min(line, len(r.lines)), max(t.Position.Column, 1)} // it may count a line too many at the end
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 80
	if rs := []rune(s); len(rs) > most {
		return string(rs[:most]) + "…"
	}
	return s
}
