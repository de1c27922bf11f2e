package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// MaxFires bounds what one expansion gives.
const MaxFires = 100_000

// Between lists the planned fires at or after from and before to, in order, from the
// spans in order of their beginning. More than MaxFires are refused as TooLarge.
func Between(spans []Span, from, to time.Time) ([]Fire, error) {
	var out []Fire
	for i := range spans {
		s := &spans[i]
		times, err := s.compiled()
		if err != nil {
			return nil, fmt.Errorf("the schedule in force from %s: %w", s.From.Format(time.RFC3339), err)
		}
		after, end := s.window(from, to)
		for {
			at, ok := times.Next(after)
			if !ok || at.After(end) {
				break
			}
			if len(out) == MaxFires {
				return nil, tooMany(from, to)
			}
			out = append(out, s.fire(times, at))
			after = at
		}
	}
	return out, nil
}

func tooMany(from, to time.Time) error {
	return domain.Fail(domain.TooLarge, "there are more than %d planned fires from %s to %s", MaxFires,
		from.Format(time.RFC3339), to.Format(time.RFC3339)).WithHint("ask for a shorter time").Coded("ledger.too_many", "max", strconv.Itoa(MaxFires))
}

func (s *Span) fire(times *Times, at time.Time) Fire {
	f := Fire{Expected: at, BizDate: times.BizDate(at), Version: s.Version, Kind: domain.TriggerKind(s.Schedule.Kind)}
	if times.gate != nil {
		f.From = times.gate.movedFrom(at)
	}
	return f
}

// window is the part of a span inside [from, to): strictly after the first instant
// given, not after the second. Fires are whole milliseconds.
func (s *Span) window(from, to time.Time) (after, end time.Time) {
	after, end = from.Add(-1), to.Add(-1)
	if s.From.After(after) {
		after = s.From
	}
	if !s.Open() && s.To.Before(end) {
		end = s.To
	}
	return after, end
}

// refused lists the fires of the schedule in [from, to) that the calendar does not let
// happen at all, in order. Those that are moved are not among them.
func (s *Span) refused(times *Times, from, to time.Time, tell func(Fire) error) error {
	g := times.gate
	if g == nil || !g.filters() {
		return nil
	}
	after, end := s.window(from, to)
	for {
		at, ok := g.own(after)
		if !ok || at.After(end) {
			return nil
		}
		after = at
		d := g.day(at)
		if g.wanted(d) {
			continue
		}
		if _, moved := g.image(d); moved && g.moves() {
			after = times.dayEnd(at)
			continue
		}
		f := Fire{Expected: at.UTC(), BizDate: times.BizDate(at), Version: s.Version, Kind: domain.TriggerKind(s.Schedule.Kind), Refused: g.refusal(d)}
		if err := tell(f); err != nil {
			return err
		}
	}
}

// Asked lists, like Between, all that the schedules asked for and were not moved: the planned
// fires, and those that the calendar let not happen, which say why.
func Asked(spans []Span, from, to time.Time) ([]Fire, error) {
	out, err := Between(spans, from, to)
	if err != nil {
		return nil, err
	}
	planned := len(out)
	for i := range spans {
		s := &spans[i]
		times, err := s.compiled()
		if err != nil {
			return nil, fmt.Errorf("the schedule in force from %s: %w", s.From.Format(time.RFC3339), err)
		}
		if err := s.refused(times, from, to, func(f Fire) error {
			if len(out) == MaxFires {
				return tooMany(from, to)
			}
			out = append(out, f)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if len(out) > planned {
		slices.SortStableFunc(out, func(a, b Fire) int { return a.Expected.Compare(b.Expected) })
	}
	return out, nil
}

// On lists the planned fires about a business date, in order.
func On(spans []Span, date domain.BizDate) ([]Fire, error) {
	var out []Fire
	for i := range spans {
		s := &spans[i]
		if !s.Open() && s.To.Before(s.since(date)) {
			continue
		}
		times, err := s.compiled()
		if err != nil {
			return nil, fmt.Errorf("the schedule in force from %s: %w", s.From.Format(time.RFC3339), err)
		}
		start, end, ok := times.days(date)
		if !ok {
			continue
		}
		// Where a zone sets its clocks back over midnight, a day has two parts: look an hour around it.
		fires, err := Between(spans[i:i+1], start.Add(-time.Hour), end.Add(time.Hour))
		if err != nil {
			return nil, err
		}
		for _, f := range fires {
			if f.BizDate == date {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// HeldOn lists, of each span, the first fire about a business date that its calendar let not happen on
// its day; Refused says why, and is empty for one that was moved to another day.
func HeldOn(spans []Span, date domain.BizDate) ([]Fire, error) {
	var out []Fire
	for i := range spans {
		s := &spans[i]
		times, err := s.compiled()
		if err != nil {
			return nil, fmt.Errorf("the schedule in force from %s: %w", s.From.Format(time.RFC3339), err)
		}
		if f, ok := s.held(times, date); ok {
			out = append(out, f)
		}
	}
	return out, nil
}

// held goes through the days whose fires are about the date.
func (s *Span) held(times *Times, date domain.BizDate) (Fire, bool) {
	g := times.gate
	if g == nil || !g.filters() {
		return Fire{}, false
	}
	start, end, ok := times.days(date)
	if !ok {
		return Fire{}, false
	}
	after, last := s.window(start, end)
	for {
		at, ok := g.own(after)
		if !ok || at.After(last) {
			return Fire{}, false
		}
		after = at
		d := g.day(at)
		if g.wanted(d) || times.BizDate(at) != date {
			continue
		}
		f := Fire{Expected: at.UTC(), BizDate: date, Version: s.Version, Kind: domain.TriggerKind(s.Schedule.Kind)}
		if _, moved := g.image(d); !moved || !g.moves() {
			f.Refused = g.refusal(d)
		}
		return f, true
	}
}

// Reach is how many days a fire may lie from its business date, either way: the longest
// rule, and what working days add to it at the most that a year's calendar asks for.
const Reach = 2 * domain.MaxBizDateShift

// since is an instant before every fire that can be about a date under the rule of the span.
func (s *Span) since(date domain.BizDate) time.Time {
	back := 2
	switch s.Rule {
	case domain.BizDateT, domain.BizDateTMinus1:
	default:
		back = Reach
	}
	return date.AddDays(-back).Start(time.UTC)
}
