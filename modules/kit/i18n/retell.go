package i18n

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// evidence is where the entries stand whose English is how AX writes down what it saw.
const evidence = "evidence."

// Retell says in the reader's language what AX wrote down in English: why a worker counts
// as lost, how a program ended, what came of a try. What it does not know, such as the
// words of a person or of a program, stays as it is, also inside of what it knows. The
// English of the entries evidence.* is what it recognises, so it is written there as
// the code that writes it down says it.
func Retell(ctx context.Context, text string) string {
	if Lang(ctx) == English || text == "" {
		return text
	}
	return retell(ctx, text, 0)
}

// retellDeep is how often one sentence may stand in another.
const retellDeep = 4

func retell(ctx context.Context, text string, depth int) string {
	lead := text[:len(text)-len(strings.TrimLeft(text, ";:, "))]
	bare := text[len(lead):]
	if said, ok := recognise(ctx, bare, depth); ok {
		return mark(ctx, lead) + said
	}
	parts := strings.Split(bare, "; ")
	if len(parts) == 1 || depth >= retellDeep {
		return text
	}
	known := false
	for i, p := range parts {
		if said, ok := recognise(ctx, p, depth); ok {
			parts[i], known = said, true
		}
	}
	if !known {
		return text
	}
	return mark(ctx, lead) + strings.Join(parts, In(Lang(ctx), "retell.and"))
}

// mark is the punctuation with which a text begins.
func mark(ctx context.Context, lead string) string {
	switch strings.TrimSpace(lead) {
	case ";":
		return In(Lang(ctx), "retell.and")
	case ":":
		return In(Lang(ctx), "retell.colon")
	case ",":
		return In(Lang(ctx), "retell.comma")
	}
	return lead
}

func recognise(ctx context.Context, text string, depth int) (string, bool) {
	if depth >= retellDeep {
		return "", false
	}
	for _, s := range sentences() {
		found := s.form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		var args []any
		for i, name := range s.form.SubexpNames() {
			if name != "" {
				args = append(args, name, retold(ctx, name, found[i], depth+1))
			}
		}
		return In(Lang(ctx), s.key, args...), true
	}
	return "", false
}

// retold is the value of a placeholder in the reader's language: {d…} are spans and
// {at…} moments as Go writes them, {status} is state/label, {said} and {why} may be evidence themselves.
func retold(ctx context.Context, name, value string, depth int) string {
	switch {
	case name == "said" || name == "why":
		return retell(ctx, value, depth)
	case name == "status":
		return status(ctx, value)
	case strings.HasPrefix(name, "at"):
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			return DateTime(ctx, t) + " " + Offset(t.In(Zone(ctx)))
		}
	case strings.HasPrefix(name, "d"):
		if d, err := time.ParseDuration(value); err == nil {
			return Duration(ctx, d)
		}
	}
	return value
}

// status is state/label in words.
func status(ctx context.Context, text string) string {
	state, label, _ := strings.Cut(text, "/")
	if lang := Lang(ctx); Has(lang, "state."+state) {
		text = In(lang, "state."+state)
		if Has(lang, "label."+label) {
			text += ", " + In(lang, "label."+label)
		}
	}
	return text
}

// sentence is one form in which AX writes something down.
type sentence struct {
	key  string
	form *regexp.Regexp
	sure int // how many bytes of it are always the same
}

// sentences are all of them, the surest first.
var sentences = sync.OnceValue(func() []sentence {
	var all []sentence
	for key, m := range catalogs()[English] {
		if strings.HasPrefix(key, evidence) {
			all = append(all, formOf(key, m.other))
		}
	}
	slices.SortFunc(all, func(a, b sentence) int { return cmp.Or(cmp.Compare(b.sure, a.sure), cmp.Compare(a.key, b.key)) })
	return all
})

// formOf recognises what a text of the catalog can become.
func formOf(key, text string) sentence {
	s := sentence{key: key}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(regexp.QuoteMeta(text[end:at[0]]))
		s.sure += at[0] - end
		end = at[1]
		switch name := text[at[2]:at[3]]; {
		case name == "n" || name == "m":
			b.WriteString(`(?P<` + name + `>\d+)`)
		case (name == "said" || name == "why") && at[1] == len(text):
			b.WriteString(`(?P<` + name + `>.+)`)
		case name == "said" || name == "why":
			b.WriteString(`(?P<` + name + `>.+?)`)
		default:
			b.WriteString(`(?P<` + name + `>\S+?)`)
		}
	}
	b.WriteString(regexp.QuoteMeta(text[end:]) + `$`)
	s.sure += len(text) - end
	s.form = regexp.MustCompile(b.String())
	return s
}
