package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// asynqQueue is asynq's keys of one queue.
type asynqQueue string

func queueOf(worker string, boot int64, lane string) asynqQueue {
	return asynqQueue("asynq:{" + protocol.Queue(worker, boot, lane) + "}:")
}

// pending is the list of the messages that nobody took yet, active that of those which were taken and not finished,
// lease their place in time, and task what a message holds.
func (q asynqQueue) pending() string       { return string(q) + "pending" }
func (q asynqQueue) active() string        { return string(q) + "active" }
func (q asynqQueue) lease() string         { return string(q) + "lease" }
func (q asynqQueue) task(id string) string { return string(q) + "t:" + id }

// mend removes those of the keys that are of another type than asynq's.
func (q asynqQueue) mend(ctx context.Context, c redis.UniversalClient, err error) error {
	return foreign(ctx, c, err, q.pending(), q.active(), q.lease())
}

const (
	// sweepEach is the pause between two looks at what was taken and not finished.
	sweepEach = 15 * time.Second
	// sweepMost bounds one look.
	sweepMost = 1000
)

// sweep removes, until ctx ends, what stays in a queue as taken: a handler is done at once, so it is something that
// could not be read, and asynq would keep it for ever. The center takes its attempts back by its own deadlines.
func (r *Receiver) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEach)
	defer tick.Stop()
	seen := map[string]map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, lane := range r.Lanes {
			now, gone, err := r.sweepLane(ctx, queueOf(r.Worker, r.Boot, lane), seen[lane])
			if seen[lane] = now; gone > 0 {
				r.drop(gone, "lane", lane)
			}
			if err != nil && ctx.Err() == nil {
				r.log().Debug("a queue could not be looked through", "lane", lane, "err", err)
			}
		}
	}
}

// sweepLane removes what is taken now and was so at the look before, and returns what is left for the next.
func (r *Receiver) sweepLane(ctx context.Context, q asynqQueue, before map[string]bool) (now map[string]bool, gone int, err error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	ids, err := r.Client.LRange(ctx, q.active(), 0, sweepMost-1).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("look at %s: %w", q.active(), q.mend(ctx, r.Client, err))
	}
	now = map[string]bool{}
	p := r.Client.Pipeline()
	for _, id := range ids {
		if !before[id] {
			now[id] = true
			continue
		}
		gone++
		p.LRem(ctx, q.active(), 0, id)
		p.ZRem(ctx, q.lease(), id)
		p.Del(ctx, q.task(id))
	}
	if gone == 0 {
		return now, 0, nil
	}
	if _, err := p.Exec(ctx); err != nil {
		return now, 0, fmt.Errorf("remove %d messages from %s: %w", gone, q.active(), err)
	}
	return now, gone, nil
}
