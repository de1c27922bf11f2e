package transport_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// receive runs a receiver and returns what it has got so far.
func receive(t *testing.T, c *redis.Client, embedded bool) (*transport.Receiver, func() map[string]string) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]string{}
	r := &transport.Receiver{Client: c, Worker: "w1", Boot: 4, Lanes: protocol.Lanes[:], Embedded: embedded,
		Handle: func(lane string, m protocol.Message) {
			mu.Lock()
			defer mu.Unlock()
			got[m.ID] = lane
		}}
	run(t, r)
	return r, func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(got)
	}
}

// run lets a receiver receive until the test ends.
func run(t *testing.T, r *transport.Receiver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestMessagesTravelByLane(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		_, got := receive(t, c, embedded)
		s := transport.NewSender(c)
		for _, lane := range protocol.Lanes {
			m := protocol.Message{ID: "m-" + lane, IDs: []int64{1, 2}}
			for range 2 { // the second is the same message
				if err := s.Send(t.Context(), "w1", 4, lane, m); err != nil {
					t.Fatal(err)
				}
			}
		}
		within(t, 5*time.Second, "three messages arrive", func() bool { return len(got()) == 3 })
		for id, lane := range got() {
			if id != "m-"+lane {
				t.Errorf("message %s came by lane %s", id, lane)
			}
		}
	})
}

func TestPoisonIsDroppedAndCounted(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		q := protocol.Queue("w1", 4, protocol.LaneHigh)
		prefix := "asynq:{" + q + "}:"
		s := transport.NewSender(c)
		// Garbage in asynq's own structures: an id without a task, and a task that is none.
		for _, err := range []error{
			c.LPush(t.Context(), prefix+"pending", "ghost").Err(),
			c.HSet(t.Context(), prefix+"t:bad", "msg", "\x00\xffgarbage", "state", "pending").Err(),
			c.LPush(t.Context(), prefix+"pending", "bad").Err(),
			transport.SendRaw(t.Context(), c, q, "not-json"),
			transport.SendRaw(t.Context(), c, q, `{"id":"empty"}`),
			s.Send(t.Context(), "w1", 4, protocol.LaneHigh, protocol.Message{ID: "good", IDs: []int64{1}}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		r, got := receive(t, c, embedded)
		within(t, 10*time.Second, "the good message arrives", func() bool { return got()["good"] != "" })
		within(t, 5*time.Second, "both unreadable payloads are counted", func() bool { return r.Poison() == 2 })
		if len(got()) != 1 {
			t.Errorf("handled %v, want the good one only", got())
		}
	})
}

func TestForgettingABootLeavesNothingAndTouchesNoOther(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		s := transport.NewSender(c)
		for _, w := range []string{"w1", "w[1]*"} {
			for boot := int64(1); boot <= 2; boot++ {
				for i := range 3 {
					m := protocol.Message{ID: fmt.Sprint(i), IDs: []int64{1}}
					if err := s.Send(t.Context(), w, boot, protocol.LaneHigh, m); err != nil {
						t.Fatal(err)
					}
				}
				if err := transport.Write(t.Context(), c, transport.InboxEntry(w, boot, protocol.Downlink{})); err != nil {
					t.Fatal(err)
				}
			}
		}
		before := len(c.Keys(t.Context(), "*").Val())
		if err := transport.Forget(t.Context(), c, "w[1]*", 1); err != nil {
			t.Fatal(err)
		}
		keys := c.Keys(t.Context(), "*").Val()
		if gone := before - len(keys); gone != 5 { // three tasks, their list, the inbox
			t.Errorf("%d keys went, want 5; left: %q", gone, keys)
		}
		for _, k := range append(keys, c.SMembers(t.Context(), "asynq:queues").Val()...) {
			if strings.Contains(k, "w[1]*:1") {
				t.Errorf("%q was left behind", k)
			}
		}
	})
}
