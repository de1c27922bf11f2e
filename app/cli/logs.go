package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/axsched/ax/app/client"
)

// line is one line of an attempt's output. Cont says that it goes on from the line
// before of the same stream, which came in pieces.
type line struct {
	N      int64     `json:"n"`
	Time   time.Time `json:"time"`
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
	Cont   bool      `json:"cont,omitempty"`
	Shard  *int      `json:"shard,omitempty"` // whose it is, where the output of all shards is read
}

// output is what is known of an attempt's output.
type output struct {
	Attempt  string `json:"attempt"`
	Lines    []line `json:"lines"`
	Last     int64  `json:"last"`
	Complete bool   `json:"complete"`
	Shards   int    `json:"shards,omitempty"` // it was split into so many, and has no output of its own
}

// reading is the flags of logs and how far it has come.
type reading struct {
	p       *process
	c       *client.Client
	id      string
	attempt string
	follow  bool
	times   bool
	shard   int // the one asked for, or read; less than 0: all, if there are any
	// labelled: each line says of which shard it is
	labelled bool

	kept   output // with --json
	before *line  // printed last, its line not yet ended
}

// allShards is no shard's number.
const allShards = -1

func (p *process) logs() *cobra.Command {
	var r reading
	cmd := p.one("logs", "print what an instance's newest attempt has put out, or each of its shards", func(ctx context.Context, c *client.Client, id string) error {
		r.p, r.c, r.id = p, c, id
		r.kept.Lines = []line{}
		err := r.run(ctx)
		if err == nil && p.json {
			return p.value(r.kept)
		}
		if end := r.end(); err == nil {
			err = end
		}
		return err
	})
	f := cmd.Flags()
	f.BoolVarP(&r.follow, "follow", "f", false, "go on until the instance has ended, from attempt to attempt")
	f.StringVar(&r.attempt, "attempt", "", "the `id` of another attempt than the newest")
	f.IntVar(&r.shard, "shard", allShards, "only this `shard`, by its number from 0; else all, and each line begins with its shard's")
	f.BoolVar(&r.times, "timestamps", false, "begin each line with its time and stream")
	return cmd
}

func (r *reading) run(ctx context.Context) error {
	if r.shard < allShards {
		return usage("--shard %d: shards are numbered from 0", r.shard)
	}
	if r.shard != allShards {
		if err := r.shardOf(ctx); err != nil {
			return err
		}
	}
	if !r.follow {
		return r.stored(ctx)
	}
	return r.followAll(ctx)
}

// stored prints, page by page, what the server has.
func (r *reading) stored(ctx context.Context) error {
	after := int64(0)
	for {
		o, err := r.page(ctx, r.attempt, after)
		if err != nil {
			return err
		}
		if o.Shards > 0 {
			return r.storedShards(ctx)
		}
		r.kept.Attempt, r.kept.Last, r.kept.Complete = o.Attempt, o.Last, o.Complete
		r.attempt = o.Attempt // a newer one must not take over between two pages
		if err := r.print(o.Lines); err != nil {
			return err
		}
		if len(o.Lines) == 0 || o.Lines[len(o.Lines)-1].N >= o.Last {
			return nil
		}
		after = o.Lines[len(o.Lines)-1].N
	}
}

// followAll follows the newest attempt, and then each that comes after it, until the
// instance has ended. An attempt that was asked for is followed alone.
func (r *reading) followAll(ctx context.Context) error {
	if r.attempt != "" {
		return r.followOne(ctx, r.attempt)
	}
	look := firstLook
	for followed := ""; ; {
		in, err := r.look(ctx, r.id)
		if err != nil {
			return err
		}
		if len(in.rows("shards")) > 0 {
			return r.followShards(ctx)
		}
		attempts := in.rows("attempts")
		next := successor(attempts, followed)
		switch {
		case next != nil:
			if followed != "" {
				r.p.note("ax: attempt %s on %s\n", next.text("ordinal"), printable(next.text("target")))
			}
			followed, look = next.text("id"), firstLook
			if err := r.followOne(ctx, followed); err != nil {
				return err
			}
			continue
		case in.ended():
			r.kept.Complete = true
			return nil
		}
		if err := rest(ctx, look); err != nil {
			return err
		}
		look = min(look*3/2, lastLook)
	}
}

// successor is the attempt after the one followed, the newest when there is none
// yet; nil when there is none.
func successor(attempts []row, followed string) row {
	if followed == "" {
		if len(attempts) == 0 {
			return nil
		}
		return attempts[len(attempts)-1]
	}
	for i, a := range attempts {
		if a.text("id") == followed && i+1 < len(attempts) {
			return attempts[i+1]
		}
	}
	return nil
}

// followOne streams one attempt's lines until its end, and goes on behind the last
// line after a break.
func (r *reading) followOne(ctx context.Context, attempt string) error {
	r.kept.Attempt, r.kept.Last = attempt, 0
	path := client.Instance(r.id) + "/logs/stream?" + url.Values{"attempt": {attempt}}.Encode()
	answered, look := r.p.now(), firstLook
	for {
		over, last := false, ""
		var failed error
		if r.kept.Last > 0 {
			last = strconv.FormatInt(r.kept.Last, 10)
		}
		err := r.c.Stream(ctx, path, last, func(e client.Event) bool {
			answered, look = r.p.now(), firstLook
			if e.Name == "end" {
				over = true
				return false
			}
			if e.Name == "" {
				failed = r.event(e.Data)
			}
			return failed == nil
		})
		switch {
		case over:
			return nil
		case failed != nil:
			return failed
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (!client.Passing(err) || r.p.now().Sub(answered) > patience):
			return err
		}
		if err := rest(ctx, look); err != nil {
			return err
		}
		look = min(look*3/2, lastLook)
	}
}

// event reads lines that are [n, ms, stream, text] each.
func (r *reading) event(data string) error {
	var raws []json.RawMessage
	if err := json.Unmarshal([]byte(data), &raws); err != nil {
		return fmt.Errorf("the stream sent what are no lines: %w", err)
	}
	lines := make([]line, 0, len(raws))
	for _, raw := range raws {
		var l line
		var ms int64
		if err := json.Unmarshal(raw, &[]any{&l.N, &ms, &l.Stream, &l.Text}); err != nil {
			return fmt.Errorf("the stream sent what is no line: %w", err)
		}
		if l.Time = time.UnixMilli(ms).UTC(); l.N > r.kept.Last {
			lines = append(lines, l)
		}
	}
	if len(lines) > 0 {
		r.kept.Last = lines[len(lines)-1].N
	}
	return r.print(lines)
}

// print puts lines out, or keeps them for the one document.
func (r *reading) print(lines []line) error {
	if r.p.json {
		for i := range lines {
			if r.labelled {
				lines[i].Shard = &r.shard
			}
		}
		r.kept.Lines = append(r.kept.Lines, lines...)
		return nil
	}
	for i := range lines {
		l := &lines[i]
		if r.before == nil || !l.Cont || l.Stream != r.before.Stream {
			if err := r.end(); err != nil {
				return err
			}
			if r.labelled {
				if err := r.p.printf("[shard %d] ", r.shard); err != nil {
					return err
				}
			}
			if r.times {
				if err := r.p.printf("%s %-6s ", l.Time.In(r.p.zone).Format("2006-01-02T15:04:05.000Z07:00"), l.Stream); err != nil {
					return err
				}
			}
		}
		if err := r.p.printf("%s", l.Text); err != nil {
			return err
		}
		r.before = l
	}
	if r.follow {
		return r.end()
	}
	return nil
}

// end ends the line that was printed last.
func (r *reading) end() error {
	if r.before == nil {
		return nil
	}
	r.before = nil
	return r.p.printf("\n")
}
