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

// asynqQueue is asynq's keys of one queue.
type asynqQueue string

func queueOf(worker string, boot int64, lane string) asynqQueue {
	return asynqQueue("asynq:{" + protocol.Queue(worker, boot, lane) + "}:")
}

// pending is the list of the messages that nobody took yet, active that of those which were taken and not finished,
// lease their place in time, and task what a message holds. In retry and archived asynq puts what was taken and not
// finished for longer than its lease.
func (q asynqQueue) pending() string       { return string(q) + "pending" }
func (q asynqQueue) active() string        { return string(q) + "active" }
func (q asynqQueue) lease() string         { return string(q) + "lease" }
func (q asynqQueue) retry() string         { return string(q) + "retry" }
func (q asynqQueue) archived() string      { return string(q) + "archived" }
func (q asynqQueue) task(id string) string { return string(q) + "t:" + id }

// mend removes those of the keys that are of another type than asynq's.
func (q asynqQueue) mend(ctx context.Context, c redis.UniversalClient, err error) error {
	return foreign(ctx, c, err, q.pending(), q.active(), q.lease(), q.retry(), q.archived())
}

const (
	// sweepEach is the pause between two looks at what was taken and not finished.
	sweepEach = 15 * time.Second
	// sweepMost bounds one look.
	sweepMost = 1000
)

var removeScript = redis.NewScript(protocol.LuaRemove)

// swept is what a look removed: messages of AX, and what is none of its own.
type swept struct{ own, foreign int }

// sweep removes, until ctx ends, what stays in a queue as taken: a handler is done at once. It is either a message of AX
// of which asynq could not write that it is finished, because Redis was away or took no writes, or something that could
// not be read; asynq would keep both, or bring them again long after. Nothing is lost with a message that was not handed
// over: the center takes its attempts back when they are not acknowledged.
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
			seen[lane] = now
			if gone.own > 0 {
				r.leftover.Add(int64(gone.own))
				r.log().Info("removed messages that asynq still kept after they had been taken, as after a fault of Redis", "lane", lane, "count", gone.own)
			}
			if gone.foreign > 0 {
				r.drop(gone.foreign, "lane", lane)
			}
			if err != nil && ctx.Err() == nil {
				r.log().Debug("a queue could not be looked through", "lane", lane, "err", err)
			}
		}
	}
}

// sweepLane removes what is taken now and was so at the look before, and what asynq has set aside; it returns what is
// left for the next look.
func (r *Receiver) sweepLane(ctx context.Context, q asynqQueue, before map[string]bool) (now map[string]bool, gone swept, err error) {
	ctx, cancel := context.WithTimeout(ctx, ioTimeout)
	defer cancel()
	p := r.Client.Pipeline()
	active := p.LRange(ctx, q.active(), 0, sweepMost-1)
	aside := []*redis.StringSliceCmd{p.ZRange(ctx, q.retry(), 0, sweepMost-1), p.ZRange(ctx, q.archived(), 0, sweepMost-1)}
	if _, err := p.Exec(ctx); err != nil {
		return nil, gone, fmt.Errorf("look at %s: %w", q.active(), q.mend(ctx, r.Client, err))
	}
	now = map[string]bool{}
	var old []string
	for _, id := range active.Val() {
		if before[id] {
			old = append(old, id)
		} else {
			now[id] = true
		}
	}
	for _, ids := range aside {
		old = append(old, ids.Val()...)
	}
	gone, err = r.remove(ctx, q, old)
	return now, gone, err
}

// remove removes what was taken, by ids.
func (r *Receiver) remove(ctx context.Context, q asynqQueue, ids []string) (gone swept, err error) {
	for _, id := range ids {
		own := protocol.IsMessageID(id)
		if own {
			held, err := r.Client.HGet(ctx, q.task(id), "msg").Result()
			own = errors.Is(err, redis.Nil) || strings.Contains(held, protocol.TaskType)
		}
		there, err := removeScript.Run(ctx, r.Client, []string{q.active(), q.lease(), q.retry(), q.archived(), q.task(id)}, id).Bool()
		switch {
		case err != nil:
			return gone, fmt.Errorf("remove message %s, which was taken: %w", id, q.mend(ctx, r.Client, err))
		case there && own:
			gone.own++
		case there:
			gone.foreign++
		}
	}
	return gone, nil
}
