package template

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/axsched/ax/worker/protocol/sqltext"
)

// sqlText is the settings of an sql task, its statements taken apart.
type sqlText struct {
	rest    map[string]json.RawMessage
	scripts [][]part
	split   bool // one script of several statements; else each is one
}

// sql reads the settings of an sql task. Each value becomes a bound parameter, and where none can stand it is refused. Which
// dialect the source speaks is the worker's to know: refused here is what no dialect takes; what only some take the worker
// refuses before it sends anything.
func (c *compiler) sql(raw json.RawMessage) *sqlText {
	out := &sqlText{rest: c.settings(raw)}
	c.plain("exec.source", textOf(out.rest, "source"))
	var texts []string
	if one := textOf(out.rest, "sql"); one != "" {
		texts, out.split = []string{one}, true
	} else {
		_ = json.Unmarshal(out.rest["sql"], &texts) // what is no list either was refused when the file was read
	}
	whole := string(out.rest["transaction"]) != "false"
	for i, text := range texts {
		field := "exec.sql"
		if !out.split {
			field += "[" + strconv.Itoa(i) + "]"
		}
		parts := c.parts(field, text)
		out.scripts = append(out.scripts, parts)
		if all := c.statements(field, parts); whole {
			if !out.split {
				all = all[:min(len(all), 1)] // what follows is the inside of one statement
			}
			c.commits(field, all)
		}
	}
	return out
}

// statements judges where values stand; it returns the statements as the first dialect reads them that takes the text.
func (c *compiler) statements(field string, parts []part) []sqltext.Statement {
	var first *sqltext.Fault
	for _, dialect := range sqltext.Dialects() {
		all, err := sqltext.Split(dialect, piecesOf(parts, nil))
		var fault *sqltext.Fault
		if !errors.As(err, &fault) {
			return all
		}
		if first == nil {
			first = fault
		}
	}
	expr, offset := "", 0
	if first.Piece < len(parts) {
		expr, offset = parts[first.Piece].raw, parts[first.Piece].offset
	}
	c.add(field, offset, sqlID(first.Kind), "", "expr", expr, "line", strconv.Itoa(first.Line))
	return nil
}

// sqlID is what is told of a kind of fault.
func sqlID(kind string) string {
	switch kind {
	case sqltext.InString:
		return IDSQLString
	case sqltext.InComment:
		return IDSQLComment
	case sqltext.InName:
		return IDSQLName
	case sqltext.InWord:
		return IDSQLWord
	case sqltext.NoStatement:
		return IDSQLEmpty
	}
	return IDSQLUnclosed
}

// commits refuses what would end the transaction that surrounds all statements.
func (c *compiler) commits(field string, all []sqltext.Statement) {
	for _, s := range all {
		if s.Ends() {
			c.add(field, 0, IDSQLCommits, "", "line", strconv.Itoa(s.Line))
			return
		}
	}
}

// piecesOf makes pieces of parts; values gives that of an expression, nil stands for any.
func piecesOf(parts []part, value func(*expr) string) []sqltext.Piece {
	out := make([]sqltext.Piece, len(parts))
	for i, p := range parts {
		if p.expr == nil {
			out[i].Text = p.text
			continue
		}
		text := ""
		if value != nil {
			text = value(p.expr)
		}
		out[i].Value = &text
	}
	return out
}

// render writes the statements with their values beside them.
func (s *sqlText) render(v values) (json.RawMessage, error) {
	var failed error
	scripts := make([][]sqltext.Piece, len(s.scripts))
	for i, parts := range s.scripts {
		scripts[i] = piecesOf(parts, func(e *expr) string {
			text, err := v.of(e)
			failed = errors.Join(failed, err)
			return text
		})
	}
	if failed != nil {
		return nil, failed
	}
	out := map[string]any{"scripts": scripts, "split": s.split}
	for key, value := range s.rest {
		if key != "sql" {
			out[key] = value
		}
	}
	return json.Marshal(out)
}
