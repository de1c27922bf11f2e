package plan

import (
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Look bounds what Moves looks at: days from an instant on, at most so many fires, of which
// Shown are told one by one.
type Look struct {
	From              time.Time
	Days, Most, Shown int
}

// Moves compares the fires to come of a span with those that it would have under a newer version
// of its calendar, put into force at look.From. looked is how many fires that took.
func Moves(old *Span, newest *domain.Calendar, look Look) (m domain.CalendarMove, looked int, err error) {
	is := Span{JobID: old.JobID, Version: old.Version, Timing: old.Timing, From: look.From, Calendar: newest}
	is.Gate.Version = newest.Version
	if is.Carried, err = Carry(old, is.Timing, newest, look.From); err != nil {
		return m, 0, err
	}
	was, err := old.compiled()
	if err != nil {
		return m, 0, err
	}
	will, err := is.compiled()
	if err != nil {
		return m, 0, err
	}
	for _, w := range windows(old, newest, was.loc, look) {
		gone, added, n, whole := compared(was, will, w, look, looked)
		looked += n
		for _, f := range gone {
			m.Gone = told(m.Gone, &m.GoneCount, f, look.Shown)
		}
		for _, f := range added {
			m.Added = told(m.Added, &m.AddedCount, f, look.Shown)
		}
		if !whole {
			m.More = true
			break
		}
	}
	return m, looked, nil
}

func told(all []domain.Coming, count *int, f domain.Coming, most int) []domain.Coming {
	if *count++; len(all) < most {
		return append(all, f)
	}
	return all
}

// dayRange is days, both counted.
type dayRange struct{ first, last domain.BizDate }

// windows are the stretches of days on which fires can differ: the days of which the two versions
// say different things, and those as far around as a fire is moved, or a date counted, over them.
func windows(old *Span, newest *domain.Calendar, loc *time.Location, look Look) []dayRange {
	before, after := 0, 0
	if old.Gate.moves() {
		before, after = MaxMove, MaxMove
	}
	if old.Rule.Workdays() {
		before, after = Reach, Reach
	}
	today := domain.BizDateOf(look.From, loc)
	end := today.AddDays(look.Days)
	var out []dayRange
	for d := today.AddDays(-after); !end.AddDays(before).Before(d); d = d.AddDays(1) {
		if old.Calendar.Workday(d) == newest.Workday(d) {
			continue
		}
		s := dayRange{d.AddDays(-before), d.AddDays(after)}
		if s.first.Before(today) {
			s.first = today
		}
		if end.Before(s.last) {
			s.last = end
		}
		if n := len(out); n > 0 && !out[n-1].last.AddDays(1).Before(s.first) {
			out[n-1].last = s.last
			continue
		}
		if !s.last.Before(s.first) {
			out = append(out, s)
		}
	}
	return out
}

// compared lists the fires of a window, from the look's instant on, that one has and the other has
// not, or has about another date: what was due before stays as it is. So many were looked at
// before; whole: those of the window were all looked at.
func compared(was, will *Times, w dayRange, look Look, before int) (gone, added []domain.Coming, looked int, whole bool) {
	after, end := w.first.Start(was.loc).Add(-1), w.last.AddDays(1).Start(was.loc)
	if after.Before(look.From) {
		after = look.From
	}
	next := func(t *Times, after time.Time) (domain.Coming, bool) {
		at, ok := t.Next(after)
		if !ok || !at.Before(end) {
			return domain.Coming{}, false
		}
		looked++
		c := domain.Coming{At: at.In(t.loc), BizDate: t.BizDate(at)}
		if t.gate != nil {
			c.From = t.gate.movedFrom(at)
		}
		return c, true
	}
	a, moreA := next(was, after)
	b, moreB := next(will, after)
	for moreA || moreB {
		if before+looked > look.Most {
			return gone, added, looked, false
		}
		switch {
		case !moreB || moreA && a.At.Before(b.At):
			gone = append(gone, a)
			a, moreA = next(was, a.At)
		case !moreA || b.At.Before(a.At):
			added = append(added, b)
			b, moreB = next(will, b.At)
		default:
			if a.BizDate != b.BizDate {
				gone, added = append(gone, a), append(added, b)
			}
			a, moreA = next(was, a.At)
			b, moreB = next(will, b.At)
		}
	}
	return slices.Clip(gone), slices.Clip(added), looked, true
}
