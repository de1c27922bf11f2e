package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/journal"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

// A copy of a live worker's folder takes neither its name nor its tasks, under whatever name it starts.
func TestACopyOfALiveWorkersFolderDoesNoHarm(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		data, pid := t.TempDir(), filepath.Join(t.TempDir(), "pid")
		n := start(t, l, worker.Config{Data: data})
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, "echo $$ > "+pid+"; exec sleep 60"))
		within(t, 10*time.Second, "it runs", func() bool { return countLines(t, pid) == 1 })
		for _, name := range []string{"w1", "w2", ""} {
			other := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(other, os.DirFS(data)); err != nil {
				t.Fatal(err)
			}
			for try := range 3 { // as a supervisor starts it again and again
				w, err := worker.Open(worker.Config{Data: other, Name: name}, l, executors)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Run(t.Context()); !errors.Is(err, worker.ErrNameHeld) || !strings.Contains(err.Error(), other) {
					t.Fatalf("start %d of a copy as %q ended with %v", try+1, name, err)
				}
			}
		}
		if !alive(t, pid) {
			t.Error("the live worker's task was killed")
		}
		if c.report(1) != nil {
			t.Errorf("somebody reported %+v of a task that runs", c.report(1))
		}
		c.send(n.boot, "m2", protocol.LaneHigh, nothing(2))
		c.await(2, protocol.OutcomeSuccess)
	})
}

// A copy of a folder whose life is silent has the name when it has listened for a while, and goes on where that ended.
func TestACopyOfADeadWorkersFolderGoesOn(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		data, other := t.TempDir(), filepath.Join(t.TempDir(), "copy")
		j, st, err := journal.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		dead := protocol.Heartbeat{Name: "w1", UID: st.UID, Boot: st.Boot}
		if _, err := transport.Beat(t.Context(), l.Registry, dead, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(other, os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
		if n := start(t, l, worker.Config{Data: other, LostAfter: time.Minute}); n.Boot() != 2 {
			t.Errorf("boot %d, want 2", n.Boot())
		}
	})
}

// What ran where this process can't look may run on: it is reported once its watchdog must have ended it, and nothing
// is said to be killed.
func TestWhatAnEarlierLifeRanOutOfSightIsToldLate(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		c := newCenter(t, l).run()
		data := t.TempDir()
		j, _, err := journal.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Minute)
		err = errors.Join(j.Started(journal.Start{Attempt: 1, At: at}, journal.Start{Attempt: 2, At: at, Body: []byte("far away")}), j.Close())
		if err != nil {
			t.Fatal(err)
		}
		first := start(t, l, worker.Config{Data: data})
		first.stop()
		if err := first.end(t); err != nil {
			t.Fatal(err)
		}
		clock := &jump{}
		n := start(t, l, worker.Config{Data: data, Boot: clock.now})
		told := func() bool { return c.report(1) != nil || c.report(2) != nil }
		c.send(n.boot, "m1", protocol.LaneHigh, nothing(3))
		c.await(3, protocol.OutcomeSuccess)
		clock.by(30 * time.Second)
		c.send(n.boot, "m2", protocol.LaneHigh, sh(4, "sleep 1")) // a second, and a journal and an uplink that work
		c.await(4, protocol.OutcomeSuccess)
		if told() {
			t.Fatal("reported as lost while it may run")
		}
		clock.by(5 * time.Second)
		for _, id := range []int64{1, 2} {
			r := c.await(id, protocol.OutcomeWorkerLost)
			if !strings.Contains(r.Message, "killed nothing") || r.Started != at.UnixMilli() || r.Finished < r.Started {
				t.Errorf("reported %+v", r)
			}
		}
		within(t, 5*time.Second, "all is confirmed", func() bool { return n.Status().Unconfirmed == 0 })
	})
}
