package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/scheduler/cron"
	"github.com/axsched/ax/worker/protocol"
)

// Two nodes in real time on a real database: on time, once, and a second after the save.
func TestTwoSchedulersInRealTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		b := newBed(t, url, "2026-05-01T10:00:00Z")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		path := &fakePath{set: map[string]bool{}}
		var nodes []*Scheduler
		ended := make(chan error, 2)
		for range 2 {
			s := New(Scheduler{Store: b.st, IDs: b.ids, Specs: b, Maker: b, Fired: b, Fast: path, Clock: time.Now})
			nodes = append(nodes, s)
			go func() { ended <- s.Run(ctx) }()
		}
		eventually(t, "both nodes are ready", func() bool { return nodes[0].Status().Fault == "" && nodes[1].Status().Fault == "" })
		tr := &Triggers{Store: b.st, IDs: b.ids, Nudge: both(nodes)}
		began := time.Now()
		if err := b.saveWith(tr, 1, everySpec(200*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		soon := cronSpec("")
		soon.Schedule = domain.Schedule{Kind: domain.ScheduleAt, AtMs: time.Now().Add(time.Second).UnixMilli()}
		if err := b.saveWith(tr, 2, soon); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the one-shot fired", func() bool { return len(b.fires(2)) == 1 })
		if late := time.Since(time.UnixMilli(soon.Schedule.AtMs)); late > time.Second {
			t.Errorf("the one-shot was %s late", late)
		}
		eventually(t, "ten fires", func() bool { return len(b.fires(1)) >= 10 })
		if err := tr.Pause(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing is due", func() bool { return len(b.dueNow()) == 0 })
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		plans := &Plans{Store: b.st, Fired: b}
		l, err := plans.Ledger(t.Context(), LedgerQuery{From: began.Add(-time.Second), To: time.Now().Add(time.Second)})
		if err != nil || !l.Balanced || len(l.Jobs) != 2 {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, a := range l.Jobs {
			if a.Fired+a.Skipped != a.Planned || a.Unplanned != 0 {
				t.Errorf("%+v", a)
			}
		}
		if n := nodes[0].Status().Fires + nodes[1].Status().Fires; n != int64(l.Jobs[0].Fired+l.Jobs[1].Fired) {
			t.Errorf("the nodes count %d fires", n)
		}
	})
}

type both []*Scheduler

func (s both) Nudge(n protocol.Nudge) {
	for _, one := range s {
		one.Nudge(n)
	}
}

func (b *bed) saveWith(tr *Triggers, job domain.ID, spec domain.JobSpec) error {
	spec.Name = "real"
	b.mu.Lock()
	b.specs[job] = map[int]domain.JobSpec{1: spec}
	b.mu.Unlock()
	return tr.Put(b.t.Context(), project, job, 1, spec, true)
}

func (b *bed) dueNow() []domain.ID {
	rows, err := b.st.Due(context.Background(), time.Now(), 100)
	if err != nil {
		b.t.Fatal(err)
	}
	return idsOf(rows)
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestPlannedOnABusinessDate(t *testing.T) {
	eachBed(t, "2026-03-27T10:00:00Z", func(t *testing.T, b *bed) {
		spec := cronSpec("0 * * * *")
		spec.Timezone = "Europe/Berlin"
		b.mustPut(1, 1, spec)
		minus := spec
		minus.BizDate = domain.BizDateTMinus1
		b.mustPut(2, 1, minus)
		date := func(s string) domain.BizDate {
			d, err := domain.ParseBizDate(s)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		for _, c := range []struct {
			job   domain.ID
			date  string
			fires int
			first string
		}{
			{1, "2026-03-27", 12, "2026-03-27T11:00:00Z"}, // saved at 11:00 in Berlin: from noon on
			{1, "2026-03-28", 24, "2026-03-27T23:00:00Z"},
			{1, "2026-03-29", 23, "2026-03-28T23:00:00Z"}, // the clocks go forward: one hour less
			{2, "2026-03-28", 23, "2026-03-28T23:00:00Z"}, // T-1: the fires of the 29th
			{1, "2026-03-26", 0, ""},
		} {
			got, err := b.plans().PlannedOn(t.Context(), c.job, date(c.date))
			if err != nil || len(got) != c.fires {
				t.Errorf("job %d on %s: %d fires, %v", c.job, c.date, len(got), err)
				continue
			}
			if c.fires > 0 && !got[0].Expected.Equal(instant(t, c.first)) {
				t.Errorf("job %d on %s begins at %s", c.job, c.date, got[0].Expected)
			}
		}
		// A later change leaves what was planned before it as it was.
		b.set(instant(t, "2026-03-28T11:30:00Z"))
		spec.Schedule.Expr = "0 0 * * *"
		b.mustPut(1, 2, spec)
		got, err := b.plans().PlannedOn(t.Context(), 1, date("2026-03-28"))
		if err != nil || len(got) != 13 || got[0].Version != 1 {
			t.Errorf("%d fires, %v", len(got), err)
		}
		if _, err := b.plans().Planned(t.Context(), 2, b.now(), b.now().AddDate(50, 0, 0)); !domain.Is(err, domain.TooLarge) {
			t.Errorf("fifty years of hours: %v", err)
		}
	})
}

func TestLedgerSaysWhatIsAbsent(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		b.mustPut(1, 1, cronSpec("*/10 * * * *"))
		b.set(instant(t, "2026-05-01T10:20:30Z"))
		a := b.account(1, start)
		if a.Absent != 1 || a.Balanced() || !slices.Equal(a.AbsentFires, []time.Time{instant(t, "2026-05-01T10:10:00Z")}) {
			t.Errorf("nobody takes: %+v", a)
		}
		b.drain(b.node(nil))
		if _, err := b.db.Exec(t.Context(), "DELETE FROM instance WHERE expected_at = ?", instant(t, "2026-05-01T10:20:00Z").UnixMilli()); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Hour)
		b.drain(b.node(nil))
		if a := b.account(1, start); a.Absent != 1 {
			t.Errorf("a lost row is not seen: %+v", a)
		}
		if _, err := b.plans().Ledger(t.Context(), LedgerQuery{From: b.now(), To: b.now()}); !domain.Is(err, domain.Invalid) {
			t.Errorf("an empty time: %v", err)
		}
		if l, err := b.plans().Ledger(t.Context(), LedgerQuery{Projects: []domain.ID{project + 1}, From: start, To: b.now()}); err != nil || len(l.Jobs) != 0 {
			t.Errorf("another project's ledger: %+v, %v", l, err)
		}
	})
}

// What is shown at a save is what the code that fires says. (J-A8, J-A12, G-A8)
func TestCheckJudgesAsItFires(t *testing.T) {
	var times Times
	zone, err := times.Zone("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	from := instant(t, "2026-05-01T00:30:00Z")
	dialect, next, err := times.Check(domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 9 * * *"}, zone, from, 2)
	if err != nil || dialect != "unix" || len(next) != 2 || next[0].Format(time.RFC3339) != "2026-05-01T09:00:00+08:00" {
		t.Errorf("%s %v %v", dialect, next, err)
	}
	_, _, err = times.Check(domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 9 * * 9"}, zone, from, 2)
	var where interface{ Offset() int }
	var fault *cron.Error
	if !errors.As(err, &where) || where.Offset() != 8 || !errors.As(err, &fault) {
		t.Errorf("%v", err)
	}
	if _, next, err = times.Check(domain.Schedule{Kind: domain.ScheduleCron, Expr: "0 0 30 2 *"}, zone, from, 2); err != nil || len(next) != 0 {
		t.Errorf("never: %v %v", next, err)
	}
	if _, next, err = times.Check(domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 100}, zone, from, 3); err != nil || len(next) != 3 || next[2].Sub(from) != 300*time.Millisecond {
		t.Errorf("every: %v %v", next, err)
	}
	if _, _, err = times.Check(domain.Schedule{Kind: domain.ScheduleEvery, EveryMs: 99}, zone, from, 3); err == nil {
		t.Error("every 99 ms was taken")
	}
	if dialect, next, err = times.Check(domain.Schedule{Kind: domain.ScheduleAt, AtMs: from.Add(time.Hour).UnixMilli()}, zone, from, 5); err != nil || len(next) != 1 || dialect != "" {
		t.Errorf("at: %v %v", next, err)
	}
}
