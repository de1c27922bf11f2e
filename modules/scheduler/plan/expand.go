package plan

import (
	"fmt"
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
				return nil, domain.Fail(domain.TooLarge, "there are more than %d planned fires from %s to %s", MaxFires,
					from.Format(time.RFC3339), to.Format(time.RFC3339)).WithHint("ask for a shorter time").Coded("ledger.too_many", "max", strconv.Itoa(MaxFires))
			}
			out = append(out, s.fire(times, at))
			after = at
		}
	}
	return out, nil
}

func (s *Span) fire(times *Times, at time.Time) Fire {
	return Fire{Expected: at, BizDate: times.BizDate(at), Version: s.Version, Kind: domain.TriggerKind(s.Schedule.Kind)}
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

// On lists the planned fires about a business date, in order.
func On(spans []Span, date domain.BizDate) ([]Fire, error) {
	var out []Fire
	for i := range spans {
		s := &spans[i]
		times, err := s.compiled()
		if err != nil {
			return nil, fmt.Errorf("the schedule in force from %s: %w", s.From.Format(time.RFC3339), err)
		}
		start, end := times.day(date)
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
