package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
)

// maxRows is how many rows a list without --limit gives at most.
const maxRows = 10_000

// page is the flags of every list.
type page struct {
	limit   int
	limited func() bool // whether --limit was given
	cursor  string
}

func (g *page) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&g.limit, "limit", 0, fmt.Sprintf("one page of at most this many; else all pages, at most %d", maxRows))
	g.limited = func() bool { return cmd.Flags().Changed("limit") }
	cmd.Flags().StringVar(&g.cursor, "cursor", "", "go on where a list before this one ended")
}

func (g *page) query() (url.Values, error) {
	q := url.Values{"cursor": {g.cursor}}
	if g.limited() {
		if g.limit < 1 {
			return nil, usage("--limit %d: write a number from 1, or leave it away for all pages", g.limit)
		}
		q.Set("limit", strconv.Itoa(g.limit))
	}
	return q, nil
}

// listing is a list: where it is, and how people see a row of it.
type listing struct {
	name  string // of the list in the answer
	path  string // below /api/v1/; empty: the name
	query url.Values
	head  []string
	cells func(row) []string
	// beside says what else of the last answer people should know; nil: nothing.
	beside func(answer map[string]json.RawMessage)
}

// list reads and prints a list: as JSON in the server's words, or as a table.
func (p *process) list(ctx context.Context, l listing) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	got, err := gather(ctx, c, l)
	if err != nil {
		return err
	}
	if p.json {
		return p.value(got.document(l.name))
	}
	p.noteNamesakes(got.namesakes)
	if l.beside != nil {
		l.beside(got.last)
	}
	rows := make([][]string, len(got.rows))
	for i, doc := range got.rows {
		r, err := decode(doc)
		if err != nil {
			return err
		}
		rows[i] = l.cells(r)
	}
	if len(rows) == 0 {
		p.note("there are no such %s\n", l.name)
		return nil
	}
	if err := p.table(l.head, rows); err != nil {
		return err
	}
	if got.cursor != "" {
		p.note("there are more: --cursor %s\n", got.cursor)
	}
	return nil
}

// gathered is what pages of a list hold together.
type gathered struct {
	rows   []json.RawMessage
	cursor string
	last   map[string]json.RawMessage // the last answer, whole
	// namesakes are further jobs of the name that was asked for; their rows are not here.
	namesakes []json.RawMessage
}

// document is a list as --json prints it.
func (g gathered) document(name string) map[string]any {
	out := map[string]any{name: g.rows, "cursor": g.cursor}
	if len(g.namesakes) > 0 {
		out["namesakes"] = g.namesakes
	}
	for _, beside := range []string{"channels", "deaf"} {
		if said, there := g.last[beside]; there {
			out[beside] = said
		}
	}
	return out
}

// noteNamesakes says beside a list of one job which other jobs bear or bore its name.
func (p *process) noteNamesakes(docs []json.RawMessage) {
	for _, doc := range docs {
		r, err := decode(doc)
		if err != nil {
			continue
		}
		if at := r.moment("deletedAt"); at.IsZero() {
			p.note("ax: not in this list: the job of this name that is there; --job %s lists it\n", r.text("id"))
		} else {
			p.note("ax: not in this list: another job of this name, deleted %s; --job %s lists it\n", p.when(at), r.text("id"))
		}
	}
}

// gather reads one page where the query has a limit, else page after page.
func gather(ctx context.Context, c *client.Client, l listing) (gathered, error) {
	got := gathered{rows: []json.RawMessage{}}
	for {
		doc, err := c.Get(ctx, "/api/v1/"+cmp.Or(l.path, l.name), l.query)
		if err != nil {
			return got, err
		}
		var answer map[string]json.RawMessage
		var part []json.RawMessage
		if json.Unmarshal(doc, &answer) != nil || json.Unmarshal(answer[l.name], &part) != nil {
			return got, fmt.Errorf("the server's answer holds no list of %s: is its version the same as that of this ax?", l.name)
		}
		got.cursor, got.namesakes, got.last = "", nil, answer
		if text, there := answer["namesakes"]; there && json.Unmarshal(text, &got.namesakes) != nil {
			return got, fmt.Errorf("the server's namesakes are no list: is its version the same as that of this ax?")
		}
		if text, there := answer["cursor"]; there {
			if err := json.Unmarshal(text, &got.cursor); err != nil {
				return got, fmt.Errorf("the server's cursor is no text: %w", err)
			}
		}
		got.rows = append(got.rows, part...)
		if got.cursor == "" || got.cursor == l.query.Get("cursor") || l.query.Get("limit") != "" || len(got.rows) >= maxRows {
			return got, nil
		}
		l.query.Set("cursor", got.cursor)
	}
}
