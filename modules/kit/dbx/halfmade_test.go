package dbx_test

import (
	"testing"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// A process can die between any two statements of the first migration.
func TestAHalfMadeDatabaseIsMadeWhole(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		for _, left := range [][]string{
			{"CREATE TABLE goose_db_version (id INT, version_id BIGINT)"},
			{"CREATE TABLE goose_db_version (id INT, version_id BIGINT)", "INSERT INTO goose_db_version VALUES (1, 0)", "CREATE TABLE project (id INT)", "CREATE TABLE `trigger` (id INT)"},
		} {
			db, err := dbx.Open(t.Context(), dbtest.Empty(t), dbx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for _, q := range left {
				if _, err := db.Exec(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second finds it whole and leaves it
				if err := db.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var spans int
			if err := db.Scan(t.Context(), &spans, "SELECT COUNT(*) FROM schedule_span"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
