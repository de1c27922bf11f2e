package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// The streams are cut at these lengths, roughly, when nobody reads them: what they lose is sent again by whoever
// still holds it.
const (
	uplinkMax = 100_000
	logsMax   = 20_000
	inboxMax  = 50_000
)

// Entry is one stream entry on its way: which stream, how long that may grow, what it carries.
type Entry struct {
	key  string
	max  int64
	body any
}

// UplinkEntry is an entry from a worker to the active broker.
func UplinkEntry(u protocol.Uplink) Entry { return Entry{protocol.KeyUplink, uplinkMax, u} }

// LogEntry is an entry of the log stream.
func LogEntry(l protocol.LogLines) Entry { return Entry{protocol.KeyLogs, logsMax, l} }

// InboxEntry is an entry from the center to one boot of a worker.
func InboxEntry(worker string, boot int64, d protocol.Downlink) Entry {
	return Entry{protocol.KeyInbox(worker, boot), inboxMax, d}
}

// Write appends entries in one round trip, in order. After an error any of them may have been written: entries may be
// repeated.
func Write(ctx context.Context, c redis.UniversalClient, entries ...Entry) error {
	if len(entries) == 0 {
		return nil
	}
	p := c.Pipeline()
	for _, e := range entries {
		body, err := json.Marshal(e.body)
		if err != nil {
			return fmt.Errorf("encode an entry of %s: %w", e.key, err)
		}
		p.XAdd(ctx, &redis.XAddArgs{Stream: e.key, MaxLen: e.max, Approx: true, Values: []any{protocol.EntryField, body}})
	}
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("write %d stream entries: %w", len(entries), err)
	}
	return nil
}

// Inbox reads what the center sends to one boot of a worker. It is for one goroutine.
type Inbox struct {
	c    redis.UniversalClient
	key  string
	done []string // handled, not yet removed
}

// NewInbox reads the inbox of that boot from its beginning.
func NewInbox(c redis.UniversalClient, worker string, boot int64) *Inbox {
	return &Inbox{c: c, key: protocol.KeyInbox(worker, boot)}
}

// inboxBatch is how many entries one read brings at most; each may carry the tasks of a whole message.
const inboxBatch = 32

// Read waits up to a second for entries and returns them in order; none is no error. The entries of the call before
// are removed, so they must have been handled. It always reads from the beginning of what is left: a Redis that lost
// its data, or whose clock went back, needs no care. Only one that lets nothing be removed is read on from the last
// entry, since it can still tell what to stop. bad counts entries that could not be read and were dropped.
func (in *Inbox) Read(ctx context.Context) (got []protocol.Downlink, bad int, err error) {
	read, cancel := context.WithTimeout(ctx, blockFor+ioTimeout) // a wait by the server's clock may never end when that is set back
	defer cancel()
	from := "0"
	if len(in.done) > 0 {
		switch err := in.c.XDel(read, in.key, in.done...).Err(); {
		case err == nil:
			in.done = nil
		case refusesWrites(err):
			from = in.done[len(in.done)-1]
		default:
			return nil, 0, fmt.Errorf("remove handled inbox entries: %w", foreign(ctx, in.c, err, in.key))
		}
	}
	res, err := in.c.XRead(read, &redis.XReadArgs{Streams: []string{in.key, from}, Count: inboxBatch, Block: blockFor}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the inbox: %w", foreign(ctx, in.c, err, in.key))
	}
	for _, s := range res {
		for _, m := range s.Messages {
			in.done = append(in.done, m.ID)
			text, _ := m.Values[protocol.EntryField].(string)
			d, err := protocol.DecodeDownlink(text)
			if err != nil {
				bad++
				continue
			}
			got = append(got, d)
		}
	}
	return got, bad, nil
}

// refusesWrites reports whether the server answered that it takes no writes now, or none of ours.
func refusesWrites(err error) bool {
	for _, word := range []string{"READONLY", "OOM", "MISCONF", "NOPERM", "NOREPLICAS"} {
		if redis.HasErrorPrefix(err, word) {
			return true
		}
	}
	return false
}
