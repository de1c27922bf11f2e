package calendar

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/axsched/ax/modules/domain"
)

// Saying is what somebody wants a calendar to say of a day.
type Saying string

// What can be said: it is worked, it is off, or nothing, so that the weekly rhythm decides again.
const (
	SayWorkday Saying = "workday"
	SayHoliday Saying = "holiday"
	SayRule    Saying = "rule"
)

// DaySet asks what a calendar shall say of a day, or of each day of a stretch.
type DaySet struct {
	First, Last domain.BizDate // Last zero: First alone
	Say         Saying
	Label       string // what is said beside it; none with SayRule
	// AddYear counts the years of the days as known from now on, where they are not yet.
	AddYear bool
	Base    *int // the version that the caller saw; nil = whatever is there
	DryRun  bool // judge and foresee, keep nothing
}

// SetDays changes what a calendar says of single days, and leaves the others; the caller may write
// there. Invalid, with the field, for what can't be said and for days of a year that the calendar does
// not know where AddYear is not set; Conflict when Base was overtaken.
func (c *Calendars) SetDays(ctx context.Context, f Found, s DaySet) (Applied, []Problem, error) {
	if s.Last.IsZero() {
		s.Last = s.First
	}
	s.Label = strings.TrimSpace(s.Label)
	if err := s.check(); err != nil {
		return Applied{}, nil, err
	}
	r := Request{File: s.note(), Project: f.Project, Name: f.Name, Base: s.Base, DryRun: s.DryRun}
	var out Applied
	var problems []Problem
	err := c.Store.Tx(ctx, func(ctx context.Context) error {
		row, old, err := c.standing(ctx, f.ProjectID, f.Name)
		if err != nil {
			return err
		}
		if row.ID != f.ID {
			return Missing(f.Key())
		}
		if s.Base != nil && *s.Base != row.Version {
			return c.overtaken(ctx, r, row)
		}
		days, err := s.of(old, f.Key())
		if err != nil {
			return err
		}
		if out, problems, err = c.take(ctx, r, row, old, days); err == nil && (s.DryRun || len(problems) > 0) {
			err = errNothingKept
		}
		return err
	})
	if errors.Is(err, errNothingKept) {
		err = nil
	}
	return out, problems, err
}

// check judges what is asked for by itself.
func (s DaySet) check() error {
	first, last := strconv.Itoa(FirstYear), strconv.Itoa(LastYear)
	for _, d := range []domain.BizDate{s.First, s.Last} {
		if y, _, _ := d.Date(); y < FirstYear || y > LastYear {
			return domain.Fail(domain.Invalid, "%s lies outside of %s to %s", d, first, last).At("date").
				Coded("calendar.problem.year", "value", d.String(), "first", first, "last", last)
		}
	}
	if s.Last.Before(s.First) || s.First.AddDays(365).Before(s.Last) {
		value := s.First.String() + ".." + s.Last.String()
		return domain.Fail(domain.Invalid, "%s is no stretch of days: the last must not be before the first, and at most a year later", value).At("until").
			Coded("calendar.problem.stretch", "value", value)
	}
	switch s.Say {
	case SayWorkday, SayHoliday:
	case SayRule:
		if s.Label != "" {
			return domain.Fail(domain.Invalid, "a day that follows the weekly rule has no label").At("label").Coded("calendar.rule_label")
		}
	default:
		return domain.Fail(domain.Invalid, "%q is nothing that a calendar says of a day: it is workday, holiday or rule", s.Say).At("kind").
			Coded("calendar.bad_saying", "value", string(s.Say))
	}
	if most := strconv.Itoa(MaxLabelRunes); utf8.RuneCountInString(s.Label) > MaxLabelRunes {
		return domain.Fail(domain.Invalid, "a label has at most %s characters", most).At("label").Coded("calendar.problem.label_long", "max", most)
	}
	if strings.IndexFunc(s.Label, unicode.IsControl) >= 0 {
		return domain.Fail(domain.Invalid, "the label holds a control character").At("label").Coded("calendar.problem.control")
	}
	return nil
}

// note tells in the list of versions what was done: 2026-05-01..2026-05-05 holiday Labour Day.
func (s DaySet) note() string {
	text := s.First.String()
	if s.Last != s.First {
		text += ".." + s.Last.String()
	}
	return strings.TrimSpace(text + " " + string(s.Say) + " " + s.Label)
}

// DayNote reads a version's note that SetDays left: the days, what was said of them and the label.
func DayNote(note string) (days string, say Saying, label string, ok bool) {
	days, rest, _ := strings.Cut(note, " ")
	said, label, _ := strings.Cut(rest, " ")
	first, last, stretch := strings.Cut(days, "..")
	_, err := domain.ParseBizDate(first)
	if err == nil && stretch {
		_, err = domain.ParseBizDate(last)
	}
	say = Saying(said)
	return days, say, label, err == nil && (say == SayWorkday || say == SayHoliday || say == SayRule)
}

// of is the calendar that an older one becomes.
func (s DaySet) of(old *domain.Calendar, key string) (*domain.Calendar, error) {
	out := *old
	out.Days = maps.Clone(old.Days)
	if out.Days == nil {
		out.Days = map[domain.BizDate]domain.CalendarDay{}
	}
	for d := s.First; !s.Last.Before(d); d = d.AddDays(1) {
		if s.Say == SayRule {
			delete(out.Days, d)
		} else {
			out.Days[d] = domain.CalendarDay{Work: s.Say == SayWorkday, Label: s.Label}
		}
	}
	from, _, _ := s.First.Date()
	to, _, _ := s.Last.Date()
	for year := from; year <= to; year++ {
		switch {
		case out.Covers(domain.NewBizDate(year, time.January, 1)):
		case s.AddYear:
			out.Years = slices.Sorted(slices.Values(append(slices.Clone(out.Years), year)))
		case s.Say != SayRule:
			return nil, domain.Fail(domain.Invalid, "calendar %s does not know the special days of %d", key, year).At("add_year").
				WithHint("bring in the days of that year as a file, or say that all its other days follow the weekly rule (--add-year)").
				Coded("calendar.year_not_known", "calendar", key, "year", strconv.Itoa(year))
		}
	}
	return &out, nil
}
