package center

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/calendar"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// ahead is a year that lies wholly in the future, whatever today is.
func ahead() int { return time.Now().Year() + 1 }

// fileOf is a calendar file of that year; lines stand below calendar:.
func fileOf(name string, lines ...string) string {
	text := fmt.Sprintf("version: v1\ncalendar:\n  name: %s\n  years: [%d, %d]\n", name, ahead()-1, ahead())
	for _, l := range lines {
		text += "  " + strings.ReplaceAll(l, "Y-", fmt.Sprint(ahead())+"-") + "\n"
	}
	return text
}

func (b *bench) calendar(text string, base *int) calendar.Applied {
	b.t.Helper()
	a, problems, err := b.calendars.Apply(b.ctx, calendar.Request{File: "cn.yaml", Text: text, Base: base})
	b.must(err)
	if len(problems) > 0 {
		b.t.Fatalf("%+v", problems)
	}
	return a
}

func (b *bench) refusal(texts ...string) string {
	b.t.Helper()
	_, problems, err := b.jobs.Apply(b.ctx, []job.File{{Name: "test.yaml", Text: strings.Join(texts, "---\n")}}, false, nil)
	b.must(err)
	if len(problems.Errors()) == 0 {
		b.t.Fatal("it was taken")
	}
	return problems.Errors()[0].ID
}

func eachBench(t *testing.T, fn func(t *testing.T, b *bench)) {
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, newBench(t, url)) })
}

func TestACalendarIsMadeUsedChangedAndDeleted(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		gated := noop("report", "timezone: Asia/Shanghai", fmt.Sprintf("cron: \"0 30 7 2-6 5 ? %d\"", ahead()), "calendar: {name: cn, on: workday, else: next}")
		if id := b.refusal(gated); id != "calendar.missing" {
			t.Errorf("without a calendar: %s", id)
		}
		// All days of the file's schedule rest, the 8th is the first that is worked.
		a := b.calendar(fileOf("cn", "rest: [sun]", "holidays:", "  Y-05-01..Y-05-07: x", "workdays:", "  Y-05-08: y"), nil)
		if a.Change != calendar.Created || a.Calendar.Version != 1 || len(a.Days) != 8 || len(a.Users) != 0 {
			t.Errorf("made: %+v", a)
		}
		applied := b.put(gated)[0]
		if got := texts(applied.Coming); got != "05-08 07:30" {
			t.Errorf("the apply foretells %q", got)
		}
		coming, err := b.triggers.Coming(b.ctx, []domain.ID{applied.Job.ID}, 5)
		b.must(err)
		if got := texts(coming[applied.Job.ID]); got != "05-08 07:30" || len(coming[applied.Job.ID][0].Passed) != 5 {
			t.Errorf("the trigger has %q with %d days passed over", got, len(coming[applied.Job.ID][0].Passed))
		}
		b.calendarChanges(t, applied.Job)
		b.calendarGoes(t, applied.Job)
	})
}

// calendarChanges works on version 1 of the calendar, by which one job lives.
func (b *bench) calendarChanges(t *testing.T, j domain.Job) {
	one := 1
	text := fileOf("cn", "rest: [sun]", "holidays:", "  Y-05-01..Y-05-03: x", "  Y-05-05..Y-05-07: x", "workdays:", "  Y-05-04: y", "  Y-05-08: y")
	dry, problems, err := b.calendars.Apply(b.ctx, calendar.Request{Text: text, Base: &one, DryRun: true})
	b.must(err)
	if len(problems) > 0 || dry.Change != calendar.Updated || len(dry.Moves) != 1 || dry.Moves[0].Job.Key.Name != "report" || texts(dry.Moves[0].Added) != "05-04 07:30" || dry.Moves[0].GoneCount != 0 || len(dry.Days) != 1 {
		t.Errorf("foretold: %+v %v", dry, problems)
	}
	if f, err := b.calendars.Find(b.ctx, "cn"); err != nil || f.Version != 1 {
		t.Errorf("after the dry run there is version %d, %v", f.Version, err)
	}
	b.calendar(text, &one)
	coming, err := b.triggers.Coming(b.ctx, []domain.ID{j.ID}, 5)
	b.must(err)
	if got := texts(coming[j.ID]); got != "05-04 07:30, 05-08 07:30" {
		t.Errorf("after the change the trigger has %q", got)
	}
	if again := b.calendar(text, nil); again.Change != calendar.Unchanged || again.Calendar.Version != 2 {
		t.Errorf("the same again is %s, version %d", again.Change, again.Calendar.Version)
	}
	_, _, err = b.calendars.Apply(b.ctx, calendar.Request{Text: text, Base: &one})
	if !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), "tester saved version 2") {
		t.Errorf("an overtaken base: %v", err)
	}
	zero := 0
	if _, _, err = b.calendars.Apply(b.ctx, calendar.Request{Text: text, Base: &zero}); !domain.Is(err, domain.Conflict) {
		t.Errorf("one that must be new: %v", err)
	}
	if old, err := b.calendars.Version(b.ctx, b.idOf("cn"), 1); err != nil || len(old.Days) != 8 {
		t.Errorf("version 1 is %+v, %v", old, err)
	}
	// A fault in the file leaves everything as it was.
	_, problems, err = b.calendars.Apply(b.ctx, calendar.Request{Text: text + "  oops: 1\n"})
	if err != nil || len(problems) != 1 || problems[0].Line == 0 {
		t.Errorf("a fault: %+v, %v", problems, err)
	}
	if f, err := b.calendars.Find(b.ctx, "cn"); err != nil || f.Version != 2 {
		t.Errorf("after the fault there is version %d, %v", f.Version, err)
	}
}

func (b *bench) idOf(name string) domain.ID {
	f, err := b.calendars.Find(b.ctx, name)
	b.must(err)
	return f.ID
}

// calendarGoes deletes the calendar, which its job forbids until it lives by it no more.
func (b *bench) calendarGoes(t *testing.T, j domain.Job) {
	f, err := b.calendars.Find(b.ctx, "cn")
	b.must(err)
	if err := b.calendars.Delete(b.ctx, f, nil); !domain.Is(err, domain.Conflict) || !strings.Contains(err.Error(), "report") {
		t.Errorf("deleting it while a job lives by it: %v", err)
	}
	b.put(noop("report", "cron: \"30 7 * * *\""))
	one := 1
	if err := b.calendars.Delete(b.ctx, f, &one); !domain.Is(err, domain.Conflict) {
		t.Errorf("deleting with an overtaken base: %v", err)
	}
	b.must(b.calendars.Delete(b.ctx, f, nil))
	if _, err := b.calendars.Find(b.ctx, "cn"); !domain.Is(err, domain.NotFound) {
		t.Errorf("it is still there: %v", err)
	}
	if id := b.refusal(noop("other", "cron: \"30 7 * * *\"", "calendar: cn")); id != "calendar.missing" {
		t.Errorf("a job on the deleted one: %s", id)
	}
	if again := b.calendar(fileOf("cn", "holidays:", "  Y-05-01: x"), nil); again.Change != calendar.Created || again.Calendar.ID == f.ID {
		t.Errorf("the name again: %+v", again)
	}
	// The past keeps its version.
	plans, err := b.plans.Planned(b.ctx, j.ID, b.now().Add(-time.Hour), b.now())
	if err != nil || len(plans) != 0 {
		t.Errorf("the past: %v, %v", plans, err)
	}
}

// texts are fires in Shanghai, in order.
func texts(all []domain.Coming) string {
	var out []string
	for _, c := range all {
		out = append(out, c.At.In(time.FixedZone("", 8*3600)).Format("01-02 15:04"))
	}
	return strings.Join(out, ", ")
}

// Two who save at once: one of them wins, the other is told, and a version has one author.
func TestTwoSaveACalendarAtOnce(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.calendar(fileOf("cn", "holidays:", "  Y-05-01: x"), nil)
		for round := 1; round <= 5; round++ {
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				wg.Go(func() {
					base := round
					_, _, errs[i] = b.calendars.Apply(b.ctx, calendar.Request{Base: &base, Text: fileOf("cn", "holidays:", fmt.Sprintf("  Y-06-%02d: r%d", i+1, round))})
				})
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				switch {
				case err == nil:
					won++
				case !domain.Is(err, domain.Conflict) && !domain.Is(err, domain.Unavailable):
					t.Errorf("told: %v", err)
				}
			}
			if f, err := b.calendars.Find(b.ctx, "cn"); won != 1 || err != nil || f.Version != round+1 {
				t.Fatalf("round %d: %d won, version %d, %v", round, won, f.Version, err)
			}
		}
	})
}

// Jobs that come to live by a calendar while it changes end up under its newest version, and none lives by
// one that was deleted.
func TestACalendarChangesWhileJobsAreSaved(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		b.calendar(fileOf("cn", "holidays:", "  Y-05-01: x"), nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 6 {
				for {
					_, _, err := b.calendars.Apply(b.ctx, calendar.Request{Text: fileOf("cn", "holidays:", fmt.Sprintf("  Y-05-%02d: x", i+2))})
					if err == nil {
						break
					}
					if !domain.Is(err, domain.Unavailable) && !domain.Is(err, domain.Conflict) {
						t.Errorf("changing it: %v", err)
						return
					}
				}
			}
		})
		for i := range 12 {
			name := fmt.Sprintf("j%d", i%4)
			for {
				_, problems, err := b.jobs.Apply(b.ctx, []job.File{{Text: noop(name, fmt.Sprintf("cron: \"%d 7 * * *\"", i), "calendar: {name: cn, else: previous}")}}, false, nil)
				if err == nil && len(problems.Errors()) == 0 {
					break
				}
				if !domain.Is(err, domain.Unavailable) && !domain.Is(err, domain.Conflict) {
					t.Fatalf("saving: %v %v", err, problems)
				}
			}
		}
		wg.Wait()
		f, err := b.calendars.Find(b.ctx, "cn")
		b.must(err)
		for i := range 4 {
			j, err := b.jobs.Find(b.ctx, fmt.Sprintf("j%d", i))
			b.must(err)
			tr, _, err := b.triggers.Store.TriggerOf(b.ctx, j.ID)
			b.must(err)
			if tr.Gate.Calendar != f.ID || tr.Gate.Version != f.Version {
				t.Errorf("j%d is under version %d of %s, in force is %d of %s", i, tr.Gate.Version, tr.Gate.Calendar, f.Version, f.ID)
			}
		}
		if err := b.calendars.Delete(b.ctx, f, nil); !domain.Is(err, domain.Conflict) {
			t.Errorf("deleting it: %v", err)
		}
	})
}

// A backfill of dates of a past year goes by the calendar, and says which dates it skips.
func TestABackfillGoesByTheCalendar(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		text, err := os.ReadFile("../../modules/calendar/testdata/cn-2024.yaml")
		b.must(err)
		b.calendar(string(text), nil)
		for name, otherwise := range map[string]string{"skips": "skip", "moves": "next"} {
			j := b.put(noop(name, "timezone: Asia/Shanghai", "cron: \"30 7 * * 5-7\"", "calendar: {name: cn, else: "+otherwise+"}"))[0].Job
			var dates []domain.BizDate
			for d := domain.NewBizDate(2024, time.September, 27); d.Before(domain.NewBizDate(2024, time.October, 9)); d = d.AddDays(1) {
				dates = append(dates, d)
			}
			fires, err := b.plans.Past(b.ctx, j, domain.PastQuery{Dates: dates, Limit: 100})
			b.must(err)
			var got []string
			for _, f := range fires {
				text := f.BizDate.String()[5:]
				if f.Held != "" {
					text += " " + string(f.Held)
				}
				got = append(got, text)
			}
			want := map[string]string{"skips": "09-27, 09-28 skipped, 09-29, 10-04 skipped, 10-05 skipped, 10-06 skipped", "moves": "09-27, 09-28 moved, 09-29, 10-04 moved, 10-05 moved, 10-06 moved, 10-08"}[name]
			if all := strings.Join(got, ", "); all != want {
				t.Errorf("%s: %s, want %s", name, all, want)
			}
		}
	})
}

// Working days are counted by the job's calendar: in the rule of its business date, for starts by hand and
// by schedule alike, in its dependency on the working day before, and in its templates.
func TestWorkingDaysAreTheCalendars(t *testing.T) {
	eachBench(t, func(t *testing.T, b *bench) {
		text, err := os.ReadFile("../../modules/calendar/testdata/cn-2024.yaml")
		b.must(err)
		b.calendar(string(text), nil)
		// The working day before Tuesday 8 October 2024 is Monday 30 September; the one before
		// Monday 30 September is Sunday 29 September, which was made up.
		b.put(noop("up", "timezone: Asia/Shanghai", "cron: \"0 1 * * *\"", "calendar: {name: cn, on: workday}"))
		j := b.put(noop("down", "timezone: Asia/Shanghai", "cron: \"0 2 * * *\"", "calendar: cn", "biz_date: prev_workday",
			"deps:\n  - {name: up, biz_date: prev_workday}"))[0].Job
		for on, want := range map[string]string{"2024-09-30": "2024-10-08", "2024-09-29": "2024-09-30"} {
			d, err := domain.ParseBizDate(on)
			b.must(err)
			fires, err := b.plans.Past(b.ctx, j, domain.PastQuery{Dates: []domain.BizDate{d}, Limit: 10})
			b.must(err)
			if len(fires) != 1 || fires[0].At.In(time.FixedZone("", 8*3600)).Format(time.DateOnly) != want {
				t.Errorf("about %s there are %v, want one on %s", on, fires, want)
			}
		}
		in := b.on("down", domain.NewBizDate(2024, time.October, 8))
		deps, err := b.graph.Of(b.ctx, in.ID)
		b.must(err)
		if len(deps) != 1 || deps[0].BizDate.String() != "2024-09-30" {
			t.Errorf("it waits for %+v", deps)
		}
		spec := j.Spec
		spec.Env = map[string]string{"D": "{{biz_date-1wd}}", "E": "{{biz_date+1wd}}"}
		out, err := renderer{core: b.core}.Render(b.ctx, spec, in, domain.Attempt{Ordinal: 1})
		b.must(err)
		if out.Env["D"] != "2024-09-30" || out.Env["E"] != "2024-10-09" {
			t.Errorf("the templates give %v", out.Env)
		}
		now, err := b.jobs.BizDateNow(b.ctx, j.Spec)
		b.must(err)
		c, err := b.calendars.Named(b.ctx, "default", "cn")
		b.must(err)
		shanghai := domain.BizDateOf(b.now(), time.FixedZone("", 8*3600))
		if want := c.AddWorkdays(shanghai, -1); now != want {
			t.Errorf("a fire now would be about %s, want %s", now, want)
		}
	})
}
