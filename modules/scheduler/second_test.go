package scheduler

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// edits are what people do to a job that is due each day at ten, and what its fire of ten is worth when
// they do so before ten.
func edits() map[string]struct {
	do      func(b *bed, job domain.ID) error
	stillAt bool // a fire at ten is planned after it too
} {
	put := func(change func(s *domain.JobSpec)) func(b *bed, job domain.ID) error {
		return func(b *bed, job domain.ID) error {
			s := cronSpec("0 10 * * *")
			change(&s)
			return b.put(job, 2, s, true)
		}
	}
	return map[string]struct {
		do      func(b *bed, job domain.ID) error
		stillAt bool
	}{
		"another misfire policy":   {put(func(s *domain.JobSpec) { s.Misfire = domain.MisfireSkip }), true},
		"another rule of dates":    {put(func(s *domain.JobSpec) { s.BizDate = domain.BizDateTMinus1 }), true},
		"a cron that also says so": {put(func(s *domain.JobSpec) { s.Schedule.Expr = "0 10,22 * * *" }), true},
		"another cron":             {put(func(s *domain.JobSpec) { s.Schedule.Expr = "0 11 * * *" }), false},
		"another zone":             {put(func(s *domain.JobSpec) { s.Timezone = "Asia/Shanghai" }), false},
		"a distance":               {put(func(s *domain.JobSpec) { s.Schedule = domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 3600_000} }), false},
		"the same again":           {put(func(*domain.JobSpec) {}), true},
	}
}

// TestAnEditInTheSecondOfAFireLosesNothing: an edit a second to a millisecond before a fire, at its very moment,
// or up to a second after it; with the taking before it, after it, or at once with it. The fire of that moment happens
// once under the definition that was in force then, and not at all only where an edit before it took it away.
func TestAnEditInTheSecondOfAFireLosesNothing(t *testing.T) {
	eachBed(t, "2026-05-01T09:00:00Z", func(t *testing.T, b *bed) {
		ten, start := instant(t, "2026-05-01T10:00:00Z"), b.now()
		job := domain.ID(0)
		for name, e := range edits() {
			for _, off := range []time.Duration{-time.Second, -time.Millisecond, 0, time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond} {
				for _, order := range []string{"taken before", "taken after", "at once"} {
					job++
					t.Run(fmt.Sprintf("%s, %s, %s", name, off, order), func(t *testing.T) {
						b.set(start)
						b.mustPut(job, 1, cronSpec("0 10 * * *"))
						b.set(ten.Add(off))
						b.editAndTake(t, order, func() error { return e.do(b, job) })
						b.set(ten.Add(time.Second))
						b.drain(b.node(nil))
						b.onceAtTen(t, job, ten, off < 0, off >= 0 || e.stillAt)
						if err := b.triggers().Remove(t.Context(), job); err != nil {
							t.Fatal(err)
						}
						b.drain(b.node(nil))
					})
				}
			}
		}
	})
}

// editAndTake does both in the order named.
func (b *bed) editAndTake(t *testing.T, order string, edit func() error) {
	t.Helper()
	take := func() { b.node(nil).take(t.Context(), b.due()) }
	var err error
	switch order {
	case "taken before":
		take()
		err = edit()
	case "taken after":
		err = edit()
		take()
	default:
		due := b.due()
		var both sync.WaitGroup
		both.Go(func() { err = edit() })
		both.Go(func() { b.node(nil).take(t.Context(), due) })
		both.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bed) onceAtTen(t *testing.T, job domain.ID, ten time.Time, edited, wanted bool) {
	t.Helper()
	made, err := b.instances(t.Context(), "job_id = ?", job)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]int{true: 1}[wanted]; len(made) != want {
		t.Fatalf("%d fires, want %d: %v", len(made), want, b.fires(job))
	}
	if wanted && (!made[0].Expected.Equal(ten) || edited && made[0].Version != 2) {
		t.Errorf("fired %s of version %d", made[0].Expected, made[0].Version)
	}
	a := b.account(job, ten.Add(-2*time.Hour))
	if a.Absent != 0 || a.Unplanned != 0 || a.Fired != len(made) || a.Skipped+a.Missed != 0 {
		t.Errorf("the account: %+v", a)
	}
	if next := b.trigger(job).Next; !next.After(b.now()) {
		t.Errorf("next %s", next)
	}
}
