package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/axsched/ax/app/client"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/i18n"
)

// english says a text of the catalog for terminals, which are English.
func english(key string, args map[string]string) string {
	pairs := make([]any, 0, 2*len(args))
	for name, value := range args {
		pairs = append(pairs, name, value)
	}
	return i18n.In(i18n.English, key, pairs...)
}

// worded is a problem found here in the words in which the server tells one.
func worded(p job.Problem) client.Problem {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	return client.Problem{File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, ID: p.ID, Message: p.Message(english),
		Hint: p.HintText(english), Excerpt: p.Excerpt(), Severity: severity}
}

func wordedAll(ps job.Problems) []client.Problem {
	out := make([]client.Problem, len(ps))
	for i, p := range ps {
		out[i] = worded(p)
	}
	return out
}

// renderProblems prints each problem as file:line:column, sentence, the line with a
// caret under the place, and how to mend it.
func renderProblems(ps []client.Problem) string {
	var b strings.Builder
	for _, p := range ps {
		if p.Message == "" { // what some refusals list beside their sentence
			continue
		}
		if p.File != "" {
			b.WriteString(printable(p.File) + ":")
		}
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
		}
		if p.File != "" || p.Line > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s: %s\n", cmp.Or(p.Severity, "error"), printable(p.Message))
		if excerpt := strings.TrimRight(p.Excerpt, "\n"); excerpt != "" {
			b.WriteString(excerpt + "\n")
		}
		if p.Hint != "" {
			b.WriteString("  hint: " + printable(p.Hint) + "\n")
		}
	}
	return b.String()
}

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
