package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrForeign is wrapped by the error about a key of AX that held something else than AX keeps there. It has been
// removed: nothing of AX can have been in it, and as long as it stood there nothing could be written.
var ErrForeign = errors.New("a key of AX held what is not AX's; it was removed")

// kinds are the types, as Redis names them, of the keys that AX and asynq use, by the beginning or end of their names.
var kinds = []struct{ prefix, suffix, kind string }{
	{"ax:clock", "", "hash"}, {"ax:holders", "", "hash"}, {"ax:workers", "", "hash"},
	{"ax:probe:", "", "string"},
	{"ax:up", "", "stream"}, {"ax:logs", "", "stream"}, {"ax:in:", "", "stream"},
	{"asynq:{", "}:pending", "list"}, {"asynq:{", "}:active", "list"}, {"asynq:{", "}:lease", "zset"},
	{"asynq:{", "}:retry", "zset"}, {"asynq:{", "}:archived", "zset"},
	{"asynq:queues", "", "set"},
}

func kindOf(key string) string {
	for _, k := range kinds {
		if strings.HasPrefix(key, k.prefix) && strings.HasSuffix(key, k.suffix) {
			return k.kind
		}
	}
	return ""
}

// foreign looks, where err says that a key has the wrong type, which of the keys it is, and removes that. It returns err
// as it is when it says anything else.
func foreign(ctx context.Context, c redis.UniversalClient, err error, keys ...string) error {
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	for _, key := range keys {
		is, terr := c.Type(ctx, key).Result()
		if terr != nil {
			return errors.Join(err, terr)
		}
		if want := kindOf(key); is == "none" || is == want {
			continue
		}
		if derr := c.Del(ctx, key).Err(); derr != nil {
			return errors.Join(err, derr)
		}
		err = fmt.Errorf("%w: %s was a %s", ErrForeign, key, is)
	}
	return err
}
