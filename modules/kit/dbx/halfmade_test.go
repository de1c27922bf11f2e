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

// Whatever character set a database was made with, AX's tables hold any text and tell
// names apart by their bytes.
func TestTablesHoldAnyText(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.Empty(t)
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.Exec(t.Context(), "ALTER DATABASE CHARACTER SET latin1"); err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wrong []string
		if err := db.Scan(t.Context(), &wrong, "SELECT CONCAT(table_name, '.', column_name, ' ', collation_name) FROM information_schema.columns "+
			"WHERE table_schema = DATABASE() AND collation_name <> 'utf8mb4_bin' AND table_name <> 'goose_db_version'"); err != nil {
			t.Fatal(err)
		}
		if len(wrong) > 0 {
			t.Errorf("columns of another kind: %v", wrong)
		}
	})
}
