package center

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/protocol/crash"
	"github.com/axsched/ax/worker/transport"
)

// logSink puts what tasks print into the database and tells the workers that it
// is there. Every process with the role broker runs one; they share the stream.
type logSink struct {
	c      redis.UniversalClient
	group  *transport.Group
	lives  *instance.Lifecycle
	poison *poison
}

const (
	logBatch     = 100
	logWait      = 500 * time.Millisecond
	logPause     = time.Second
	logAdopt     = 30 * time.Second // entries that another process read this long ago died with it
	adoptLogEach = 10 * time.Second
	logSayEach   = 10 * time.Second // between two lines about what goes on failing
)

// run works until ctx ends. What could not be stored is shipped again by its worker.
func (s *logSink) run(ctx context.Context) error {
	var adopted, said time.Time
	for ctx.Err() == nil {
		var raws []transport.Raw
		var err error
		if time.Since(adopted) > adoptLogEach {
			adopted = time.Now()
			raws, err = s.group.Adopt(ctx, logAdopt, logBatch)
		}
		if err == nil && len(raws) == 0 {
			raws, err = s.group.Read(ctx, logBatch, logWait)
		}
		err = foreign(err, &s.poison.logs)
		if err == nil && len(raws) > 0 {
			err = s.keep(ctx, raws)
		}
		if err != nil && ctx.Err() == nil {
			if time.Since(said) > logSayEach {
				slog.Warn("output of tasks could not be stored; workers ship it again", "error", err)
				said = time.Now()
			}
			select {
			case <-ctx.Done():
			case <-time.After(logPause):
			}
		}
	}
	return nil
}

// keep stores entries, removes them and acknowledges them.
func (s *logSink) keep(ctx context.Context, raws []transport.Raw) error {
	var lines []protocol.LogLines
	ids := make([]string, len(raws))
	for i, r := range raws {
		ids[i] = r.ID
		var l protocol.LogLines
		if json.Unmarshal(r.Body, &l) == nil && l.Attempt > 0 && l.Last >= l.First {
			lines = append(lines, l)
		} else {
			s.poison.logs.Add(1)
			slog.Warn("a damaged entry of the log stream was dropped", "bytes", len(r.Body))
		}
	}
	if err := s.lives.Keep(ctx, lines); err != nil {
		return err
	}
	crash.At("logs.kept")
	if err := s.group.Remove(ctx, ids...); err != nil {
		return err
	}
	crash.At("logs.removed")
	upTo, err := s.lives.Acks(ctx, lines)
	if err != nil {
		return err
	}
	acks := map[domain.Boot][]protocol.LogAck{}
	for _, a := range upTo {
		i := slices.IndexFunc(lines, func(l protocol.LogLines) bool { return l.Attempt == a.Attempt })
		at := domain.Boot{Name: lines[i].Worker, Boot: lines[i].Boot}
		acks[at] = append(acks[at], a)
	}
	entries := make([]transport.Entry, 0, len(acks))
	for at, list := range acks {
		entries = append(entries, transport.InboxEntry(at.Name, at.Boot, protocol.Downlink{LogAcks: list}))
	}
	return transport.Write(ctx, s.c, entries...)
}
