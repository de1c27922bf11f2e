package template

import "strings"

// item is one character of a shell text, or one substitution.
type item struct {
	r   rune
	sub *part
}

// placement says how a substitution is written, or why it is refused.
type placement struct {
	quoted bool // already inside double quotes
	fault  string
}

// lexer reads a command as sh and bash read it, as far as needed to know what surrounds each
// substitution. Where the two shells differ, or reading on would take a full parser, it notes
// "unclear" and refuses what comes after: a refusal costs the author a line, a wrong guess
// would run a value.
type lexer struct {
	in     []item
	i      int
	places []placement

	forbid  string // the fault of any substitution here, "" in plain text
	unclear bool

	heredocs []heredoc
	cmd      command
}

type heredoc struct {
	end    string
	tabs   bool // <<-
	quoted bool // no expansion in the body
}

// lex gives the placement of each substitution in order.
func lex(parts []part) []placement {
	l := &lexer{}
	for i := range parts {
		if parts[i].expr != nil {
			l.in = append(l.in, item{sub: &parts[i]})
			continue
		}
		for _, r := range parts[i].text {
			l.in = append(l.in, item{r: r})
		}
	}
	for l.i < len(l.in) {
		l.list(0)
	}
	return l.places
}

// peek gives the character k places ahead, 0 for a substitution or the end.
func (l *lexer) peek(k int) rune {
	if l.i+k < len(l.in) {
		return l.in[l.i+k].r
	}
	return 0
}

// put notes the placement of the substitution just read.
func (l *lexer) put(s *part, quoted bool, fault string) {
	switch {
	case l.unclear:
		fault = IDShellUnclear
	case l.forbid != "":
		fault = l.forbid
	case fault == "" && s.expr.name == nameParams:
		fault = l.cmd.codePlace()
	}
	l.places = append(l.places, placement{quoted, fault})
	l.cmd.text('\x00')
}

// within runs read with every substitution refused for the reason fault; the outermost reason
// is the one told.
func (l *lexer) within(fault string, read func()) {
	before := l.forbid
	if before == "" {
		l.forbid = fault
	}
	read()
	l.forbid = before
}

// list reads commands up to an unmatched ')' when end is ')', else to the end of the text.
func (l *lexer) list(end rune) {
	depth := 0
	for l.i < len(l.in) {
		it := l.in[l.i]
		l.i++
		if it.sub != nil {
			l.put(it.sub, false, "")
			continue
		}
		switch it.r {
		case '(':
			depth++
			l.cmd.end()
			if l.peek(0) == '(' {
				l.unclear = true // bash: arithmetic; sh: two subshells
			}
		case ')':
			l.cmd.end()
			if depth == 0 && end == ')' {
				return
			}
			depth--
		default:
			l.plain(it.r)
		}
		if end == ')' && l.cmd.first() == "case" {
			l.unclear = true // its patterns hold unmatched parentheses
		}
		l.unclear = l.unclear || l.cmd.declaresInteger()
	}
	l.cmd.end()
}

// plain reads one character outside of quotes.
func (l *lexer) plain(r rune) {
	switch r {
	case '\\':
		l.escape(true)
	case '\'':
		l.cmd.text('\'')
		l.single()
	case '"':
		l.cmd.text('"')
		l.double()
	case '`':
		l.cmd.text('`')
		l.backtick()
	case '$':
		l.cmd.text('$')
		l.dollar(false)
	case '#':
		if l.cmd.inWord {
			l.cmd.text(r)
			return
		}
		l.within(IDShellComment, l.comment)
	case '\n':
		l.cmd.end()
		l.bodies()
	case ';', '|', '&':
		l.cmd.end()
	case '<', '>':
		l.redirection(r)
	case ' ', '\t':
		l.cmd.endWord()
	default:
		l.cmd.text(r)
	}
}

// escape reads what follows a backslash. A line joined in the middle of an operator is beyond
// this reader.
func (l *lexer) escape(bare bool) {
	if l.i >= len(l.in) {
		return
	}
	it := l.in[l.i]
	before := rune(0)
	if l.i >= 2 {
		before = l.in[l.i-2].r
	}
	l.i++
	switch {
	case it.sub != nil:
		l.put(it.sub, !bare, IDShellEscape)
	case it.r == '\n':
		if strings.ContainsRune("<>$&|(", before) {
			l.unclear = true
		}
	default:
		l.cmd.text(it.r)
	}
}

// single reads to the closing single quote.
func (l *lexer) single() {
	l.within(IDShellSingle, func() {
		for l.i < len(l.in) {
			it := l.in[l.i]
			l.i++
			switch {
			case it.sub != nil:
				l.put(it.sub, false, IDShellSingle)
			case it.r == '\'':
				return
			default:
				l.quotedRune(it.r)
			}
		}
	})
}

func (l *lexer) quotedRune(r rune) {
	if r == '\n' && len(l.heredocs) > 0 {
		l.unclear = true // where the body begins differs between shells
	}
	l.cmd.text(r)
}

// double reads to the closing double quote.
func (l *lexer) double() {
	for l.i < len(l.in) {
		it := l.in[l.i]
		l.i++
		switch {
		case it.sub != nil:
			l.put(it.sub, true, "")
		case it.r == '"':
			return
		case it.r == '\\':
			l.escape(false)
		case it.r == '`':
			l.backtick()
		case it.r == '$':
			l.dollar(true)
		default:
			l.quotedRune(it.r)
		}
	}
}

// backtick reads to the next backtick that no backslash precedes.
func (l *lexer) backtick() {
	l.within(IDShellBacktick, func() {
		for l.i < len(l.in) {
			it := l.in[l.i]
			l.i++
			switch {
			case it.sub != nil:
				l.put(it.sub, false, IDShellBacktick)
			case it.r == '`':
				return
			case it.r == '\\' && l.i < len(l.in) && l.in[l.i].sub == nil:
				l.i++
			default:
				l.quotedRune(it.r)
			}
		}
	})
}

// dollar reads what follows a $.
func (l *lexer) dollar(inDouble bool) {
	if l.i < len(l.in) && l.in[l.i].sub != nil {
		l.i++
		l.put(l.in[l.i-1].sub, inDouble, IDShellDollar)
		return
	}
	switch r := l.peek(0); {
	case r == '(' && l.peek(1) == '(':
		l.i++
		l.within(IDShellArith, l.arithmetic)
	case r == '(':
		l.i++
		l.within(IDShellSubst, l.substitution)
	case r == '{':
		l.i++
		l.within(IDShellBrace, func() { l.brace(inDouble) })
	case r == '\'' && !inDouble:
		l.i++
		from := l.i
		l.single()
		for _, it := range l.in[from:l.i] {
			l.unclear = l.unclear || it.r == '\\' // bash reads escapes here, sh does not
		}
	case r != 0 && strings.ContainsRune("$#?!@*-0123456789", r):
		l.i++
	}
}

// substitution reads $(…), a list of commands of its own.
func (l *lexer) substitution() {
	l.unclear = l.unclear || len(l.heredocs) > 0
	outer := l.cmd
	l.cmd = command{}
	l.list(')')
	l.cmd = outer
	if len(l.heredocs) > 0 {
		l.unclear, l.heredocs = true, nil
	}
}

// arithmetic reads $((…)), from its second parenthesis on.
func (l *lexer) arithmetic() {
	depth := 1
	for l.i < len(l.in) {
		it := l.in[l.i]
		l.i++
		switch {
		case it.sub != nil:
			l.put(it.sub, false, IDShellArith)
		case it.r == '(':
			depth++
		case it.r == ')':
			depth--
			if depth == 0 {
				l.unclear = l.unclear || l.in[l.i-2].r != ')'
				return
			}
		case it.r == '$':
			l.dollar(true)
		case strings.ContainsRune("'\"`\\\n", it.r):
			l.unclear = true
		}
	}
}

// brace reads ${…} to its closing brace.
func (l *lexer) brace(inDouble bool) {
	for l.i < len(l.in) {
		it := l.in[l.i]
		l.i++
		switch {
		case it.sub != nil:
			l.put(it.sub, inDouble, IDShellBrace)
		case it.r == '}':
			return
		case it.r == '\\' && l.i < len(l.in) && l.in[l.i].sub == nil:
			l.i++
		case it.r == '\'' && inDouble, it.r == '"' && inDouble:
			l.unclear = true // quotes within quotes: the shells differ
		case it.r == '\'':
			l.single()
		case it.r == '"':
			l.double()
		case it.r == '`':
			l.backtick()
		case it.r == '$':
			l.dollar(inDouble)
		}
	}
}

// comment reads up to the end of the line, which it leaves.
func (l *lexer) comment() {
	for l.i < len(l.in) && l.peek(0) != '\n' {
		if s := l.in[l.i].sub; s != nil {
			l.put(s, false, IDShellComment)
		}
		l.i++
	}
	l.cmd.inWord = false
}
