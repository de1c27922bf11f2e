package sqltext

import "strings"

// comment reports whether a comment begins here.
func (l *lexer) comment() bool {
	switch r := l.peek(0); {
	case r == '/' && l.peek(1) == '*':
		return true
	case r == '#':
		return l.dialect == MySQL
	case r == '-' && l.peek(1) == '-':
		next := l.peek(2)
		return l.dialect != MySQL || l.i+2 >= len(l.in) || next != 0 && next <= ' '
	}
	return false
}

// passComment goes behind a comment.
func (l *lexer) passComment() error {
	unclosed := l.fault(Unclosed)
	if l.peek(0) != '/' {
		for l.i < len(l.in) && l.peek(0) != '\n' {
			if l.in[l.i].value != nil {
				return l.fault(InComment)
			}
			l.i++
		}
		return nil
	}
	depth := 0
	for l.i < len(l.in) {
		switch {
		case l.in[l.i].value != nil:
			return l.fault(InComment)
		case l.peek(0) == '/' && l.peek(1) == '*' && (depth == 0 || l.dialect == Postgres):
			depth++
			l.i += 2
		case l.peek(0) == '*' && l.peek(1) == '/':
			depth--
			l.i += 2
			if depth == 0 {
				return nil
			}
		default:
			l.step()
		}
	}
	return unclosed
}

// quoted goes behind what a quote opens. A doubled quote is one inside; backslash says whether one escapes what follows.
func (l *lexer) quoted(end rune, kind string, backslash bool) error {
	l.word.Reset() // E, N, X and the like in front of a string are no words
	unclosed := l.fault(Unclosed)
	l.step()
	for l.i < len(l.in) {
		switch {
		case l.in[l.i].value != nil:
			return l.fault(kind)
		case backslash && l.peek(0) == '\\' && l.i+1 < len(l.in) && l.in[l.i+1].value == nil:
			l.step()
			l.step()
		case l.peek(0) == end && l.peek(1) == end && end != ']':
			l.i += 2
		case l.peek(0) == end:
			l.i++
			return nil
		default:
			l.step()
		}
	}
	return unclosed
}

// escapes reports whether the string that begins here is one of PostgreSQL's with backslashes: E'…'.
func (l *lexer) escapes() bool { return strings.EqualFold(l.word.String(), "E") }

// dollar goes behind a dollar-quoted text of PostgreSQL; $1 and a lone dollar are none.
func (l *lexer) dollar() error {
	unclosed := l.fault(Unclosed)
	n := 1
	for r := l.peek(n); r != '$'; r = l.peek(n) {
		if !wordRune(r) || n == 1 && r >= '0' && r <= '9' {
			l.plain('$')
			return nil
		}
		n++
	}
	tag := make([]rune, 0, n+1)
	for k := range n + 1 {
		tag = append(tag, l.peek(k))
	}
	l.i += n + 1
	for l.i < len(l.in) {
		if l.in[l.i].value != nil {
			return l.fault(InString)
		}
		if l.starts(tag) {
			l.i += len(tag)
			return nil
		}
		l.step()
	}
	return unclosed
}

// starts reports whether the text goes on with these characters.
func (l *lexer) starts(text []rune) bool {
	for k, r := range text {
		if l.peek(k) != r {
			return false
		}
	}
	return true
}
