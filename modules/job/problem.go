package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Problem is one thing wrong, or worth a warning, in a job file. ID and Args choose the
// sentence in the reader's language (catalog key "problem."+ID); Hint, where it is not empty, a
// second one that says how to mend it ("hint."+Hint, same Args).
type Problem struct {
	File    string            `json:"file,omitempty"`
	Path    string            `json:"path,omitempty"`   // like job.deps[0].name
	Line    int               `json:"line,omitempty"`   // from 1; 0 when about no place
	Column  int               `json:"column,omitempty"` // from 1, in characters
	Warning bool              `json:"warning,omitempty"`
	ID      string            `json:"id"`
	Args    map[string]string `json:"args,omitempty"`
	Hint    string            `json:"hint,omitempty"`
	// Reason, where there is one, is said as {reason} in the reader's language; Args have its English.
	Reason Sayable `json:"-"`
	// Source is the line of the file that the position is on.
	Source string `json:"source,omitempty"`
}

// Problems is everything found, errors and warnings, in the order of the file.
type Problems []Problem

// Lookup gives the text of a catalog key with its {placeholders} filled in.
type Lookup func(key string, args map[string]string) string

// Message is the sentence that says what is wrong.
func (p Problem) Message(say Lookup) string {
	args := p.Args
	if p.Reason != nil {
		args = maps.Clone(args)
		args["reason"] = p.Reason.Say(say)
	}
	return say("problem."+p.ID, args)
}

// HintText is the sentence that says how to mend it, "" where there is none.
func (p Problem) HintText(say Lookup) string {
	if p.Hint == "" {
		return ""
	}
	return say("hint."+p.Hint, p.Args)
}

// maxExcerpt bounds the characters of a line that an excerpt shows.
const maxExcerpt = 120

// Excerpt gives the line with a caret under the place, two lines in all; "" where there is none.
func (p Problem) Excerpt() string {
	if p.Line == 0 || strings.TrimSpace(p.Source) == "" {
		return ""
	}
	return p.excerpt()
}

// Render gives the whole of it for a terminal: position and message, the line with a caret
// under the place, the hint.
func (p Problem) Render(say Lookup) string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(say(p.severity(), nil) + ": " + p.Message(say) + "\n")
	b.WriteString(p.Excerpt())
	if hint := p.HintText(say); hint != "" {
		b.WriteString("  " + say("problem.hint", nil) + ": " + hint + "\n")
	}
	return b.String()
}

func (p Problem) severity() string {
	if p.Warning {
		return "problem.warning"
	}
	return "problem.error"
}

// excerpt prints the line and a caret. A long line is cut around the place. Control characters
// are shown as dots, so that a file cannot steer the terminal.
func (p Problem) excerpt() string {
	line, at := []rune(p.Source), max(p.Column-1, 0)
	at = min(at, len(line))
	lead := ""
	if at > maxExcerpt-20 {
		from := at - maxExcerpt/2
		line, at, lead = line[from:], at-from, "…"
	}
	tail := ""
	if len(line) > maxExcerpt {
		line, tail = line[:maxExcerpt], "…"
	}
	number := fmt.Sprintf("%5d", p.Line)
	pad := strings.Repeat(" ", len([]rune(lead)))
	for _, r := range line[:at] {
		pad += blank(r)
	}
	return number + " | " + lead + strings.Map(printable, string(line)) + tail + "\n" +
		strings.Repeat(" ", len(number)) + " | " + pad + "^\n"
}

func printable(r rune) rune {
	if r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return '·'
}

// blank is as wide as r on a terminal.
func blank(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303F, r >= 0xFF01 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
		return "  "
	}
	return " "
}

// Errors gives the problems that stand in the way, without the warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings gives the rest.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Render joins what each problem renders to.
func (ps Problems) Render(say Lookup) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.Render(say))
	}
	return b.String()
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// lineOf gives a line of the file by its number from 1, "" outside of it. It is cut to what an
// excerpt can use, so that a problem about a huge line stays small.
func lineOf(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	const most = 4000
	if line := lines[n-1]; len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(lines[n-1][:most], "")
}

// parent strips the last step of a path: job.deps[0].name → job.deps[0] → job.deps → job → "".
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// pairs makes a map of name, value, name, value….
func pairs(kv ...string) map[string]string {
	if len(kv) == 0 {
		return nil
	}
	m := make(map[string]string, len(kv)/2)
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}
