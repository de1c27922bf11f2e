package job_test

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/job"
	"github.com/axsched/ax/modules/job/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// oneProject is the project 7, demo.
type oneProject struct{}

func (oneProject) ByName(_ context.Context, name string) (domain.ID, error) {
	if name != "demo" {
		return 0, domain.Fail(domain.NotFound, "there is no project %q", name)
	}
	return 7, nil
}

func (p oneProject) Ensure(ctx context.Context, name string) (domain.ID, error) {
	return p.ByName(ctx, name)
}

func (oneProject) Names(context.Context) (map[domain.ID]string, error) {
	return map[domain.ID]string{7: "demo"}, nil
}

func TestADeletedJobIsFoundByItsNameAndToldFromItsSuccessor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		s := store.New(db)
		d := &job.Definitions{Store: s, Projects: oneProject{}}
		at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		put := func(id domain.ID, deleted time.Time) {
			t.Helper()
			j := domain.Job{ID: id, ProjectID: 7, Name: "pay", Version: 1, CreatedAt: at, UpdatedAt: at, Spec: domain.JobSpec{Project: "demo", Name: "pay"}}
			if err := s.Insert(t.Context(), j); err != nil {
				t.Fatal(err)
			}
			if err := s.InsertVersion(t.Context(), store.Version{JobID: id, Version: 1, ProjectID: 7, Spec: j.Spec, CreatedAt: at}); err != nil {
				t.Fatal(err)
			}
			if j.Ver, j.DeletedAt = 1, deleted; !deleted.IsZero() {
				if err := s.Update(t.Context(), j); err != nil {
					t.Fatal(err)
				}
			}
		}
		check := func(name string, want domain.ID, others ...domain.ID) {
			t.Helper()
			j, found, err := d.InHistory(t.Context(), name)
			if err != nil || j.ID != want || len(found) != len(others) {
				t.Fatalf("%s: job %s with %v, %v; want %s with %v", name, j.ID, found, err, want, others)
			}
			for i, id := range others {
				if found[i].ID != id || found[i].Key.String() != "demo/pay" {
					t.Errorf("%s: other %d is %+v, want %s", name, i, found[i], id)
				}
			}
		}
		if _, _, err := d.InHistory(t.Context(), "demo/pay"); !domain.Is(err, domain.NotFound) {
			t.Errorf("a name that none ever bore: %v", err)
		}
		put(101, at.Add(time.Minute))
		check("demo/pay", 101)
		put(102, at.Add(2*time.Minute))
		check("demo/pay", 102, 101)
		put(103, time.Time{})
		check("demo/pay", 103, 102, 101)
		check("101", 101, 103, 102)
		if _, err := d.Get(t.Context(), "101"); !domain.Is(err, domain.NotFound) {
			t.Errorf("a deleted job as one that is there: %v", err)
		}
		names, err := d.NamesOf(t.Context(), []domain.ID{101, 103})
		if err != nil || !names[101].DeletedAt.Equal(at.Add(time.Minute)) || !names[103].DeletedAt.IsZero() {
			t.Errorf("the names do not say which is gone: %+v, %v", names, err)
		}
		for _, name := range []string{"demo/other", "nosuch/pay", "pay", "999"} {
			if _, _, err := d.InHistory(t.Context(), name); !domain.Is(err, domain.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
