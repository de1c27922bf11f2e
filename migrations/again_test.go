package migrations_test

import (
	"fmt"
	"testing"

	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// The MySQL family commits what a migration does statement by statement. A process that dies before the version is
// noted leaves it done, and the next start does it again, to the same end.
func TestAMigrationThatWasNotNotedIsDoneAgain(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db, err := dbx.Open(t.Context(), dbtest.Empty(t), dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		indexes := func() string {
			t.Helper()
			var all []string
			if err := db.Scan(t.Context(), &all, "SELECT CONCAT(table_name, '.', index_name, '.', column_name) FROM information_schema.statistics "+
				"WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index"); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(all)
		}
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := indexes()
		var last int
		if err := db.Scan(t.Context(), &last, "SELECT MAX(version_id) FROM goose_db_version"); err != nil {
			t.Fatal(err)
		}
		for version := last; version > 1; version-- {
			if _, err := db.Exec(t.Context(), "DELETE FROM goose_db_version WHERE version_id >= ?", version); err != nil {
				t.Fatal(err)
			}
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatalf("from version %d: %v", version-1, err)
			}
			if got := indexes(); got != want {
				t.Errorf("done again from version %d the indexes are %s, want %s", version-1, got, want)
			}
		}
	})
}
