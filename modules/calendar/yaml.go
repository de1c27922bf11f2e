package calendar

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/axsched/ax/modules/domain"
)

func itoa(n int) string { return strconv.Itoa(n) }

// place is where a token stands; it may count a line too many at the end.
func (n *notes) place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return min(t.Position.Line, len(n.lines)), max(t.Position.Column, 1)
}

// start is the token with which a node begins: a map's own is its first colon.
func start(node ast.Node) *token.Token {
	switch m := node.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return m.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return m.Key.GetToken()
	}
	return node.GetToken()
}

func (n *notes) at(t *token.Token, id string, args ...string) {
	line, column := n.place(t)
	n.add(line, column, id, args...)
}

// pair is one key of a map with its value.
type pair struct {
	key   string
	at    *token.Token
	value ast.Node
}

// pairs lists a map; keys twice and keys that are no text are problems.
func (n *notes) pairs(node ast.Node, what string) []pair {
	var values []*ast.MappingValueNode
	switch m := node.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		n.at(start(node), "want_map", "key", what)
		return nil
	}
	seen := map[string]bool{}
	var out []pair
	for _, v := range values {
		key := v.Key.GetToken()
		if seen[key.Value] {
			n.at(key, "key_twice", "key", key.Value)
			continue
		}
		seen[key.Value] = true
		out = append(out, pair{key.Value, key, v.Value})
	}
	return out
}

// parse guards against a panic in the YAML library.
func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML reader gave up: %v", p)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// root parses the text; nil after a problem.
func (n *notes) root(text string) ast.Node {
	tokens := lexer.Tokenize(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	depth, dashes, dashLine := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.AliasType, token.AnchorType, token.MergeKeyType, token.TagType:
			n.at(t, "yaml_extra")
			return nil
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType: // many on one line are lists in lists
			if t.Position != nil && t.Position.Line != dashLine {
				dashes, dashLine = 0, t.Position.Line
			}
			dashes++
		}
		if depth > 5 || dashes > 5 || t.Position != nil && t.Position.IndentNum > 100 {
			n.at(t, "yaml_deep")
			return nil
		}
	}
	file, err := parse(tokens)
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) {
			n.at(ye.GetToken(), "yaml", "reason", ye.GetMessage())
		} else {
			n.add(1, 1, "yaml", "reason", err.Error())
		}
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			n.at(start(d.Body), "yaml_docs")
			return nil
		default:
			body = d.Body
		}
	}
	if body == nil {
		n.add(1, 1, "empty")
	}
	return body
}

// readYAML reads a whole calendar.
func (s *Sheet) readYAML(n *notes, text string) {
	body := n.root(text)
	if body == nil {
		return
	}
	var version, calendar *pair
	for _, p := range n.pairs(body, "file") {
		switch p.key {
		case "version":
			version = &p
		case "calendar":
			calendar = &p
		default:
			n.at(p.at, "key", "key", p.key, "known", "version, calendar")
		}
	}
	switch {
	case version == nil:
		n.add(1, 1, "version")
	case textOf(version.value) != "v1":
		n.at(version.value.GetToken(), "version")
	}
	if calendar == nil {
		n.add(1, 1, "no_calendar")
		return
	}
	s.keys(n, calendar.value)
}

func (s *Sheet) keys(n *notes, node ast.Node) {
	known := []string{"project", "name", "title", "rest", "years", "holidays", "workdays"}
	named := false
	for _, p := range n.pairs(node, "calendar") {
		switch p.key {
		case "project":
			s.Project = n.name(p)
		case "name":
			s.Name, named = n.name(p), true
		case "title":
			s.Title = n.title(p)
		case "rest":
			s.rest(n, p)
		case "years":
			s.years(n, p)
		case "holidays":
			s.days(n, p, false)
		case "workdays":
			s.days(n, p, true)
		default:
			n.at(p.at, "key", "key", p.key, "known", strings.Join(known, ", "))
		}
	}
	if !named {
		n.at(start(node), "name_missing")
	}
	if len(s.Years) == 0 || len(s.Days) > MaxDays { // too many are refused as such
		return
	}
	for _, d := range slices.SortedFunc(maps.Keys(s.Days), domain.BizDate.Compare) {
		if !belongs(s.Days, s.Years, d) {
			n.add(n.days[d][0], n.days[d][1], "outside", "date", d.String())
		}
	}
}

// textOf is a scalar as it was written; "" for all else.
func textOf(node ast.Node) string {
	switch v := node.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value
	}
	return ""
}

// NameFault tells what is wrong with the name of a calendar, as a problem's id; "" for a good one.
func NameFault(name string) string {
	if name == "" || utf8.RuneCountInString(name) > MaxNameRunes || !goodName.MatchString(name) {
		return "name"
	}
	return ""
}

var goodName = regexp.MustCompile(`^[\p{L}\p{Nd}_][\p{L}\p{Nd}_.-]*$`)

func (n *notes) name(p pair) string {
	name := textOf(p.value)
	if NameFault(name) != "" {
		n.at(p.value.GetToken(), "name", "value", name, "max", itoa(MaxNameRunes))
	}
	return name
}

func (n *notes) title(p pair) string {
	title := strings.TrimSpace(textOf(p.value))
	line, column := n.place(p.value.GetToken())
	switch {
	case title == "" || strings.ContainsAny(title, "\n\t"):
		n.add(line, column, "title")
	case utf8.RuneCountInString(title) > MaxTitleRunes:
		n.add(line, column, "title")
	}
	return title
}

// weekdays are the words for the days of the week.
func weekdays() map[string]time.Weekday {
	out := map[string]time.Weekday{}
	for d := time.Sunday; d <= time.Saturday; d++ {
		out[strings.ToLower(d.String())] = d
		out[strings.ToLower(d.String())[:3]] = d
	}
	return out
}

func (s *Sheet) rest(n *notes, p pair) {
	list, ok := p.value.(*ast.SequenceNode)
	if !ok {
		n.at(p.value.GetToken(), "rest")
		return
	}
	s.Rest = [7]bool{}
	for _, v := range list.Values {
		d, known := weekdays()[strings.ToLower(textOf(v))]
		if !known || s.Rest[d] {
			n.at(v.GetToken(), "rest")
			continue
		}
		s.Rest[d] = true
	}
}

// items are the entries of a list, or a single value.
func items(node ast.Node) []ast.Node {
	if list, ok := node.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{node}
}

var yearShape = regexp.MustCompile(`^([0-9]{4})(?:\.\.([0-9]{4}))?$`)

func (s *Sheet) years(n *notes, p pair) {
	for _, v := range items(p.value) {
		m := yearShape.FindStringSubmatch(textOf(v))
		if m == nil {
			n.at(v.GetToken(), "years", "value", textOf(v))
			continue
		}
		first, _ := strconv.Atoi(m[1])
		last := first
		if m[2] != "" {
			last, _ = strconv.Atoi(m[2])
		}
		if first < FirstYear || last > LastYear || last < first || last-first >= MaxYears {
			n.at(v.GetToken(), "year", "value", textOf(v), "first", itoa(FirstYear), "last", itoa(LastYear))
			continue
		}
		for y := first; y <= last; y++ {
			s.Years = append(s.Years, y)
		}
	}
	s.Years = slices.Compact(slices.Sorted(slices.Values(s.Years)))
}

// days reads a map of dates to labels, or a list of dates.
func (s *Sheet) days(n *notes, p pair, work bool) {
	if list, ok := p.value.(*ast.SequenceNode); ok {
		for _, v := range list.Values {
			line, column := n.place(v.GetToken())
			s.stretch(n, line, column, textOf(v), domain.CalendarDay{Work: work})
		}
		return
	}
	if _, empty := p.value.(*ast.NullNode); empty {
		return
	}
	for _, one := range n.pairs(p.value, p.key) {
		line, column := n.place(one.at)
		label := textOf(one.value)
		if _, empty := one.value.(*ast.NullNode); !empty && label == "" {
			n.at(start(one.value), "label")
			continue
		}
		labelLine, labelColumn := n.place(one.value.GetToken())
		if label, ok := n.label(labelLine, labelColumn, label); ok {
			s.stretch(n, line, column, one.key, domain.CalendarDay{Work: work, Label: label})
		}
	}
}

func (s *Sheet) stretch(n *notes, line, column int, text string, day domain.CalendarDay) {
	first, last, ok := n.dates(line, column, text)
	if !ok {
		return
	}
	for d := first; !last.Before(d); d = d.AddDays(1) {
		s.put(n, line, column, d, day, false)
	}
}
