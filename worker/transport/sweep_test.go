package transport_test

import (
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

const sweptLane = protocol.LaneHigh

// sweptKey is a key of asynq's for the queue that is swept.
func sweptKey(name string) string {
	return "asynq:{" + protocol.Queue("w1", 4, sweptLane) + "}:" + name
}

// What asynq keeps as taken, or has set aside, is removed: messages of AX are told apart from what is none of its own,
// and what is being taken just now, or is back in the queue, stays.
func TestWhatStaysAsTakenIsRemovedAndToldApart(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		ctx, s := t.Context(), transport.NewSender(c)
		r := &transport.Receiver{Client: c, Worker: "w1", Boot: 4, Lanes: []string{sweptLane}}
		pending := protocol.MessageID(5)
		for n, place := range []string{"active", "retry", "archived", "bare", "pending"} {
			id := protocol.MessageID(int64(n + 1))
			if err := s.Send(ctx, "w1", 4, sweptLane, protocol.Message{ID: id, IDs: []int64{1}}); err != nil {
				t.Fatal(err)
			}
			if place == "pending" {
				continue
			}
			c.LRem(ctx, sweptKey("pending"), 0, id)
			switch place {
			case "active":
				c.LPush(ctx, sweptKey("active"), id)
				c.ZAdd(ctx, sweptKey("lease"), redis.Z{Score: 1, Member: id})
			case "bare": // what it held has gone
				c.LPush(ctx, sweptKey("active"), id)
				c.Del(ctx, sweptKey("t:"+id))
			default:
				c.ZAdd(ctx, sweptKey(place), redis.Z{Score: 1, Member: id})
			}
		}
		forged := protocol.MessageID(77)
		c.HSet(ctx, sweptKey("t:"+forged), "msg", "\x00garbage")
		c.LPush(ctx, sweptKey("active"), "ghost", forged)
		c.ZAdd(ctx, sweptKey("retry"), redis.Z{Score: 1, Member: "m01"})

		seen, own, foreign, err := r.Lane(ctx, sweptLane, nil)
		if err != nil || own != 2 || foreign != 1 || len(seen) != 4 {
			t.Fatalf("the first look: %d own, %d foreign, %v seen, %v; what is set aside goes at once", own, foreign, seen, err)
		}
		fresh := protocol.MessageID(9)
		c.LPush(ctx, sweptKey("active"), fresh) // taken since
		seen, own, foreign, err = r.Lane(ctx, sweptLane, seen)
		if err != nil || own != 2 || foreign != 2 || len(seen) != 1 || !seen[fresh] {
			t.Fatalf("the second look: %d own, %d foreign, %v seen, %v", own, foreign, seen, err)
		}
		c.LRem(ctx, sweptKey("active"), 0, fresh) // asynq has put it back into the queue
		c.LPush(ctx, sweptKey("pending"), fresh)
		if _, own, foreign, err = r.Lane(ctx, sweptLane, map[string]bool{fresh: true}); err != nil || own+foreign != 0 {
			t.Errorf("of what is not taken %d and %d were removed, %v", own, foreign, err)
		}
		if left := c.LRange(ctx, sweptKey("pending"), 0, -1).Val(); len(left) != 2 || c.Exists(ctx, sweptKey("t:"+pending)).Val() != 1 {
			t.Errorf("in the queue are %v", left)
		}
		for _, key := range c.Keys(ctx, sweptKey("*")).Val() {
			if key != sweptKey("pending") && key != sweptKey("t:"+pending) && !strings.Contains(key, "}:processed") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// A Redis that takes no writes for longer than asynq's lease leaves a message that was handed over as taken for ever. It
// is removed as what it is, is no poison, and is not handed over again.
func TestAMessageWhoseLeaseWasLostIsHandedOverOnce(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := server(t)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		c, err := transport.Open(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		var handed atomic.Int64
		r := &transport.Receiver{Client: c, Worker: "w1", Boot: 4, Lanes: []string{sweptLane}, Handle: func(string, protocol.Message) {
			if _, err := stores.Ask(u.Host, "CONFIG SET min-replicas-to-write 1"); err != nil {
				t.Error(err)
			}
			handed.Add(1)
		}}
		run(t, r)
		id := protocol.MessageID(1)
		if err := transport.NewSender(c).Send(t.Context(), "w1", 4, sweptLane, protocol.Message{ID: id, IDs: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		within(t, 10*time.Second, "it is handed over", func() bool { return handed.Load() == 1 })
		lost := func() bool {
			at, err := c.ZScore(t.Context(), sweptKey("lease"), id).Result()
			return err == nil && time.Unix(int64(at), 0).Add(2*time.Second).Before(time.Now())
		}
		within(t, time.Minute, "asynq loses its lease", lost)
		if _, err := stores.Ask(u.Host, "CONFIG SET min-replicas-to-write 0"); err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, "it is removed", func() bool { return r.Leftover() == 1 })
		for _, key := range c.Keys(t.Context(), sweptKey("*")).Val() {
			if !strings.Contains(key, "}:processed") && !strings.Contains(key, "}:failed") {
				t.Errorf("%s is left", key)
			}
		}
		if n := handed.Load(); n != 1 || r.Poison() != 0 {
			t.Errorf("handed over %d times, %d are told as none of AX's", n, r.Poison())
		}
	})
}
