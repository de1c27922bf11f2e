package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// holdRow holds a trigger's row in a transaction of somebody else until let go.
func (b *bed) holdRow(id domain.ID) (letGo func()) {
	b.t.Helper()
	held, done := make(chan struct{}), make(chan error, 1)
	free := make(chan struct{})
	go func() {
		done <- b.db.Tx(context.Background(), func(ctx context.Context) error {
			_, err := b.st.LockSkipping(ctx, []domain.ID{id})
			close(held)
			<-free
			return err
		})
	}()
	<-held
	return func() {
		close(free)
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	}
}

// A row locked for a minute over its fire: late by policy, nothing lost, an alert; the
// others are on time. (J-B2)
func TestLockedRowIsPassedOver(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		if b.db.Dialect() == dbx.SQLite {
			t.Skip("SQLite has one writer at a time and no row locks")
		}
		start := b.now()
		b.mustPut(1, 1, cronSpec("* * * * *"))
		b.mustPut(2, 1, cronSpec("* * * * *"))
		b.set(instant(t, "2026-05-01T10:01:00Z"))
		letGo := b.holdRow(b.trigger(1).ID)
		node := b.node(nil)
		for range 60 {
			for _, l := range node.take(t.Context(), b.due()) {
				if l.due.ID == b.trigger2(1) && l.at.Sub(b.now()) != lockedPause {
					t.Errorf("a locked row is looked at again at %s", l.at)
				}
			}
			b.pass(time.Second)
		}
		if got := b.fires(2); !slices.Equal(got, []string{"01T10:01:00 2026-05-01"}) {
			t.Errorf("the other job: %v", got)
		}
		if got := b.fires(1); len(got) != 0 {
			t.Errorf("the locked job: %v", got)
		}
		if s := node.marks.status(); s.LockedLong != 1 || s.Locked < 50 || s.Failures != 0 {
			t.Errorf("status %+v", s)
		}
		letGo()
		b.drain(node)
		if got := b.fires(1); !slices.Equal(got, []string{"01T10:01:00 2026-05-01", "01T10:02:00 2026-05-01"}) {
			t.Errorf("after the lock: %v", got)
		}
		for job := domain.ID(1); job <= 2; job++ {
			if a := b.account(job, start); a.Fired != 2 || !a.Balanced() {
				t.Errorf("account of %d: %+v", job, a)
			}
		}
	})
}

// trigger2 reads a trigger's id without a lock.
func (b *bed) trigger2(job domain.ID) domain.ID {
	of, err := b.st.Of(b.t.Context(), []domain.ID{job})
	if err != nil {
		b.t.Fatal(err)
	}
	return of[job].ID
}

func TestDueIsJudgedByTheDatabase(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		due := b.trigger(1)
		path := &fakePath{set: map[string]bool{}}
		node := b.node(path)
		b.set(instant(t, "2026-05-01T10:00:59.5Z")) // the node's wheel was half a second early
		looks := node.take(t.Context(), []plan.Due{dueOf(due)})
		if len(looks) != 1 || !looks[0].due.Next.Equal(due.Next) || !looks[0].at.IsZero() {
			t.Errorf("looks %+v", looks)
		}
		if got := b.fires(1); len(got) != 0 {
			t.Errorf("fired early: %v", got)
		}
		path.eventuallyEmpty(t)
		b.pass(500 * time.Millisecond)
		looks = node.take(t.Context(), []plan.Due{dueOf(due)})
		if is := dueOf(b.trigger(1)); len(looks) != 1 || looks[0].due != is || is.Ver != due.Ver+1 {
			t.Errorf("looks %+v, the row is %+v", looks, is)
		}
		due = b.trigger(1)
		// A wheel that is behind the row: disabled or taken meanwhile.
		if err := b.triggers().Pause(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Minute)
		looks = node.take(t.Context(), []plan.Due{dueOf(due)})
		if len(looks) != 1 || !looks[0].due.Next.IsZero() || len(b.fires(1)) != 1 {
			t.Errorf("looks %+v, fires %v", looks, b.fires(1))
		}
	})
}

// A node whose clock is off takes nothing and says so. (J-A22)
func TestClockOffTakesNothing(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		b.pass(time.Minute)
		node := b.node(nil)
		for _, c := range []struct {
			off  time.Duration
			says string
		}{{1100 * time.Millisecond, "ahead of"}, {-2 * time.Hour, "behind"}} {
			node.clock.own = func() time.Time { return b.now().Add(c.off) }
			looks := node.take(t.Context(), b.due()) // found out inside the transaction
			if fault := node.clock.fault(); !strings.Contains(fault, c.says) {
				t.Errorf("%s off: %q", c.off, fault)
			}
			if len(looks) != 1 || len(b.fires(1)) != 0 {
				t.Errorf("%s off: looks %v, fires %v", c.off, looks, b.fires(1))
			}
			looks = node.take(t.Context(), b.due()) // and not even tried then
			if len(looks) != 1 || node.marks.status().Failures > 2 {
				t.Errorf("%s off: looks %v, status %+v", c.off, looks, node.marks.status())
			}
			node.clock.own = b.now
			if err := node.clock.measure(t.Context()); err != nil || node.clock.fault() != "" {
				t.Errorf("%v, %s", err, node.clock.fault())
			}
		}
		node.clock.own = func() time.Time { return b.now().Add(900 * time.Millisecond) }
		node.take(t.Context(), b.due())
		if len(b.fires(1)) != 1 || len(node.marks.status().Poisoned) != 0 {
			t.Errorf("0.9 s off: fires %v, status %+v", b.fires(1), node.marks.status())
		}
	})
}

// One trigger's fault is its own: the others fire, and it is tried again later and later.
func TestPoisonedTriggerBlocksNobody(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for job := domain.ID(1); job <= 20; job++ {
			b.mustPut(job, 1, cronSpec("* * * * *"))
		}
		b.mu.Lock()
		b.broken[3] = errors.New("the definition is torn")
		b.bad[5] = errors.New("the params of this job blow up")
		b.mu.Unlock()
		if _, err := b.db.Exec(t.Context(), "UPDATE `trigger` SET kind = 'moon' WHERE job_id = 7"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.db.Exec(t.Context(), "UPDATE schedule_span SET timezone = 'No/Where' WHERE job_id = 9"); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Minute)
		node := b.node(nil)
		looks := node.take(t.Context(), b.due())
		if len(looks) != 20 {
			t.Errorf("%d looks", len(looks))
		}
		for job := domain.ID(1); job <= 20; job++ {
			sick := job == 3 || job == 5 || job == 7 || job == 9
			if got := b.fires(job); (len(got) == 1) == sick {
				t.Errorf("job %d: fires %v", job, got)
			}
		}
		s := node.marks.status()
		if len(s.Poisoned) != 4 {
			t.Fatalf("poisoned: %+v", s.Poisoned)
		}
		var reasons []string
		for _, p := range s.Poisoned {
			reasons = append(reasons, p.Reason)
		}
		for _, want := range []string{"torn", "blow up", "moon", "No/Where"} {
			if !slices.ContainsFunc(reasons, func(r string) bool { return strings.Contains(r, want) }) {
				t.Errorf("no reason names %q: %q", want, reasons)
			}
		}
		node.take(t.Context(), b.due())
		if p := node.marks.status().Poisoned[0]; p.Tries != 2 || p.Until.Sub(b.now()) != 2*poisonPause {
			t.Errorf("second failure: %+v", p)
		}
		b.mu.Lock()
		clear(b.broken)
		clear(b.bad)
		b.mu.Unlock()
		for _, q := range []string{"UPDATE `trigger` SET kind = 'cron' WHERE job_id = 7", "UPDATE schedule_span SET timezone = 'UTC' WHERE job_id = 9"} {
			if _, err := b.db.Exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		b.drain(node)
		if s := node.marks.status(); len(s.Poisoned) != 0 {
			t.Errorf("still poisoned: %+v", s.Poisoned)
		}
		for job := domain.ID(1); job <= 20; job++ {
			if a := b.account(job, start); a.Fired != 1 {
				t.Errorf("job %d: %+v", job, a)
			}
		}
	})
}

// A fire that has an instance already (a backfill came first) is passed over, and the trigger goes on.
func TestFireThatExistsIsPassedOver(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for job := domain.ID(1); job <= 3; job++ {
			b.mustPut(job, 1, cronSpec("* * * * *"))
		}
		b.pass(time.Minute)
		if _, err := b.Create(t.Context(), []domain.NewInstance{{ProjectID: project, JobID: 2, JobName: "x", Version: 1,
			FireKey: domain.ScheduleFireKey(b.now()), Trigger: domain.TriggerBackfill, BizDate: domain.BizDateOf(b.now(), time.UTC), Expected: b.now()}}); err != nil {
			t.Fatal(err)
		}
		node := b.node(nil)
		b.drain(node)
		for job := domain.ID(1); job <= 3; job++ {
			if a := b.account(job, start); a.Fired != 1 || a.Unplanned != 0 {
				t.Errorf("job %d: %+v", job, a)
			}
		}
		if s := node.marks.status(); s.Failures != 0 || s.Fires != 2 {
			t.Errorf("status %+v", s)
		}
	})
}

// Half an hour without a scheduler: each policy makes up what it says, and the rest is listed with its reason. (J-B8, G-B4, G-B14)
func TestMisfirePolicies(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		start := b.now()
		for i, m := range []domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll} {
			spec := cronSpec("*/10 * * * *")
			spec.Misfire = m
			b.mustPut(domain.ID(i+1), 1, spec)
		}
		b.set(instant(t, "2026-05-01T10:35:00Z"))
		b.drain(b.node(nil))
		for i, want := range [][]string{{"01T10:30:00 2026-05-01"}, nil, {"01T10:10:00 2026-05-01", "01T10:20:00 2026-05-01", "01T10:30:00 2026-05-01"}} {
			job := domain.ID(i + 1)
			if got := b.fires(job); !slices.Equal(got, want) {
				t.Errorf("job %d: %v, want %v", job, got, want)
			}
			a := b.account(job, start)
			if a.Planned-a.Pending != 3 || a.Fired != len(want) || a.Missed+a.Skipped != 3-len(want) || !a.Balanced() {
				t.Errorf("job %d: %+v", job, a)
			}
		}
		ins, err := b.instances(t.Context(), "job_id = 1")
		if err != nil || ins[0].Reason != "misfire: taken 5m0s late" {
			t.Errorf("%+v, %v", ins, err)
		}
		if a := b.account(1, start); len(a.Reasons) != 1 || a.Reasons[0] != (Reason{plan.Missed, "misfire: fire_once took 10:30 of that day", 2}) {
			t.Errorf("reasons %+v", a.Reasons)
		}
	})
}

// The scheduler that took a fire is killed hours later, and one that knows nothing goes on, in a process whose own zone is
// another: it makes up nothing that was there, and the job keeps to its zone. (G-A15)
func TestAnotherNodeAddsNothingToWhatHasFired(t *testing.T) {
	eachBed(t, "2026-05-01T00:30:00Z", func(t *testing.T, b *bed) {
		for job, m := range map[domain.ID]domain.Misfire{1: domain.MisfireOnce, 2: domain.MisfireAll} {
			spec := cronSpec("0 9 * * *")
			spec.Timezone, spec.Misfire = "Asia/Shanghai", m
			b.mustPut(job, 1, spec)
		}
		b.set(instant(t, "2026-05-01T01:00:00Z"))
		b.drain(b.node(nil))
		west := time.FixedZone("west", -8*60*60)
		for _, at := range []string{"2026-05-01T12:00:00Z", "2026-05-01T17:00:00Z", "2026-05-02T00:59:59Z"} { // 09:00 of UTC and of the west have passed too
			b.set(instant(t, at))
			next := b.restart()
			next.clock.own = func() time.Time { return b.now().In(west) }
			b.drain(next)
		}
		for job := domain.ID(1); job <= 2; job++ {
			if got := b.fires(job); !slices.Equal(got, []string{"01T01:00:00 2026-05-01"}) {
				t.Errorf("job %d: fires %v", job, got)
			}
			if got := b.trigger(job).Next; !got.Equal(instant(t, "2026-05-02T01:00:00Z")) {
				t.Errorf("job %d: next %s", job, got)
			}
		}
	})
}

func TestWeekOfSleepIsSettledInSteps(t *testing.T) {
	eachBed(t, "2026-05-01T00:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, everySpec(100*time.Millisecond))
		b.mustPut(2, 1, cronSpec("0 0 * * *"))
		b.pass(8 * 24 * time.Hour)
		node := b.node(nil)
		batch := b.due()
		looks := node.take(t.Context(), batch)
		if len(looks) != 2 {
			t.Fatalf("looks %+v", looks)
		}
		if got := b.fires(2); len(got) != 8 {
			t.Errorf("the other job was settled beside it: %v", got)
		}
		b.drain(node)
		s := node.marks.status()
		if want := int64(8*864_000 + 8); s.Fires+s.Gaps != want || s.Takes > 30 {
			t.Errorf("%d fires and %d gaps, want %d together; %d transactions", s.Fires, s.Gaps, want, s.Takes)
		}
	})
}

// What one transaction leaves of a catch-up is taken at once by the next: the node does not wait for keys of its own, and
// a row of which nothing was settled is not written.
func TestCatchUpGoesOnAtOnce(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		const jobs, missed = 30, 100
		for job := domain.ID(1); job <= jobs; job++ {
			b.mustPut(job, 1, everySpec(time.Second))
		}
		b.pass(missed * time.Second)
		for job := domain.ID(1); job <= jobs; job++ {
			spec := everySpec(time.Second)
			spec.Misfire = domain.MisfireAll
			b.mustPut(job, 1, spec)
		}
		node := b.node(&fakePath{set: map[string]bool{}})
		batch := b.due()
		rounds := 0
		for ; len(batch) > 0 && rounds < 100; rounds++ {
			looks := node.take(t.Context(), batch)
			batch = nil
			for _, l := range looks {
				if l.at.After(b.now()) {
					t.Fatalf("round %d: trigger %s is looked at again only %s later", rounds, l.due.ID, l.at.Sub(b.now()))
				}
				if !l.due.Next.After(b.now()) {
					batch = append(batch, l.due)
				}
			}
		}
		if want := jobs * missed / batchFires; rounds != want {
			t.Errorf("%d rounds, want %d", rounds, want)
		}
		var ver int64
		for _, v := range b.vers() {
			ver += v
		}
		if most := int64(jobs * 3); ver > most+int64(rounds) { // put, put again, settled; one more where a round ended inside a trigger
			t.Errorf("vers add up to %d, more than %d: rows were written without a reason", ver, most)
		}
		for job := domain.ID(1); job <= jobs; job++ {
			if got := len(b.fires(job)); got != missed {
				t.Errorf("job %d fired %d times, want %d", job, got, missed)
			}
		}
	})
}

// vers are the versions of all triggers.
func (b *bed) vers() map[domain.ID]int64 {
	b.t.Helper()
	var rows []struct{ ID, Ver int64 }
	if err := b.db.Scan(context.Background(), &rows, "SELECT id, ver FROM `trigger`"); err != nil {
		b.t.Fatal(err)
	}
	out := map[domain.ID]int64{}
	for _, r := range rows {
		out[domain.ID(r.ID)] = r.Ver
	}
	return out
}
