package scheduler

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
)

// A grid hangs on the first save, not on the last start. (G-B9)
func TestEveryKeepsItsAnchor(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		for job, spec := range map[domain.ID]domain.JobSpec{1: everySpec(24 * time.Hour), 2: cronSpec("@every 24h")} {
			b.set(instant(t, "2026-05-01T10:00:00Z"))
			b.mustPut(job, 1, spec)
			for v := 2; v < 6; v++ { // a deploy each 10 hours, each with a new version
				b.pass(10 * time.Hour)
				b.drain(b.node(nil)) // a node that has just started
				b.mustPut(job, v, spec)
			}
			if got, want := b.fires(job), []string{"02T10:00:00 2026-05-02"}; !slices.Equal(got, want) {
				t.Errorf("fires %v, want %v", got, want)
			}
			if got := b.trigger(job).Next; !got.Equal(instant(t, "2026-05-03T10:00:00Z")) {
				t.Errorf("next %s", got)
			}
			other := spec
			other.Timezone = "Asia/Tokyo" // a new span, the same grid
			b.mustPut(job, 7, other)
			if got := b.trigger(job).Next; !got.Equal(instant(t, "2026-05-03T10:00:00Z")) {
				t.Errorf("next after the change of zone %s", got)
			}
			b.mustPut(job, 8, everySpec(time.Hour))
			if got := b.trigger(job).Next; !got.Equal(b.now().Add(time.Hour)) {
				t.Errorf("a new interval counts from %s, got next %s", b.now(), got)
			}
		}
	})
}

// A save that changes no time changes no fire, also under a clock that was set back. (G-A17)
func TestUnchangedScheduleKeepsSpanAndNext(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("*/5 * * * *"))
		first := b.trigger(1)
		b.pass(7 * time.Minute) // 10:05 is due and not taken
		spec := cronSpec("*/5 * * * *")
		spec.Misfire = domain.MisfireAll
		b.mustPut(1, 2, spec)
		if got := b.trigger(1); !got.Next.Equal(first.Next) || got.Version != 2 || got.Misfire != domain.MisfireAll {
			t.Errorf("got %+v", got)
		}
		spans, _, err := b.st.Spans(t.Context(), []domain.ID{1}, time.Time{})
		if err != nil || len(spans[1]) != 1 || spans[1][0].Version != 2 {
			t.Errorf("spans %+v, %v", spans, err)
		}
		b.drain(b.node(nil))
		ins, err := b.instances(t.Context(), "job_id = 1")
		if err != nil || len(ins) != 1 || ins[0].Version != 2 || ins[0].JobName != "job_1" || ins[0].Trigger != domain.TriggerCron {
			t.Errorf("instances %+v, %v", ins, err)
		}
		next := b.trigger(1).Next
		b.pass(-time.Hour) // the database's clock is set back: what has fired is not planned again
		b.mustPut(1, 3, spec)
		if got := b.trigger(1).Next; !got.Equal(next) {
			t.Errorf("next %s, before the clock was set back %s", got, next)
		}
	})
}

// A change of zone moves the next fire and doubles none. (J-A13)
func TestChangedZoneFiresOnceAtItsNextTime(t *testing.T) {
	eachBed(t, "2026-04-30T16:30:00Z", func(t *testing.T, b *bed) {
		spec := cronSpec("0 2 * * *")
		spec.Timezone = "Asia/Shanghai"
		b.mustPut(1, 1, spec)
		b.set(instant(t, "2026-04-30T17:30:00Z")) // 01:30 in Shanghai, 02:30 in Tokyo
		spec.Timezone = "Asia/Tokyo"
		b.mustPut(1, 2, spec)
		if got := b.trigger(1).Next; !got.Equal(instant(t, "2026-05-01T17:00:00Z")) { // 02:00 in Tokyo the next day
			t.Errorf("next %s", got)
		}
		b.set(instant(t, "2026-05-01T17:00:00Z"))
		b.drain(b.node(nil))
		if got := b.fires(1); !slices.Equal(got, []string{"01T17:00:00 2026-05-02"}) {
			t.Errorf("fires %v", got)
		}
	})
}

// Saving again, pausing and resuming shift nothing. (G-A19)
func TestSaveThenPauseThenResumeGivesTheSameTimes(t *testing.T) {
	eachBed(t, "2026-05-01T10:07:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("*/10 * * * *"))
		first := b.trigger(1).Next
		tr := b.triggers()
		for range 3 {
			if err := tr.Pause(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if !b.trigger(1).Next.IsZero() {
				t.Fatal("a paused job has a next fire")
			}
			if err := tr.Resume(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		b.mustPut(1, 1, cronSpec("*/10 * * * *"))
		if got := b.trigger(1).Next; !got.Equal(first) {
			t.Errorf("next %s, first %s", got, first)
		}
		if err := tr.Pause(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Hour)
		if err := tr.Resume(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.set(instant(t, "2026-05-01T11:10:00Z"))
		b.drain(b.node(nil))
		if got := b.fires(1); !slices.Equal(got, []string{"01T11:10:00 2026-05-01"}) {
			t.Errorf("nothing of the pause may fire: %v", got)
		}
	})
}

// A fire that was due and not taken when people paused or removed the job is noted, not fired.
func TestPauseAndRemoveNoteWhatWasDue(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for job := domain.ID(1); job <= 3; job++ {
			b.mustPut(job, 1, cronSpec("*/10 * * * *"))
		}
		b.set(instant(t, "2026-05-01T10:10:05Z"))
		tr := b.triggers()
		for _, err := range []error{tr.Pause(t.Context(), 1), tr.Remove(t.Context(), 2), tr.Pause(t.Context(), 3), tr.Resume(t.Context(), 3)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		b.drain(b.node(nil))
		for job := domain.ID(1); job <= 2; job++ {
			if a := b.account(job, start); a.Planned != 1 || a.Skipped != 1 {
				t.Errorf("job %d: %+v", job, a)
			}
		}
		if _, err := b.st.LockOf(t.Context(), 2); !domain.Is(err, domain.NotFound) {
			t.Errorf("the removed trigger is still there: %v", err)
		}
		b.mustPut(4, 1, cronSpec("*/10 * * * *"))
		if err := tr.Remove(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
		if _, err := b.st.LockOf(t.Context(), 4); !domain.Is(err, domain.NotFound) {
			t.Errorf("the removed trigger is still there: %v", err)
		}
		if err := tr.Remove(t.Context(), 99); err != nil {
			t.Errorf("removing what is not there: %v", err)
		}
	})
}

// What would never fire is refused, and nothing of it is kept. (G-A9)
func TestRefusedAtSave(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		past := cronSpec("")
		past.Schedule = domain.Schedule{Kind: domain.ScheduleAt, AtMs: b.now().UnixMilli()}
		ended := cronSpec("0 0 0 1 1 ? 2020")
		ended.Schedule.Dialect = "quartz"
		for name, spec := range map[string]domain.JobSpec{"at in the past": past, "never again": ended, "30 February": cronSpec("0 0 30 2 *"), "nonsense": cronSpec("nonsense")} {
			err := b.put(1, 1, spec, true)
			if !domain.Is(err, domain.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := b.st.LockOf(t.Context(), 1); !domain.Is(err, domain.NotFound) {
			t.Errorf("something was saved: %v", err)
		}
	})
}

// One moment is one fire, however often it is saved. (J-A23)
func TestAtFiresOnceAndMayBeSavedAgain(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		spec := cronSpec("")
		spec.Schedule = domain.Schedule{Kind: domain.ScheduleAt, AtMs: b.now().Add(2 * time.Minute).UnixMilli()}
		b.mustPut(1, 1, spec)
		b.pass(2 * time.Minute)
		b.drain(b.node(nil))
		b.pass(time.Hour)
		b.mustPut(1, 2, spec) // another key of the file changed
		b.drain(b.node(nil))
		if got := b.fires(1); !slices.Equal(got, []string{"01T10:02:00 2026-05-01"}) {
			t.Errorf("fires %v", got)
		}
		if !b.trigger(1).Next.IsZero() {
			t.Errorf("next %s", b.trigger(1).Next)
		}
	})
}

func TestNudgeOnlyWhenTheNearFutureChanges(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("0 12 * * *"))
		if n := b.nudges.Load(); n != 0 {
			t.Errorf("%d nudges for a fire in two hours", n)
		}
		b.mustPut(2, 1, everySpec(10*time.Second))
		if n := b.nudges.Load(); n != 1 {
			t.Errorf("%d nudges", n)
		}
		err := b.db.Tx(t.Context(), func(ctx context.Context) error {
			if err := b.triggers().Pause(ctx, 2); err != nil {
				return err
			}
			if n := b.nudges.Load(); n != 1 {
				t.Error("a nudge before the commit")
			}
			return nil
		})
		if err != nil || b.nudges.Load() != 2 {
			t.Errorf("%v, %d nudges", err, b.nudges.Load())
		}
	})
}

// Paused for three days, run now, then enabled: one run, and of the days before none, until somebody asks for them. (J-H2)
func TestRunNowThenResumeIsOneRun(t *testing.T) {
	eachBed(t, "2026-05-01T09:00:00Z", func(t *testing.T, b *bed) {
		for job, misfire := range map[domain.ID]domain.Misfire{1: domain.MisfireOnce, 2: domain.MisfireAll, 3: domain.MisfireSkip} {
			b.set(instant(t, "2026-05-01T09:00:00Z"))
			spec := cronSpec("0 10 * * *")
			spec.Misfire = misfire
			b.mustPut(job, 1, spec)
			if err := b.triggers().Pause(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			b.set(instant(t, "2026-05-04T10:00:00Z")) // at the very moment of a fire of the pause
			byHand := domain.NewInstance{ProjectID: project, JobID: job, JobName: "j", Version: 1, Trigger: domain.TriggerManual, FireKey: domain.ManualFireKey(job),
				BizDate: domain.NewBizDate(2026, 5, 4), Expected: b.now()}
			if _, err := b.Create(t.Context(), []domain.NewInstance{byHand}); err != nil {
				t.Fatal(err)
			}
			if err := b.triggers().Resume(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				b.drain(b.node(nil))
				b.pass(20 * time.Minute)
			}
			if got := b.fires(job); !slices.Equal(got, []string{"04T10:00:00 2026-05-04"}) {
				t.Errorf("%s: %v", misfire, got)
			}
			b.set(instant(t, "2026-05-05T10:00:00Z"))
			b.drain(b.node(nil))
			if got := b.fires(job); !slices.Equal(got, []string{"04T10:00:00 2026-05-04", "05T10:00:00 2026-05-05"}) {
				t.Errorf("%s, the day after: %v", misfire, got)
			}
		}
	})
}
