package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// Hint publishes that a row of that kind was committed. Whoever misses it looks at the next poll.
func Hint(ctx context.Context, c redis.UniversalClient, n protocol.Nudge) error {
	if err := c.Publish(ctx, protocol.ChannelNudge, string(n)).Err(); err != nil {
		return fmt.Errorf("nudge %s: %w", n, err)
	}
	return nil
}

// Hints calls fn for each nudge until ctx ends, and subscribes again when the connection breaks. Nudges in between are
// lost; fn must not block for long.
func Hints(ctx context.Context, c redis.UniversalClient, fn func(protocol.Nudge)) error {
	sub := c.Subscribe(ctx, protocol.ChannelNudge)
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // a read that waits does not hear of ctx by itself
	defer func() { _ = sub.Close() }()
	const pause = 200 * time.Millisecond
	for ctx.Err() == nil {
		m, err := sub.ReceiveMessage(ctx)
		if err == nil {
			fn(protocol.Nudge(m.Payload))
			continue
		}
		if errors.Is(err, redis.ErrClosed) && ctx.Err() == nil {
			return fmt.Errorf("follow nudges: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}
