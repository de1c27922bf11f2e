package sql

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/axsched/ax/worker/runner"
)

const (
	// shownRows is how many rows of a statement stand in the log.
	shownRows = 20
	// shownCell bounds a cell there, in characters.
	shownCell = 40
)

// read goes through the rows of a statement: the first ones into the log, the very first as the result so far, all counted.
func (s *session) read(rows *sql.Rows) (string, error) {
	defer func() { _ = rows.Close() }() // Err has told what matters
	columns, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	names := make([]string, len(columns))
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		names[i], into[i] = c.Name(), &values[i]
	}
	t := table{head: names}
	s.first = nil
	var n int64
	for rows.Next() {
		if n++; n > shownRows {
			continue
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for i, v := range values {
			values[i] = plain(v, columns[i].DatabaseTypeName())
		}
		if n == 1 {
			s.first = object(names, values)
		}
		t.add(values)
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	if len(names) > 0 && n > 0 {
		s.out.Write(runner.Out, time.Now(), []byte(t.text()))
		if n > shownRows {
			s.out.Log(time.Now(), fmt.Sprintf("the first %d of %d rows", shownRows, n))
		}
	}
	return plural(n), nil
}

// plain makes of what a driver gives one of nil, bool, int64, float64 and string.
func plain(v any, kind string) any {
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v
	case float64:
		return v
	case float32:
		f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64) // as short as it was
		return f
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return strconv.FormatUint(v, 10)
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return fmt.Sprintf("0x%x", v)
	case time.Time:
		if strings.EqualFold(kind, "DATE") {
			return v.Format(time.DateOnly)
		}
		if strings.Contains(strings.ToUpper(kind), "TZ") {
			return v.UTC().Format(time.RFC3339Nano)
		}
		return v.Format("2006-01-02 15:04:05.999999999")
	}
	return fmt.Sprint(v)
}

// object is a row as JSON. Of two columns of one name the later one counts.
func object(names []string, values []any) json.RawMessage {
	out := make(map[string]any, len(names))
	for i, name := range names {
		if f, ok := values[i].(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			out[name] = fmt.Sprint(f)
			continue
		}
		out[name] = values[i]
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil // can't be: all values are plain
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// table is the first rows as people read them.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(values []any) {
	row := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			row[i] = "NULL"
		case float64:
			row[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			row[i] = cell(fmt.Sprint(v))
		}
	}
	t.rows = append(t.rows, row)
}

// cell is a value on one line, not too much of it.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
	if rs := []rune(s); len(rs) > shownCell {
		return string(rs[:shownCell]) + "…"
	}
	return s
}

// text is the table in columns.
func (t *table) text() string {
	widths := make([]int, len(t.head))
	lines := append([][]string{make([]string, len(t.head))}, t.rows...)
	for i, name := range t.head {
		lines[0][i] = cell(name)
	}
	for _, line := range lines {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, c := range line {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(c)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
