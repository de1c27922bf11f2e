package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/axsched/ax/modules/domain"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// drawn is facts with what a person would expect of them, found fire by fire and not by the planner's rules.
type drawn struct {
	facts Facts
	want  map[string]Act // job date moment → what becomes of it
}

func statuses() []domain.Status {
	out := []domain.Status{{State: domain.Success}}
	for _, l := range []domain.Label{domain.Queued, domain.Executing, domain.WaitingDeps} {
		out = append(out, domain.Status{State: domain.Running, Label: l})
	}
	for _, l := range []domain.Label{domain.ErrorLabel, domain.Timeout} {
		out = append(out, domain.Status{State: domain.Failed, Label: l})
	}
	return append(out, domain.Status{State: domain.Cancelled, Label: domain.UpstreamFailed}, domain.Status{State: domain.Cancelled, Label: domain.Skipped},
		domain.Status{State: domain.Retrying, Label: domain.Backoff})
}

// expect says what a person would do about one fire.
func expect(wanted Wanted, in *domain.Instance, at time.Time, byHand bool) Act {
	if in == nil {
		if at.After(noon.Add(-time.Minute)) || wanted == Failed || byHand && wanted == Missing {
			return Leave
		}
		return Make
	}
	switch {
	case in.State == domain.Running || in.State == domain.Retrying:
		return Leave
	case in.State == domain.Success:
		if wanted == All {
			return Again
		}
		return Leave
	case in.Label == domain.Skipped && wanted == Failed:
		return Leave
	}
	return Again
}

func (d *drawn) name(job domain.ID, date domain.BizDate, at time.Time) string {
	return fmt.Sprintf("%d %s %d", job, date, at.UnixMilli())
}

// draw makes facts of up to three jobs with a schedule, over up to six dates with up to three fires each.
func draw(t *rapid.T, r *Request) drawn {
	d := drawn{facts: Facts{Now: noon, Names: map[domain.ID]string{}, Ups: map[domain.ID][]domain.ID{}, Fires: map[domain.ID][]domain.PastFire{},
		There: map[domain.ID][]domain.Instance{}}, want: map[string]Act{}}
	days := rapid.IntRange(1, 6).Draw(t, "days")
	first := domain.BizDateOf(noon.AddDate(0, 0, rapid.IntRange(-8, 0).Draw(t, "first")), time.UTC)
	for i := range days {
		d.facts.Dates = append(d.facts.Dates, first.AddDays(i))
	}
	jobs := rapid.IntRange(1, 3).Draw(t, "jobs")
	if r.Reach == Alone {
		jobs = 1
	}
	id := domain.ID(1000)
	for j := range jobs {
		job := domain.ID(j + 1)
		d.facts.Names[job] = fmt.Sprintf("job%d", j)
		d.facts.Jobs = append(d.facts.Jobs, domain.Job{ID: job, Version: 9, Spec: domain.JobSpec{Name: d.facts.Names[job], Schedule: domain.Schedule{Kind: domain.ScheduleCron}}})
		if j > 0 && rapid.Bool().Draw(t, "up") {
			d.facts.Ups[job] = []domain.ID{domain.ID(rapid.IntRange(1, j).Draw(t, "of"))}
		}
		for _, date := range d.facts.Dates {
			var there []domain.Instance
			if rapid.IntRange(0, 3).Draw(t, "hand") == 0 {
				id++
				there = append(there, domain.Instance{ID: id, JobID: job, BizDate: date, FireKey: domain.ManualFireKey(id), Status: rapid.SampledFrom(statuses()).Draw(t, "by hand")})
			}
			byHand := len(there) > 0 && there[0].State == domain.Success
			hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 0, 3, func(h int) int { return h }).Draw(t, "hours")
			slices.Sort(hours)
			for _, h := range hours {
				at := date.Start(time.UTC).Add(time.Duration(h) * time.Hour)
				d.facts.Fires[job] = append(d.facts.Fires[job], domain.PastFire{At: at, BizDate: date})
				var in *domain.Instance
				if rapid.Bool().Draw(t, "made") {
					id++
					in = &domain.Instance{ID: id, JobID: job, BizDate: date, Expected: at, RunNo: rapid.IntRange(1, 3).Draw(t, "run"), Version: 4,
						FireKey: domain.ScheduleFireKey(at), Status: rapid.SampledFrom(statuses()).Draw(t, "status")}
					there = append(there, *in)
				}
				d.want[d.name(job, date, at)] = expect(r.Wanted, in, at, byHand)
			}
			d.facts.There[job] = append(d.facts.There[job], there...)
		}
	}
	return d
}

// The list has each fire of each date once, does with it what a person would, and begins what belongs together together.
func TestTheListIsThatOfAPerson(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Request{Reach: rapid.SampledFrom([]Reach{Alone, Downstream}).Draw(t, "reach"), Wanted: rapid.SampledFrom([]Wanted{Missing, Failed, All}).Draw(t, "wanted"),
			NewestFirst: rapid.Bool().Draw(t, "newest"), Degree: 1}
		d := draw(t, &r)
		all := Items(r, d.facts)
		seen := map[string]bool{}
		var last Item
		steps := 0
		for i, it := range all {
			if it.No != i+1 {
				t.Fatalf("item %d bears number %d", i, it.No)
			}
			if it.Why == Nothing {
				continue
			}
			name := d.name(it.JobID, it.BizDate, it.Expected)
			want, ok := d.want[name]
			if !ok || seen[name] || it.Act != want {
				t.Fatalf("%s: %s (%s), want %s; seen before: %v", name, it.Act, it.Why, want, seen[name])
			}
			seen[name] = true
			if it.Act == Make && (it.Instance != 0 || it.Version != 9) || it.Act == Again && (it.Instance == 0 || it.Version != 4) {
				t.Fatalf("%+v", it)
			}
			if last.No != 0 && (it.BizDate.Compare(last.BizDate) < 0) != r.NewestFirst && it.BizDate != last.BizDate {
				t.Fatalf("%s comes after %s", it.BizDate, last.BizDate)
			}
			last = it
			if !it.Works() {
				if it.Step != 0 {
					t.Fatalf("what is left alone has step %d", it.Step)
				}
				continue
			}
			if it.Step != steps && it.Step != steps+1 {
				t.Fatalf("step %d follows step %d", it.Step, steps)
			}
			if r.Reach == Alone && it.Step == steps {
				t.Fatal("two runs of one job share a step")
			}
			steps = it.Step
		}
		if len(seen) != len(d.want) {
			t.Fatalf("%d of %d fires are in the list", len(seen), len(d.want))
		}
		together(t, r, all)
	})
}

// together: of several jobs a step is a date, and one that runs again waits for those above it that run.
func together(t *rapid.T, r Request, all []Item) {
	if r.Reach == Alone {
		return
	}
	date := map[int]domain.BizDate{}
	for _, it := range all {
		if !it.Works() {
			continue
		}
		if d, ok := date[it.Step]; ok && d != it.BizDate {
			t.Fatalf("step %d is about %s and %s", it.Step, d, it.BizDate)
		}
		date[it.Step] = it.BizDate
	}
}

// What may begin never goes over the degree, keeps the order, and never leaves a step that has begun half done.
func TestNextKeepsDegreeAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		degree, most := rapid.IntRange(1, 5).Draw(t, "degree"), rapid.IntRange(1, 12).Draw(t, "most")
		var waiting, running []Item
		no := 0
		for step := 1; step <= rapid.IntRange(1, 12).Draw(t, "steps"); step++ {
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				no++
				waiting = append(waiting, Item{No: no, Step: step})
			}
		}
		var order []int
		for rounds := 0; len(waiting) > 0; rounds++ {
			next := Next(degree, running, waiting, most)
			if len(next) == 0 && len(running) == 0 {
				t.Fatal("nothing runs and nothing may begin")
			}
			if len(next) > most {
				t.Fatalf("%d begin, %d may", len(next), most)
			}
			for i, it := range next {
				if it.No != waiting[i].No {
					t.Fatal("one is passed over")
				}
				order = append(order, it.No)
			}
			waiting, running = waiting[len(next):], append(running, next...)
			begun := map[int]bool{}
			for _, it := range running {
				begun[it.Step] = true
			}
			if len(begun) > degree {
				t.Fatalf("%d steps are under way, the degree is %d", len(begun), degree)
			}
			for range rapid.IntRange(0, len(running)).Draw(t, "end") {
				at := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				running = slices.Delete(running, at, at+1)
			}
			if rounds > 100 && len(running) > 0 {
				running = nil
			}
		}
		if !slices.IsSorted(order) || len(order) != no {
			t.Fatalf("they began as %v", order)
		}
	})
}

// A date that another definition has made already is not made by the present one beside it.
func TestADateIsNotMadeTwiceByTwoDefinitions(t *testing.T) {
	day := domain.BizDateOf(noon.AddDate(0, 0, -9), time.UTC)
	at := func(h int) time.Time { return day.Start(time.UTC).Add(time.Duration(h) * time.Hour) }
	job := domain.Job{ID: 1, Version: 2, Spec: domain.JobSpec{Schedule: domain.Schedule{Kind: domain.ScheduleCron}}}
	f := Facts{Now: noon, Jobs: []domain.Job{job}, Dates: []domain.BizDate{day}, Fires: map[domain.ID][]domain.PastFire{1: {{At: at(3), BizDate: day, Present: true}}},
		There: map[domain.ID][]domain.Instance{1: {{ID: 5, JobID: 1, BizDate: day, Expected: at(2), FireKey: domain.ScheduleFireKey(at(2)), Status: domain.Status{State: domain.Success}}}}}
	got := Items(Request{Reach: Alone, Wanted: Missing}, f)
	if len(got) != 1 || got[0].Act != Leave || got[0].Instance != 5 {
		t.Errorf("%+v", got)
	}
	f.Fires[1][0].Present = false
	if got = Items(Request{Reach: Alone, Wanted: Missing}, f); len(got) != 2 || got[1].Act != Make {
		t.Errorf("a fire that was planned is one of the date: %+v", got)
	}
}

// Of a part of a date only the fires of that part are in the list, whatever else the date has.
func TestAPartOfADate(t *testing.T) {
	day := domain.BizDateOf(noon.AddDate(0, 0, -9), time.UTC)
	at := func(h int) time.Time { return day.Start(time.UTC).Add(time.Duration(h) * time.Hour) }
	job := domain.Job{ID: 1, Version: 2, Spec: domain.JobSpec{Schedule: domain.Schedule{Kind: domain.ScheduleCron}}}
	f := Facts{Now: noon, Jobs: []domain.Job{job}, Dates: []domain.BizDate{day}, Fires: map[domain.ID][]domain.PastFire{1: {{At: at(5), BizDate: day, Present: true}, {At: at(6), BizDate: day, Present: true}}},
		There: map[domain.ID][]domain.Instance{1: {{ID: 5, JobID: 1, BizDate: day, Expected: at(2), FireKey: domain.ScheduleFireKey(at(2)), Status: domain.Status{State: domain.Success}}}}}
	got := Items(Request{Reach: Alone, Wanted: Missing, Since: at(4), Until: at(6)}, f)
	if len(got) != 2 || got[0].Act != Make || !got[1].Expected.Equal(at(6)) {
		t.Errorf("%+v", got)
	}
	if got = Items(Request{Reach: Alone, Wanted: Missing, Since: at(8), Until: at(9)}, Facts{Now: noon, Jobs: f.Jobs, Dates: f.Dates, There: f.There}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestWindow(t *testing.T) {
	for text, hours := range map[string]string{"": "", "08:00-20:00": "8,9,10,11,12,13,14,15,16,17,18,19", "22:00-02:00": "0,1,22,23"} {
		w, err := ParseWindow(text)
		if err != nil || w.String() != text {
			t.Errorf("%q: %v %v", text, w, err)
		}
		var held []string
		for h := range 24 {
			if w.Holds(time.Date(2026, 3, 1, h, 59, 0, 0, time.UTC), time.UTC) {
				held = append(held, fmt.Sprint(h))
			}
		}
		if got := strings.Join(held, ","); got != hours {
			t.Errorf("%q holds %s", text, got)
		}
	}
	for _, bad := range []string{"8-20", "08:00", "08:00-08:00", "25:00-26:00", "a-b"} {
		if _, err := ParseWindow(bad); !domain.Is(err, domain.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Upstreams come before what depends on them, whatever the numbers of the jobs.
func TestInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		perm := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				if !yield(i + 1) {
					return
				}
			}
		})).Draw(t, "ids")
		ups, names := map[domain.ID][]domain.ID{}, map[domain.ID]string{}
		var jobs []domain.ID
		for i, p := range perm {
			id := domain.ID(p)
			jobs, names[id] = append(jobs, id), fmt.Sprint("j", p)
			for k := range i {
				if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
					ups[id] = append(ups[id], domain.ID(perm[k]))
				}
			}
		}
		slices.Sort(jobs)
		got := InOrder(jobs, ups, names)
		at := map[domain.ID]int{}
		for i, id := range got {
			at[id] = i
		}
		if len(got) != n || len(at) != n {
			t.Fatalf("%v", got)
		}
		for down, of := range ups {
			for _, up := range of {
				if at[up] > at[down] {
					t.Fatalf("%d before %d", down, up)
				}
			}
		}
	})
}

// What a stop ends has not failed; what failed before it was reached has, and so has what a person ended in a backfill that goes on.
func TestWhatAStopEndsIsKilled(t *testing.T) {
	status := func(s domain.State, l domain.Label) domain.Instance {
		return domain.Instance{Status: domain.Status{State: s, Label: l}}
	}
	for _, c := range []struct {
		in    domain.Instance
		kills bool
		want  ItemState
	}{
		{status(domain.Cancelled, domain.Killed), true, ItemKilled}, {status(domain.Cancelled, domain.UpstreamFailed), true, ItemKilled},
		{status(domain.Failed, domain.ErrorLabel), true, ItemFailed}, {status(domain.Success, ""), true, ItemSuccess},
		{status(domain.Running, domain.Stopping), true, ItemRunning}, {status(domain.Cancelled, domain.Killed), false, ItemFailed},
	} {
		if got := Judge(c.in, true, c.kills); got != c.want {
			t.Errorf("%s, kills %v: %s, want %s", c.in.Status, c.kills, got, c.want)
		}
	}
}
