package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axsched/ax/e2e/setup/stores"
)

// smallDisk is a spool on a file system of so many bytes.
func smallDisk(t *testing.T, size int64, l Limits) (*Spool, *stores.Volume) {
	t.Helper()
	dir := t.TempDir()
	v, err := stores.Mount(dir, size)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("file systems may not be mounted here: nothing was tested on a full disk")
	}
	must(t, err)
	t.Cleanup(func() { must(t, v.Unmount()) })
	s, err := OpenSpool(dir+"/logs", l)
	must(t, err)
	return s, v
}

// numbered writes lines first to last, one by one, at a time.
func numbered(c *Capture, first, last int, at time.Time) {
	for i := first; i <= last; i++ {
		c.Write(Out, at, fmt.Appendf(nil, "line %05d\n", i))
	}
}

// Output that a full disk refuses is counted, what comes once there is room is kept, and each line is kept or counted,
// with its true number, wherever the disk was full: in the head, before the first byte, or among segments of the tail.
func TestALogGoesOnWhenTheDiskHasRoomAgain(t *testing.T) {
	for name, limits := range map[string]Limits{"head": {}, "tail": {Head: 4_000, Tail: 1 << 20}, "short tail": {Head: 4_000, Tail: 16_000}} {
		for _, before := range []int{0, 3, 600} {
			t.Run(fmt.Sprintf("%s after %d lines", name, before), func(t *testing.T) {
				s, disk := smallDisk(t, 4<<20, limits)
				c := s.Create(5)
				numbered(c, 1, before, t0)
				must(t, disk.Fill())
				numbered(c, before+1, before+1000, t0.Add(time.Second))
				if !errors.Is(c.Err(), syscall.ENOSPC) {
					t.Fatalf("the disk refused nothing: %v", c.Err())
				}
				must(t, disk.Clear())
				numbered(c, before+1001, before+1010, t0.Add(time.Second+tryEach/2)) // too soon for another try
				numbered(c, before+1011, before+1300, t0.Add(3*time.Second))
				c.Finish(t0.Add(4 * time.Second))
				lines := readAll(t, c, 70)
				last := lines[len(lines)-1]
				if last.Stream != Sys || last.Text != "output is missing above that the worker could not write: no space left on device" {
					t.Errorf("it ends with %+v", last)
				}
				whole(t, lines[:len(lines)-1], before+1300, c.Stats())
				if text := texts(lines); !strings.Contains(text, fmt.Sprintf("line %05d|", before+1011)) || !strings.Contains(text, fmt.Sprintf("line %05d|", before+1300)) {
					t.Error("what came after there was room again is not kept")
				}
				ids, err := s.Attempts()
				must(t, err)
				if !slices.Equal(ids, []int64{5}) {
					t.Errorf("the spool holds the output of %v", ids)
				}
				again, err := s.Reopen(5)
				must(t, err)
				if got, want := texts(readAll(t, again, 70)), texts(lines[:len(lines)-1]); got != want {
					t.Errorf("the next life reads\n%.300s\nwant\n%.300s", got, want)
				}
				must(t, again.Remove())
				if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
					t.Errorf("left: %v, %v", left, err)
				}
			})
		}
	}
}

// whole holds that lines 1 to total are each there or counted as dropped, once and in order.
func whole(t *testing.T, lines []Line, total int, st Stats) {
	t.Helper()
	next, dropped, raw := int64(1), int64(0), int64(0)
	for _, l := range lines {
		switch {
		case l.N != next:
			t.Fatalf("line %d where %d was due: %+v", l.N, next, l)
		case l.DroppedLines > 0:
			next, dropped, raw = next+l.DroppedLines, dropped+l.DroppedLines, raw+l.DroppedBytes
		case l.Text != fmt.Sprintf("line %05d", l.N):
			t.Fatalf("line %d reads %q", l.N, l.Text)
		default:
			next++
		}
	}
	if next != int64(total)+1 || st.Lines != int64(total) || st.DroppedLines != dropped || st.DroppedBytes != raw || raw != dropped*11 {
		t.Errorf("lines up to %d of %d, %d lines and %d bytes dropped; %+v", next-1, total, dropped, raw, st)
	}
}

// A task whose log finds no room is neither ended nor failed for it.
func TestAFullDiskDoesNotFailATask(t *testing.T) {
	b := newBench(t)
	var disk *stores.Volume
	b.spool, disk = smallDisk(t, 1<<20, Limits{})
	must(t, disk.Fill())
	out := b.spool.Create(1)
	res := b.Run(context.Background(), Spec{Attempt: 1, Argv: []string{"/bin/sh", "-c", "seq 1 200000; echo end >&2"}, Env: []string{"PATH=" + os.Getenv("PATH")}}, out)
	out.Finish(time.Now())
	if res.Outcome != Success || res.ExitCode != 0 || out.Stats().Lines != 200_001 || out.Err() == nil {
		t.Errorf("it ended as %+v with %+v", res, out.Stats())
	}
}
