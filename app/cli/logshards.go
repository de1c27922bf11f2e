package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/axsched/ax/app/client"
)

// part is the reading of one shard's output, from attempt to attempt.
type part struct {
	reading
	seen     int  // of its attempts, as the instance counts them, so many were taken up
	complete bool // all lines of the attempt that was taken up last are printed
}

// shardOf makes the reading that of the shard asked for. While an instance that is followed may yet
// be split it waits.
func (r *reading) shardOf(ctx context.Context) error {
	for look := firstLook; ; look = min(look*3/2, lastLook) {
		in, err := r.look(ctx, r.id)
		if err != nil {
			return err
		}
		shards := in.rows("shards")
		for _, s := range shards {
			if s.text("index") == strconv.Itoa(r.shard) {
				r.id = s.text("id")
				return nil
			}
		}
		switch {
		case len(shards) > 0:
			return fmt.Errorf("instance %s has no shard %d: its shards are 0 to %d", r.id, r.shard, len(shards)-1)
		case !r.follow || in.ended() || len(in.rows("attempts")) > 0:
			return fmt.Errorf("instance %s is not split into shards: leave out --shard", r.id)
		}
		if err := rest(ctx, look); err != nil {
			return err
		}
	}
}

// look reads an instance, or a shard by its own id.
func (r *reading) look(ctx context.Context, id string) (row, error) {
	doc, err := r.get(ctx, client.Instance(id), nil)
	if err != nil {
		return nil, err
	}
	return decode(doc)
}

// page reads the next lines of an attempt, "" for the newest.
func (r *reading) page(ctx context.Context, attempt string, after int64) (o output, err error) {
	doc, err := r.get(ctx, client.Instance(r.id)+"/logs", url.Values{"attempt": {attempt}, "after": {strconv.FormatInt(after, 10)}})
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(doc, &o); err != nil {
		return o, fmt.Errorf("the server's lines can't be read: %w", err)
	}
	return o, nil
}

// get asks the server; while it is followed, one that gives no answer is asked again for as long as the patience lasts.
func (r *reading) get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	asked := r.p.now()
	for pause := firstLook; ; pause = min(pause*3/2, lastLook) {
		doc, err := r.c.Get(ctx, path, query)
		if err == nil || !r.follow || !client.Passing(err) || ctx.Err() != nil || r.p.now().Sub(asked) > patience {
			return doc, err
		}
		if err := rest(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// partOf is the reading of a shard, whose lines say so.
func (r *reading) partOf(s row) (*part, error) {
	n, err := strconv.Atoi(s.text("index"))
	if err != nil {
		return nil, fmt.Errorf("the server's shard has no number: %w", err)
	}
	return &part{reading: reading{p: r.p, c: r.c, id: s.text("id"), shard: n, labelled: true, follow: r.follow, times: r.times}}, nil
}

// storedShards prints, one shard after the other, what the server has of the newest attempt of each.
func (r *reading) storedShards(ctx context.Context) error {
	in, err := r.look(ctx, r.id)
	if err != nil {
		return err
	}
	r.kept.Complete = true
	for _, s := range in.rows("shards") {
		p, err := r.partOf(s)
		if err != nil {
			return err
		}
		if err := p.stored(ctx); err != nil {
			return err
		}
		if err := p.end(); err != nil {
			return err
		}
		r.kept.Lines = append(r.kept.Lines, p.kept.Lines...)
		r.kept.Complete = r.kept.Complete && p.kept.Complete
	}
	return nil
}

// followShards prints the lines of all shards as they come, those of one look shard by shard, until
// the instance has ended. One connection asks for one shard after the other, so a thousand of them
// cost the server no more than one at a time.
func (r *reading) followShards(ctx context.Context) error {
	parts := map[string]*part{}
	look := firstLook
	for {
		in, err := r.look(ctx, r.id)
		if err != nil {
			return err
		}
		open, came := !in.ended(), false
		for _, s := range in.rows("shards") {
			p := parts[s.text("id")]
			if p == nil {
				if p, err = r.partOf(s); err != nil {
					return err
				}
				parts[p.id] = p
			}
			over, more, err := p.onward(ctx, s)
			if err != nil {
				return err
			}
			open, came = open || !over, came || more
			r.kept.Lines, p.kept.Lines = append(r.kept.Lines, p.kept.Lines...), nil
		}
		if !open {
			r.kept.Complete = true
			return nil
		}
		if came {
			look = firstLook
		}
		if err := rest(ctx, look); err != nil {
			return err
		}
		look = min(look*3/2, lastLook)
	}
}

// onward prints what has come of a shard that stands as the row says. over: nothing more will come of
// it unless the instance is run again.
func (p *part) onward(ctx context.Context, s row) (over, came bool, err error) {
	sent, err := strconv.Atoi(s.text("attempts"))
	if err != nil {
		return false, false, fmt.Errorf("the server's shard does not count its attempts: %w", err)
	}
	for p.seen < sent || p.attempt != "" && !p.complete {
		if p.attempt == "" || p.complete {
			taken, err := p.takeUp(ctx, sent)
			if err != nil {
				return false, came, err
			}
			if !taken {
				break
			}
		}
		more, err := p.lines(ctx)
		came = came || more
		if err != nil || !p.complete {
			return false, came, err
		}
	}
	return s.ended(), came, nil
}

// takeUp goes on to the attempt after the one that was read; false: there is none any more.
func (p *part) takeUp(ctx context.Context, sent int) (bool, error) {
	shard, err := p.look(ctx, p.id)
	if err != nil {
		return false, err
	}
	attempts := shard.rows("attempts")
	next := successor(attempts, p.attempt)
	if next == nil {
		p.seen = sent
		return false, nil
	}
	if p.attempt != "" {
		p.p.note("ax: shard %d: attempt %s on %s\n", p.shard, next.text("ordinal"), printable(next.text("target")))
	}
	p.seen = 1 + slices.IndexFunc(attempts, func(a row) bool { return a.text("id") == next.text("id") })
	p.attempt, p.complete, p.kept.Last = next.text("id"), false, 0
	return true, nil
}

// lines prints what an attempt has put out since it was read last.
func (p *part) lines(ctx context.Context) (came bool, err error) {
	for {
		o, err := p.page(ctx, p.attempt, p.kept.Last)
		if err != nil {
			return came, err
		}
		if n := len(o.Lines); n > 0 {
			came, p.kept.Last = true, o.Lines[n-1].N
			if err := p.print(o.Lines); err != nil {
				return came, err
			}
		}
		if len(o.Lines) == 0 || p.kept.Last >= o.Last {
			p.complete = o.Complete && p.kept.Last >= o.Last
			return came, nil
		}
	}
}
