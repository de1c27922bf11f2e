package scheduler

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// shelf keeps the versions of one calendar.
type shelf struct{ versions []*domain.Calendar }

func (s *shelf) Use(_ context.Context, _, _ domain.ID, name string) (*domain.Calendar, error) {
	if name == "" {
		return nil, nil
	}
	return s.versions[len(s.versions)-1], nil
}

func (s *shelf) Version(_ context.Context, calendar domain.ID, version int) (*domain.Calendar, error) {
	for _, c := range s.versions {
		if c.ID == calendar && c.Version == version {
			return c, nil
		}
	}
	return nil, domain.Fail(domain.NotFound, "no version %d", version)
}

// next puts a further version on the shelf, in which some days are other than before: holidays
// begin with -, working days with +.
func (s *shelf) next(t *testing.T, days ...string) *domain.Calendar {
	t.Helper()
	c := &domain.Calendar{ID: 5, Name: "cn", Version: len(s.versions) + 1, Rest: domain.UsualRest(), Years: []int{2024}, Days: map[domain.BizDate]domain.CalendarDay{}}
	if n := len(s.versions); n > 0 {
		c.Days = maps.Clone(s.versions[n-1].Days)
	}
	for _, text := range days {
		d, err := domain.ParseBizDate(text[1:])
		if err != nil {
			t.Fatal(err)
		}
		c.Days[d] = domain.CalendarDay{Work: text[0] == '+'}
	}
	s.versions = append(s.versions, c)
	return c
}

// china2024 reads the sample that the module of calendars ships.
func china2024(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../calendar/testdata/cn-2024.csv")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		fields := strings.Split(strings.TrimSpace(line), ",")
		sign := map[string]string{"休": "-", "班": "+"}[fields[1]]
		first, last, stretch := strings.Cut(fields[0], "..")
		if !stretch {
			last = first
		}
		d, err := domain.ParseBizDate(first)
		if err != nil {
			t.Fatal(err)
		}
		for ; d.String() <= last; d = d.AddDays(1) {
			out = append(out, sign+d.String())
		}
	}
	return out
}

func gatedSpec(expr string, on domain.GateDay, otherwise domain.GateElse) domain.JobSpec {
	s := cronSpec(expr)
	s.Timezone = "Asia/Shanghai"
	s.Calendar = domain.CalendarUse{Name: "cn", On: on, Else: otherwise}
	return s
}

func (b *bed) gatedTriggers(s *shelf) *Triggers {
	t := b.triggers()
	t.Calendars = s
	return t
}

func (b *bed) putGated(s *shelf, job domain.ID, spec domain.JobSpec) {
	b.t.Helper()
	spec.Name = fmt.Sprintf("job_%d", job)
	b.mu.Lock()
	b.specs[job] = map[int]domain.JobSpec{1: spec}
	b.mu.Unlock()
	if err := b.gatedTriggers(s).Put(b.t.Context(), project, job, 1, spec, true); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) gatedNode(s *shelf) *taker {
	n := b.node(nil)
	n.calendars = s
	return n
}

func (b *bed) gatedPlans(s *shelf) *Plans {
	p := b.plans()
	p.Calendars = s
	return p
}

// taken lists when a job's instances were expected.
func (b *bed) taken(job domain.ID) []time.Time {
	b.t.Helper()
	all, err := b.instances(b.t.Context(), "job_id = ?", job)
	if err != nil {
		b.t.Fatal(err)
	}
	out := make([]time.Time, len(all))
	for i, in := range all {
		out[i] = in.Expected
	}
	return out
}

// oracle walks the days of a year: for each day on which the weekly or daily rule asks for half past
// seven in Shanghai, the day on which it happens; by the calendar's days alone.
func oracle(c *domain.Calendar, asks func(domain.BizDate) bool, on domain.GateDay, otherwise domain.GateElse, from, to domain.BizDate) []time.Time {
	zone := time.FixedZone("", 8*3600)
	wanted := func(d domain.BizDate) bool { return c.Workday(d) == (on == domain.GateWorkday) }
	happens := map[domain.BizDate]bool{}
	for d := from.AddDays(-40); !to.AddDays(40).Before(d); d = d.AddDays(1) {
		if !asks(d) {
			continue
		}
		to := d
		switch otherwise {
		case domain.ElseNext:
			for ; !wanted(to); to = to.AddDays(1) {
			}
		case domain.ElsePrevious:
			for ; !wanted(to); to = to.AddDays(-1) {
			}
		default:
			if !wanted(to) {
				continue
			}
		}
		happens[to] = true
	}
	var out []time.Time
	for _, d := range slices.SortedFunc(maps.Keys(happens), domain.BizDate.Compare) {
		if !d.Before(from) && !to.Before(d) {
			out = append(out, d.Start(zone).Add(7*time.Hour+30*time.Minute).UTC())
		}
	}
	return out
}

// Over a year that knows holidays and make-up days, what was planned, what was foretold, what was
// taken and what an independent walk over the days says are the same.
func TestAYearByTheCalendar(t *testing.T) {
	eachBed(t, "2023-12-31T16:00:00Z", func(t *testing.T, b *bed) {
		s := &shelf{}
		c := s.next(t, china2024(t)...)
		daily, mondays := func(domain.BizDate) bool { return true }, func(d domain.BizDate) bool { return d.Weekday() == time.Monday }
		first, last := domain.NewBizDate(2024, time.January, 1), domain.NewBizDate(2024, time.December, 31)
		type one struct {
			asks      func(domain.BizDate) bool
			on        domain.GateDay
			otherwise domain.GateElse
		}
		jobs := map[domain.ID]one{}
		for i, e := range []domain.GateElse{domain.ElseSkip, domain.ElseNext, domain.ElsePrevious} {
			for k, on := range []domain.GateDay{domain.GateWorkday, domain.GateRestday} {
				d, m := domain.ID(100+10*i+k), domain.ID(200+10*i+k)
				jobs[d], jobs[m] = one{daily, on, e}, one{mondays, on, e}
				b.putGated(s, d, gatedSpec("30 7 * * *", on, e))
				b.putGated(s, m, gatedSpec("30 7 * * 1", on, e))
			}
		}
		foretold := map[domain.ID][]domain.Coming{}
		all, err := b.gatedTriggers(s).Coming(t.Context(), slices.Collect(maps.Keys(jobs)), 400)
		if err != nil {
			t.Fatal(err)
		}
		for job, of := range all {
			foretold[job] = of
		}
		node := b.gatedNode(s)
		for end := instant(t, "2024-12-31T16:00:00Z"); ; {
			due, err := b.st.Due(t.Context(), end, 1000)
			if err != nil {
				t.Fatal(err)
			}
			next := end
			for _, d := range due {
				if d.Next.Before(next) {
					next = d.Next
				}
			}
			if !next.Before(end) {
				break
			}
			b.set(next)
			b.drain(node)
		}
		b.set(instant(t, "2025-01-01T00:00:00Z"))
		for job, j := range jobs {
			want := oracle(c, j.asks, j.on, j.otherwise, first, last)
			got := b.taken(job)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("job %d (%s/%s): %d taken, %d by the walk", job, j.on, j.otherwise, len(got), len(want))
			}
			planned, err := b.gatedPlans(s).Planned(t.Context(), job, instant(t, "2023-12-31T16:00:00Z"), instant(t, "2024-12-31T16:00:00Z"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(planned, want, func(f plan.Fire, at time.Time) bool { return f.Expected.Equal(at) }) {
				t.Errorf("job %d: %d planned, %d by the walk", job, len(planned), len(want))
			}
			for i, f := range foretold[job] {
				if i < len(want) && !f.At.Equal(want[i]) {
					t.Errorf("job %d: fire %d foretold at %s, taken at %s", job, i, f.At, want[i])
					break
				}
			}
		}
	})
}

// Each workday at eight in China, where a Sunday and a Saturday around the holidays of October 2025 are worked: fires on
// those, and on none of the eight days off; told before it happens and taken so. (J-A25)
func TestEachWorkdayFiresOnWorkedWeekendsAndNotOnHolidays(t *testing.T) {
	eachBed(t, "2025-09-26T16:00:00Z", func(t *testing.T, b *bed) {
		s := &shelf{}
		s.next(t, "+2025-09-28", "-2025-10-01", "-2025-10-02", "-2025-10-03", "-2025-10-04", "-2025-10-05", "-2025-10-06", "-2025-10-07", "-2025-10-08", "+2025-10-11")
		b.putGated(s, 1, gatedSpec("0 8 * * *", domain.GateWorkday, domain.ElseSkip))
		want := "28 29 30 09 10 11 13"
		days := func(all []time.Time) string {
			var out []string
			for _, at := range all {
				at = at.In(time.FixedZone("", 8*3600))
				if at.Hour() != 8 {
					t.Errorf("a fire at %s", at)
				}
				out = append(out, at.Format("02"))
			}
			return strings.Join(out, " ")
		}
		coming, err := b.gatedTriggers(s).Coming(t.Context(), []domain.ID{1}, 7)
		if err != nil {
			t.Fatal(err)
		}
		var told []time.Time
		for _, f := range coming[1] {
			told = append(told, f.At)
		}
		if got := days(told); got != want {
			t.Errorf("told for %s, want %s", got, want)
		}
		node := b.gatedNode(s)
		for b.now().Before(instant(t, "2025-10-13T16:00:00Z")) {
			b.drain(node)
			b.pass(time.Minute)
			b.drain(node)
			b.pass(59 * time.Minute)
		}
		if got := days(b.taken(1)); got != want {
			t.Errorf("fired on %s, want %s", got, want)
		}
	})
}

// A calendar that is changed in the very second of a fire, before or after it was taken, loses and
// doubles nothing, and what was foretold of the change comes true.
func TestACalendarChangedInTheSecondOfAFire(t *testing.T) {
	const at = "2024-05-03T23:30:00Z" // Saturday the 4th, half past seven in Shanghai
	for _, otherwise := range []domain.GateElse{domain.ElseSkip, domain.ElseNext, domain.ElsePrevious} {
		for name, when := range map[string]struct {
			change time.Duration
			taken  bool
		}{"before": {-time.Millisecond, false}, "at, not taken": {0, false}, "at, taken": {0, true}, "after, not taken": {time.Millisecond, false}, "after, taken": {time.Millisecond, true}} {
			t.Run(fmt.Sprintf("%s %s", otherwise, name), func(t *testing.T) {
				eachBed(t, "2024-05-01T00:00:00Z", func(t *testing.T, b *bed) {
					s := &shelf{}
					s.next(t, "+2024-05-04", "-2024-05-06")
					b.putGated(s, 1, gatedSpec("30 7 * * *", domain.GateWorkday, otherwise))
					b.putGated(s, 2, gatedSpec("30 7 4 5 *", domain.GateWorkday, otherwise))
					node := b.gatedNode(s)
					b.set(instant(t, at).Add(-time.Second))
					b.drain(node)
					b.set(instant(t, at).Add(when.change))
					if when.taken {
						b.drain(node)
					}
					tr := b.gatedTriggers(s)
					before, err := tr.Coming(t.Context(), []domain.ID{1}, 60)
					if err != nil {
						t.Fatal(err)
					}
					newest := s.next(t, "-2024-05-04", "+2024-05-05", "+2024-05-06") // now Saturday rests, Sunday and Monday are worked
					moves, err := tr.CalendarMoves(t.Context(), []domain.ID{1}, newest)
					if err != nil {
						t.Fatal(err)
					}
					if err := tr.CalendarChanged(t.Context(), []domain.ID{1, 2}, newest); err != nil {
						t.Fatal(err)
					}
					after, err := tr.Coming(t.Context(), []domain.ID{1}, 60)
					if err != nil {
						t.Fatal(err)
					}
					checkMoves(t, moves, before[1], after[1], b.now())
					for b.now().Before(instant(t, "2024-05-20T00:00:00Z")) {
						b.drain(node)
						b.pass(30 * time.Minute)
					}
					seen := map[string]int{}
					for _, f := range b.taken(1) {
						seen[f.In(time.FixedZone("", 8*3600)).Format("01-02")]++
					}
					for day, n := range seen {
						if n != 1 {
							t.Errorf("%s fired %d times", day, n)
						}
					}
					// The 4th was due when its calendar said so; the days after are the new calendar's.
					due := when.change >= 0
					if (seen["05-04"] == 1) != due || seen["05-05"] != 1 || seen["05-06"] != 1 || seen["05-07"] != 1 || seen["05-11"] != 0 {
						t.Errorf("fired on %v", slices.Sorted(maps.Keys(seen)))
					}
					// The one fire that is asked for on the 4th happens once: then, or on the 5th where the change
					// came first and moves it or lets it keep its promise.
					var once []string
					for _, f := range b.taken(2) {
						once = append(once, f.In(time.FixedZone("", 8*3600)).Format("01-02"))
					}
					want := map[bool]string{true: "05-04", false: "05-05"}[due]
					if !due && otherwise == domain.ElseSkip {
						want = ""
					}
					if got := strings.Join(once, " "); got != want {
						t.Errorf("the one fire happened on %q, want %q", got, want)
					}
					a := b.accountOf(b.gatedPlans(s), 1, instant(t, "2024-05-01T00:00:00Z"))
					if a.Missed != 0 || a.Absent != 0 || a.Unplanned != 0 {
						t.Errorf("the account: %+v", a)
					}
				})
			})
		}
	}
}

// accountOf is a job's ledger up to now, by plans that know calendars.
func (b *bed) accountOf(p *Plans, job domain.ID, from time.Time) Account {
	b.t.Helper()
	l, err := p.Ledger(b.t.Context(), LedgerQuery{Job: job, From: from, To: b.now()})
	if err != nil {
		b.t.Fatal(err)
	}
	return l.Jobs[0]
}

// checkMoves wants what was foretold to be the difference between the fires to come before and after.
func checkMoves(t *testing.T, moves []domain.CalendarMove, before, after []domain.Coming, now time.Time) {
	t.Helper()
	var move domain.CalendarMove
	if len(moves) > 0 {
		move = moves[0]
	}
	keys := func(all []domain.Coming, until time.Time) map[string]bool {
		out := map[string]bool{}
		for _, f := range all {
			if f.At.After(now) && !f.At.After(until) {
				out[f.At.UTC().Format(time.RFC3339)+" "+f.BizDate.String()] = true
			}
		}
		return out
	}
	far := before[len(before)-1].At
	if last := after[len(after)-1].At; last.Before(far) {
		far = last
	}
	was, is, gone, added := keys(before, far), keys(after, far), keys(move.Gone, far), keys(move.Added, far)
	for k := range was {
		if !is[k] != gone[k] {
			t.Errorf("%s: gone is %v, foretold %v", k, !is[k], gone[k])
		}
	}
	for k := range is {
		if !was[k] != added[k] {
			t.Errorf("%s: added is %v, foretold %v", k, !was[k], added[k])
		}
	}
}

// Whatever changes, what was foretold of it is what becomes of the fires.
func TestWhatIsForetoldOfAChangeComesTrue(t *testing.T) {
	eachBed(t, "2024-01-20T00:00:00Z", foretoldComesTrue)
}

func foretoldComesTrue(t *testing.T, b *bed) {
	random := rand.New(rand.NewPCG(1, 2))
	s := &shelf{}
	s.next(t, china2024(t)...)
	tr := b.gatedTriggers(s)
	rules := []domain.BizDateRule{domain.BizDateT, domain.BizDatePrevWorkday, "workday+3"}
	exprs := []string{"30 7 * * *", "0 9,18 * * 1-5", "0 12 28-31 * *", "15 * * * *"}
	for i := range 24 {
		spec := gatedSpec(exprs[i%len(exprs)], domain.GateWorkday, []domain.GateElse{domain.ElseSkip, domain.ElseNext, domain.ElsePrevious}[i%3])
		spec.BizDate = rules[i%len(rules)]
		b.putGated(s, domain.ID(i+1), spec)
	}
	jobs := make([]domain.ID, 24)
	for i := range jobs {
		jobs[i] = domain.ID(i + 1)
	}
	for round := range 12 {
		b.pass(time.Duration(random.IntN(200)) * time.Hour)
		before, err := tr.Coming(t.Context(), jobs, 400)
		if err != nil {
			t.Fatal(err)
		}
		var days []string
		for range 1 + random.IntN(3) {
			day := domain.BizDateOf(b.now(), time.UTC).AddDays(random.IntN(12) - 3)
			days = append(days, []string{"-", "+"}[random.IntN(2)]+day.String())
		}
		newest := s.next(t, days...)
		moves, err := tr.CalendarMoves(t.Context(), jobs, newest)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.CalendarChanged(t.Context(), jobs, newest); err != nil {
			t.Fatal(err)
		}
		after, err := tr.Coming(t.Context(), jobs, 400)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			of := slices.DeleteFunc(slices.Clone(moves), func(m domain.CalendarMove) bool { return m.Job != job })
			if len(of) > 0 && (of[0].GoneCount > movesShown || of[0].AddedCount > movesShown) {
				continue // only the first are listed
			}
			checkMoves(t, of, before[job], after[job], b.now())
			if t.Failed() {
				t.Fatalf("round %d, job %d, days %v at %s", round, job, days, b.now())
			}
		}
		b.drain(b.gatedNode(s))
	}
}
