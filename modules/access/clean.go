package access

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	keepIdempotency = 7 * 24 * time.Hour
	cleanBatch      = 500
	cleanEvery      = 10 * time.Minute
)

// Clean deletes one batch of ended sessions, dead one-time tokens and idempotency
// records over a week old, and returns how many rows went.
func (a *Access) Clean(ctx context.Context) (int64, error) {
	now := a.now()
	return a.store.DeleteExpired(ctx, now, now.Add(-keepIdempotency), cleanBatch)
}

// Run cleans every ten minutes until ctx ends, then returns nil.
func (a *Access) Run(ctx context.Context) error {
	for {
		wait := cleanEvery/2 + rand.N(cleanEvery)
		n, err := a.Clean(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.log.Warn("cleaning sessions and tokens failed; tried again later", "error", err)
		case n >= cleanBatch:
			wait = time.Second
		}
		if n > 0 {
			a.log.Info("cleaned sessions, tokens and idempotency records", "rows", n)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}
