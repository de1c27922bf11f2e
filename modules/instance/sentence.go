package instance

import (
	"context"
	"strings"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// Sentence is something said to people: an entry of the catalog with its
// placeholders in pairs. Values may be times, durations, statuses and sentences
// too; each is said in the reader's language and zone.
// Then are what is said after it.
type Sentence struct {
	ID   string
	Args []any
	Then []Sentence
}

// told is a text as it was written down; what AX wrote of it is said in the reader's
// language.
type told string

func say(id string, args ...any) Sentence { return Sentence{ID: id, Args: args} }

// In says it in the language and zone of ctx.
func (s Sentence) In(ctx context.Context) string {
	args := make([]any, len(s.Args))
	for i, a := range s.Args {
		args[i] = a
		if i%2 == 1 {
			args[i] = worded(ctx, a)
		}
	}
	text := strings.TrimSpace(i18n.T(ctx, s.ID, args...))
	for _, t := range s.Then {
		text += i18n.T(ctx, "why.then") + t.In(ctx)
	}
	return text
}

// English says it in English, with times in UTC.
func (s Sentence) English() string {
	return s.In(i18n.With(context.Background(), i18n.English))
}

func worded(ctx context.Context, v any) any {
	switch v := v.(type) {
	case time.Time:
		return i18n.DateTime(ctx, v) + " " + i18n.Offset(v.In(i18n.Zone(ctx)))
	case time.Duration:
		return i18n.Duration(ctx, v)
	case told:
		return i18n.Retell(ctx, string(v))
	case domain.Status:
		return statusWords(ctx, v)
	case Sentence:
		return v.In(ctx)
	case []Sentence:
		words := make([]string, len(v))
		for i, s := range v {
			words[i] = s.In(ctx)
		}
		return strings.Join(words, i18n.T(ctx, "why.and"))
	case []string:
		return strings.Join(v, ", ")
	}
	return v
}

func statusWords(ctx context.Context, s domain.Status) string {
	words := i18n.T(ctx, "state."+string(s.State))
	if s.Label != "" {
		words += ", " + i18n.T(ctx, "label."+string(s.Label))
	}
	return words
}
