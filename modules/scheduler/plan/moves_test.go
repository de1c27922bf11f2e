package plan

import (
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// A change of today's day tells of the fires that are still to come, by whatever way the calendar
// lets them happen: what was due before is settled, and never happens.
func TestMovesTellsNothingThatIsPast(t *testing.T) {
	now := time.Date(2025, 10, 1, 10, 37, 0, 0, time.UTC) // a Wednesday
	before, after := calendarOf(t, 1, "2025-10-01"), calendarOf(t, 2)
	for _, otherwise := range []domain.GateElse{domain.ElseSkip, domain.ElseNext, domain.ElsePrevious} {
		for _, way := range []struct{ was, will *domain.Calendar }{{before, after}, {after, before}} {
			timing := gated(Timing{Schedule: domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 8,10,11,20 * * *"}, Zone: "UTC", Rule: domain.BizDateT}, way.was, domain.GateWorkday, otherwise)
			old := &Span{JobID: 1, Version: 1, Timing: timing, From: now.AddDate(0, -1, 0), Calendar: way.was}
			m, _, err := Moves(old, way.will, Look{From: now, Days: 60, Most: 10_000, Shown: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append(m.Added, m.Gone...) {
				if !f.At.After(now) {
					t.Errorf("else %s: %s is past at %s", otherwise, f.At, now)
				}
			}
			today := 0
			for _, f := range append(m.Added, m.Gone...) {
				if domain.BizDateOf(f.At, time.UTC) == date(t, "2025-10-01") {
					today++
				}
			}
			if today != 2 {
				t.Errorf("else %s: %d fires of today are told, not those of 11:00 and 20:00: %+v", otherwise, today, m)
			}
		}
	}
}
