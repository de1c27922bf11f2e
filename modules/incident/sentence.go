package incident

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// Title says in the reader's language what sort of thing is wrong.
func Title(ctx context.Context, kind domain.IncidentKind) string {
	return i18n.T(ctx, "incident.kind."+string(kind))
}

// Said is what was said of the incident last: in the reader's language where AX says
// it or the history has it from AX, else as a task said it.
func Said(ctx context.Context, i domain.Incident) string {
	if len(i.Detail) == 0 {
		return i18n.Retell(ctx, i.Message)
	}
	if i.Detail[0] == saidWhole {
		return cmp.Or(detailOf(i, i18n.Lang(ctx)), detailOf(i, i18n.English))
	}
	args := make([]any, len(i.Detail)-1)
	for n, a := range i.Detail[1:] {
		args[n] = a
		if n%2 == 1 && i.Detail[n] == "redis" {
			args[n] = redisName(ctx, a)
		}
		if n%2 == 1 && i.Detail[n] == "said" {
			args[n] = i18n.Retell(ctx, a)
		}
		if number, err := strconv.ParseInt(a, 10, 64); err == nil && n%2 == 1 && i.Detail[n] == "n" {
			args[n] = number
		}
	}
	return i18n.T(ctx, i.Detail[0], args...)
}

// saidWhole stands before whole texts, each behind its language.
const saidWhole = "said"

// saidBy is a text in each language as the detail of an incident.
func saidBy(texts map[string]string) []string {
	out := []string{saidWhole}
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, lang, cut(texts[lang]))
	}
	return out
}

// Subject is what the incident is about, for people.
func Subject(ctx context.Context, i domain.Incident) string {
	switch {
	case i.Name != "":
		return i.Name
	case slices.Contains(redisKinds, i.Kind):
		return redisName(ctx, i.Subject)
	case slices.Contains(databaseKinds, i.Kind):
		return i18n.T(ctx, "incident.database")
	case i.Kind == domain.IncidentNoTarget:
		return i18n.T(ctx, "incident.workers")
	}
	return i18n.T(ctx, "incident.schedule")
}

// redisName names a Redis by what AX uses it for.
func redisName(ctx context.Context, which string) string { return i18n.T(ctx, "incident.redis."+which) }

// Over says why the incident is over; "" while it is open.
func Over(ctx context.Context, i domain.Incident) string {
	if i.Open() {
		return ""
	}
	return i18n.T(ctx, "incident.over."+string(i.Recovery), "by", i.EndedBy, "why", i.EndedWhy)
}

func count(n int) string { return strconv.Itoa(n) }
