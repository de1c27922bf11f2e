package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/incident/store"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Ten thousand incidents, in pages and by every filter, cost as much at the end as at
// the beginning.
func TestTenThousandRowsComeInPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		ids, err := domain.NewIDs(1, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		s := store.New(db, ids.Next)
		const rows, open = 10_000, 2_500
		at := time.UnixMilli(1_800_000_000_000).UTC()
		var found []store.Occurrence
		for i := range rows {
			found = append(found, store.Occurrence{ProjectID: domain.ID(1 + i%4), Kind: domain.IncidentJobFailed, Subject: fmt.Sprint(i), Name: fmt.Sprint("job", i), At: at})
		}
		if err := s.Raise(t.Context(), found); err != nil {
			t.Fatal(err)
		}
		all, err := s.List(t.Context(), store.Filter{Seen: domain.ProjectSet{All: true}, Limit: rows + 1})
		if err != nil || len(all) != rows {
			t.Fatalf("%d rows, %v", len(all), err)
		}
		for i := 0; i < rows-open; i += 500 {
			var part []domain.ID
			for _, in := range all[i:min(i+500, rows-open)] {
				part = append(part, in.ID)
			}
			if _, err := s.Resolve(t.Context(), part, at.Add(time.Duration(i)*time.Second), domain.RecoveredSuccess); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			filter store.Filter
			want   int
		}{
			{store.Filter{Seen: domain.ProjectSet{All: true}}, rows}, {store.Filter{Seen: domain.ProjectSet{IDs: []domain.ID{2}}}, rows / 4},
			{store.Filter{Seen: domain.ProjectSet{All: true}, Project: 3, OpenOnly: true}, open / 4}, {store.Filter{Seen: domain.ProjectSet{All: true}, Closed: true}, rows - open},
			{store.Filter{}, 0},
		} {
			seen, slowest := map[domain.ID]bool{}, time.Duration(0)
			for f := c.filter; ; {
				f.Limit = 100
				began := time.Now()
				page, err := s.List(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				slowest = max(slowest, time.Since(began))
				for _, in := range page {
					if seen[in.ID] {
						t.Fatalf("%s comes twice", in.ID)
					}
					seen[in.ID] = true
				}
				if len(page) < f.Limit {
					break
				}
				f.After = store.PlaceOf(page[len(page)-1])
			}
			if len(seen) != c.want {
				t.Errorf("%+v gives %d, want %d", c.filter, len(seen), c.want)
			}
			t.Logf("%d rows, the slowest page %s", len(seen), slowest.Round(100*time.Microsecond))
		}
	})
}
