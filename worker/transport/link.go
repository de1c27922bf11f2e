package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

// Link is a worker's connection to the center, for any number of goroutines. The clients are its owner's to close.
type Link struct {
	// Transport carries queues and streams, Registry the heartbeats; they may be the same.
	Transport, Registry redis.UniversalClient
	// Embedded says that both are inside this process.
	Embedded bool
	Log      *slog.Logger // nil discards
}

// Ready asks both servers whether they can be relied on (see Check).
func (l *Link) Ready(ctx context.Context) error {
	if l.Embedded {
		return nil
	}
	if err := Check(ctx, l.Transport); err != nil {
		return fmt.Errorf("redis_url: %w", err)
	}
	if l.Registry == l.Transport {
		return nil
	}
	if err := Check(ctx, l.Registry); err != nil {
		return fmt.Errorf("registry_redis_url: %w", err)
	}
	return nil
}

// Beat writes a heartbeat (see the function Beat).
func (l *Link) Beat(ctx context.Context, hb protocol.Heartbeat, lostAfter time.Duration) (Beaten, error) {
	return Beat(ctx, l.Registry, hb, lostAfter)
}

// Workers returns the last heartbeat of every worker that holds its name (see the function Workers).
func (l *Link) Workers(ctx context.Context) ([]protocol.Heartbeat, error) {
	all, _, err := Workers(ctx, l.Registry)
	return all, err
}

// Holder is who held a worker's name last; "" = nobody is known to have.
func (l *Link) Holder(ctx context.Context, name string) (uid string, boot int64, err error) {
	text, err := l.Registry.HGet(ctx, protocol.KeyHolders, name).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("who had the name %s: %w", name, err)
	}
	parts := strings.Fields(text)
	if len(parts) != 3 {
		return "", 0, nil
	}
	if boot, err = strconv.ParseInt(parts[1], 10, 32); err != nil {
		return "", 0, nil // no worker wrote it
	}
	return parts[0], boot, nil
}

// Tell writes what a worker's types take, a protocol.Catalog as JSON.
func (l *Link) Tell(ctx context.Context, name string, catalog []byte) error {
	if err := l.Registry.HSet(ctx, protocol.KeyCatalogs, name, catalog).Err(); err != nil {
		return fmt.Errorf("catalogue of %s: %w", name, foreign(ctx, l.Registry, err, protocol.KeyCatalogs))
	}
	return nil
}

// Leave takes the worker off the registry and its empty queues and inbox away. What a queue still holds is lost, and
// comes back by the center's own deadlines.
func (l *Link) Leave(ctx context.Context, name, uid string, boot int64) error {
	return errors.Join(Leave(ctx, l.Registry, name, uid, boot), Forget(ctx, l.Transport, name, boot), l.Registry.HDel(ctx, protocol.KeyCatalogs, name).Err())
}

// Write appends entries to streams (see the function Write).
func (l *Link) Write(ctx context.Context, entries ...Entry) error {
	return Write(ctx, l.Transport, entries...)
}

// Inbox reads the inbox of one boot.
func (l *Link) Inbox(worker string, boot int64) *Inbox { return NewInbox(l.Transport, worker, boot) }

// Receiver takes messages for one boot; see Receiver for handle.
func (l *Link) Receiver(worker string, boot int64, lanes []string, handle func(string, protocol.Message)) *Receiver {
	return &Receiver{Client: l.Transport, Worker: worker, Boot: boot, Lanes: lanes, Embedded: l.Embedded,
		Handle: handle, Log: l.Log}
}
