package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func each(t *testing.T, fn func(t *testing.T, st *store.Store)) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		fn(t, store.New(db))
	})
}

var (
	noon  = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)
	first = domain.BizDateOf(noon, time.UTC)
)

// made is the n-th instance of a test, a second after the one before.
func made(n int, job domain.ID, date domain.BizDate, status domain.Status) domain.Instance {
	at := noon.Add(time.Duration(n) * time.Second)
	id := domain.IDAt(at) + 1
	return domain.Instance{ID: id, ProjectID: 1 + job%2, JobID: job, JobName: "j", FireKey: fmt.Sprint("m:", n), Trigger: domain.TriggerManual, BizDate: date, Expected: at,
		Status: status, Ver: 1, RunID: id, RunNo: 1, TraceID: fmt.Sprintf("%036d", n), Version: 1, Lane: domain.LaneDefault, CreatedAt: at}
}

func insert(t *testing.T, st *store.Store, ins []domain.Instance) {
	t.Helper()
	for part := range slices.Chunk(ins, 5000) {
		if err := st.Insert(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
}

// pages reads a list to its end and tells in how many pages it came.
func pages(t *testing.T, st *store.Store, f store.Filter) (ids []domain.ID, n int) {
	t.Helper()
	for {
		ins, stopped, err := st.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(ins) > f.Limit {
			t.Fatalf("a page of %d, wanted %d", len(ins), f.Limit)
		}
		for _, in := range ins {
			ids = append(ids, in.ID)
		}
		n++
		switch {
		case stopped.ID != 0:
			f.After = stopped
		case len(ins) < f.Limit:
			return ids, n
		default:
			f.After = store.Place{ID: ins[len(ins)-1].ID, Date: ins[len(ins)-1].BizDate}
		}
	}
}

var statuses = []domain.Status{{State: domain.Success}, {State: domain.Success}, {State: domain.Success}, {State: domain.Failed, Label: domain.ErrorLabel},
	{State: domain.Failed, Label: domain.Timeout}, {State: domain.Running, Label: domain.Queued}, {State: domain.Running, Label: domain.Executing},
	{State: domain.Cancelled, Label: domain.Skipped}, {State: domain.Retrying, Label: domain.Backoff}}

// TestPagesHaveWhatTheFilterSays compares the pages of random filters with a look at every instance.
func TestPagesHaveWhatTheFilterSays(t *testing.T) {
	each(t, func(t *testing.T, st *store.Store) {
		rnd := rand.New(rand.NewPCG(3, 9))
		var all []domain.Instance
		for n := range 1400 {
			job := domain.ID(1 + min(rnd.IntN(8), 4)) // job 5 has half of them
			all = append(all, made(n, job, first.AddDays(rnd.IntN(4)), statuses[rnd.IntN(len(statuses))]))
		}
		insert(t, st, all)
		for range 150 {
			f := randomFilter(rnd)
			want := chosen(all, f)
			if got, _ := pages(t, st, f); !slices.Equal(got, want) {
				t.Fatalf("%+v: %d instances, want %d", f, len(got), len(want))
			}
		}
	})
}

func randomFilter(rnd *rand.Rand) store.Filter {
	f := store.Filter{Limit: 1 + rnd.IntN(300)}
	if rnd.IntN(3) == 0 {
		f.Job = domain.ID(1 + rnd.IntN(6))
	}
	if rnd.IntN(3) == 0 {
		f.BizDate = first.AddDays(rnd.IntN(5))
	}
	switch s := statuses[rnd.IntN(len(statuses))]; rnd.IntN(5) {
	case 0:
		f.State = s.State
	case 1:
		f.State, f.Labels = domain.Running, []domain.Label{domain.Queued, domain.Stopping}
	case 2:
		f.Labels = []domain.Label{domain.ErrorLabel}
	case 3:
		f.Labels = []domain.Label{domain.ErrorLabel, domain.Skipped}
	}
	switch rnd.IntN(4) {
	case 0:
		f.Projects = []domain.ID{1}
	case 1:
		f.Projects = []domain.ID{}
	}
	if rnd.IntN(3) == 0 {
		f.MadeFrom = noon.Add(time.Duration(rnd.IntN(1400)) * time.Second)
	}
	if rnd.IntN(3) == 0 {
		f.MadeTo = noon.Add(time.Duration(rnd.IntN(1400)) * time.Second)
	}
	return f
}

func chosen(all []domain.Instance, f store.Filter) []domain.ID {
	var some []domain.Instance
	for _, in := range all {
		if (f.Job == 0 || in.JobID == f.Job) && (f.BizDate.IsZero() || in.BizDate == f.BizDate) && (f.State == "" || in.State == f.State) &&
			(len(f.Labels) == 0 || slices.Contains(f.Labels, in.Label)) && (f.Projects == nil || slices.Contains(f.Projects, in.ProjectID)) &&
			!in.CreatedAt.Before(f.MadeFrom) && (f.MadeTo.IsZero() || in.CreatedAt.Before(f.MadeTo)) {
			some = append(some, in)
		}
	}
	slices.SortFunc(some, func(a, b domain.Instance) int {
		if f.Job != 0 && a.BizDate != b.BizDate {
			return b.BizDate.Compare(a.BizDate)
		}
		return cmp.Compare(b.ID, a.ID)
	})
	var ids []domain.ID
	for _, in := range some {
		ids = append(ids, in.ID)
	}
	return ids
}

// What is rare among many is found by going on: no page looks at more than MaxLooked.
func TestASearchIsLeftOffAndGoesOn(t *testing.T) {
	each(t, func(t *testing.T, st *store.Store) {
		rare := domain.Status{State: domain.Failed, Label: domain.WorkerLost}
		all := make([]domain.Instance, 0, 2*store.MaxLooked+10)
		for n := range cap(all) {
			status := domain.Status{State: domain.Failed, Label: domain.ErrorLabel}
			if n == 6 || n == cap(all)-1 { // the first and the last in each order
				status = rare
			}
			all = append(all, made(n, 2, first.AddDays(n%3), status))
		}
		insert(t, st, all)
		for name, f := range map[string]store.Filter{
			"one state":  {State: domain.Failed, Labels: []domain.Label{domain.WorkerLost}},
			"one job":    {Job: 2, Labels: []domain.Label{domain.WorkerLost}},
			"every row":  {Labels: []domain.Label{domain.WorkerLost, domain.Killed}},
			"one of two": {Labels: []domain.Label{domain.WorkerLost}, Projects: []domain.ID{1}},
		} {
			f.Limit = 10
			ins, stopped, err := st.List(t.Context(), f)
			if err != nil || stopped.ID == 0 || len(ins) > 1 {
				t.Errorf("%s: the first page has %d and stopped at %s, %v", name, len(ins), stopped.ID, err)
			}
			if got, n := pages(t, st, f); !slices.Equal(got, chosen(all, f)) || n != 3 {
				t.Errorf("%s: %d instances in %d pages, want %d in 3", name, len(got), n, len(chosen(all, f)))
			}
		}
		if _, stopped, err := st.List(t.Context(), store.Filter{State: domain.Failed, Limit: 10}); err != nil || stopped.ID != 0 {
			t.Errorf("a full page stopped at %s, %v", stopped.ID, err)
		}
	})
}

func TestTheLatestDaysOfManyJobs(t *testing.T) {
	each(t, func(t *testing.T, st *store.Store) {
		var all []domain.Instance
		for job := range domain.ID(130) {
			for day := range int(job%7) * 3 {
				for range 1 + day%2 {
					all = append(all, made(len(all), 1+job, first.AddDays(day), domain.Status{State: domain.Success}))
				}
			}
		}
		insert(t, st, all)
		var jobs []domain.ID
		for job := domain.ID(140); job > 0; job-- {
			jobs = append(jobs, job)
		}
		days, err := st.LatestDays(t.Context(), jobs, 14)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			want := 0
			if job <= 130 {
				want = int((job - 1) % 7 * 3)
			}
			got := days[job]
			if len(got) != min(want, 14) {
				t.Fatalf("job %s has %d days, want %d", job, len(got), min(want, 14))
			}
			for i, d := range got {
				latest := chosen(all, store.Filter{Job: job, BizDate: first.AddDays(want - 1 - i)})
				if d.Job != job || d.BizDate != first.AddDays(want-1-i) || d.Instance != latest[0] || d.State != domain.Success {
					t.Fatalf("job %s, day %d: %+v", job, i, d)
				}
			}
		}
	})
}

func TestTheLastDateOfSomeJobsAndWhatFailedOnADate(t *testing.T) {
	each(t, func(t *testing.T, st *store.Store) {
		insert(t, st, []domain.Instance{
			made(1, 1, first, domain.Status{State: domain.Failed, Label: domain.ErrorLabel}),
			made(2, 2, first, domain.Status{State: domain.Failed, Label: domain.ErrorLabel}), // mended by the next
			made(3, 2, first, domain.Status{State: domain.Success}),
			made(4, 3, first, domain.Status{State: domain.Cancelled, Label: domain.UpstreamFailed}),
			made(5, 4, first, domain.Status{State: domain.Cancelled, Label: domain.Skipped}),
			made(6, 5, first.AddDays(2), domain.Status{State: domain.Failed, Label: domain.Timeout}),
			made(7, 1, first.AddDays(-4), domain.Status{State: domain.Success}),
		})
		failed := func(seen domain.ProjectSet, date domain.BizDate, limit int) []domain.ID {
			t.Helper()
			out, err := st.FailedOn(t.Context(), seen, date, limit)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(out)
			return out
		}
		all := domain.ProjectSet{All: true}
		if got := failed(all, first, 10); !slices.Equal(got, []domain.ID{1, 3}) {
			t.Errorf("failed: %v", got)
		}
		if got := failed(domain.ProjectSet{IDs: []domain.ID{1}}, first, 10); len(got) != 0 {
			t.Errorf("failed in the project of none of them: %v", got)
		}
		if got := failed(all, first, 1); len(got) != 1 {
			t.Errorf("one is enough, got %v", got)
		}
		if got := failed(all, first.AddDays(1), 10); len(got) != 0 {
			t.Errorf("failed on a day without instances: %v", got)
		}
		for _, c := range []struct {
			jobs     []domain.ID
			from, to int
			want     domain.BizDate
		}{{[]domain.ID{1, 2}, -7, 0, first}, {[]domain.ID{1}, -7, -1, first.AddDays(-4)}, {[]domain.ID{5, 1}, -7, 1, first}, {[]domain.ID{9}, -7, 9, domain.BizDate{}}, {nil, -7, 9, domain.BizDate{}}} {
			if got, err := st.LastDate(t.Context(), c.jobs, first.AddDays(c.from), first.AddDays(c.to)); err != nil || got != c.want {
				t.Errorf("%v between %d and %d: %s, want %s; %v", c.jobs, c.from, c.to, got, c.want, err)
			}
		}
	})
}
