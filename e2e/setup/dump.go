package setup

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axsched/ax/modules/kit/dbx"
)

// restless are the tables that change of themselves: who is alive, and who looked.
func restless() []string {
	return []string{"lease", "epoch", "worker", "worker_catalog", "session", "goose_db_version", "sqlite_sequence"}
}

// DatabaseURL is where the site keeps the truth; p is its process on embedded stores.
func (s *Site) DatabaseURL(p *Process) string {
	if s.Database != "" {
		return s.Database
	}
	return "sqlite:" + filepath.Join(p.Data, "ax.db")
}

// Dump is every row of the tables that people's and the product's deeds change, as text, a line a row in order.
// Tables named in except are left out too.
func Dump(t T, url string, except ...string) string {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 1})
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	defer func() { _ = db.Close() }()
	names := "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
	if db.Dialect() == dbx.MySQL {
		names = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
	}
	tables, err := texts(t.Context(), db.SQL(), names)
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	var out strings.Builder
	for _, table := range tables {
		if slices.Contains(restless(), table) || slices.Contains(except, table) {
			continue
		}
		rows, err := texts(t.Context(), db.SQL(), "SELECT * FROM `"+table+"`")
		if err != nil {
			t.Fatalf("dump of %s: %v", table, err)
		}
		slices.Sort(rows)
		for _, r := range rows {
			out.WriteString(table + ": " + r + "\n")
		}
	}
	return out.String()
}

// texts runs a query and returns each row as one text.
func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		parts := make([]string, len(columns))
		for i, c := range cells {
			parts[i] = c.String
			if len(columns) > 1 {
				parts[i] = fmt.Sprintf("%s=%s", columns[i], c.String)
			}
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out, rows.Err()
}
