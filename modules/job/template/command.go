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
	case slices.Contains(prefixes(), bare), mayVanish(word):
		c.prefix = true
	case slices.Contains(keywords(), word), assignment.MatchString(word), c.prefix && strings.HasPrefix(bare, "-"):
	default:
		c.words = append(c.words, bare)
	}
}

// mayVanish tells whether a word begins with an unquoted expansion: empty, it leaves its place
// to the next word.
func mayVanish(word string) bool { return strings.HasPrefix(word, "$") || strings.HasPrefix(word, "`") }

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
		switch name := assigned(word); {
		case name == "":
			return IDShellCommand
		case steers(name):
			return IDShellCode
		}
		return ""
	}
	if c.runsText(unquote(word)) {
		return IDShellCode
	}
	return ""
}

// assigned gives the name on the left of an assignment, "" for any other word.
func assigned(word string) string {
	return strings.TrimRight(assignment.FindString(word), "+=")
}

// steers tells whether a variable decides what the shell runs, or is read as arithmetic, in
// which bash runs commands.
func steers(name string) bool {
	return strings.HasPrefix(name, "LD_") || slices.Contains([]string{"PATH", "IFS", "ENV", "BASH_ENV", "PS0", "PS1", "PS2", "PS4",
		"PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "RANDOM", "SRANDOM", "SECONDS", "OPTIND", "LINENO", "HISTCMD", "EPOCHSECONDS",
		"BASHPID", "PYTHONPATH", "PYTHONSTARTUP", "PERL5OPT", "NODE_OPTIONS"}, name)
}

// declaresInteger tells whether the command gives variables bash's integer or reference kind:
// from then on an assignment to them is read as arithmetic.
func (c *command) declaresInteger() bool {
	return len(c.words) > 1 && slices.Contains([]string{"declare", "typeset", "local", "export", "readonly"}, c.words[0]) &&
		integerOption.MatchString(c.words[len(c.words)-1])
}

var integerOption = regexp.MustCompile(`^[-+][A-Za-z]*[in]`)

// commandOption matches a group of short options that ends in c, as in bash -lc.
var commandOption = regexp.MustCompile(`^-[A-Za-z]*c$`)

// codeOption matches the options by which interpreters take a program as text.
var codeOption = regexp.MustCompile(`^(-[ceEr]|--(eval|execute|command)=?)`)

// runsText tells whether this command reads the word begun so far as a program.
func (c *command) runsText(word string) bool {
	last := c.last()
	switch c.words[0] {
	case "eval", "trap", "let", "alias", "[[", "unset", "read", "ssh":
		return true
	case "declare", "typeset", "local", "export", "readonly":
		name := assigned(word)
		return name == "" || steers(name)
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

// last is the word before, past those that may vanish.
func (c *command) last() string {
	i := len(c.words) - 1
	for i > 0 && mayVanish(c.words[i]) {
		i--
	}
	return c.words[i]
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
