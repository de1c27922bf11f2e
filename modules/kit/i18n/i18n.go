// Package i18n owns the words that people see: two catalogs of messages (en and
// zh-CN), the choice between them, and numbers, durations and times said in the
// reader's language and zone.
//
// It refuses to guess: a key that a catalog lacks reads ⟦key⟧, a value that a
// message wants and does not get reads ⟦name⟧, so that a hole is seen in a page
// and in a test and never hidden by the other language. It knows no request and
// no page; whoever serves one puts the language (With) and the clock (WithClock)
// into the context.
//
// Catalogs are the files catalog/<lang>/*.json, merged. A file is one flat object
// of key to message; a message is a text, or an object of plural forms ("one",
// "other") that the argument "n" chooses. A placeholder is {name}; {{…}} stays as
// written, since job files use it.
package i18n

import (
	"context"
	"time"

	"golang.org/x/text/language"
)

// The languages of AX. Every other tag is answered by the nearer of the two.
const (
	English = "en"
	Chinese = "zh-CN"
)

// Langs lists the languages in the order in which pages offer them.
func Langs() []string { return []string{English, Chinese} }

// Supported reports whether lang is exactly one of Langs.
func Supported(lang string) bool { return lang == English || lang == Chinese }

// Pick chooses a language for an Accept-Language header. An empty, malformed or
// foreign header gives English.
func Pick(accept string) string {
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(tags) == 0 {
		return English
	}
	matcher := language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese, language.Chinese})
	if _, i, confidence := matcher.Match(tags...); confidence != language.No && i > 0 {
		return Chinese
	}
	return English
}

type contextKey struct{}

// reader is what the context knows of the person reading. Its zero value reads
// English, UTC, at no known moment.
type reader struct {
	lang string
	now  time.Time
	zone *time.Location
}

func readerOf(ctx context.Context) reader {
	r, ok := ctx.Value(contextKey{}).(reader)
	if !ok {
		r = reader{}
	}
	if r.lang == "" {
		r.lang = English
	}
	if r.zone == nil {
		r.zone = time.UTC
	}
	return r
}

// With sets the language of ctx. A language that is not Supported becomes English.
func With(ctx context.Context, lang string) context.Context {
	r := readerOf(ctx)
	r.lang = English
	if Supported(lang) {
		r.lang = lang
	}
	return context.WithValue(ctx, contextKey{}, r)
}

// WithClock sets the moment that "ago" and "in" are counted from and the zone in
// which instants are shown. A nil zone is UTC.
func WithClock(ctx context.Context, now time.Time, zone *time.Location) context.Context {
	r := readerOf(ctx)
	r.now, r.zone = now, zone
	return context.WithValue(ctx, contextKey{}, r)
}

// Lang is the language of ctx; English if none was set.
func Lang(ctx context.Context) string { return readerOf(ctx).lang }

// Zone is the zone of ctx; UTC if none was set.
func Zone(ctx context.Context) *time.Location { return readerOf(ctx).zone }

// Now is the moment of ctx; zero if none was set.
func Now(ctx context.Context) time.Time { return readerOf(ctx).now }

// T says the message of key in the language of ctx. args are pairs of a
// placeholder's name and its value: T(ctx, "jobs.count", "n", 12). Whole numbers
// are grouped by thousands; everything else is printed as fmt does.
func T(ctx context.Context, key string, args ...any) string {
	return In(readerOf(ctx).lang, key, args...)
}

// In is T for a language instead of a context.
func In(lang, key string, args ...any) string {
	if !Supported(lang) {
		lang = English
	}
	m, ok := catalogs()[lang][key]
	if !ok {
		return "⟦" + key + "⟧"
	}
	return fill(m.form(lang, args), args)
}

// Has reports whether lang's catalog holds key.
func Has(lang, key string) bool {
	_, ok := catalogs()[lang][key]
	return ok
}
