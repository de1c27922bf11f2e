package job

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"github.com/axsched/ax/modules/job/template"
)

// templates judges every {{…}} of a job that is sound otherwise.
func (d *draft) templates() {
	if len(d.problems.Errors()) > 0 {
		return
	}
	program, issues := template.Compile(d.spec)
	if program != nil {
		d.parsed.secrets, d.parsed.results = program.Secrets(), program.Results()
	}
	for _, is := range issues {
		args := map[string]string{}
		for k, v := range is.Args {
			args[k] = v
		}
		hint := is.Hint
		if near := nearest(is.Word, is.Near); near != "" {
			args["suggestion"], hint = near, hintMeant
		}
		path := "job." + is.Field
		at := d.At(path)
		if e, ok := d.nodes[path]; ok {
			at = d.placeIn(e, is.Offset)
		}
		d.problems = append(d.problems, Problem{File: d.opts.File, Path: path, Line: at.Line, Column: at.Column,
			ID: is.ID, Hint: hint, Args: args, Source: lineOf(d.lines, at.Line)})
	}
}

// At gives a path's position while the job is read.
func (r *reader) At(path string) Place {
	return Parsed{places: r.places, Line: r.doc.first}.At(path)
}

// placeIn maps a byte of a scalar's value to its place in the file, through quotes, escapes,
// folding and block indentation. What can't be followed is the place where the value begins.
func (r *reader) placeIn(e entry, offset int) Place {
	value, ok := scalar(e.node)
	if !ok {
		return e.at
	}
	offset = min(max(offset, 0), len(value))
	prefix := value[:offset]
	t := e.node.GetToken()
	at, col := e.at.Line-1, e.at.Column-1
	if t.Type == token.LiteralType || t.Type == token.FoldedType {
		at, col = at+1, 0
	} else if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
		col++
	}
	w := walker{lines: r.lines, line: at, col: col, style: t.Type}
	for _, want := range prefix {
		if !w.pass(want) {
			return e.at
		}
	}
	w.arrive(value[offset:])
	if w.line >= len(w.lines) {
		return e.at
	}
	return Place{w.line + 1, w.col + 1}
}

// walker follows a scalar's value through the text that it was written in.
type walker struct {
	lines []string
	line  int
	col   int // in characters
	style token.Type
	cache []rune // of lines[row]
	row   int
}

func (w *walker) runes() []rune {
	if w.line >= len(w.lines) {
		return nil
	}
	if w.cache == nil || w.row != w.line {
		w.cache, w.row = append([]rune{}, []rune(w.lines[w.line])...), w.line
	}
	return w.cache
}

// pass goes over the source of one character of the value.
func (w *walker) pass(want rune) bool {
	if want == '\n' || want == ' ' {
		if rs := w.runes(); want == ' ' && w.col < len(rs) && rs[w.col] == ' ' && strings.TrimSpace(string(rs[w.col:])) != "" {
			w.col++
			return true
		}
		if w.style == token.DoubleQuoteType && want == '\n' && w.escape() {
			return true
		}
		w.line, w.col = w.line+1, 0
		return w.line < len(w.lines)
	}
	if !w.arrive(string(want)) {
		return false
	}
	rs := w.runes()
	switch {
	case w.style == token.DoubleQuoteType && rs[w.col] == '\\':
		return w.escape()
	case w.style == token.SingleQuoteType && rs[w.col] == '\'':
		w.col += 2
	default:
		w.col++
	}
	return true
}

// arrive skips blanks and line ends that are layout and no part of the value, up to the source
// of the value's next character.
func (w *walker) arrive(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	for w.line < len(w.lines) {
		rs := w.runes()
		for w.col < len(rs) && (rs[w.col] == ' ' || rs[w.col] == '\t') && rs[w.col] != next {
			w.col++
		}
		if w.col < len(rs) {
			return rs[w.col] == next || w.style == token.DoubleQuoteType && rs[w.col] == '\\'
		}
		if rest == "" || next == '\n' || next == ' ' {
			return true
		}
		w.line, w.col = w.line+1, 0
	}
	return false
}

// escape goes over one backslash escape of a double-quoted text.
func (w *walker) escape() bool {
	rs := w.runes()
	if w.col+1 >= len(rs) || rs[w.col] != '\\' {
		return false
	}
	w.col += 2 + map[rune]int{'x': 2, 'u': 4, 'U': 8}[rs[w.col+1]]
	return true
}
