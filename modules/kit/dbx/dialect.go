package dbx

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/clause"
)

// ForUpdate is the locking clause of a SELECT by primary keys in order; SQLite's
// transactions are exclusive already.
func (db *DB) ForUpdate() string {
	if db.dialect == SQLite {
		return ""
	}
	return " FOR UPDATE"
}

// ForUpdateSkipLocked passes over rows that somebody else holds.
func (db *DB) ForUpdateSkipLocked() string {
	if db.dialect == SQLite {
		return ""
	}
	return " FOR UPDATE SKIP LOCKED"
}

// ForShare is the shared lock, in the spelling that MySQL 8 and MariaDB both take.
func (db *DB) ForShare() string {
	if db.dialect == SQLite {
		return ""
	}
	return " LOCK IN SHARE MODE"
}

// InsertNew inserts rows and passes over those whose unique key is there
// already; it returns how many were new.
func (db *DB) InsertNew(ctx context.Context, rows any) (int64, error) {
	var n int64
	err := db.alone(ctx, func(ctx context.Context) error {
		r := db.Q(ctx).Clauses(clause.OnConflict{DoNothing: true}).CreateInBatches(rows, 500)
		n = r.RowsAffected
		return r.Error
	})
	return n, err
}

// maxRows bounds one statement.
const maxRows = 256

// InsertRows inserts rows of a table, whose values come in the order of the columns.
// Of the columns named in zero, whose default in the table is 0 or the empty text,
// those are left out that have it in all rows: the server spends as long on reading a
// wide row as on keeping it. It is Insert without reflection, for what is written
// thousands of times a second, and uses the rows up.
func (db *DB) InsertRows(ctx context.Context, table string, cols, zero []string, rows [][]any) error {
	keep := make([]int, 0, len(cols))
	for c, name := range cols {
		if !slices.Contains(zero, name) || slices.ContainsFunc(rows, func(r []any) bool { return !isZero(r[c]) }) {
			keep = append(keep, c)
		}
	}
	names := make([]string, len(keep))
	for i, c := range keep {
		names[i] = cols[c]
	}
	for i, r := range rows {
		for k, c := range keep {
			r[k] = r[c]
		}
		rows[i] = r[:len(keep)]
	}
	return db.insert(ctx, table, names, "", rows)
}

func isZero(v any) bool {
	switch v := v.(type) {
	case int:
		return v == 0
	case int64:
		return v == 0
	case string:
		return v == ""
	}
	return v == nil
}

// Upsert inserts rows of a table; where the key is there already it runs set
// instead, in which NEW(col) names the value that would have been inserted.
// Columns and rows are given in the same order.
func (db *DB) Upsert(ctx context.Context, table string, key, cols []string, set string, rows [][]any) error {
	if db.dialect == SQLite {
		return db.insert(ctx, table, cols, fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s", strings.Join(key, ", "), newValue(set, "excluded.", "")), rows)
	}
	return db.insert(ctx, table, cols, " ON DUPLICATE KEY UPDATE "+newValue(set, "VALUES(", ")"), rows)
}

func (db *DB) insert(ctx context.Context, table string, cols []string, onKey string, rows [][]any) error {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(cols)), ", ") + ")"
	for start := 0; start < len(rows); start += maxRows {
		part := rows[start:min(start+maxRows, len(rows))]
		args := make([]any, 0, len(part)*len(cols))
		for _, r := range part {
			args = append(args, r...)
		}
		values := one + strings.Repeat(", "+one, len(part)-1)
		if _, err := db.execPlain(ctx, fmt.Sprintf("INSERT INTO `%s` (%s) VALUES %s%s", table, strings.Join(cols, ", "), values, onKey), args); err != nil {
			return err
		}
	}
	return nil
}

func newValue(set, open, close string) string {
	var b strings.Builder
	for {
		i := strings.Index(set, "NEW(")
		if i < 0 {
			return b.String() + set
		}
		j := i + strings.IndexByte(set[i:], ')')
		b.WriteString(set[:i] + open + set[i+len("NEW("):j] + close)
		set = set[j+1:]
	}
}
