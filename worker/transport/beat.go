package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
)

var (
	beatScript  = redis.NewScript(protocol.LuaBeat)
	leaveScript = redis.NewScript(protocol.LuaLeave)
)

// Beaten is the answer to a heartbeat.
type Beaten struct {
	// Clock is Redis' clock when it answered.
	Clock time.Time
	// Holder is "uid boot stamp" of whoever else holds the name; empty when the heartbeat was written.
	Holder string
}

// Beat writes a heartbeat, unless somebody else holds the name. A holder that was silent for lostAfter has lost it.
func Beat(ctx context.Context, c redis.UniversalClient, hb protocol.Heartbeat, lostAfter time.Duration) (Beaten, error) {
	body, err := json.Marshal(hb)
	if err != nil {
		return Beaten{}, err
	}
	res, err := beatScript.Run(ctx, c, []string{protocol.KeyHolders, protocol.KeyWorkers},
		hb.Name, hb.UID, hb.Boot, body, lostAfter.Milliseconds()).Slice()
	if err != nil {
		return Beaten{}, fmt.Errorf("heartbeat of %s: %w", hb.Name, err)
	}
	return parseBeaten(res)
}

func parseBeaten(res []any) (Beaten, error) {
	if len(res) < 2 {
		return Beaten{}, fmt.Errorf("heartbeat: answer %v is not understood", res)
	}
	ok, _ := res[0].(int64)
	ms, good := res[1].(int64)
	if !good {
		return Beaten{}, fmt.Errorf("heartbeat: answer %v is not understood", res)
	}
	b := Beaten{Clock: time.UnixMilli(ms)}
	if ok == 0 {
		b.Holder = "somebody else"
		if len(res) > 2 {
			b.Holder = fmt.Sprint(res[2])
		}
	}
	return b, nil
}

// Leave takes the worker off the registry, if it still holds its name.
func Leave(ctx context.Context, c redis.UniversalClient, name, uid string, boot int64) error {
	err := leaveScript.Run(ctx, c, []string{protocol.KeyHolders, protocol.KeyWorkers}, name, uid, boot).Err()
	if err != nil {
		return fmt.Errorf("leave of %s: %w", name, err)
	}
	return nil
}
