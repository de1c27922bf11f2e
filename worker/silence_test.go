package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
)

// A machine that slept, or a worker that was frozen, hears an answer again before it notices that it heard none for
// long: what must be late rather than twice was given to somebody else meanwhile.
func TestNothingThatWaitsOutlivesASilenceThatHasJustEnded(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redisServer(t)
		c := newCenter(t, dial(t, server.URL)).run()
		clock := &jump{}
		n := start(t, dial(t, server.URL), worker.Config{Boot: clock.now, Lanes: map[string]int{protocol.LaneHigh: 2}})
		dir := t.TempDir()
		late, rather, queued := sh(1, "echo $$ > "+dir+"/wait; exec sleep 300"), sh(2, "echo $$ > "+dir+"/retry; exec sleep 300"),
			sh(3, "echo $$ > "+dir+"/queued; exec sleep 300")
		late.OnLost, queued.OnLost = protocol.OnLostWait, protocol.OnLostWait
		late.Timeout, rather.Timeout, queued.Timeout = 0, 0, 0
		c.send(n.boot, "m1", protocol.LaneHigh, late, rather, queued)
		within(t, 10*time.Second, "two run, the third waits for a thread", func() bool {
			return countLines(t, dir+"/wait") == 1 && countLines(t, dir+"/retry") == 1 && n.Status().Queued == 1
		})
		clock.by(27 * time.Second)
		time.Sleep(2 * time.Second) // a heartbeat or two of that silence are answered
		if !alive(t, dir+"/wait") {
			t.Fatal("killed although it was silent for less than 30 s")
		}
		clock.by(31 * time.Second)
		c.await(1, protocol.OutcomeWorkerLost)
		c.await(3, protocol.OutcomeWorkerLost)
		if countLines(t, dir+"/queued") != 0 {
			t.Error("what waited for a thread meanwhile was started")
		}
		if !alive(t, dir+"/retry") {
			t.Error("one that may run twice was killed too")
		}
		c.tell(n.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: 2}})
		c.await(2, protocol.OutcomeKilled)
	})
}

// Where Redis takes no writes, the worker does not call it out of reach, and says of what it ended for it why it did.
func TestARedisThatTakesNoWritesIsNotCalledOutOfReach(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redisServer(t)
		c := newCenter(t, dial(t, server.URL)).run()
		clock := &jump{}
		n := start(t, dial(t, server.URL), worker.Config{Boot: clock.now})
		file := t.TempDir() + "/wait"
		late := sh(1, "echo $$ > "+file+"; exec sleep 300")
		late.OnLost, late.Timeout = protocol.OnLostWait, 0
		c.send(n.boot, "m1", protocol.LaneDefault, late)
		within(t, 10*time.Second, "it runs", func() bool { return countLines(t, file) == 1 })
		order := func(limit string) {
			t.Helper()
			if err := rawRedis(t, server.URL).ConfigSet(t.Context(), "maxmemory", limit).Err(); err != nil {
				t.Fatal(err)
			}
		}
		order("1")
		clock.by(31 * time.Second)
		within(t, 5*time.Second, "readiness says what is wrong", func() bool {
			return strings.Contains(n.Status().Error, "Redis answers and takes no writes: OOM")
		})
		within(t, 10*time.Second, "it is ended", func() bool { return !alive(t, file) })
		order("0")
		if r := c.await(1, protocol.OutcomeWorkerLost); !strings.Contains(r.Message, "s because Redis took no writes: OOM") {
			t.Errorf("it reads %q", r.Message)
		}
	})
}

// rawRedis is a client for orders that are none of AX' own.
func rawRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
