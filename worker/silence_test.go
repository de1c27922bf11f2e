package worker_test

import (
	"testing"
	"time"

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
