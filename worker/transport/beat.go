package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	// Ahead is how far that clock is before the database's, as the active broker found it at Looked by Redis' clock. A
	// zero Looked means that no broker has looked yet.
	Ahead  time.Duration
	Looked time.Time
	// Holder is "uid boot stamp" of whoever else holds the name; empty when the heartbeat was written.
	Holder string
	// Held is the last heartbeat of that holder, as far as it can be read.
	Held protocol.Heartbeat
}

// Beat writes a heartbeat, unless somebody else holds the name. A holder that was silent for lostAfter has lost it.
func Beat(ctx context.Context, c redis.UniversalClient, hb protocol.Heartbeat, lostAfter time.Duration) (Beaten, error) {
	body, err := json.Marshal(hb)
	if err != nil {
		return Beaten{}, err
	}
	res, err := beatScript.Run(ctx, c, []string{protocol.KeyHolders, protocol.KeyWorkers, protocol.KeyClock},
		hb.Name, hb.UID, hb.Boot, body, lostAfter.Milliseconds()).Slice()
	if err != nil {
		return Beaten{}, fmt.Errorf("heartbeat of %s: %w", hb.Name, foreign(ctx, c, err, protocol.KeyHolders, protocol.KeyWorkers, protocol.KeyClock))
	}
	return parseBeaten(res)
}

func parseBeaten(res []any) (Beaten, error) {
	if len(res) < 4 {
		return Beaten{}, fmt.Errorf("heartbeat: answer %v is not understood", res)
	}
	ok, _ := res[0].(int64)
	ms, good := res[1].(int64)
	third, _ := res[2].(string)
	fourth, _ := res[3].(string)
	if !good {
		return Beaten{}, fmt.Errorf("heartbeat: answer %v is not understood", res)
	}
	b := Beaten{Clock: time.UnixMilli(ms)}
	if ok == 0 {
		b.Holder = third
		_ = json.Unmarshal([]byte(fourth), &b.Held) // for a person's eyes only
		return b, nil
	}
	looked, err1 := strconv.ParseInt(third, 10, 64)
	ahead, err2 := strconv.ParseInt(fourth, 10, 64)
	if err1 == nil && err2 == nil {
		b.Looked, b.Ahead = time.UnixMilli(looked), time.Duration(ahead)*time.Millisecond
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

// Catalog reads what a worker's types take. ok is false where nothing is there, or nothing that can be read.
func Catalog(ctx context.Context, c redis.UniversalClient, worker string) (cat protocol.Catalog, ok bool, err error) {
	body, err := c.HGet(ctx, protocol.KeyCatalogs, worker).Bytes()
	if errors.Is(err, redis.Nil) {
		return cat, false, nil
	}
	if err != nil {
		return cat, false, fmt.Errorf("catalogue of %s: %w", worker, foreign(ctx, c, err, protocol.KeyCatalogs))
	}
	return cat, json.Unmarshal(body, &cat) == nil && cat.Worker == worker, nil
}

// Workers returns the last heartbeat of every worker that holds its name, with Stamp set, and Redis' clock. A
// heartbeat that cannot be read is left out.
func Workers(ctx context.Context, c redis.UniversalClient) ([]protocol.Heartbeat, time.Time, error) {
	p := c.Pipeline()
	clock := p.Time(ctx)
	holders := p.HGetAll(ctx, protocol.KeyHolders)
	bodies := p.HGetAll(ctx, protocol.KeyWorkers)
	if _, err := p.Exec(ctx); err != nil {
		return nil, time.Time{}, fmt.Errorf("read the registry: %w", foreign(ctx, c, err, protocol.KeyHolders, protocol.KeyWorkers))
	}
	var out []protocol.Heartbeat
	for name, body := range bodies.Val() {
		var hb protocol.Heartbeat
		if json.Unmarshal([]byte(body), &hb) != nil || hb.Name != name {
			continue
		}
		parts := strings.Fields(holders.Val()[name])
		if len(parts) != 3 {
			continue
		}
		if stamp, err := strconv.ParseInt(parts[2], 10, 64); err == nil {
			hb.Stamp = stamp
			out = append(out, hb)
		}
	}
	return out, clock.Val(), nil
}
