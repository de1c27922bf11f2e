// Package words says schedules to people: a sentence in their language for any schedule
// that AX takes, what of it they may not expect, and the choices of the form that it fits.
//
// A sentence is made from what was parsed, never from how it was written: two schedules
// with the same sentence fire at the same instants. All texts stand in the catalogs, in
// pieces that each language puts together in its own order. The package decides nothing
// about firing; it knows no job, no store and no clock.
package words

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/modules/scheduler/cron"
)

// ahead is how far a clock change may lie for a sentence or a caution to speak of it.
const ahead = 5 * 365 * 24 * time.Hour

// Wording says schedules. The zero value is ready; safe for concurrent use.
type Wording struct{}

// Sentence says when a schedule fires, in a language of the catalogs, without a full stop
// and without the zone. What clocks do is judged from the instant given. A schedule that
// does not parse is said as it is written.
func (Wording) Sentence(lang string, s domain.Schedule, zone *time.Location, from time.Time) string {
	w := speaker{lang}
	switch s.Kind {
	case domain.ScheduleCron:
		parsed, err := cron.Parse(s.Expr, cron.Dialect(s.Dialect))
		if err != nil {
			return s.Expr
		}
		if d, ok := parsed.Every(); ok {
			return finished(w.say("grid", "every", w.every(d)))
		}
		skip, repeat := parsed.Changes(from, from.Add(ahead), zone)
		return finished(w.cron(parsed.Fields(), !skip.At.IsZero() || !repeat.At.IsZero()))
	case domain.ScheduleEvery:
		return finished(w.say("grid", "every", w.every(time.Duration(s.EveryMs)*time.Millisecond)))
	case domain.ScheduleAt:
		at := time.UnixMilli(s.AtMs).In(zone)
		return finished(w.say("once", "weekday", w.weekday(int(at.Weekday())), "date", at.Format(time.DateOnly), "time", clockText(at)))
	}
	return finished(w.say("none"))
}

// cron puts the parts together. changes tells that clocks move over a time of the schedule,
// so that its kind matters.
func (w speaker) cron(f cron.Fields, changes bool) string {
	times, rhythm, allDay := w.times(f)
	text := w.say("whole", "times", times, "days", w.days(f, allDay), "years", w.years(f.Years))
	if changes && rhythm != f.Interval {
		kind := "kind.fixed"
		if f.Interval {
			kind = "kind.interval"
		}
		text += w.say(kind)
	}
	return text
}

func (w speaker) years(years []int) string {
	if years == nil {
		return ""
	}
	return w.say("years", "list", w.set(years, number))
}

// speaker says pieces in one language.
type speaker struct{ lang string }

func (w speaker) say(key string, args ...any) string { return i18n.In(w.lang, "words."+key, args...) }

// list joins texts: a, b and c.
func (w speaker) list(items []string) string { return w.join(items, "and") }

func (w speaker) join(items []string, last string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return w.say("list."+last, "rest", strings.Join(items[:n-1], w.say("list.comma")), "last", items[n-1])
	}
}

// stretch is values at one distance: from, from+step … to.
type stretch struct{ from, to, step int }

// stretches cuts ascending values into single ones, rows of three and more neighbours, and,
// where all of five and more keep another distance, that one.
func stretches(values []int) []stretch {
	if n := len(values); n >= 5 && values[1]-values[0] > 1 {
		step := values[1] - values[0]
		even := true
		for i := 1; i < n; i++ {
			even = even && values[i]-values[i-1] == step
		}
		if even {
			return []stretch{{values[0], values[n-1], step}}
		}
	}
	return rows(values)
}

// rows cuts ascending values into single ones and rows of three and more neighbours.
func rows(values []int) []stretch {
	var out []stretch
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j < i+2 {
			j = i
		}
		out = append(out, stretch{values[i], values[j], 1})
		i = j + 1
	}
	return out
}

// set says values: 5, 10–20 and 40, or 0 to 56 in steps of 7.
func (w speaker) set(values []int, one func(int) string) string {
	return w.told(stretches(values), one)
}

func (w speaker) told(all []stretch, one func(int) string) string {
	var items []string
	for _, s := range all {
		switch {
		case s.step > 1:
			items = append(items, w.say("set.steps", "from", one(s.from), "to", one(s.to), "step", number(s.step)))
		case s.from < s.to:
			items = append(items, w.say("set.range", "from", one(s.from), "to", one(s.to)))
		default:
			items = append(items, one(s.from))
		}
	}
	return w.list(items)
}

// finished begins a text with a capital where the language has any, and sets Chinese apart
// from digits.
func finished(text string) string {
	text = strings.TrimSpace(text)
	r, size := utf8.DecodeRuneInString(text)
	var b strings.Builder
	b.WriteRune(unicode.ToUpper(r))
	for _, next := range text[size:] {
		if unicode.Is(unicode.Han, r) && next < utf8.RuneSelf && isWord(next) || r < utf8.RuneSelf && isWord(r) && unicode.Is(unicode.Han, next) {
			b.WriteByte(' ')
		}
		b.WriteRune(next)
		r = next
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
