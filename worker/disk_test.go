package worker_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
	"github.com/axsched/ax/worker"
	"github.com/axsched/ax/worker/protocol"
	"github.com/axsched/ax/worker/transport"
)

const diskFull = "disk full (no space left on device)"

// smallDisk is a data directory on a file system of its own.
func smallDisk(t *testing.T) (string, *stores.Volume) {
	t.Helper()
	dir := t.TempDir()
	v, err := stores.Mount(dir, 8<<20)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("file systems may not be mounted here: nothing was tested on a full disk")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return dir, v
}

// fillUp fills the disk and gives the worker so many small tasks that its journal must notice. It returns their ids.
func fillUp(t *testing.T, c *center, n *node, disk *stores.Volume) (ids []int64) {
	t.Helper()
	if err := disk.Fill(); err != nil {
		t.Fatal(err)
	}
	var many []protocol.Task
	for id := int64(1000); id < 1200; id++ {
		many, ids = append(many, nothing(id)), append(ids, id)
	}
	c.send(n.boot, "many", protocol.LaneDefault, many...)
	within(t, 10*time.Second, "the journal notices that the disk is full", func() bool { return n.Status().Disk != "" })
	return ids
}

// A disk that is full stops no task and loses no outcome: the worker takes no work, gives back what has not begun, says
// why, and goes on by itself.
func TestAFullDiskStopsNewWorkOnly(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		data, disk := smallDisk(t)
		c := newCenter(t, l).run()
		n := start(t, l, worker.Config{Data: data, Lanes: map[string]int{protocol.LaneHigh: 1, protocol.LaneDefault: 1}})
		dir := t.TempDir()
		long := sh(1, fmt.Sprintf("echo before; echo $$ > %[1]s/pid; while [ ! -e %[1]s/go ]; do sleep 0.05; done; echo after", dir))
		c.send(n.boot, "m1", protocol.LaneHigh, long, sh(2, "echo never > "+dir+"/never"))
		within(t, 10*time.Second, "one runs and one waits", func() bool {
			s := n.Status()
			return countLines(t, dir+"/pid") == 1 && s.Running == 1 && s.Queued == 1
		})
		ids := fillUp(t, c, n, disk)
		if s := n.Status(); s.Error != "the worker cannot write its journal: "+diskFull {
			t.Errorf("readiness says %q", s.Error)
		}
		if r := c.await(2, protocol.OutcomeRefused); !strings.Contains(r.Message, diskFull) || r.Started != 0 {
			t.Errorf("what waited for a thread is reported as %+v", r)
		}
		within(t, 5*time.Second, "the heartbeat says so", func() bool { return heartbeat(t, l).Disk == diskFull })
		refused := 0
		within(t, 10*time.Second, "every small one has ended or went back", func() bool {
			known := 0
			refused = 0
			for _, id := range ids {
				r := c.report(id)
				if r != nil && r.Outcome == protocol.OutcomeRefused {
					refused++
				}
				if r != nil || c.refusal(id) != "" {
					known++
				}
			}
			return known == len(ids)
		})
		if refused == 0 {
			t.Error("none of the small ones was refused")
		}
		c.send(n.boot, "m2", protocol.LaneHigh, nothing(3))
		within(t, 10*time.Second, "new work is refused with the reason", func() bool { return strings.Contains(c.refusal(3), diskFull) })
		if !alive(t, dir+"/pid") || c.report(1) != nil {
			t.Error("what ran was ended")
		}
		if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := c.await(1, protocol.OutcomeSuccess); r.ExitCode == nil || *r.ExitCode != 0 || r.LogLines != 2 {
			t.Errorf("what ran is reported as %+v", r)
		}
		within(t, 10*time.Second, "its outcome is confirmed with the disk full", func() bool { return n.Status().Unconfirmed == 0 })
		if err := disk.Clear(); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "it takes work again by itself", func() bool { return n.Status().Error == "" && heartbeat(t, l).Disk == "" })
		c.send(n.boot, "m3", protocol.LaneHigh, sh(4, "true"))
		c.await(4, protocol.OutcomeSuccess)
		n.stop()
		if err := n.end(t); err != nil {
			t.Fatal(err)
		}
		if countLines(t, dir+"/never") != 0 {
			t.Error("one that was given back ran")
		}
		again := start(t, l, worker.Config{Data: data})
		if s := again.Status(); s.Unconfirmed != 0 || c.report(1).Outcome != protocol.OutcomeSuccess {
			t.Errorf("the next life has %d outcomes open; the first task's is %q", s.Unconfirmed, c.report(1).Outcome)
		}
	})
}

// An outcome that could only be kept in memory is in the journal once there is room.
func TestAnOutcomeOfAFullDiskIsWrittenDownLater(t *testing.T) {
	each(t, func(t *testing.T, l *transport.Link) {
		data, disk := smallDisk(t)
		c := newCenter(t, l)
		c.mute = true
		c.run()
		n := start(t, l, worker.Config{Data: data})
		dir := t.TempDir()
		c.send(n.boot, "m1", protocol.LaneHigh, sh(1, fmt.Sprintf("echo $$ > %[1]s/pid; while [ ! -e %[1]s/go ]; do sleep 0.05; done; exit 3", dir)))
		within(t, 10*time.Second, "it runs", func() bool { return countLines(t, dir+"/pid") == 1 })
		fillUp(t, c, n, disk)
		if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.await(1, protocol.OutcomeError)
		if err := disk.Clear(); err != nil {
			t.Fatal(err)
		}
		within(t, 5*time.Second, "it takes work again", func() bool { return n.Status().Error == "" })
		n.stop()
		if err := n.end(t); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		c.mute, c.reports = false, map[int64][]protocol.Report{}
		c.mu.Unlock()
		start(t, l, worker.Config{Data: data})
		if r := c.await(1, protocol.OutcomeError); r.ExitCode == nil || *r.ExitCode != 3 {
			t.Errorf("the next life reports %+v", r)
		}
	})
}

// heartbeat is the worker's last one.
func heartbeat(t *testing.T, l *transport.Link) protocol.Heartbeat {
	t.Helper()
	ws, _, err := transport.Workers(t.Context(), l.Registry)
	if err != nil || len(ws) != 1 {
		t.Fatalf("registry: %v, %v", ws, err)
	}
	return ws[0]
}
