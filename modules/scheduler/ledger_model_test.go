package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/zone"
)

// The ledger is held against a model that shares no code with it: it walks minute by
// minute, knows each schedule as a predicate on the clock on the wall, and notes by itself
// what was in force and who was alive when.

// wall is a schedule of the model, with the zone in which its clock is read.
type wall struct {
	expr, zone string
	minus      bool // biz_date T-1
	due        func(local time.Time) bool
}

// walls: where clocks change within the days of the test, only schedules that look at the
// minute alone.
func walls() []wall {
	each := func(n int) func(time.Time) bool { return func(t time.Time) bool { return t.Minute()%n == 0 } }
	at := func(h, m int) func(time.Time) bool {
		return func(t time.Time) bool { return t.Hour() == h && t.Minute() == m }
	}
	weekday := func(t time.Time) bool {
		return t.Hour() == 9 && t.Minute() == 5 && t.Weekday() != time.Saturday && t.Weekday() != time.Sunday
	}
	return []wall{
		{expr: "*/7 * * * *", zone: "Europe/Berlin", due: each(7)}, {expr: "*/30 * * * *", zone: "Europe/Berlin", due: each(30), minus: true},
		{expr: "*/20 * * * *", zone: "Asia/Kathmandu", due: each(20)}, {expr: "30 2 * * *", zone: "Asia/Shanghai", due: at(2, 30)},
		{expr: "0 0 * * *", zone: "Asia/Shanghai", due: at(0, 0), minus: true}, {expr: "5 9 * * 1-5", zone: "America/New_York", due: weekday},
		{expr: "59 23 * * *", zone: "UTC", due: at(23, 59)},
	}
}

func (w wall) spec(misfire domain.Misfire) domain.JobSpec {
	s := cronSpec(w.expr)
	s.Timezone, s.Misfire = w.zone, misfire
	if w.minus {
		s.BizDate = domain.BizDateTMinus1
	}
	return s
}

func (w wall) date(at time.Time) domain.BizDate {
	loc, err := zone.Load(w.zone)
	if err != nil {
		panic(err)
	}
	d := domain.BizDateOf(at, loc)
	if w.minus {
		d = d.AddDays(-1)
	}
	return d
}

// stay is a stretch in which a wall was in force; to zero: still.
type stay struct {
	wall
	from, to time.Time
}

// minutes are the fires of a stay after from and up to to, one minute at a time.
func (s stay) minutes(from, to time.Time) []time.Time {
	loc, err := zone.Load(s.zone)
	if err != nil {
		panic(err)
	}
	var out []time.Time
	for t := from.Truncate(time.Minute); !t.After(to); t = t.Add(time.Minute) {
		if t.After(from) && t.After(s.from) && (s.to.IsZero() || !t.After(s.to)) && s.due(t.In(loc)) {
			out = append(out, t)
		}
	}
	return out
}

// fate is what the model says became of a fire.
type fate struct {
	state  FireState
	reason string // its beginning
	date   domain.BizDate
}

// model is one job as the test saw it.
type model struct {
	stays   []stay
	last    *wall // of the newest save; nil: no schedule
	on      bool
	misfire domain.Misfire
	taken   time.Time // everything up to here was taken
	fates   map[int64]fate
}

func (m *model) close(now time.Time) {
	if n := len(m.stays); n > 0 && m.stays[n-1].to.IsZero() {
		m.stays[n-1].to = now
	}
}

func (m *model) save(w wall, misfire domain.Misfire, on bool, now time.Time) {
	changed := m.last == nil || m.last.expr != w.expr || m.last.zone != w.zone || m.last.minus != w.minus
	if m.on && (changed || !on) {
		m.close(now)
	}
	if on && (changed || !m.on) {
		m.stays = append(m.stays, stay{wall: w, from: now})
	}
	m.last, m.on, m.misfire = &w, on, misfire
}

func (m *model) turn(on bool, now time.Time) {
	if m.last != nil {
		m.save(*m.last, m.misfire, on, now)
	}
}

func (m *model) remove(now time.Time) {
	m.close(now)
	m.last, m.on = nil, false
}

// take is somebody who is alive at that moment.
func (m *model) take(now time.Time) {
	for i, s := range m.stays {
		paused := !s.to.IsZero() && (i+1 == len(m.stays) || !m.stays[i+1].from.Equal(s.to))
		newest := map[string]time.Time{} // missed fires by date: the newest is made up
		fires := s.minutes(m.taken, now)
		for _, at := range fires {
			if late := now.Sub(at); late > time.Minute && late <= 7*24*time.Hour {
				newest[s.date(at).String()] = at
			}
		}
		for _, at := range fires {
			f := fate{state: FireFired, date: s.date(at)}
			late := now.Sub(at)
			switch {
			case paused:
				f.state, f.reason = FireSkipped, "the job was paused"
			case late > 7*24*time.Hour:
				f.state, f.reason = FireMissed, "older than 7 days"
			case late <= time.Minute || m.misfire == domain.MisfireAll:
			case m.misfire == domain.MisfireSkip:
				f.state, f.reason = FireSkipped, "misfire: skip"
			case !at.Equal(newest[f.date.String()]):
				f.state, f.reason = FireMissed, "misfire: fire_once took "
			}
			m.fates[at.UnixMilli()] = f
		}
	}
	m.taken = now
}

// planned is everything of [from, to) with its fate as of now, in order.
func (m *model) planned(from, to, now time.Time) (at []time.Time, what []fate) {
	for _, s := range m.stays {
		for _, t := range s.minutes(from.Add(-time.Millisecond), to.Add(-time.Millisecond)) {
			f, settled := m.fates[t.UnixMilli()]
			switch {
			case settled:
			case now.Sub(t) < time.Minute:
				f = fate{state: FirePending, date: s.date(t)}
			default:
				f = fate{state: FireAbsent, date: s.date(t)}
			}
			at, what = append(at, t), append(what, f)
		}
	}
	return at, what
}

// TestLedgerAgainstANaiveExpansion edits, pauses, resumes, removes, moves between zones,
// takes, is absent for hours and days, loses rows and backfills, over simulated weeks in
// which Berlin's clocks change; and asks the ledger about stretches of it at any moment.
func TestLedgerAgainstANaiveExpansion(t *testing.T) {
	eachBed(t, "2026-03-20T09:17:23Z", func(t *testing.T, b *bed) {
		start := b.now()
		for round := range 8 {
			seed := uint64(round)
			if round == 7 {
				seed = uint64(time.Now().UnixNano())
			}
			b.set(start)
			r := &rounds{bed: b, dice: rand.New(rand.NewPCG(seed, 4)), job: domain.ID(round + 1), start: start,
				m: model{taken: start, fates: map[int64]fate{}}}
			for range 45 {
				r.step(t)
				if r.dice.IntN(4) == 0 {
					r.compare(t, seed)
				}
			}
			r.compare(t, seed)
			if err := b.triggers().Remove(t.Context(), r.job); err != nil {
				t.Fatal(err)
			}
			b.drain(b.node(nil))
		}
	})
}

type rounds struct {
	*bed
	dice    *rand.Rand
	job     domain.ID
	start   time.Time
	version int
	m       model
	said    []string
}

func (r *rounds) step(t *testing.T) {
	t.Helper()
	what := ""
	var err error
	switch k := r.dice.IntN(12); {
	case k < 2 || r.version == 0:
		w := walls()[r.dice.IntN(len(walls()))]
		misfire := []domain.Misfire{domain.MisfireOnce, domain.MisfireSkip, domain.MisfireAll}[r.dice.IntN(3)]
		on := r.dice.IntN(5) > 0
		r.version++
		what, err = fmt.Sprintf("save %q in %s, minus %t, %s, enabled %t", w.expr, w.zone, w.minus, misfire, on), r.put(r.job, r.version, w.spec(misfire), on)
		r.m.save(w, misfire, on, r.now())
	case k == 2:
		what, err = "pause", r.triggers().Pause(t.Context(), r.job)
		r.m.turn(false, r.now())
	case k < 5:
		what, err = "resume", r.triggers().Resume(t.Context(), r.job)
		r.m.turn(true, r.now())
	case k == 5 && r.dice.IntN(3) == 0:
		what, err = "remove", r.triggers().Remove(t.Context(), r.job)
		r.m.remove(r.now())
	case k == 6:
		what = "nobody is there"
		r.pass(time.Duration(r.dice.IntN(60*3600)) * time.Second)
	case k == 7 && r.dice.IntN(4) == 0:
		what = "nobody is there for long"
		r.pass(time.Duration(7*24*3600+r.dice.IntN(24*3600)) * time.Second)
	case k == 8:
		what = r.tamper(t)
	default:
		what = "take"
		r.pass(time.Duration(r.dice.IntN(5400_000)) * time.Millisecond)
		r.drain(r.node(nil))
		r.m.take(r.now())
	}
	if err != nil {
		t.Fatal(what, err)
	}
	r.said = append(r.said, r.now().Format(time.RFC3339Nano)+" "+what)
}

// tamper deletes the instance of a fire, or backfills a missed one.
func (r *rounds) tamper(t *testing.T) string {
	t.Helper()
	keys := make([]int64, 0, len(r.m.fates))
	for ms := range r.m.fates {
		keys = append(keys, ms)
	}
	if len(keys) == 0 {
		return "nothing to tamper with"
	}
	slices.Sort(keys)
	ms := keys[r.dice.IntN(len(keys))]
	f, at := r.m.fates[ms], time.UnixMilli(ms).UTC()
	var err error
	switch f.state {
	case FireFired:
		if f.reason != "" {
			return "backfilled already"
		}
		_, err = r.db.Exec(t.Context(), "DELETE FROM instance WHERE job_id = ? AND fire_key = ?", r.job, domain.ScheduleFireKey(at))
		f.state = FireAbsent
	case FireMissed, FireSkipped:
		_, err = r.Create(t.Context(), []domain.NewInstance{{ProjectID: project, JobID: r.job, JobName: "x", Version: 1, Trigger: domain.TriggerBackfill,
			FireKey: domain.ScheduleFireKey(at), BizDate: f.date, Expected: at}})
		f.state, f.reason = FireFired, "backfilled"
	case FireAbsent:
		return "lost already"
	}
	if err != nil {
		t.Fatal(err)
	}
	r.m.fates[ms] = f
	return fmt.Sprintf("the fire of %s is now %s", at.Format(time.RFC3339), f.state)
}

// compare asks about a stretch of the time so far, and a little beyond.
func (r *rounds) compare(t *testing.T, seed uint64) {
	t.Helper()
	span := r.now().Add(24 * time.Hour).Sub(r.start).Milliseconds()
	from := r.start.Add(time.Duration(r.dice.Int64N(span)) * time.Millisecond)
	to := from.Add(time.Duration(1+r.dice.Int64N(span)) * time.Millisecond)
	if r.dice.IntN(2) == 0 {
		from, to = r.start.Add(-time.Hour), r.now().Add(24*time.Hour)
	}
	at, what := r.m.planned(from, to, r.now())
	want := Account{Job: r.job, Planned: len(at)}
	for i, f := range what {
		row := FireRow{Expected: at[i], State: f.state}
		before := want.Planned
		want.count(row)
		want.Planned = before
	}
	l, err := r.plans().Ledger(t.Context(), LedgerQuery{Job: r.job, From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	got := l.Jobs[0]
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d, [%s, %s), now %s: %s\nafter\n%s", seed, from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano), r.now().Format(time.RFC3339Nano),
			fmt.Sprintf(format, args...), strings.Join(r.said, "\n"))
	}
	if got.Planned != want.Planned || got.Fired != want.Fired || got.Skipped != want.Skipped || got.Missed != want.Missed || got.Pending != want.Pending ||
		got.Absent != want.Absent || got.Unplanned != 0 || !slices.EqualFunc(got.AbsentFires, want.AbsentFires, time.Time.Equal) {
		fail("the ledger says %+v, the model %+v", got, want)
	}
	reasons := 0
	for _, one := range got.Reasons {
		reasons += one.Fires
	}
	if reasons != got.Skipped+got.Missed || l.Balanced != (want.Absent == 0) {
		fail("%d fires have reasons, balanced %t: %+v", reasons, l.Balanced, got)
	}
	r.compareFires(t, from, to, at, what, fail)
}

// compareFires reads the fires one by one, a few at a time.
func (r *rounds) compareFires(t *testing.T, from, to time.Time, at []time.Time, what []fate, fail func(string, ...any)) {
	t.Helper()
	q := FiresQuery{Job: r.job, From: from, To: to, Limit: 1 + r.dice.IntN(200)}
	n := 0
	for {
		rows, more, err := r.plans().Fires(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if n == len(at) {
				fail("one fire too many: %+v", row)
			}
			f := what[n]
			good := row.State == f.state && row.Expected.Equal(at[n]) && row.BizDate == f.date && (row.Instance != 0) == (f.state == FireFired)
			if f.state != FireFired {
				good = good && strings.HasPrefix(row.Reason, f.reason) && (row.Reason == "") == (f.state == FirePending || f.state == FireAbsent)
			}
			if !good {
				fail("fire %d is %+v, the model says %s of %s", n, row, f, at[n])
			}
			n++
		}
		if !more {
			break
		}
		q.After = rows[len(rows)-1].Expected
	}
	if n != len(at) {
		fail("%d fires one by one of %d", n, len(at))
	}
}
