package template

import (
	"regexp"
	"slices"
	"strings"
)

// command is the simple command being read: enough to know when a word is code.
type command struct {
	words    []string // without leading assignments, keywords and prefixes; a substitution is \x00
	word     strings.Builder
	inWord   bool
	prefix   bool // after exec, env and the like
	redirect bool // the next word is a file
}

func (c *command) text(r rune) {
	c.inWord = true
	c.word.WriteRune(r)
}

func (c *command) first() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0]
}

func (c *command) end() {
	c.endWord()
	*c = command{}
}

func (c *command) endWord() {
	if !c.inWord {
		return
	}
	word := c.word.String()
	c.word.Reset()
	c.inWord = false
	bare := unquote(word)
	switch {
	case c.redirect:
		c.redirect = false
	case len(c.words) > 0:
		c.words = append(c.words, bare)
	case slices.Contains(prefixes(), bare):
		c.prefix = true
	case slices.Contains(keywords(), word), assignment.MatchString(word), c.prefix && strings.HasPrefix(bare, "-"):
	default:
		c.words = append(c.words, bare)
	}
}

// endFile ends a word before a redirection; 2 and {fd} in front of it are no words.
func (c *command) endFile() {
	if fileNumber.MatchString(c.word.String()) {
		c.word.Reset()
		c.inWord = false
	}
	c.endWord()
}

var fileNumber = regexp.MustCompile(`^([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})$`)

func unquote(word string) string { return strings.NewReplacer(`"`, "", `'`, "").Replace(word) }

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

func keywords() []string {
	return []string{"if", "then", "elif", "else", "while", "until", "do", "!", "{", "fi", "done", "esac", "}"}
}

func prefixes() []string {
	return []string{"exec", "command", "builtin", "nohup", "setsid", "nice", "sudo", "time", "env", ".", "source"}
}

// codePlace tells why a parameter at this point would be run rather than read; "" where it is
// an argument, an assigned value or a file name.
func (c *command) codePlace() string {
	word := c.word.String()
	if c.redirect {
		return ""
	}
	if len(c.words) == 0 {
		if assignment.MatchString(word) {
			return ""
		}
		return IDShellCommand
	}
	if c.runsText(unquote(word)) {
		return IDShellCode
	}
	return ""
}

// commandOption matches a group of short options that ends in c, as in bash -lc.
var commandOption = regexp.MustCompile(`^-[A-Za-z]*c$`)

// codeOption matches the options by which interpreters take a program as text.
var codeOption = regexp.MustCompile(`^(-[ceEr]|--(eval|execute|command)=?)`)

// runsText tells whether this command reads the word begun so far as a program.
func (c *command) runsText(word string) bool {
	last := c.words[len(c.words)-1]
	switch c.words[0] {
	case "eval", "trap", "let", "alias", "[[", "unset", "read", "ssh":
		return true
	case "declare", "typeset", "local", "export", "readonly":
		return !assignment.MatchString(word)
	case "test", "[", "printf":
		return last == "-v"
	}
	for _, w := range c.words {
		switch name := w[strings.LastIndexByte(w, '/')+1:]; {
		case slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh", "su"}, name):
			if commandOption.MatchString(last) {
				return true
			}
		case slices.Contains([]string{"perl", "ruby", "node", "php", "mysql", "mariadb", "psql"}, name), strings.HasPrefix(name, "python"):
			if codeOption.MatchString(word) || codeOption.FindString(last) == last && last != "" {
				return true
			}
		case slices.Contains([]string{"awk", "gawk", "mawk", "sed"}, name):
			return !c.hasProgram(last)
		}
	}
	return false
}

// hasProgram tells whether awk or sed was given its program before this word, or whether this
// word belongs to an option.
func (c *command) hasProgram(last string) bool {
	if slices.Contains([]string{"-v", "-F", "-f", "-i"}, last) {
		return true
	}
	for i, w := range c.words {
		if i > 0 && !strings.HasPrefix(w, "-") && !slices.Contains([]string{"-v", "-F"}, c.words[i-1]) {
			return true
		}
	}
	return false
}
