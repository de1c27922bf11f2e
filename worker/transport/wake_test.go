package transport_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// listener counts the commands of a client, and fails one of them on purpose where told.
type listener struct {
	looks, waits atomic.Int64
	noWaits      atomic.Bool
}

func (l *listener) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l *listener) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "evalsha":
			l.looks.Add(1)
		case "blmove":
			l.waits.Add(1)
			if l.noWaits.Load() {
				err := errors.New("NOPERM this user has no permissions to run the 'blmove' command")
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (l *listener) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// An idle receiver waits and does not look again and again, and a message still comes at once and once.
func TestAnIdleReceiverWaits(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		heard := &listener{}
		c.AddHook(heard)
		_, got := receive(t, c, embedded)
		within(t, 5*time.Second, "every lane waits", func() bool { return heard.waits.Load() >= 3 })
		before := heard.looks.Load()
		<-time.After(500 * time.Millisecond) // the span that is looked at; polling would look 30 times and more in it
		if looks := heard.looks.Load() - before; looks > 6 {
			t.Errorf("%d looks into empty queues in half a second", looks)
		}
		s := transport.NewSender(c)
		for i, lane := range []string{protocol.LaneLow, protocol.LaneHigh, protocol.LaneLow, protocol.LaneDefault} {
			id := lane + string(rune('a'+i))
			sent := time.Now()
			if err := s.Send(t.Context(), "w1", 4, lane, protocol.Message{ID: id, IDs: []int64{1}}); err != nil {
				t.Fatal(err)
			}
			within(t, 5*time.Second, "the message arrives", func() bool { return got()[id] == lane })
			if took := time.Since(sent); took > time.Second {
				t.Errorf("%s took %v", id, took)
			}
		}
		if len(got()) != 4 {
			t.Errorf("got %v, want the four", got())
		}
	})
}

// A Redis that does not let itself be waited for is polled.
func TestWithoutWaitingTheQueuesArePolled(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		heard := &listener{}
		heard.noWaits.Store(true)
		c.AddHook(heard)
		_, got := receive(t, c, embedded)
		within(t, 5*time.Second, "it looks again and again", func() bool { return heard.looks.Load() > 20 })
		s := transport.NewSender(c)
		if err := s.Send(t.Context(), "w1", 4, protocol.LaneLow, protocol.Message{ID: "m", IDs: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "the message arrives", func() bool { return got()["m"] == protocol.LaneLow })
	})
}

// The end of a receiver does not wait for the end of a wait.
func TestAReceiverThatWaitsEndsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		heard := &listener{}
		c.AddHook(heard)
		r := &transport.Receiver{Client: c, Worker: "w1", Boot: 4, Lanes: protocol.Lanes[:], Embedded: embedded,
			Handle: func(string, protocol.Message) { t.Error("nothing was sent") }}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		within(t, 5*time.Second, "every lane waits", func() bool { return heard.waits.Load() >= 3 })
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(1500 * time.Millisecond): // a wait takes two seconds
			t.Error("the receiver still waits")
		}
	})
}
