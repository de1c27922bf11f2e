package scheduler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// TestAYear lets 200 jobs in 12 zones live through a leap year on a clock that the test moves: saved at odd
// moments, paused and resumed, edited, moved between zones, taken by nodes that start anew. What fired is what a
// walk over all minutes of the year says, day by day, with its business dates.
//
// AX_TEST_LONG=1 fires ten times as often, on both stores, and adds a year of a random seed.
func TestAYear(t *testing.T) {
	if os.Getenv("AX_TEST_LONG") != "1" {
		t.Run("sqlite", func(t *testing.T) { liveAYear(t, dbtest.SQLite(t), 1, false) })
		return
	}
	dbtest.Each(t, func(t *testing.T, url string) { liveAYear(t, url, 2, true) })
	t.Run("any seed on sqlite", func(t *testing.T) { liveAYear(t, dbtest.SQLite(t), uint64(time.Now().UnixNano()), false) })
}

const yearJobs = 200

// yearLife is what the test does to jobs, and what it knows of them.
type yearLife struct {
	*bed
	dice   *rand.Rand
	dense  bool
	years  map[string]*wallYear
	jobs   map[domain.ID]*yearJob
	events []yearEvent
	end    time.Time
	wheel  map[domain.ID]plan.Due // what a node waits for
	steps  int
}

type yearJob struct {
	stays   []yearStay // the last one's to is the end of the year while it is in force
	on      bool
	version int
}

// yearEvent is something that people do.
type yearEvent struct {
	at  time.Time
	job domain.ID
	do  func(*testing.T, domain.ID)
}

func liveAYear(t *testing.T, url string, seed uint64, dense bool) {
	t.Helper()
	l := &yearLife{bed: newBed(t, url, "2023-12-31T12:00:00Z"), dice: rand.New(rand.NewPCG(seed, 12)), dense: dense,
		years: map[string]*wallYear{}, jobs: map[domain.ID]*yearJob{}}
	l.end = instant(t, "2025-01-01T12:00:07Z") // at which nothing is due: a fire of that moment would be planned and not taken
	for _, z := range yearZones() {
		l.years[z] = newWallYear(t, z, l.now().Add(-time.Hour), l.end.Add(time.Hour))
	}
	for job := range domain.ID(yearJobs) {
		l.foresee(job + 1)
	}
	slices.SortStableFunc(l.events, func(a, b yearEvent) int { return a.at.Compare(b.at) })
	l.walk(t)
	l.compare(t, seed)
}

// foresee draws the life of a job.
func (l *yearLife) foresee(job domain.ID) {
	l.jobs[job] = &yearJob{}
	born := l.now().Add(time.Duration(l.dice.IntN(12*3600_000)) * time.Millisecond)
	l.events = append(l.events, yearEvent{born, job, l.save})
	for range l.dice.IntN(3) {
		l.events = append(l.events, yearEvent{l.moment(born), job, l.edit})
	}
	for range l.dice.IntN(3) {
		from := l.moment(born)
		l.sleep(job, from, from.Add(time.Duration(l.dice.Int64N(int64(20*24*time.Hour)))).Truncate(time.Millisecond))
	}
	zones := yearZones()
	for _, at := range l.years[zones[int(job-1)%len(zones)]].repeats() {
		if l.dice.IntN(2) == 0 { // resumed when the clock shows for the second time what it has shown
			l.sleep(job, at.Add(-2*time.Hour), at.Add(time.Duration(l.dice.IntN(600_000))*time.Millisecond))
		}
	}
}

func (l *yearLife) sleep(job domain.ID, from, to time.Time) {
	l.events = append(l.events, yearEvent{from, job, l.pause}, yearEvent{to, job, l.resume})
}

func (l *yearLife) moment(after time.Time) time.Time {
	at := after.Add(time.Duration(l.dice.Int64N(int64(l.end.Sub(after)))))
	if l.dice.IntN(3) == 0 {
		at = at.Truncate(15 * time.Minute) // where fires are
	}
	return at.Truncate(time.Millisecond)
}

// walk goes from one moment at which something is due, or is done, to the next, up to 40 s late. The node
// knows of the next fires what the taking said; it reads them anew when somebody changed a job.
func (l *yearLife) walk(t *testing.T) {
	t.Helper()
	var node *taker
	for ; ; l.steps++ {
		if l.steps%1000 == 0 {
			node, l.wheel = l.node(nil), nil
		}
		if l.wheel == nil {
			l.load(t)
		}
		next, done := l.earliest(), l.end
		if len(l.events) > 0 {
			done = l.events[0].at
		}
		if !next.Before(done) && done.Before(l.end) {
			l.set(done)
			l.events[0].do(t, l.events[0].job)
			l.events, l.wheel = l.events[1:], nil
			continue
		}
		if !next.Before(l.end) {
			l.set(l.end)
			return
		}
		late := next.Add(time.Duration(l.dice.IntN(40_000)) * time.Millisecond)
		if late.After(done) {
			late = done
		}
		l.set(late)
		l.take(t, node)
	}
}

func (l *yearLife) load(t *testing.T) {
	t.Helper()
	rows, err := l.st.Due(t.Context(), l.end, 2*yearJobs)
	if err != nil {
		t.Fatal(err)
	}
	l.wheel = map[domain.ID]plan.Due{}
	for _, d := range rows {
		l.wheel[d.ID] = d
	}
}

func (l *yearLife) earliest() time.Time {
	first := l.end
	for _, d := range l.wheel {
		if d.Next.Before(first) {
			first = d.Next
		}
	}
	return first
}

// take takes what is due and notes when to look again.
func (l *yearLife) take(t *testing.T, node *taker) {
	t.Helper()
	var batch []plan.Due
	for _, d := range l.wheel {
		if !d.Next.After(l.now()) {
			batch = append(batch, d)
		}
	}
	slices.SortFunc(batch, func(a, b plan.Due) int { return cmp.Compare(a.ID, b.ID) })
	if l.dice.IntN(8) == 0 {
		node.prepare(t.Context(), batch)
	}
	for _, d := range batch {
		delete(l.wheel, d.ID)
	}
	for _, k := range node.take(t.Context(), batch) {
		if !k.due.Next.IsZero() {
			l.wheel[k.due.ID] = k.due
		}
	}
}

func (l *yearLife) save(t *testing.T, job domain.ID) {
	zones := yearZones()
	n := int(job - 1)
	s := yearStay{yearRule: drawYearRule(l.dice, n%yearRuleKinds, l.now(), l.dense), zone: zones[n%len(zones)],
		biz: []domain.BizDateRule{domain.BizDateT, domain.BizDateTMinus1, domain.BizDateMonthEnd}[l.dice.IntN(3)]}
	l.put(t, job, s)
}

// edit changes the schedule, the zone, the rule of business dates, or nothing that counts. A job that has
// no schedule left that could fire, as one whose only moment has passed, gets a new one.
func (l *yearLife) edit(t *testing.T, job domain.ID) {
	j := l.jobs[job]
	if !j.on {
		return
	}
	s := j.stays[len(j.stays)-1]
	zones := yearZones()
	switch k := l.dice.IntN(4); {
	case k == 0 || !s.at.IsZero():
		s.yearRule = drawYearRule(l.dice, l.dice.IntN(yearRuleKinds), l.now(), l.dense)
	case k == 1:
		s.zone = zones[l.dice.IntN(len(zones))]
	case k == 2:
		s.biz = domain.BizDateTMinus1
	}
	l.put(t, job, s)
}

// put saves a job, and opens a stay where its schedule changed.
func (l *yearLife) put(t *testing.T, job domain.ID, s yearStay) {
	t.Helper()
	j := l.jobs[job]
	j.version++
	spec := domain.JobSpec{Timezone: s.zone, BizDate: s.biz, Misfire: domain.MisfireOnce, Schedule: s.schedule()}
	if err := l.bed.put(job, j.version, spec, true); err != nil {
		t.Fatalf("saving job %d with %+v in %s: %v", job, spec.Schedule, s.zone, err)
	}
	s.anchor = l.now()
	if n := len(j.stays); n > 0 {
		old := j.stays[n-1]
		if old.every == s.every && s.every != 0 {
			s.anchor = old.anchor
		}
		if old.schedule() == s.schedule() && old.zone == s.zone && old.biz == s.biz {
			return
		}
		j.stays[n-1].to = l.now()
	}
	s.from, s.to = l.now(), l.end
	j.stays, j.on = append(j.stays, s), true
}

// pause comes when nothing is due: what was would be noted as skipped.
func (l *yearLife) pause(t *testing.T, job domain.ID) {
	l.drain(l.node(nil))
	if err := l.triggers().Pause(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if j := l.jobs[job]; j.on {
		j.on, j.stays[len(j.stays)-1].to = false, l.now()
	}
}

func (l *yearLife) resume(t *testing.T, job domain.ID) {
	if err := l.triggers().Resume(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if j := l.jobs[job]; !j.on {
		s := j.stays[len(j.stays)-1]
		s.from, s.to = l.now(), l.end
		j.on, j.stays = true, append(j.stays, s)
	}
}

// compare holds what fired against the walk, day by day, and asks the ledger.
func (l *yearLife) compare(t *testing.T, seed uint64) {
	t.Helper()
	all, err := l.instances(t.Context(), "1 = 1")
	if err != nil {
		t.Fatal(err)
	}
	fired := map[domain.ID][]yearFire{}
	for _, in := range all {
		fired[in.JobID] = append(fired[in.JobID], yearFire{in.Expected.UnixMilli(), in.BizDate.String()})
		if in.Reason != "" {
			t.Errorf("job %s, %s: %s", in.JobID, in.Expected, in.Reason)
		}
	}
	lived := map[string]bool{}
	for job := range domain.ID(yearJobs) {
		job++
		j := l.jobs[job]
		var want []yearFire
		for _, s := range j.stays {
			want = append(want, s.fires(l.years[s.zone])...)
			lived[s.zone] = true
		}
		if say := differingDay(fired[job], want); say != "" {
			t.Errorf("seed %d, job %d: %s\nin force were %s", seed, job, say, j)
		}
		a, err := l.plans().Ledger(t.Context(), LedgerQuery{Job: job, From: instant(t, "2023-12-31T12:00:00Z"), To: l.end.Add(time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Jobs[0]; !a.Balanced || got.Fired != len(want) || got.Planned != len(want) || got.Unplanned != 0 {
			t.Errorf("seed %d, job %d: the ledger says %+v, the walk %d fires\nin force were %s", seed, job, got, len(want), j)
		}
	}
	if len(lived) != len(yearZones()) || len(all) < 10_000 {
		t.Errorf("%d zones and %d fires are not the year that was meant", len(lived), len(all))
	}
	t.Logf("seed %d: %d fires of %d jobs in %d zones, in %d steps", seed, len(all), yearJobs, len(lived), l.steps)
}

func (j *yearJob) String() string {
	var out []string
	for _, s := range j.stays {
		out = append(out, fmt.Sprintf("%+v in %s, %s, after %s to %s", s.schedule(), s.zone, s.biz, s.from.Format(time.RFC3339Nano), s.to.Format(time.RFC3339Nano)))
	}
	return strings.Join(out, "\n  ")
}

// differingDay is the first day (UTC) on which two expansions are not the same, in words; "": there is none.
func differingDay(got, want []yearFire) string {
	for i := range max(len(got), len(want)) {
		if i < len(got) && i < len(want) && got[i] == want[i] {
			continue
		}
		var day int64
		switch {
		case i >= len(got):
			day = want[i].ms
		case i >= len(want):
			day = got[i].ms
		default:
			day = min(got[i].ms, want[i].ms)
		}
		on := time.UnixMilli(day).UTC().Format(time.DateOnly)
		return fmt.Sprintf("on %s fired %s, the walk says %s", on, ofDay(got, on), ofDay(want, on))
	}
	return ""
}

func ofDay(all []yearFire, on string) []string {
	var out []string
	for _, f := range all {
		if at := time.UnixMilli(f.ms).UTC(); at.Format(time.DateOnly) == on {
			out = append(out, at.Format("15:04:05.000")+" of "+f.date)
		}
	}
	return out
}
