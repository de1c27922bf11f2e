package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// Rubbish stands in every queue, stream, hash and channel of AX, first as entries, then in the place of whole keys. It
// is removed and counted, work goes on, and the loss of a worker is made good as ever. (G-I3)
func TestPoisonInEveryQueueAndStream(t *testing.T) {
	t.Parallel()
	privately(t, func(t *testing.T, s *setup.Site, redis *stores.Server) {
		center := s.Center(t, setup.Opts{Env: hurried})
		c, d := s.Client(t, center), s.Diary(t)
		worker := s.Worker(t, setup.Opts{Name: "w", Env: hurried})
		gate := c.Path("go")
		c.Apply(files(shellJob("short", d.Command("short", "echo said")), gated(d, "long", gate)))
		c.Await(c.Trigger("short").ID, "success")
		client, err := transport.Dial(redis.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		do := func(args ...any) {
			t.Helper()
			if err := client.Do(t.Context(), args...).Err(); err != nil {
				t.Fatalf("%v: %v", args, err)
			}
		}
		queue := "asynq:{" + protocol.Queue("w", 1, protocol.LaneDefault) + "}:"
		inbox := protocol.KeyInbox("w", 1)
		do("HSET", queue+"t:bad", "msg", "\x00\xffgarbage", "state", "pending")
		do("LPUSH", queue+"pending", "ghost", "bad")
		for _, key := range []string{protocol.KeyUplink, protocol.KeyLogs, inbox} {
			do("XADD", key, "*", protocol.EntryField, "rubbish{")
			do("XADD", key, "*", "other", "field")
		}
		do("XADD", protocol.KeyUplink, "*", protocol.EntryField, `{"worker":"nobody","boot":1,"claim":{"message":"m","nonce":"n","ids":[-1,0,9223372036854775807]}}`)
		do("XADD", protocol.KeyUplink, "*", protocol.EntryField, `{"worker":"w","boot":1,"reports":[{"attempt":1,"outcome":"wonderful","message":"\u0000"}]}`)
		do("PUBLISH", protocol.ChannelNudge, "rubbish")
		do("HSET", protocol.KeyWorkers, "ghost", "{", "w2", `{"name":"other"}`)
		do("HSET", protocol.KeyHolders, "ghost", "rubbish")
		in := c.Trigger("short")
		c.Await(in.ID, "success")
		c.AwaitLog(in.ID, "said")
		counted := func(p *setup.Process, name string, least float64) {
			t.Helper()
			setup.Until(t, awaited, name+" counts what was removed", func() bool { return figure(t, p, name) >= least }, func() string { return p.Tail(20) })
		}
		counted(center, "ax_poison_entries_total", 5)
		counted(worker, "ax_worker_damaged_entries_total", 2)

		for _, key := range []string{protocol.KeyUplink, protocol.KeyLogs, inbox, queue + "pending", protocol.KeyWorkers, protocol.KeyHolders, protocol.KeyClock} {
			do("DEL", key)
			do("SET", key, "poison")
		}
		in = c.Trigger("short")
		c.Await(in.ID, "success")
		c.AwaitLog(in.ID, "said")
		counted(worker, "ax_worker_poison_messages_total", 1)
		for _, key := range []string{protocol.KeyUplink, protocol.KeyLogs} {
			if kind := client.Type(t.Context(), key).Val(); kind == "string" {
				t.Errorf("%s is a %s still", key, kind)
			}
		}

		long := c.Trigger("long")
		c.Await(long.ID, "running/executing")
		s.Worker(t, setup.Opts{Name: "other", Env: hurried})
		worker.Kill()
		setup.Until(t, awaited, "the loss of the worker is made good", func() bool { return len(d.Of("start", long.TraceID)) == 2 },
			func() string { return c.Instance(long.ID).String() })
		if err := touch(gate); err != nil {
			t.Fatal(err)
		}
		c.Await(long.ID, "success")
		setup.Until(t, awaited, "nothing of the dead worker is left in Redis", func() bool {
			keys := client.Keys(t.Context(), "*w:1*").Val()
			return len(keys) == 0 && !client.HExists(t.Context(), protocol.KeyWorkers, "w").Val() && !client.HExists(t.Context(), protocol.KeyHolders, "w").Val()
		}, func() string { return strings.Join(client.Keys(t.Context(), "*").Val(), "\n") })
		if lost := time.Since(instant(t, long.ExpectedTime)); lost > 2*time.Minute {
			t.Errorf("it took %s", lost)
		}
	})
}
