package instance_test

import (
	"testing"

	"github.com/axsched/ax/modules/domain"
)

func TestADayShowsItsLatestInstanceAsItStands(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, second := w.fire(jobA), w.fire(jobA)
		other := w.fire(jobB)
		w.report(w.run(second.ID), domain.OutcomeSuccess, "")
		days, err := w.st.LatestDays(t.Context(), []domain.ID{jobA, jobB, 99}, 5)
		w.ok(err)
		if len(days[jobA]) != 1 || days[jobA][0].Instance != second.ID || days[jobA][0].State != domain.Success || days[jobA][0].Took() < 0 || days[jobA][0].Started.IsZero() {
			t.Errorf("after the end of %s, later than %s: %+v", second.ID, first.ID, days[jobA])
		}
		w.report(w.run(first.ID), domain.OutcomeSuccess, "")
		on, err := w.st.OnDate(t.Context(), []domain.ID{jobA, jobB}, second.BizDate)
		w.ok(err)
		if len(on) != 2 {
			t.Fatalf("%d days, want one a job: %+v", len(on), on)
		}
		for _, d := range on {
			want := map[domain.ID]domain.ID{jobA: second.ID, jobB: other.ID}[d.Job]
			if d.Instance != want || d.BizDate != second.BizDate || d.Job == jobB && d.State != domain.Running {
				t.Errorf("%+v, want instance %s", d, want)
			}
		}
		if len(days[99]) != 0 {
			t.Errorf("a job without instances: %+v", days[99])
		}
	})
}
