package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// Why a job has no instance on a date is told from what was planned then and what is noted of it.
func TestAbsences(t *testing.T) {
	eachBed(t, "2026-05-04T10:00:00Z", func(t *testing.T, b *bed) { // a Monday
		shelf := &shelf{}
		shelf.next(t, "-2026-05-06")
		daily := cronSpec("0 2 * * *")
		byCalendar := cronSpec("0 2 * * *")
		byCalendar.Calendar = domain.CalendarUse{Name: "cn", On: domain.GateWorkday, Else: domain.ElseSkip}
		for job, spec := range map[domain.ID]domain.JobSpec{1: daily, 2: cronSpec("0 2 1 * *"), 3: cronSpec("0 */6 * * *"), 5: everySpec(100 * time.Millisecond), 6: daily} {
			b.mustPut(job, 1, spec)
		}
		b.putGated(shelf, 4, byCalendar)
		if _, err := b.db.Exec(t.Context(), "UPDATE schedule_span SET timezone = 'Mars/Olympus' WHERE job_id = 6"); err != nil {
			t.Fatal(err)
		}
		at := instant(t, "2026-05-05T02:00:00Z")
		gap := func(job domain.ID, kind plan.GapKind, reason string, from, to time.Time, n int) plan.Gap {
			return plan.Gap{ID: b.ids.Next(), ProjectID: project, JobID: job, Kind: kind, Reason: reason, BizDate: domain.BizDateOf(at, time.UTC), From: from, To: to, Fires: n, CreatedAt: to}
		}
		six := instant(t, "2026-05-05T06:00:00Z")
		if err := b.st.InsertGaps(t.Context(), []plan.Gap{gap(1, plan.Skipped, plan.ReasonPolicy, at, at, 1), gap(3, plan.Missed, plan.ReasonOld, six, six.Add(6*time.Hour), 2),
			gap(3, plan.Skipped, plan.ReasonPolicy, six.Add(12*time.Hour), six.Add(12*time.Hour), 1)}); err != nil {
			t.Fatal(err)
		}
		b.set(instant(t, "2026-05-06T10:00:00Z"))
		plans := b.gatedPlans(shelf)
		for date, want := range map[string]string{
			"2026-05-03": "unplanned;unplanned;unplanned;unplanned;",
			"2026-05-05": "skipped misfire: skip 1 02:00;unplanned;missed older than 7 days 2 06:00;due 1 02:00;",
			"2026-05-06": "due 1 02:00;unplanned;due 2 00:00;skipped calendar cn: rest day 1 02:00;",
			"2026-06-01": "pending 1 02:00;pending 1 02:00;pending 4 00:00;pending 1 02:00;",
		} {
			day, _ := domain.ParseBizDate(date)
			got, err := plans.Absences(t.Context(), []domain.ID{1, 2, 3, 4, 5, 6}, day)
			if err != nil {
				t.Fatal(err)
			}
			told := ""
			for job := domain.ID(1); job <= 4; job++ {
				told += absenceText(got[job]) + ";"
			}
			if told != want {
				t.Errorf("%s: %s\nwant %s", date, told, want)
			}
			if _, known := got[6]; known {
				t.Errorf("%s: a schedule that can't be read tells %+v", date, got[6])
			}
			if _, known := got[5]; known && date == "2026-06-01" {
				t.Errorf("%s: of too many fires it tells %+v", date, got[5])
			}
		}
	})
}

func absenceText(a domain.Absence) string {
	text := string(a.Kind)
	if a.Reason != "" {
		text += " " + a.Reason
	}
	if a.Fires > 0 {
		text += fmt.Sprintf(" %d %s", a.Fires, a.At.Format("15:04"))
	}
	return text
}
