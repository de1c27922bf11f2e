package dbtest_test

import (
	"testing"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

func TestEachGivesAMigratedDatabaseOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		dbtest.Each(t, func(t *testing.T, url string) {
			if seen[url] {
				t.Fatalf("%s was given before", url)
			}
			seen[url] = true
			db, err := dbx.Open(t.Context(), url, dbx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			var rows int
			if err := db.Q(t.Context()).Raw("SELECT COUNT(*) FROM project WHERE name = 'mine'").Scan(&rows).Error; err != nil {
				t.Fatal(err)
			}
			if rows != 0 {
				t.Fatal("the database is not fresh")
			}
			_, err = db.Exec(t.Context(), "INSERT INTO project (id, name, created_at) VALUES (?, ?, ?)", 77, "mine", 1)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	if len(seen) != 4 {
		t.Fatalf("%d databases, want 4", len(seen))
	}
}
