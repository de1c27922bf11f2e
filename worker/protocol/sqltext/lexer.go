package sqltext

import (
	"strings"
	"unicode"
)

// item is one character of a script, or one value.
type item struct {
	r     rune
	value *string
	piece int
}

// lexer goes through a script once. Everything between quotes and in comments is passed over; what is left decides.
type lexer struct {
	dialect Dialect
	in      []item
	i       int
	line    int
	out     []Statement

	// Of the statement being read: where it begins, -1 before its first character; its words, and how deep in parentheses.
	start, startLine int
	words            []string
	word             strings.Builder
	depth            int
}

func (l *lexer) peek(k int) rune {
	if l.i+k < len(l.in) && l.in[l.i+k].value == nil {
		return l.in[l.i+k].r
	}
	return 0
}

func (l *lexer) fault(kind string) *Fault {
	f := &Fault{Line: l.line, Kind: kind}
	if l.i < len(l.in) {
		f.Piece = l.in[l.i].piece
	} else if n := len(l.in); n > 0 {
		f.Piece = l.in[n-1].piece
	}
	return f
}

func (l *lexer) run() error {
	l.start = -1
	for l.i < len(l.in) {
		if err := l.next(); err != nil {
			return err
		}
	}
	l.end(l.i)
	return nil
}

// next reads one token or one character.
func (l *lexer) next() error {
	if l.in[l.i].value != nil {
		l.begin()
		l.endWord()
		if beside(l.in, l.i-1) || beside(l.in, l.i+1) {
			return l.fault(InWord)
		}
		l.i++
		return nil
	}
	r := l.in[l.i].r
	switch {
	case r == ';':
		l.end(l.i)
		l.i++
		return nil
	case unicode.IsSpace(r):
		l.endWord()
		l.step()
		return nil
	case l.comment():
		l.endWord()
		return l.passComment()
	}
	l.begin()
	switch {
	case r == '\'':
		return l.quoted('\'', InString, l.dialect == MySQL || l.dialect == Postgres && l.escapes())
	case r == '"' && l.dialect == MySQL:
		return l.quoted('"', InString, true)
	case r == '"':
		return l.quoted('"', InName, false)
	case r == '`' && l.dialect != Postgres:
		return l.quoted('`', InName, false)
	case r == '[' && l.dialect == SQLite:
		return l.quoted(']', InName, false)
	case r == '$' && l.dialect == Postgres && l.word.Len() == 0:
		return l.dollar()
	}
	l.plain(r)
	return nil
}

// plain reads a character that stands for itself.
func (l *lexer) plain(r rune) {
	switch {
	case wordRune(r):
		l.word.WriteRune(r)
	case r == '(':
		l.endWord()
		if l.depth == 0 {
			l.words = append(l.words, "(")
		}
		l.depth++
	case r == ')':
		l.endWord()
		l.depth = max(l.depth-1, 0)
	default:
		l.endWord()
	}
	l.step()
}

// step goes on by one character.
func (l *lexer) step() {
	if l.in[l.i].r == '\n' {
		l.line++
	}
	l.i++
}

// begin notes where the statement begins.
func (l *lexer) begin() {
	if l.start < 0 {
		l.start, l.startLine = l.i, l.line
	}
}

func (l *lexer) endWord() {
	if l.word.Len() > 0 && l.depth == 0 {
		l.words = append(l.words, strings.ToUpper(l.word.String()))
	}
	l.word.Reset()
}

// end closes the statement before the character at.
func (l *lexer) end(at int) {
	l.endWord()
	if l.start >= 0 {
		l.out = append(l.out, Statement{Pieces: pieces(l.in[l.start:at]), Line: l.startLine, words: l.words})
	}
	l.start, l.words, l.depth = -1, nil, 0
}

// pieces joins characters to text again.
func pieces(in []item) []Piece {
	var out []Piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, Piece{Text: text.String()})
			text.Reset()
		}
	}
	for _, it := range in {
		if it.value != nil {
			flush()
			out = append(out, Piece{Value: it.value})
			continue
		}
		text.WriteRune(it.r)
	}
	flush()
	return out
}

// wordRune is true for what a name or a number is made of.
func wordRune(r rune) bool {
	return r == '_' || r == '$' || r == '@' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// beside tells whether what stands at i would grow together with a placeholder.
func beside(in []item, i int) bool {
	if i < 0 || i >= len(in) {
		return false
	}
	return in[i].value != nil || wordRune(in[i].r) || in[i].r == ':' && i+1 < len(in) && in[i+1].value != nil && (i == 0 || in[i-1].r != ':')
}
