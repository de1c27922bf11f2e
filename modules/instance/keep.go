package instance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance/store"
	"github.com/axsched/ax/worker/protocol"
)

// Keep stores output of tasks. It is safe to repeat and takes pieces in any order:
// of a piece that is there in part, the rest is stored. What belongs to no attempt,
// cannot be read, or is rejected by the database is dropped with a note and never
// blocks the others; Unavailable means: try all again.
func (l *Lifecycle) Keep(ctx context.Context, in []protocol.LogLines) error {
	ids := make([]domain.ID, len(in))
	for i, p := range in {
		ids[i] = domain.ID(p.Attempt)
	}
	attempts, err := l.Store.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	pieces := make([]piece, 0, len(in))
	for _, p := range in {
		a, ok := attempts[domain.ID(p.Attempt)]
		if !ok || a.Target != p.Worker {
			slog.Warn("output of an unknown attempt was dropped", "attempt", p.Attempt, "worker", p.Worker, "from", p.First, "to", p.Last)
			continue
		}
		read, err := readPiece(p, a.ProjectID)
		if err != nil {
			slog.Warn("output that cannot be read was dropped", "attempt", p.Attempt, "worker", p.Worker, "error", err)
			continue
		}
		pieces = append(pieces, read)
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.first, b.first)) })
	err = l.keep(ctx, pieces)
	if domain.Is(err, domain.Exists) {
		err = l.keep(ctx, pieces) // another process stored some of it meanwhile
	}
	if err == nil || domain.Is(err, domain.Unavailable) || ctx.Err() != nil {
		return err
	}
	for _, p := range pieces {
		if err := l.keep(ctx, []piece{p}); domain.Is(err, domain.Unavailable) || ctx.Err() != nil {
			return err
		} else if err != nil {
			slog.Error("output was rejected by the database and dropped", "attempt", p.attempt, "from", p.first, "to", p.last(), "error", err)
		}
	}
	return nil
}

// piece is what was shipped at once of one attempt's output.
type piece struct {
	attempt, project domain.ID
	first            int64 // place of its first line
	lines            []json.RawMessage
	gaps             []store.LogGap
}

func (p piece) last() int64 { return p.first + int64(len(p.lines)) - 1 }

func readPiece(p protocol.LogLines, project domain.ID) (piece, error) {
	out := piece{attempt: domain.ID(p.Attempt), project: project, first: p.First, lines: p.Lines}
	if p.First < 1 || len(p.Lines) == 0 || out.last() != p.Last {
		return out, fmt.Errorf("it says places %d to %d and holds %d lines", p.First, p.Last, len(p.Lines))
	}
	for i, raw := range p.Lines {
		line, err := readLine(raw)
		if err != nil {
			return out, err
		}
		if line.Stream == protocol.StreamGap {
			lost, _ := line.Lost()
			out.gaps = append(out.gaps, store.LogGap{Place: p.First + int64(i), Lines: lost})
		}
	}
	return out, nil
}

// keep stores the pieces, in order of attempt and place, in one transaction.
func (l *Lifecycle) keep(ctx context.Context, pieces []piece) error {
	if len(pieces) == 0 {
		return nil
	}
	return l.Store.Tx(ctx, func(ctx context.Context) error {
		there := map[domain.ID][]store.LogSpan{}
		var chunks []store.LogChunk
		for _, p := range pieces {
			spans, err := l.Store.LogSpans(ctx, p.attempt, p.first, p.last())
			if err != nil {
				return err
			}
			news, err := p.missing(append(spans, there[p.attempt]...))
			if err != nil {
				return err
			}
			for _, c := range news {
				there[p.attempt] = append(there[p.attempt], store.LogSpan{First: c.First, Last: c.Last})
			}
			chunks = append(chunks, news...)
			if err := l.Store.InsertLogGaps(ctx, p.attempt, p.project, p.gaps, l.Now()); err != nil {
				return err
			}
		}
		return l.Store.InsertLogs(ctx, chunks, l.Now())
	})
}

// missing is what of the piece is in none of the spans.
func (p piece) missing(there []store.LogSpan) ([]store.LogChunk, error) {
	var out []store.LogChunk
	for at := p.first; at <= p.last(); {
		end := p.last()
		covered := int64(0)
		for _, s := range there {
			if s.First <= at && at <= s.Last {
				covered = max(covered, s.Last)
			} else if s.First > at {
				end = min(end, s.First-1)
			}
		}
		if covered > 0 {
			at = covered + 1
			continue
		}
		body, err := json.Marshal(p.lines[at-p.first : end-p.first+1])
		if err != nil {
			return nil, err
		}
		out = append(out, store.LogChunk{AttemptID: p.attempt, ProjectID: p.project, First: at, Last: end, Body: string(body)})
		at = end + 1
	}
	return out, nil
}

// Acks is what may be acknowledged of pieces that Keep has taken: for each attempt
// the place up to which everything is stored, so that a piece lost on its way is
// shipped again; of an unknown attempt, all.
func (l *Lifecycle) Acks(ctx context.Context, in []protocol.LogLines) ([]protocol.LogAck, error) {
	ids := make([]domain.ID, 0, len(in))
	last := map[domain.ID]int64{}
	for _, p := range in {
		id := domain.ID(p.Attempt)
		if _, ok := last[id]; !ok {
			ids = append(ids, id)
		}
		last[id] = max(last[id], p.Last)
	}
	known, err := l.Store.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]protocol.LogAck, 0, len(ids))
	for _, id := range ids {
		upTo := last[id]
		if _, ok := known[id]; ok {
			if upTo, err = l.storedUpTo(ctx, id, upTo); err != nil {
				return nil, err
			}
		}
		if upTo > 0 {
			out = append(out, protocol.LogAck{Attempt: int64(id), UpTo: upTo})
		}
	}
	return out, nil
}

// lookBack is how many pieces are looked at for a hole: a worker ships again what
// is not acknowledged long before it is that far ahead.
const lookBack = 1000

// storedUpTo is the place up to which an attempt's output is stored without a hole.
func (l *Lifecycle) storedUpTo(ctx context.Context, attempt domain.ID, last int64) (int64, error) {
	spans, err := l.Store.LastLogSpans(ctx, attempt, last, lookBack)
	if err != nil {
		return 0, err
	}
	upTo := int64(0)
	if len(spans) == lookBack {
		upTo = spans[0].First - 1
	}
	for _, s := range spans {
		if s.First <= upTo+1 {
			upTo = max(upTo, s.Last)
		}
	}
	return upTo, nil
}
