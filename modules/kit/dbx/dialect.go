package dbx

import (
	"context"
	"fmt"
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

// Upsert inserts rows of a table; where the key is there already it runs set
// instead, in which NEW(col) names the value that would have been inserted.
// Columns and rows are given in the same order.
func (db *DB) Upsert(ctx context.Context, table string, key, cols []string, set string, rows [][]any) error {
	for start := 0; start < len(rows); start += maxRows {
		part := rows[start:min(start+maxRows, len(rows))]
		var b strings.Builder
		fmt.Fprintf(&b, "INSERT INTO `%s` (%s) VALUES ", table, strings.Join(cols, ", "))
		args := make([]any, 0, len(part)*len(cols))
		one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(cols)), ", ") + ")"
		for i, r := range part {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(one)
			args = append(args, r...)
		}
		if db.dialect == SQLite {
			fmt.Fprintf(&b, " ON CONFLICT (%s) DO UPDATE SET %s", strings.Join(key, ", "), newValue(set, "excluded.", ""))
		} else {
			fmt.Fprintf(&b, " ON DUPLICATE KEY UPDATE %s", newValue(set, "VALUES(", ")"))
		}
		if _, err := db.Exec(ctx, b.String(), args...); err != nil {
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

// maxRows bounds one statement: SQLite takes 500 terms in a compound select.
const maxRows = 256

// Update describes an UPDATE that sets different values in many rows at once.
type Update struct {
	Table string
	// Keys find the row, Cols are set; each row of values has the keys first. The
	// first keys are the primary key, and the rows come in its order.
	Keys, Cols []string
	// Extra, if not empty, is appended to SET; it may name the row as t. It must
	// change something (ver = t.ver + 1), so that a row counts as changed on every
	// dialect.
	Extra string
	Rows  [][]any
}

// UpdateRows runs the update in one statement per batch of rows and returns how
// many rows were found and changed.
func (db *DB) UpdateRows(ctx context.Context, u Update) (int64, error) {
	var total int64
	for start := 0; start < len(u.Rows); start += maxRows {
		query, args := db.updateRows(u, u.Rows[start:min(start+maxRows, len(u.Rows))])
		n, err := db.Exec(ctx, query, args...)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// updateRows names the columns of the values v.c0, v.c1, … so that the table's
// own names in Extra mean the table. On MySQL the values are read first and the
// table by its primary key, in their order: the optimizer's own choice for a
// small table is to read, and wait for, all of it.
func (db *DB) updateRows(u Update, rows [][]any) (string, []any) {
	width := len(u.Keys) + len(u.Cols)
	first := make([]string, width)
	for i := range first {
		first[i] = fmt.Sprintf("? AS c%d", i)
	}
	values := "SELECT " + strings.Join(first, ", ") +
		strings.Repeat(" UNION ALL SELECT ?"+strings.Repeat(", ?", width-1), len(rows)-1)
	args := make([]any, 0, len(rows)*width)
	for _, r := range rows {
		args = append(args, r...)
	}
	prefix := "" // SQLite takes no table before a column that is set
	if db.dialect == MySQL {
		prefix = "t."
	}
	on := make([]string, len(u.Keys))
	for i, k := range u.Keys {
		on[i] = fmt.Sprintf("t.%s = v.c%d", k, i)
	}
	set := make([]string, 0, len(u.Cols)+1)
	for i, c := range u.Cols {
		set = append(set, fmt.Sprintf("%s%s = v.c%d", prefix, c, len(u.Keys)+i))
	}
	if u.Extra != "" {
		set = append(set, u.Extra)
	}
	found, change := strings.Join(on, " AND "), strings.Join(set, ", ")
	if db.dialect == MySQL {
		return fmt.Sprintf("UPDATE (%s) v STRAIGHT_JOIN `%s` t FORCE INDEX (PRIMARY) ON %s SET %s", values, u.Table, found, change), args
	}
	return fmt.Sprintf("UPDATE `%s` AS t SET %s FROM (%s) v WHERE %s", u.Table, change, values, found), args
}
