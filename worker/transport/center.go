package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// Group reads a stream as one member of a consumer group: every entry goes to one member and stays its own until it is
// removed. It is for one goroutine.
type Group struct {
	c                  redis.UniversalClient
	key, group, member string
	made               bool
}

// NewUplinkGroup reads what workers write to the active broker.
func NewUplinkGroup(c redis.UniversalClient, member string) *Group {
	return &Group{c: c, key: protocol.KeyUplink, group: protocol.UplinkGroup, member: member}
}

// NewLogsGroup reads the log stream, which all broker roles share.
func NewLogsGroup(c redis.UniversalClient, member string) *Group {
	return &Group{c: c, key: protocol.KeyLogs, group: protocol.LogsGroup, member: member}
}

// Raw is an entry as it was read; Body is JSON and may be anything.
type Raw struct {
	ID   string
	Body []byte
}

// Read waits up to wait (0: a second) for at most count new entries; none is no error. A group that is gone with its
// Redis is made again.
func (g *Group) Read(ctx context.Context, count int64, wait time.Duration) ([]Raw, error) {
	if err := g.ensure(ctx); err != nil {
		return nil, err
	}
	if wait <= 0 || wait > blockFor {
		wait = blockFor
	}
	read, cancel := context.WithTimeout(ctx, wait+ioTimeout) // a wait by the server's clock may never end when that is set back
	defer cancel()
	res, err := g.c.XReadGroup(read, &redis.XReadGroupArgs{
		Group: g.group, Consumer: g.member, Streams: []string{g.key, ">"}, Count: count, Block: wait,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", g.key, g.lost(ctx, err))
	}
	var out []Raw
	for _, s := range res {
		out = append(out, raws(s.Messages)...)
	}
	return out, nil
}

// Adopt takes over entries that another member read and did not remove for idle: it died with them.
func (g *Group) Adopt(ctx context.Context, idle time.Duration, count int64) ([]Raw, error) {
	if err := g.ensure(ctx); err != nil {
		return nil, err
	}
	msgs, _, err := g.c.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: g.key, Group: g.group, Consumer: g.member, MinIdle: idle, Start: "0", Count: count,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("adopt entries of %s: %w", g.key, g.lost(ctx, err))
	}
	return raws(msgs), nil
}

// lost notes that the group has to be made again, where err says so, and removes what is no stream.
func (g *Group) lost(ctx context.Context, err error) error {
	text := err.Error()
	g.made = g.made && !strings.Contains(text, "NOGROUP") && !strings.Contains(text, "WRONGTYPE")
	return foreign(ctx, g.c, err, g.key)
}

// Remove says that these entries have been dealt with.
func (g *Group) Remove(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	p := g.c.Pipeline()
	p.XAck(ctx, g.key, g.group, ids...)
	p.XDel(ctx, g.key, ids...)
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("remove %d entries of %s: %w", len(ids), g.key, err)
	}
	return nil
}

func (g *Group) ensure(ctx context.Context) error {
	if g.made {
		return nil
	}
	err := g.c.XGroupCreateMkStream(ctx, g.key, g.group, "0").Err()
	if err != nil && !strings.Contains(err.Error(), "BUSYGROUP") {
		return fmt.Errorf("make the group of %s: %w", g.key, foreign(ctx, g.c, err, g.key))
	}
	g.made = true
	return nil
}

// raws drops what carries no field of ours; its id stays so that it is removed.
func raws(msgs []redis.XMessage) []Raw {
	out := make([]Raw, 0, len(msgs))
	for _, m := range msgs {
		text, _ := m.Values[protocol.EntryField].(string)
		out = append(out, Raw{ID: m.ID, Body: []byte(text)})
	}
	return out
}

// Forget removes everything of one boot of a worker that is gone for good: its queues with their counters and its
// inbox. Messages in them are lost, so the caller has settled their attempts.
func Forget(ctx context.Context, c redis.UniversalClient, worker string, boot int64) error {
	for _, lane := range protocol.Lanes {
		if err := removeQueue(ctx, c, protocol.Queue(worker, boot, lane)); err != nil {
			return fmt.Errorf("remove lane %s of %s boot %d: %w", lane, worker, boot, err)
		}
	}
	return c.Del(ctx, protocol.KeyInbox(worker, boot)).Err()
}

// removeQueue is not asynq's own DeleteQueue, which refuses while a task is active: a dead worker's always may be.
func removeQueue(ctx context.Context, c redis.UniversalClient, queue string) error {
	const asynqQueues = "asynq:queues"
	scan := c.Scan(ctx, 0, "asynq:{"+globQuote(queue)+"}:*", 1000).Iterator()
	var keys []string
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		return err
	}
	p := c.Pipeline()
	for _, k := range keys {
		p.Del(ctx, k)
	}
	p.SRem(ctx, asynqQueues, queue)
	_, err := p.Exec(ctx)
	return err
}

// globQuote makes every character of s stand for itself in a pattern of SCAN.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
