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
}

// list reads and prints a list: as JSON in the server's words, or as a table.
func (p *process) list(ctx context.Context, l listing) error {
	c, err := p.connect()
	if err != nil {
		return err
	}
	found, cursor, err := gather(ctx, c, l)
	if err != nil {
		return err
	}
	if p.json {
		return p.value(map[string]any{l.name: found, "cursor": cursor})
	}
	rows := make([][]string, len(found))
	for i, doc := range found {
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
	if cursor != "" {
		p.note("there are more: --cursor %s\n", cursor)
	}
	return nil
}

// gather reads one page where the query has a limit, else page after page.
func gather(ctx context.Context, c *client.Client, l listing) (found []json.RawMessage, cursor string, err error) {
	found = []json.RawMessage{}
	for {
		doc, err := c.Get(ctx, "/api/v1/"+cmp.Or(l.path, l.name), l.query)
		if err != nil {
			return nil, "", err
		}
		var answer map[string]json.RawMessage
		var part []json.RawMessage
		if json.Unmarshal(doc, &answer) != nil || json.Unmarshal(answer[l.name], &part) != nil {
			return nil, "", fmt.Errorf("the server's answer holds no list of %s: is its version the same as that of this ax?", l.name)
		}
		cursor = ""
		if text, there := answer["cursor"]; there {
			if err := json.Unmarshal(text, &cursor); err != nil {
				return nil, "", fmt.Errorf("the server's cursor is no text: %w", err)
			}
		}
		found = append(found, part...)
		if cursor == "" || cursor == l.query.Get("cursor") || l.query.Get("limit") != "" || len(found) >= maxRows {
			return found, cursor, nil
		}
		l.query.Set("cursor", cursor)
	}
}
