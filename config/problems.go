package config

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a set-up.
type Problem struct {
	Key    string // dotted, as in the file; "" when the source as a whole is wrong
	Source string // "flag --listen", "environment AX_LISTEN", "ax.yaml:3", "default"
	Text   string // what is wrong and what would be right, without secrets
}

// Problems are all things wrong with a set-up; an error when there are any.
type Problems []Problem

// Error has a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		name := one.Key
		if name != "" {
			name += ": "
		}
		lines[i] = fmt.Sprintf("%s%s (from %s)", name, one.Text, one.Source)
	}
	return "wrong configuration: " + strings.Join(lines, "\n                     ")
}

func (p *Problems) add(key, source, format string, args ...any) {
	*p = append(*p, Problem{Key: key, Source: source, Text: fmt.Sprintf(format, args...)})
}

// err is p as an error, nil when there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
