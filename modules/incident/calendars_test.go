package incident

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
)

// ends plays the calendars.
type ends struct{ all []domain.CalendarEnd }

func (e *ends) Ending(context.Context, domain.BizDate) ([]domain.CalendarEnd, error) {
	return e.all, nil
}

func TestTheEndOfACalendarIsTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := &ends{}
		w.k.Calendars = e
		at := time.Date(2026, 12, 2, 3, 0, 0, 0, time.UTC)
		look := func() []domain.Incident {
			t.Helper()
			at = at.Add(time.Minute)
			if err := w.k.lookAtCalendars(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			open, err := w.store.Open(t.Context(), domain.IncidentCalendarEnds, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			return open
		}
		if open := look(); len(open) != 0 {
			t.Errorf("nothing ends: %+v", open)
		}
		soon := domain.CalendarEnd{ID: 5, ProjectID: 7, Key: "pay/cn", LastDay: domain.NewBizDate(2026, time.December, 31), Year: 2027, Jobs: 3}
		e.all = []domain.CalendarEnd{soon}
		look()
		open := look()
		if len(open) != 1 || open[0].Name != "pay/cn" || open[0].Subject != "5" || open[0].Count != 1 || open[0].ProjectID != 7 {
			t.Fatalf("%+v", open)
		}
		if said := Said(i18n.With(t.Context(), i18n.English), open[0]); !strings.Contains(said, "2026-12-31") || !strings.Contains(said, "3 jobs live by it: add the year 2027") {
			t.Errorf("it says %q", said)
		}
		first := open[0].ID
		over := soon
		over.LastDay = domain.BizDate{}
		e.all = []domain.CalendarEnd{over}
		if open = look(); len(open) != 1 || open[0].ID != first || !strings.Contains(Said(i18n.With(t.Context(), i18n.English), open[0]), "does not know the special days of 2027") {
			t.Errorf("once it has ended: %+v", open)
		}
		e.all = nil
		if open = look(); len(open) != 0 {
			t.Errorf("it goes on: %+v", open)
		}
		// Closed by hand it stays closed while nothing is other, and opens again when it has ended.
		soon.Year, over.Year = 2028, 2028
		e.all = []domain.CalendarEnd{soon}
		open = look()
		if len(open) != 1 {
			t.Fatalf("another end: %+v", open)
		}
		if _, err := w.store.Resolve(t.Context(), []domain.ID{open[0].ID}, at, domain.RecoveredByHand); err != nil {
			t.Fatal(err)
		}
		if open = look(); len(open) != 0 {
			t.Errorf("what was closed by hand is open: %+v", open)
		}
		e.all = []domain.CalendarEnd{over}
		if open = look(); len(open) != 1 {
			t.Errorf("when it has ended: %+v", open)
		}
	})
}
