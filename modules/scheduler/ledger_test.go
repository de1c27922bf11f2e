package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// TestLedgerPages goes through ten thousand jobs page by page: each is there once, and a
// page looks at a bounded number of them.
func TestLedgerPages(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		const jobs, bad = 10_000, 37
		b.insertSpans(t, jobs)
		b.pass(25 * time.Hour)
		q := LedgerQuery{From: instant(t, "2026-05-02T00:00:00Z"), To: instant(t, "2026-05-03T00:00:00Z"), Projects: []domain.ID{project}, Limit: 50}
		seen, pages := map[domain.ID]bool{}, 0
		for {
			l, err := b.plans().Ledger(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			for _, a := range l.Jobs {
				if seen[a.Job] || a.Planned != 1 || a.Absent != 1 {
					t.Fatalf("%+v, seen before: %t", a, seen[a.Job])
				}
				seen[a.Job] = true
			}
			if q.After = l.Next; l.Next == 0 {
				break
			}
			if len(l.Jobs) != 50 {
				t.Fatalf("a page of %d jobs", len(l.Jobs))
			}
			if pages == 20 { // the rest is like it: go on near the end
				q.After = jobs - 120
				for id := domain.ID(1); id <= q.After; id++ {
					seen[id] = true
				}
			}
		}
		if len(seen) != jobs {
			t.Errorf("%d jobs", len(seen))
		}
		b.insertGaps(t, jobs, func(id int) bool { return id%bad != 0 })
		q = LedgerQuery{From: q.From, To: q.To, Unbalanced: true, Limit: 500}
		l, err := b.plans().Ledger(t.Context(), q)
		if err != nil || l.Next != maxLooked || len(l.Jobs) != maxLooked/bad || l.Balanced {
			t.Fatalf("a search looked up to %d and found %d, %v", l.Next, len(l.Jobs), err)
		}
	})
}

func (b *bed) insertSpans(t *testing.T, jobs int) {
	t.Helper()
	err := b.db.Tx(t.Context(), func(ctx context.Context) error {
		for id := 1; id <= jobs; id++ {
			s := plan.Span{ID: b.ids.Next(), ProjectID: project, JobID: domain.ID(id), Version: 1, From: b.now(),
				Timing: plan.Timing{Schedule: domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 2 * * *", Dialect: "unix"}, Zone: "UTC", Rule: domain.BizDateT}}
			if err := b.st.OpenSpans(ctx, []plan.Span{s}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// insertGaps notes the one fire of those of the jobs as missed.
func (b *bed) insertGaps(t *testing.T, jobs int, of func(id int) bool) {
	t.Helper()
	at := instant(t, "2026-05-02T02:00:00Z")
	var gaps []plan.Gap
	for id := 1; id <= jobs; id++ {
		if of(id) {
			gaps = append(gaps, plan.Gap{ID: b.ids.Next(), ProjectID: project, JobID: domain.ID(id), Kind: plan.Missed, Reason: "x", BizDate: domain.BizDateOf(at, time.UTC), From: at, To: at, Fires: 1, CreatedAt: at})
		}
	}
	for part := range slices.Chunk(gaps, 500) {
		if err := b.st.InsertGaps(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedgerRefusesTooMuch: a job with too many fires, or with a schedule that can't be
// read, is refused by itself.
func TestLedgerRefusesTooMuch(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, everySpec(100*time.Millisecond))
		b.mustPut(2, 1, cronSpec("0 * * * *"))
		b.mustPut(3, 1, cronSpec("0 * * * *"))
		if _, err := b.db.Exec(t.Context(), "UPDATE schedule_span SET timezone = 'Mars/Olympus' WHERE job_id = 3"); err != nil {
			t.Fatal(err)
		}
		q := LedgerQuery{From: b.now(), To: b.now().Add(24 * time.Hour)}
		l, err := b.plans().Ledger(t.Context(), q)
		if err != nil || len(l.Jobs) != 3 || l.Balanced || l.Next != 0 {
			t.Fatalf("%+v, %v", l, err)
		}
		if !domain.Is(l.Jobs[0].Refused, domain.TooLarge) || l.Jobs[1].Refused != nil || l.Jobs[1].Pending != 23 || l.Jobs[2].Refused == nil {
			t.Errorf("%+v", l.Jobs)
		}
		q.Job = 1
		if _, err := b.plans().Ledger(t.Context(), q); !domain.Is(err, domain.TooLarge) {
			t.Errorf("alone: %v", err)
		}
		if _, _, err := b.plans().Fires(t.Context(), FiresQuery{Job: 1, From: q.From, To: q.To, Limit: 1}); !domain.Is(err, domain.TooLarge) {
			t.Errorf("its fires: %v", err)
		}
		q.To = q.From.Add(time.Hour)
		if l, err := b.plans().Ledger(t.Context(), q); err != nil || l.Jobs[0].Pending != 35_999 {
			t.Errorf("an hour of it: %+v, %v", l, err)
		}
		// The work of a page is bounded: after three such hours the next page goes on.
		for job := domain.ID(11); job < 31; job++ {
			b.mustPut(job, 1, everySpec(100*time.Millisecond))
		}
		l, err = b.plans().Ledger(t.Context(), LedgerQuery{From: b.now(), To: b.now().Add(2 * time.Hour), After: 3})
		if err != nil || l.Next == 0 || len(l.Jobs) > 6 {
			t.Errorf("%d accounts, next %s, %v", len(l.Jobs), l.Next, err)
		}
	})
}

// TestLedgerSaysWhoHasNotCome tells what no scheduler has come to from what is lost.
func TestLedgerSaysWhoHasNotCome(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		b.mustPut(1, 1, cronSpec("*/10 * * * *"))
		b.set(instant(t, "2026-05-01T10:35:00Z"))
		if a := b.account(1, start); a.Absent != 3 || !a.Untaken {
			t.Errorf("nobody came: %+v", a)
		}
		b.drain(b.node(nil))
		if a := b.account(1, start); a.Absent != 0 || a.Untaken {
			t.Errorf("somebody came: %+v", a)
		}
		if _, err := b.db.Exec(t.Context(), "DELETE FROM instance"); err != nil {
			t.Fatal(err)
		}
		if a := b.account(1, start); a.Absent != 1 || a.Untaken {
			t.Errorf("a row is lost: %+v", a)
		}
	})
}

// TestAResumeBringsNoRemovedScheduleBack: a trigger whose schedule was taken away stands
// until its due fires are noted; a resume meanwhile opens no span.
func TestAResumeBringsNoRemovedScheduleBack(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		b.mustPut(1, 1, cronSpec("*/10 * * * *"))
		b.set(instant(t, "2026-05-01T10:25:00Z"))
		if err := b.triggers().Remove(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := b.triggers().Resume(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.drain(b.node(nil))
		b.pass(time.Hour)
		b.drain(b.node(nil))
		if a := b.account(1, start); a.Planned != 2 || a.Skipped != 2 {
			t.Errorf("%+v", a)
		}
	})
}
