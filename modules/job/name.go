package job

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameFault tells what is wrong with the name of a project or job: the problem's id, or "" for
// a good name. The rule: 1 to MaxNameRunes letters and digits of any script, and _ - . inside;
// it begins with a letter, a digit or _. So a name holds no blank, no slash, no quote and no
// markup, and can stand in a URL, a shell word and a log line. Names that differ only in case
// are different names.
func NameFault(name string) string {
	switch {
	case name == "":
		return idNameEmpty
	case utf8.RuneCountInString(name) > MaxNameRunes:
		return idNameLong
	case strings.ContainsRune("-.", rune(name[0])):
		return idNameStart
	}
	for _, r := range name {
		if unicode.Is(unicode.Zs, r) {
			return idNameSpace
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
			return idNameChars
		}
	}
	return ""
}

// name reads a value that must be a good name.
func (r *reader) name(e entry) string {
	s, ok := r.text(e)
	if !ok || !r.goodName(e, s) {
		return ""
	}
	return s
}

func (r *reader) goodName(e entry, s string) bool {
	id := NameFault(s)
	if id == "" {
		return true
	}
	args := []string{"key", e.key, "value", clip(s), "max", "100"}
	hint := hintName
	for _, c := range s {
		if id == idNameChars && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.", c) {
			args = append(args, "char", visible(c))
			break
		}
	}
	r.add(e.at, e.path, id, hint, args...)
	return false
}

// visible shows a character, the unprintable ones by their number.
func visible(c rune) string {
	if unicode.IsGraphic(c) && !unicode.Is(unicode.Mn, c) {
		return string(c)
	}
	const hex = "0123456789ABCDEF"
	out := []byte("U+")
	for shift := 16; shift >= 0; shift -= 4 {
		if digit := c >> shift & 15; shift < 16 || digit > 0 {
			out = append(out, hex[digit])
		}
	}
	return string(out)
}

// variableName tells whether s can name a parameter or an environment variable: ASCII letters,
// digits and _, not beginning with a digit.
func variableName(s string) bool {
	if s == "" || len(s) > MaxNameRunes || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r > 'z' || r < 'a') && (r > 'Z' || r < 'A') && (r > '9' || r < '0')
	}) < 0
}
