package template

import "strings"

// redirection reads an operator that begins with r; << brings a here-document.
func (l *lexer) redirection(r rune) {
	l.cmd.endFile()
	l.cmd.redirect = true
	if r != '<' || l.peek(0) != '<' {
		if next := l.peek(0); next == '&' || next == '>' || next == '|' {
			l.i++
		}
		if l.peek(0) == '(' {
			l.cmd.redirect = false // process substitution
		}
		return
	}
	l.i++
	if l.peek(0) == '<' {
		l.i++ // here-string
		return
	}
	doc := heredoc{}
	if l.peek(0) == '-' {
		l.i++
		doc.tabs = true
	}
	for l.peek(0) == ' ' || l.peek(0) == '\t' {
		l.i++
	}
	var end strings.Builder
	quotes := 0
	for r := l.peek(0); r != 0 && !strings.ContainsRune(" \t\n;&|<>()", r); r = l.peek(0) {
		switch {
		case r == '\'' || r == '"':
			quotes++
			doc.quoted = true
		case r == '\\':
			doc.quoted = true
			l.unclear = l.unclear || quotes > 0 || l.peek(1) == '\n'
		case r == '$' || r == '`':
			l.unclear = true
		default:
			end.WriteRune(r)
		}
		l.i++
	}
	l.unclear = l.unclear || quotes%2 == 1 || end.Len() == 0 || l.i < len(l.in) && l.in[l.i].sub != nil
	doc.end = end.String()
	l.heredocs = append(l.heredocs, doc)
	l.cmd.redirect = false
}

// bodies reads the here-documents that begin after this line.
func (l *lexer) bodies() {
	docs := l.heredocs
	l.heredocs = nil
	l.within(IDShellHeredoc, func() {
		for _, doc := range docs {
			for l.i < len(l.in) && !l.bodyLine(doc) {
			}
		}
	})
}

// bodyLine reads one line of a body and tells whether it was the last.
func (l *lexer) bodyLine(doc heredoc) bool {
	var line strings.Builder
	for l.i < len(l.in) && l.peek(0) != '\n' {
		if s := l.in[l.i].sub; s != nil {
			l.put(s, false, IDShellHeredoc)
		}
		line.WriteRune(l.peek(0))
		l.i++
	}
	l.i++
	text := line.String()
	if doc.tabs {
		text = strings.TrimLeft(text, "\t")
	}
	if !doc.quoted && strings.HasSuffix(text, `\`) {
		l.unclear = true
	}
	l.cmd = command{}
	return text == doc.end
}
