package transport_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

func TestAProbeTellsWhatRedisLost(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		p := transport.NewProbe(c, "b1")
		ask := func(emptied bool) {
			t.Helper()
			got, err := p.Ask(t.Context(), time.Now())
			if err != nil || got.Emptied != emptied {
				t.Fatalf("%+v, %v; want emptied %v", got, err, emptied)
			}
			if got.Ahead.Abs() > time.Second {
				t.Fatalf("the same machine's clock is %s off itself", got.Ahead)
			}
		}
		ask(false) // the first one knows of nothing that could be lost
		ask(false)
		old := c.Get(t.Context(), protocol.KeyProbe("b1")).Val()
		ask(false)
		if _, err := transport.NewProbe(c, "b2").Ask(t.Context(), time.Now()); err != nil { // a broker that takes over
			t.Fatal(err)
		}
		ask(false)
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		ask(true)
		ask(false)
		c.Set(t.Context(), protocol.KeyProbe("b1"), old, 0) // a fail-over that lost the last second
		ask(true)
		ask(false)
	})
}

// A Redis that takes no writes answers every read. The probe must not.
func TestAProbeFailsWhereNothingCanBeWritten(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		for name, c := range map[string]struct{ off, on string }{
			"memory":  {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
			"replica": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
		} {
			s := server(t)
			u, _ := url.Parse(s.URL)
			client, err := transport.Open(t.Context(), s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			p := transport.NewProbe(client, "b")
			if _, err := p.Ask(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := stores.Ask(u.Host, c.off); err != nil {
				t.Fatal(err)
			}
			if _, _, err := transport.Workers(t.Context(), client); err != nil {
				t.Fatalf("%s: it cannot even be read: %v", name, err)
			}
			if _, err := p.Ask(t.Context(), time.Now()); err == nil {
				t.Errorf("%s: the probe took it for well", name)
			}
			if _, err := stores.Ask(u.Host, c.on); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Ask(t.Context(), time.Now()); err != nil || got.Emptied {
				t.Errorf("%s: afterwards %+v, %v", name, got, err)
			}
		}
	})
}

func TestAHeartbeatBringsTheBrokersWordOnRedisClock(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		b, err := transport.Beat(t.Context(), c, heartbeat("a", 1), time.Minute)
		if err != nil || !b.Looked.IsZero() {
			t.Fatalf("no broker has looked: %+v, %v", b, err)
		}
		const ahead = 600 * time.Second
		if _, err := transport.NewProbe(c, "b").Ask(t.Context(), time.Now().Add(-ahead)); err != nil {
			t.Fatal(err)
		}
		b, err = transport.Beat(t.Context(), c, heartbeat("a", 1), time.Minute)
		if err != nil || (b.Ahead-ahead).Abs() > time.Second || b.Clock.Sub(b.Looked) > 2*time.Second {
			t.Fatalf("%+v, %v", b, err)
		}
	})
}

// late is a client's hook: what it sends reaches Redis so much later.
type late time.Duration

func (late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		<-time.After(time.Duration(l))
		return next(context.WithoutCancel(ctx), cmd) // on its way, whoever still waits
	}
}

// A Redis that stood still carries out later what was asked of it before.
func TestAProbeThatReachesRedisLateSaysNothingOfClocks(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		if _, err := transport.NewProbe(c, "b").Ask(t.Context(), time.Now()); err != nil { // the script is there
			t.Fatal(err)
		}
		before := c.HGetAll(t.Context(), protocol.KeyClock).Val()
		slow := redis.NewClient(c.Options())
		defer func() { _ = slow.Close() }()
		slow.AddHook(late(1500 * time.Millisecond))
		if _, err := transport.NewProbe(slow, "slow").Ask(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if now := c.HGetAll(t.Context(), protocol.KeyClock).Val(); !maps.Equal(before, now) || len(now) == 0 {
			t.Errorf("the word on Redis' clock was %v, and is %v after a probe that came late", before, now)
		}
	})
}

func TestWhatIsOfAnotherKindIsRemovedAndTold(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, embedded bool) {
		ctx := t.Context()
		group, inbox, probe := transport.NewUplinkGroup(c, "m"), transport.NewInbox(c, "w", 1), transport.NewProbe(c, "b")
		calls := map[string]func() error{
			protocol.KeyUplink:        func() error { _, err := group.Read(ctx, 10, 10*time.Millisecond); return err },
			protocol.KeyInbox("w", 1): func() error { _, _, err := inbox.Read(ctx); return err },
			protocol.KeyWorkers:       func() error { _, _, err := transport.Workers(ctx, c); return err },
			protocol.KeyHolders:       func() error { _, err := transport.Beat(ctx, c, heartbeat("a", 1), time.Minute); return err },
			protocol.KeyClock:         func() error { _, err := probe.Ask(ctx, time.Now()); return err },
			protocol.KeyProbe("b"):    func() error { _, err := probe.Ask(ctx, time.Now()); return err },
		}
		if embedded {
			delete(calls, protocol.KeyInbox("w", 1)) // miniredis reads any key as a stream, an empty one
		}
		for key, call := range calls {
			if err := call(); err != nil {
				t.Fatalf("%s, unharmed: %v", key, err)
			}
			c.Del(ctx, key)
			if err := c.RPush(ctx, key, "poison").Err(); err != nil {
				t.Fatal(err)
			}
			if err := call(); !errors.Is(err, transport.ErrForeign) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v, want that it held what is not AX's", key, err)
			}
			if err := call(); err != nil {
				t.Errorf("%s is not mended: %v", key, err)
			}
		}
	})
}

// Words in the registry that no worker ever wrote keep no worker out.
func TestAHolderThatCannotBeReadHoldsNothing(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		for _, text := range []string{"", "rubbish", "uid one 5", "uid 1 never", "a b c d"} {
			c.HSet(t.Context(), protocol.KeyHolders, "w1", text)
			if b, err := transport.Beat(t.Context(), c, heartbeat("a", 1), time.Minute); err != nil || b.Holder != "" {
				t.Errorf("%q: %+v, %v", text, b, err)
			}
		}
	})
}

// A stamp that Redis' own clock has fallen behind of is no reason to keep a name for ever.
func TestANameIsFreeAgainThoughRedisClockWasSetBack(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		const lost = 300 * time.Millisecond
		ahead := time.Now().Add(10 * time.Minute).UnixMilli()
		c.HSet(t.Context(), protocol.KeyHolders, "w1", fmt.Sprintf("dead 7 %d", ahead))
		if b, err := transport.Beat(t.Context(), c, heartbeat("a", 1), lost); err != nil || b.Holder == "" {
			t.Fatalf("nobody knows yet that the holder is dead: %+v, %v", b, err)
		}
		within(t, 5*time.Second, "the name is free", func() bool {
			b, err := transport.Beat(t.Context(), c, heartbeat("a", 1), lost)
			return err == nil && b.Holder == ""
		})
	})
}

func TestStrikingALifeTouchesNoOther(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		has := func() bool { return c.HExists(t.Context(), protocol.KeyWorkers, "w1").Val() }
		if _, err := transport.Beat(t.Context(), c, heartbeat("a", 4), time.Minute); err != nil {
			t.Fatal(err)
		}
		for boot, left := range map[int64]bool{3: true, 5: true} {
			if err := transport.Strike(t.Context(), c, "w1", boot); err != nil || has() != left {
				t.Errorf("striking boot %d off leaves it: %v, %v", boot, has(), err)
			}
		}
		if err := transport.Strike(t.Context(), c, "w1", 4); err != nil || has() || c.HExists(t.Context(), protocol.KeyHolders, "w1").Val() {
			t.Errorf("it stands there still, %v", err)
		}
		c.HSet(t.Context(), protocol.KeyWorkers, "w1", "left alone") // its holder was lost some other way
		if err := transport.Strike(t.Context(), c, "w1", 4); err != nil || has() {
			t.Errorf("what nobody holds stays, %v", err)
		}
	})
}

// Who may no longer write can still hear what it is to stop, and hears nothing twice.
func TestAnInboxIsReadOnWhereNothingMayBeRemoved(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		s := server(t)
		u, _ := url.Parse(s.URL)
		c, err := transport.Open(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := stores.Ask(u.Host, "ACL SETUSER cut on >pw ~* &* +@all"); err != nil {
			t.Fatal(err)
		}
		cut, err := transport.Dial("redis://cut:pw@" + u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cut.Close() }()
		in := transport.NewInbox(cut, "w", 1)
		var heard []int64
		hear := func() {
			t.Helper()
			got, bad, err := in.Read(t.Context())
			if err != nil || bad != 0 {
				t.Fatalf("%v, %d bad", err, bad)
			}
			for _, d := range got {
				heard = append(heard, d.Kill.Attempt)
			}
		}
		tell := func(id int64) {
			t.Helper()
			if err := transport.Write(t.Context(), c, transport.InboxEntry("w", 1, protocol.Downlink{Kill: &protocol.Kill{Attempt: id}})); err != nil {
				t.Fatal(err)
			}
		}
		tell(1)
		hear()
		if _, err := stores.Ask(u.Host, "ACL SETUSER cut -@write"); err != nil {
			t.Fatal(err)
		}
		tell(2)
		hear()
		tell(3)
		hear()
		if _, err := stores.Ask(u.Host, "ACL SETUSER cut +@all"); err != nil {
			t.Fatal(err)
		}
		tell(4)
		hear()
		if fmt.Sprint(heard) != "[1 2 3 4]" {
			t.Errorf("heard %v", heard)
		}
		hear()
		if n := c.XLen(t.Context(), protocol.KeyInbox("w", 1)).Val(); n != 0 {
			t.Errorf("%d entries are left", n)
		}
	})
}

func TestURLsOfSentinelsAreToldApart(t *testing.T) {
	for rawURL, wrong := range map[string]string{
		"redis-sentinel://u:sesame@127.0.0.1:1,127.0.0.1:2/m/3?sentinel_password=sesame": "",
		"rediss-sentinel://[::1]:26379/m":                                                "",
		"redis-sentinel://:sesame@a/m":                                                   "host:port",
		"redis-sentinel://:sesame@a:1,b/m":                                               "host:port",
		"redis-sentinel://:sesame@a:1":                                                   "master is missing",
		"redis-sentinel://:sesame@a:1/m/x":                                               "no number",
		"redis-sentinel://a:1/m?password=sesame":                                         "no option",
		"redis-sentinel://:sesame%zz@a:1/m":                                              "percent-encoded",
	} {
		c, err := transport.Dial(rawURL)
		if (wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", rawURL, err, wrong)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the password is told: %v", err)
		}
		if err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			_, err = transport.Open(ctx, rawURL)
			cancel()
			if err == nil || strings.Contains(err.Error(), "sesame") {
				t.Errorf("%s answers, or tells the password: %v", rawURL, err)
			}
			_ = c.Close()
		}
	}
}

func TestWhoHeldANameLast(t *testing.T) {
	each(t, func(t *testing.T, c *redis.Client, _ bool) {
		l := &transport.Link{Transport: c, Registry: c}
		want := func(uid string, boot int64) {
			t.Helper()
			if u, b, err := l.Holder(t.Context(), "w1"); err != nil || u != uid || b != boot {
				t.Errorf("%q boot %d, %v; want %q boot %d", u, b, err, uid, boot)
			}
		}
		want("", 0)
		if _, err := transport.Beat(t.Context(), c, heartbeat("a", 4), time.Minute); err != nil {
			t.Fatal(err)
		}
		want("a", 4)
		for _, text := range []string{"rubbish", "a b c", "a 99999999999999999999 5"} {
			c.HSet(t.Context(), protocol.KeyHolders, "w1", text)
			want("", 0)
		}
	})
}
