package dbx

import (
	"context"
	"fmt"
	"strings"
)

// Update describes an UPDATE that sets different values in many rows at once.
type Update struct {
	Table string
	// Keys find the row, Cols are set; each row of values has the keys first. The
	// first key is the primary key or begins it, and the rows come in its order.
	Keys, Cols []string
	// Extra, if not empty, is appended to SET. It must change something
	// (ver = ver + 1), so that a row counts as changed on every dialect.
	Extra string
	Rows  [][]any
}

// Changed is the update without the columns that are the same in all rows as in
// was, whose rows have the form of u.Rows.
func (u Update) Changed(was [][]any) Update {
	keep := make([]int, 0, len(u.Cols))
	for c := range u.Cols {
		at := len(u.Keys) + c
		for i, r := range u.Rows {
			if r[at] != was[i][at] {
				keep = append(keep, c)
				break
			}
		}
	}
	if len(keep) == len(u.Cols) {
		return u
	}
	out := u
	out.Cols, out.Rows = make([]string, len(keep)), make([][]any, len(u.Rows))
	for i, c := range keep {
		out.Cols[i] = u.Cols[c]
	}
	for i, r := range u.Rows {
		row := append(make([]any, 0, len(u.Keys)+len(keep)), r[:len(u.Keys)]...)
		for _, c := range keep {
			row = append(row, r[len(u.Keys)+c])
		}
		out.Rows[i] = row
	}
	return out
}

// updateSize bounds one statement: the server looks a row's values up in a list.
const updateSize = 128

// UpdateRows runs the update in one statement per batch of rows and returns how
// many rows were found and changed. Each statement reads one table by its primary
// key only, so it locks the rows it names and needs no temporary table (MariaDB's
// update over a join makes one, three times as slow, and was seen to crash there).
func (db *DB) UpdateRows(ctx context.Context, u Update) (int64, error) {
	var total int64
	for start := 0; start < len(u.Rows); start += updateSize {
		query, args := u.statement(u.Rows[start:min(start+updateSize, len(u.Rows))])
		n, err := db.execPlain(ctx, query, args)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// statement is the update of one batch: a column whose value is the same in all
// rows is set plainly, any other is looked up by the row's keys.
func (u Update) statement(rows [][]any) (string, []any) {
	var set, where strings.Builder
	var args []any
	id := 1 // how many keys tell the rows of the batch apart
	for id < len(u.Keys) && !distinct(rows, id) {
		id++
	}
	for i, c := range u.Cols {
		if i > 0 {
			set.WriteString(", ")
		}
		text, values := u.value(rows, id, len(u.Keys)+i)
		set.WriteString(c + " = " + text)
		args = append(args, values...)
	}
	if u.Extra != "" {
		if len(u.Cols) > 0 {
			set.WriteString(", ")
		}
		set.WriteString(u.Extra)
	}
	where.WriteString(u.Keys[0] + " IN (?" + strings.Repeat(", ?", len(rows)-1) + ")")
	for _, r := range rows {
		args = append(args, r[0])
	}
	for k := 1; k < len(u.Keys); k++ {
		switch {
		case same(rows, k):
			where.WriteString(" AND " + u.Keys[k] + " = ?")
			args = append(args, rows[0][k])
		case k < id:
			where.WriteString(" AND (" + strings.TrimSuffix(strings.Repeat("("+u.Keys[0]+" = ? AND "+u.Keys[k]+" = ?) OR ", len(rows)), " OR ") + ")")
			for _, r := range rows {
				args = append(args, r[0], r[k])
			}
		default:
			text, values := u.value(rows, id, k)
			where.WriteString(" AND " + u.Keys[k] + " = " + text)
			args = append(args, values...)
		}
	}
	return fmt.Sprintf("UPDATE `%s` SET %s WHERE %s", u.Table, set.String(), where.String()), args
}

// value is the text that gives each row its value of column i.
func (u Update) value(rows [][]any, id, i int) (string, []any) {
	if same(rows, i) {
		return "?", []any{rows[0][i]}
	}
	args := make([]any, 0, len(rows)*(id+1))
	text := "CASE " + u.Keys[0] + strings.Repeat(" WHEN ? THEN ?", len(rows)) + " END"
	if id > 1 {
		text = "CASE" + strings.Repeat(" WHEN "+strings.Join(u.Keys[:id], " = ? AND ")+" = ? THEN ?", len(rows)) + " END"
	}
	for _, r := range rows {
		args = append(args, r[:id]...)
		args = append(args, r[i])
	}
	return text, args
}

// same reports whether column i has one value in all rows.
func same(rows [][]any, i int) bool {
	for _, r := range rows[1:] {
		if r[i] != rows[0][i] {
			return false
		}
	}
	return true
}

// distinct reports whether the first n columns, of at most four, differ between
// all rows.
func distinct(rows [][]any, n int) bool {
	seen := make(map[[4]any]bool, len(rows))
	for _, r := range rows {
		var key [4]any
		copy(key[:], r[:n])
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}
