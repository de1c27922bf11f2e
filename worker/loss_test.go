package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// The connection is gone as tasks end: their outcomes are told from the journal. (J-C16)
func TestOutcomesArriveAfterRedisWasGoneAndCameBackEmpty(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redisServer(t)
		wire, near := lay(t, server.URL)
		c := newCenter(t, dial(t, server.URL)).run()
		n := start(t, dial(t, near), worker.Config{})
		file := filepath.Join(t.TempDir(), "ran")
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo ran >> "+file+"; sleep 2; echo bye"), sh(2, "echo ran >> "+file+"; sleep 7"))
		within(t, 10*time.Second, "both run", func() bool { return countLines(t, file) == 2 })
		wire.sever(true)
		time.Sleep(5 * time.Second) // the outage that this test is about
		if c.report(1) != nil {
			t.Fatal("the cable was not cut")
		}
		if err := c.link.Transport.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		wire.sever(false)
		mended := time.Now()
		c.await(1, protocol.OutcomeSuccess)
		c.await(2, protocol.OutcomeSuccess)
		t.Logf("both outcomes were there %s after Redis' return", time.Since(mended).Round(10*time.Millisecond))
		within(t, 40*time.Second, "the log is whole", func() bool { return strings.Contains(c.log(1), "bye") })
		within(t, 5*time.Second, "nothing is left unconfirmed", func() bool { return n.Status().Unconfirmed == 0 })
		c.send(n.boot, "m2", protocol.LaneHigh, nothing(3))
		c.await(3, protocol.OutcomeSuccess)
		if ran := countLines(t, file); ran != 2 {
			t.Errorf("%d runs, want 2", ran)
		}
	})
}

func TestAWorkerKilledInMidRunLeavesNothingAndItsNextBootReportsIt(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redisServer(t)
		l := dial(t, server.URL)
		c := newCenter(t, l).run()
		data, dir := t.TempDir(), t.TempDir()
		cmd, at := spawn(t, server.URL, data, 1)
		c.send(at, "m1", protocol.LaneHigh,
			sh(1, fmt.Sprintf("echo begun; setsid sh -c 'echo $$ > %[1]s/child; exec sleep 300' & echo $$ > %[1]s/leader; wait", dir)))
		within(t, 20*time.Second, "it runs", func() bool {
			return countLines(t, dir+"/child") == 1 && countLines(t, dir+"/leader") == 1 && strings.Contains(c.log(1), "begun")
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		within(t, 10*time.Second, "no process is left", func() bool { return !alive(t, dir+"/child") && !alive(t, dir+"/leader") })
		began := time.Now()
		n := start(t, l, worker.Config{Data: data}) // the same name at once: a higher boot of the same directory
		if n.Boot() != 2 {
			t.Errorf("boot %d, want 2", n.Boot())
		}
		r := c.await(1, protocol.OutcomeWorkerLost)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("settled after %s", took)
		}
		if r.Started == 0 || r.LogLines != 1 {
			t.Errorf("reported %+v, want its start and one line", r)
		}
		within(t, 5*time.Second, "its spool is emptied", func() bool {
			left, err := os.ReadDir(filepath.Join(data, "logs"))
			return err == nil && len(left) == 0
		})
	})
}

// An outcome is told until it is confirmed, by the next life too. (J-C16)
func TestUnconfirmedOutcomesOutliveTheWorker(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l)
		c.mute = true
		c.run()
		data := t.TempDir()
		n := start(t, l, worker.Config{Data: data})
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo kept; exit 4"), nothing(2))
		c.await(1, protocol.OutcomeError)
		c.await(2, protocol.OutcomeSuccess)
		within(t, 10*time.Second, "an unconfirmed outcome is sent again", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.reports[1]) > 1 && len(c.reports[2]) > 1
		})
		n.stop()
		if err := n.end(t); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.mute, c.reports, c.lines = false, map[int64][]protocol.Report{}, map[int64]map[int64]string{}
		c.mu.Unlock()
		n = start(t, l, worker.Config{Data: data})
		if r := c.await(1, protocol.OutcomeError); r.ExitCode == nil || *r.ExitCode != 4 {
			t.Errorf("reported %+v, want exit code 4", r)
		}
		c.await(2, protocol.OutcomeSuccess)
		within(t, 5*time.Second, "the log is shipped again", func() bool { return strings.Contains(c.log(1), "kept") })
		within(t, 5*time.Second, "all is confirmed", func() bool { return n.Status().Unconfirmed == 0 })
		n.stop()
		if err := n.end(t); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.reports = map[int64][]protocol.Report{}
		c.mu.Unlock()
		n = start(t, l, worker.Config{Data: data})
		if s := n.Status(); s.Unconfirmed != 0 {
			t.Errorf("the third life still has %d outcomes", s.Unconfirmed)
		}
	})
}

func TestAWaitTaskEndsWhenNoHeartbeatIsAnswered(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		server := redisServer(t)
		wire, near := lay(t, server.URL)
		c := newCenter(t, dial(t, server.URL)).run()
		clock := &jump{}
		n := start(t, dial(t, near), worker.Config{Boot: clock.now})
		dir := t.TempDir()
		late, rather := sh(1, "echo $$ > "+dir+"/wait; exec sleep 300"), sh(2, "echo $$ > "+dir+"/retry; exec sleep 300")
		late.Timeout, rather.Timeout = 0, 0
		late.OnLost = protocol.OnLostWait
		c.send(n.boot, "m1", protocol.LaneHigh, late, rather)
		within(t, 10*time.Second, "both run", func() bool { return countLines(t, dir+"/wait") == 1 && countLines(t, dir+"/retry") == 1 })
		wire.sever(true)
		clock.by(25 * time.Second)
		time.Sleep(1500 * time.Millisecond) // a heartbeat goes unanswered meanwhile
		if !alive(t, dir+"/wait") {
			t.Error("killed before 30 s of silence")
		}
		clock.by(5 * time.Second)
		within(t, 10*time.Second, "the waiting one is killed", func() bool { return !alive(t, dir+"/wait") })
		if !alive(t, dir+"/retry") {
			t.Error("the other was killed too")
		}
		wire.sever(false)
		c.await(1, protocol.OutcomeWorkerLost)
		c.tell(n.boot, protocol.Downlink{Kill: &protocol.Kill{Attempt: 2}})
		c.await(2, protocol.OutcomeKilled)
	})
}
