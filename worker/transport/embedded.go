package transport

import (
	"context"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Embedded is a Redis inside the process, for one machine. It opens no port and keeps nothing on disk.
type Embedded struct {
	mini *miniredis.Miniredis
}

// NewEmbedded makes an empty one. Run must run for its keys to expire.
func NewEmbedded() *Embedded { return &Embedded{mini: miniredis.NewMiniRedis()} }

// Client returns a new client of it; the caller closes it.
func (e *Embedded) Client() *redis.Client {
	opt := &redis.Options{
		Addr: "embedded",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := e.mini.Dial()
			if err != nil {
				return nil, err
			}
			return newPumped(c), nil
		},
	}
	tune(opt)
	return redis.NewClient(opt)
}

// Run lets the time of expiring keys pass, each second by what really passed; of itself it stands still.
func (e *Embedded) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			e.mini.FastForward(now.Sub(last))
			last = now
		}
	}
}

// Flush throws everything away, as the loss of a Redis would.
func (e *Embedded) Flush() { e.mini.FlushAll() }

// Close ends it and every connection to it.
func (e *Embedded) Close() { e.mini.Close() }
