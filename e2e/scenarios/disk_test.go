package scenarios

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup"
	"github.com/axsched/ax/e2e/setup/stores"
)

// A worker's disk is full: what runs there ends well, nothing is lost nor run twice, people are told in every place where
// they look, and it goes on by itself.
func TestAWorkersFullDiskStopsNewWorkAndIsTold(t *testing.T) {
	t.Parallel()
	setup.Real(t, func(t *testing.T, s *setup.Site) {
		data := t.TempDir()
		disk, err := stores.Mount(data, 8<<20)
		if errors.Is(err, fs.ErrPermission) {
			t.Skip("file systems may not be mounted here: nothing was tested on a full disk")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = disk.Unmount() })
		c := s.Client(t, s.Center(t, setup.Opts{}))
		w := s.Worker(t, setup.Opts{Name: "small", Data: data})
		d := s.Diary(t)
		go1 := c.Path("go")
		c.Apply(files(
			shellJob("long", d.Command("long", "{ echo before; while ! test -e "+go1+"; do sleep 0.1; done; }"), "timeout: 300", "on_worker_lost: hold"),
			shellJob("little", d.Command("little", "true"), "overlap: allow", "on_worker_lost: hold")))
		long := c.Trigger("long")
		c.Await(long.ID, "running/executing")
		if err := disk.Fill(); err != nil {
			t.Fatal(err)
		}
		workers := func() string { return c.Must("workers") }
		var little []string
		setup.Until(t, awaited, "the list of workers says that its disk is full", func() bool {
			if len(little) < 100 {
				little = append(little, c.Trigger("little").ID)
			}
			return strings.Contains(workers(), "refusing: disk full (no space left on device) since ")
		}, workers)
		waits := c.Trigger("little").ID
		little = append(little, waits)
		setup.Until(t, awaited, "why says so", func() bool {
			return strings.Contains(c.Must("why", waits), "small: disk full (no space left on device)")
		},
			func() string { return c.Must("why", waits) })
		setup.Until(t, awaited, "an incident says so", func() bool { return strings.Contains(c.Must("incidents", "--open", "--kind", "disk"), "small") },
			func() string { return c.Must("incidents") })
		if !w.Alive() || c.Instance(long.ID).Status() != "running/executing" {
			t.Errorf("what ran is %s: %s", c.Instance(long.ID).Status(), w.Tail(20))
		}
		if err := touch(go1); err != nil {
			t.Fatal(err)
		}
		c.Await(long.ID, "success")
		if got := c.Instance(waits).Status(); got != "running/queued" {
			t.Errorf("what waits for room is %s", got)
		}
		if err := disk.Clear(); err != nil {
			t.Fatal(err)
		}
		mended := time.Now()
		for _, id := range little {
			c.Await(id, "success")
		}
		t.Logf("%d waited or ran; all had ended %s after there was room", len(little), time.Since(mended).Round(10*time.Millisecond))
		if n, m := len(d.Of("start", "")), len(d.Of("end", "")); n != len(little)+1 || m != n {
			t.Errorf("%d starts and %d ends of %d instances", n, m, len(little)+1)
		}
		setup.Until(t, 2*time.Minute, "the incident is over", func() bool { return !strings.Contains(c.Must("incidents", "--open", "--kind", "disk"), "small") },
			func() string { return c.Must("incidents") })
	})
}
