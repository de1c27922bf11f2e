// Package fastpath sets the keys of due fires in Redis, so that of many nodes one
// looks first. It owns the keys ax:fire:*, which live for two seconds at most, and
// decides nothing: Redis may be away, slow or empty at any moment, and whoever calls
// keeps a deadline and a breaker.
package fastpath

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis is the fast path over one Redis. Safe for concurrent use.
type Redis struct {
	client redis.UniversalClient
	ttl    time.Duration
}

// MaxTTL is the longest that a key may stand.
const MaxTTL = 2 * time.Second

// New sets keys that stand for ttl, cut to MaxTTL.
func New(client redis.UniversalClient, ttl time.Duration) *Redis {
	return &Redis{client, min(ttl, MaxTTL)}
}

// Win sets, in one pipeline, those keys that nobody has set, and tells which it set.
func (r *Redis) Win(ctx context.Context, keys []string) ([]bool, error) {
	pipe := r.client.Pipeline()
	said := make([]*redis.BoolCmd, len(keys))
	for i, k := range keys {
		said[i] = pipe.SetNX(ctx, k, 1, r.ttl)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("fast path: %w", err)
	}
	won := make([]bool, len(keys))
	for i, c := range said {
		won[i] = c.Val()
	}
	return won, nil
}

// GiveBack removes keys that were won and not used. Should one have ended meanwhile
// and be another node's, that node's fire is looked at by one node more, which the
// database settles. An error is of no consequence: the keys end by themselves.
func (r *Redis) GiveBack(ctx context.Context, keys []string) {
	r.client.Del(ctx, keys...)
}
