package transport

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// waking is a client for one asynq server that waits for a message where asynq would poll for it. asynq looks into an
// empty queue, sleeps and looks again; no pause is both short enough for the pick-up and long enough for an idle machine.
// So when its look finds nothing, this client blocks until the list of pending messages is not empty, and looks once
// more before it answers. The wait moves the list's last id onto its own place, which changes nothing: asynq alone takes
// messages out. Everything else passes through, and where waiting is impossible asynq polls as it always did.
type waking struct {
	redis.UniversalClient
	queue  asynqQueue
	until  context.Context // of the receiver: a wait ends with it
	mended func(err error) // hears that a key of the queue was no such thing and is removed
}

// waitFor is how long a wait may take; the answer may need ioTimeout in all.
const waitFor = 2 * time.Second

// EvalSha runs a script. asynq's look into a queue is the one whose first key is the list of pending messages.
func (w *waking) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := w.UniversalClient.EvalSha(ctx, sha, keys, args...)
	if len(keys) == 0 || keys[0] != w.queue.pending() {
		return cmd
	}
	w.mend(ctx, cmd.Err())
	for errors.Is(cmd.Err(), redis.Nil) && w.until.Err() == nil {
		switch came, err := w.wait(); {
		case err != nil:
			w.mend(ctx, err)
			return cmd
		case came:
			return w.UniversalClient.EvalSha(ctx, sha, keys, args...)
		}
	}
	return cmd
}

// wait returns when the list has something, which it says, when waitFor is over, or when the receiver ends: the read
// itself does not hear of that and is left to its own end.
func (w *waking) wait() (came bool, err error) {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), ioTimeout)
		defer cancel()
		done <- w.BLMove(ctx, w.queue.pending(), w.queue.pending(), "RIGHT", "RIGHT", waitFor).Err()
	}()
	select {
	case <-w.until.Done():
		return false, w.until.Err()
	case err := <-done:
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	}
}

// mend removes a key of the queue that is no such thing, which no message of AX could ever pass.
func (w *waking) mend(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) {
		return
	}
	if err = w.queue.mend(ctx, w.UniversalClient, err); errors.Is(err, ErrForeign) {
		w.mended(err)
	}
}
