package center

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/transport"
)

// fit watches that a Redis stays one that can be relied on: it may have been away when
// this process started, or be set up anew since. Safe for concurrent use.
type fit struct {
	mu sync.Mutex
	of map[string]verdict // by name of the Redis; absent = it was not asked yet
}

// verdict is what stands against a Redis, nil for nothing, and since when.
type verdict struct {
	err   error
	since time.Time
}

const (
	fitEach  = 15 * time.Second
	fitLimit = 3 * time.Second
)

// watch asks each of them again and again until ctx ends. One that does not answer is
// not judged: that is seen elsewhere.
func (f *fit) watch(ctx context.Context, all map[string]redis.UniversalClient) {
	for pause(ctx, fitEach) {
		for name, c := range all {
			ask, cancel := context.WithTimeout(ctx, fitLimit)
			f.judge(name, transport.Check(ask, c))
			cancel()
		}
	}
}

func (f *fit) judge(name string, err error) {
	if err != nil && !errors.Is(err, transport.ErrUnfit) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.of[name]
	if known && (was.err == nil) == (err == nil) {
		was.err = err
		f.of[name] = was
		return
	}
	if f.of == nil {
		f.of = map[string]verdict{}
	}
	f.of[name] = verdict{err, time.Now()}
	switch {
	case err != nil:
		slog.Error("Redis must not be used as it is; what it throws away comes late", "redis", name, "error", err)
	case known:
		slog.Info("Redis can be relied on again", "redis", name)
	}
}

// verdict is what stands against a Redis; zero: it was not asked yet.
func (f *fit) verdict(name string) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[name]
}

// watchRedis watches both, where they are servers of their own.
func (s *site) watchRedis(ctx context.Context) {
	if s.o.Config.RedisURL != "" {
		s.fit.watch(ctx, map[string]redis.UniversalClient{storeRedis: s.o.Transport, storeRegistry: s.o.Registry})
	}
}
