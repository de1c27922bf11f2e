package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// each runs the same test on the in-process Redis and on a server of its own.
func each(t *testing.T, fn func(t *testing.T, c *redis.Client, embedded bool)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		e := transport.NewEmbedded()
		c := e.Client()
		t.Cleanup(func() { _ = c.Close(); e.Close() })
		fn(t, c, true)
	})
	t.Run("redis", func(t *testing.T) {
		c, err := transport.Open(t.Context(), server(t).URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		fn(t, c, false)
	})
}

func server(t *testing.T) *stores.Server {
	t.Helper()
	if !stores.HasRedis() {
		t.Skip("Redis is not installed: nothing was tested on it; e2e/setup/install.sh brings it")
	}
	s, err := stores.Redis("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// within waits until cond holds.
func within(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

func heartbeat(uid string, boot int64) protocol.Heartbeat {
	return protocol.Heartbeat{Name: "w1", UID: uid, Boot: boot, State: protocol.WorkerAvailable, Held: []int64{7}}
}

func TestOneHolderOfAName(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		beat := func(uid string, boot int64, lost time.Duration) transport.Beaten {
			t.Helper()
			b, err := transport.Beat(t.Context(), c, heartbeat(uid, boot), lost)
			if err != nil {
				t.Fatal(err)
			}
			if off := time.Since(b.Clock).Abs(); off > 5*time.Second {
				t.Errorf("Redis' clock in the answer is %s off", off)
			}
			return b
		}
		if b := beat("a", 3, time.Minute); b.Holder != "" {
			t.Fatalf("a free name was refused: held by %q", b.Holder)
		}
		if b := beat("b", 9, time.Minute); !strings.HasPrefix(b.Holder, "a 3 ") {
			t.Errorf("a second holder was told %q, want a 3", b.Holder)
		}
		if b := beat("a", 4, time.Minute); b.Holder != "" {
			t.Errorf("the next boot of the same data was refused: %q", b.Holder)
		}
		if b := beat("a", 3, time.Minute); !strings.HasPrefix(b.Holder, "a 4 ") {
			t.Errorf("the boot before was told %q, want a 4", b.Holder)
		}
		if b := beat("b", 1, 0); b.Holder != "" {
			t.Errorf("a silent holder kept the name: %q", b.Holder)
		}
		ws, clock, err := transport.Workers(t.Context(), c)
		if err != nil || len(ws) != 1 {
			t.Fatalf("registry %v, %v; want one worker", ws, err)
		}
		if w := ws[0]; w.UID != "b" || len(w.Held) != 1 || w.Stamp == 0 || w.Stamp > clock.UnixMilli() {
			t.Errorf("registry says %+v at %v", w, clock)
		}
	})
}

func TestLeavingFreesOnlyTheOwnName(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		if _, err := transport.Beat(t.Context(), c, heartbeat("a", 2), time.Minute); err != nil {
			t.Fatal(err)
		}
		for _, leave := range []struct {
			uid  string
			boot int64
			left int
		}{{"b", 2, 1}, {"a", 1, 1}, {"a", 2, 0}} {
			if err := transport.Leave(t.Context(), c, "w1", leave.uid, leave.boot); err != nil {
				t.Fatal(err)
			}
			ws, _, err := transport.Workers(t.Context(), c)
			if err != nil || len(ws) != leave.left {
				t.Errorf("after %s/%d left: %d workers (%v), want %d", leave.uid, leave.boot, len(ws), err, leave.left)
			}
		}
	})
}

func TestInboxIsReadInOrderAndEmptied(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		in := transport.NewInbox(c, "w1", 1)
		send := func(ids ...int64) {
			t.Helper()
			for _, id := range ids {
				err := transport.Write(t.Context(), c, transport.InboxEntry("w1", 1, protocol.Downlink{Confirm: []int64{id}}))
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		read := func(want ...int64) {
			t.Helper()
			got, bad, err := in.Read(t.Context())
			if err != nil || bad != 0 {
				t.Fatalf("read: %v, %d bad", err, bad)
			}
			var ids []int64
			for _, d := range got {
				ids = append(ids, d.Confirm...)
			}
			if fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Fatalf("read %v, want %v", ids, want)
			}
		}
		send(1, 2, 3)
		read(1, 2, 3)
		send(4)
		read(4)
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		// A lower id than any before, as after a Redis whose clock went back.
		body := `{"confirm":[5]}`
		err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: protocol.KeyInbox("w1", 1), ID: "1-1",
			Values: []any{protocol.EntryField, body}}).Err()
		if err != nil {
			t.Fatal(err)
		}
		read(5)
		read()
		if n := c.XLen(t.Context(), protocol.KeyInbox("w1", 1)).Val(); n != 0 {
			t.Errorf("%d entries were left behind", n)
		}
	})
}

func TestDamagedInboxEntryBlocksNothing(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		in := transport.NewInbox(c, "w1", 1)
		for _, values := range [][]any{{protocol.EntryField, "{"}, {"x", "y"}, {protocol.EntryField, `{"confirm":[1]}`}} {
			if err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: protocol.KeyInbox("w1", 1), Values: values}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		got, bad, err := in.Read(t.Context())
		if err != nil || bad != 2 || len(got) != 1 {
			t.Errorf("read %d entries, %d bad, %v; want 1, 2", len(got), bad, err)
		}
	})
}

func TestGroupHandsEachEntryToOneAndTheRestToWhoFollows(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		a, b := transport.NewUplinkGroup(c, "a"), transport.NewUplinkGroup(c, "b")
		entry := transport.UplinkEntry(protocol.Uplink{Worker: "w1", Boot: 1, Reports: []protocol.Report{{Attempt: 1}}})
		if err := transport.Write(t.Context(), c, entry, entry); err != nil {
			t.Fatal(err)
		}
		first, err := a.Read(t.Context(), 1, 0)
		if err != nil || len(first) != 1 {
			t.Fatalf("a read %v, %v", first, err)
		}
		second, err := b.Read(t.Context(), 9, 0)
		if err != nil || len(second) != 1 || second[0].ID == first[0].ID {
			t.Fatalf("b read %v, %v", second, err)
		}
		var u protocol.Uplink
		if err := json.Unmarshal(second[0].Body, &u); err != nil || u.Reports[0].Attempt != 1 {
			t.Errorf("entry %s: %v", second[0].Body, err)
		}
		if err := b.Remove(t.Context(), second[0].ID); err != nil {
			t.Fatal(err)
		}
		adopted, err := b.Adopt(t.Context(), 0, 10)
		if err != nil || len(adopted) != 1 || adopted[0].ID != first[0].ID {
			t.Fatalf("b adopted %v, %v; want a's entry", adopted, err)
		}
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := transport.Write(t.Context(), c, entry); err != nil {
			t.Fatal(err)
		}
		var again []transport.Raw
		within(t, 5*time.Second, "reading goes on after the loss of everything", func() bool {
			again, _ = a.Read(t.Context(), 10, 0)
			return len(again) == 1
		})
	})
}

func TestNudgesAreHeard(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		ctx, cancel := context.WithCancel(t.Context())
		heard := make(chan protocol.Nudge, 1000)
		ended := make(chan error, 1)
		go func() { ended <- transport.Hints(ctx, c, func(n protocol.Nudge) { heard <- n }) }()
		within(t, 5*time.Second, "a nudge is heard", func() bool {
			if err := transport.Hint(t.Context(), c, protocol.NudgeKill); err != nil {
				t.Fatal(err)
			}
			return len(heard) > 0
		})
		if n := <-heard; n != protocol.NudgeKill {
			t.Errorf("heard %q", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestUnfitServersAreRefusedWithTheReason(t *testing.T) {
	s := server(t)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"CONFIG SET maxmemory 100mb", "CONFIG SET maxmemory-policy allkeys-lru"} {
		if _, err := stores.Ask(u.Host, command); err != nil {
			t.Fatal(err)
		}
	}
	_, err = transport.Open(t.Context(), s.URL)
	if err == nil || !strings.Contains(err.Error(), "noeviction") || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("a server that evicts was taken or not explained: %v", err)
	}
	if _, err := stores.Ask(u.Host, "CONFIG SET maxmemory-policy noeviction"); err != nil {
		t.Fatal(err)
	}
	c, err := transport.Open(t.Context(), s.URL)
	if err != nil {
		t.Fatalf("a server that does not evict was refused: %v", err)
	}
	_ = c.Close()
}

func TestAServerThatIsDownIsFoundOutSoonAndKeepsItsPassword(t *testing.T) {
	start := time.Now()
	_, err := transport.Open(t.Context(), "redis://:sesame@127.0.0.1:1/0")
	if err == nil {
		t.Fatal("port 1 answered")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	_, err2 := transport.Open(t.Context(), "http://:sesame@127.0.0.1:1/0")
	for _, e := range []error{err, err2} {
		if e == nil || strings.Contains(e.Error(), "sesame") {
			t.Errorf("no error or the password in it: %v", e)
		}
	}
}

func TestSendGivesUpWithItsContext(t *testing.T) {
	c, err := transport.Dial("redis://127.0.0.1:1/0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := transport.NewSender(c).Send(ctx, "w1", 1, protocol.LaneHigh, protocol.Message{ID: "m", IDs: []int64{1}}); err == nil {
		t.Error("sent to nobody")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("gave up after %s, want 100 ms", took)
	}
}

// A pipeline that is longer than any buffer on its way is written and answered whole.
func TestALongPipelineIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		long := strings.Repeat("x", 200<<10)
		for range 3 {
			p := c.Pipeline()
			for i := range 40 {
				p.XAdd(ctx, &redis.XAddArgs{Stream: "long", Values: []any{"j", long, "i", i}})
			}
			for range 2000 {
				p.XLen(ctx, "long")
			}
			if _, err := p.Exec(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.XLen(ctx, "long").Val(); n != 120 {
			t.Fatalf("%d of 120 entries", n)
		}
	})
}
