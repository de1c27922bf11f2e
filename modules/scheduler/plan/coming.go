package plan

import (
	"slices"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// Coming shows the first n fires strictly after an instant, each with the days that the
// calendar passed over since the one before.
func (s *Span) Coming(after time.Time, n int) ([]domain.Coming, error) {
	times, err := s.compiled()
	if err != nil {
		return nil, err
	}
	if s.From.After(after) {
		after = s.From
	}
	out := make([]domain.Coming, 0, n)
	for len(out) < n {
		at, ok := times.Next(after)
		if !ok {
			break
		}
		c := domain.Coming{At: at.In(times.loc), BizDate: times.BizDate(at)}
		if g := times.gate; g != nil && g.filters() {
			c.From = g.movedFrom(at)
			c.Passed = g.passed(g.day(after), g.day(at))
		}
		out = append(out, c)
		after = at
	}
	return out, nil
}

// passed lists the days between two others, both excluded, for which the schedule asks and which
// are not of the kind.
func (g *gate) passed(after, before domain.BizDate) []domain.PassedDay {
	var out []domain.PassedDay
	for d := after; ; {
		next, ok := g.ownFrom(d.AddDays(1))
		if !ok || !next.Before(before) {
			break
		}
		if d = next; g.wanted(d) {
			continue
		}
		p := domain.PassedDay{Day: d, Label: g.calendar.Label(d)}
		if g.moves() {
			p.To, _ = g.image(d)
		}
		out = append(out, p)
	}
	return slices.Clip(out[max(0, len(out)-domain.MaxPassed):])
}
