package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/axsched/ax/e2e/setup/stores"
)

// smallDisk is a data directory on a file system of so many bytes.
func smallDisk(t *testing.T, size int64) (string, *stores.Volume) {
	t.Helper()
	dir := t.TempDir()
	v, err := stores.Mount(dir, size)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("file systems may not be mounted here: nothing was tested on a full disk")
	}
	must(t, err)
	t.Cleanup(func() { must(t, v.Unmount()) })
	return dir, v
}

func full(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// startUntilFull starts attempts from first on until the disk refuses one, and returns that one.
func startUntilFull(t *testing.T, j *Journal, first int64) int64 {
	t.Helper()
	for id := first; ; id++ {
		switch err := j.Started(Start{Attempt: id, At: at, Body: make([]byte, 900)}); {
		case full(err):
			return id
		case err != nil || id > first+10_000:
			t.Fatalf("attempt %d on a full disk: %v", id, err)
		}
	}
}

// While the disk is full nothing starts and every outcome is kept; with room again all of that is on the disk, and the
// starts that were refused never were.
func TestAFullDiskStopsStartsAndLosesNoOutcome(t *testing.T) {
	dir, disk := smallDisk(t, 4<<20)
	j, _ := mustOpen(t, dir)
	must(t, j.Started(Start{Attempt: 1, At: at}, Start{Attempt: 2, At: at}, Start{Attempt: 3, At: at}))
	must(t, disk.Fill())
	refused := startUntilFull(t, j, 100)
	if err := j.Ended(Outcome{Attempt: 1, At: at, Body: []byte("one")}); !full(err) {
		t.Errorf("an outcome on a full disk: %v", err)
	}
	if err := j.Ended(Outcome{Attempt: 2, At: at, Body: []byte("two")}); !full(err) {
		t.Errorf("an outcome on a full disk: %v", err)
	}
	must(t, j.Confirmed(at, 2))
	if err := j.Started(Start{Attempt: 4, At: at}); !full(err) || !full(j.Err()) {
		t.Errorf("a start on a full disk: %v, %v", err, j.Err())
	}
	if err := j.Resume(); !full(err) || !full(j.Err()) {
		t.Errorf("resumed on a full disk: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, logName+".tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what could not be written takes room still: %v", err)
	}
	must(t, disk.Clear())
	must(t, j.Resume())
	if j.Err() != nil {
		t.Errorf("resumed, and %v", j.Err())
	}
	must(t, j.Started(Start{Attempt: 5, At: at}))
	must(t, j.Close())
	_, st := mustOpen(t, dir)
	if len(st.Notes) != 0 || !slices.Equal(unconfirmed(st), []int64{1}) || string(st.Unconfirmed[0].Body) != "one" {
		t.Errorf("the next life finds the outcomes %v, notes %v", unconfirmed(st), st.Notes)
	}
	ran := running(st)
	if slices.Contains(ran, refused) || slices.Contains(ran, 4) || slices.Contains(ran, 2) || !slices.Contains(ran, 3) ||
		!slices.Contains(ran, 5) || !slices.Contains(ran, refused-1) {
		t.Errorf("the next life finds as started %v; attempt %d was refused", ran, refused)
	}
}

// Dies with a full disk: what the file holds is true as far as it goes.
func TestALifeThatEndsOnAFullDiskLeavesAReadableJournal(t *testing.T) {
	dir, disk := smallDisk(t, 4<<20)
	j, _ := mustOpen(t, dir)
	must(t, j.Started(Start{Attempt: 1, At: at}))
	must(t, disk.Fill())
	refused := startUntilFull(t, j, 100)
	if err := j.Ended(Outcome{Attempt: 1, At: at}); !full(err) {
		t.Errorf("an outcome on a full disk: %v", err)
	}
	must(t, j.Close())
	must(t, disk.Clear())
	_, st := mustOpen(t, dir)
	if ran := running(st); len(st.Notes) != 0 || !slices.Contains(ran, 1) || slices.Contains(ran, refused) {
		t.Errorf("the next life finds %v, notes %v; attempt %d was refused", ran, st.Notes, refused)
	}
}

// Little room is as good as none: a journal that went on at once would be refused again with the next starts.
func TestAJournalGoesOnOnlyWithRoom(t *testing.T) {
	dir, disk := smallDisk(t, resumeRoom/2)
	j, _ := mustOpen(t, dir)
	must(t, disk.Fill())
	startUntilFull(t, j, 100)
	must(t, disk.Clear())
	if err := j.Resume(); !full(err) {
		t.Errorf("resumed with half of the room that it needs: %v", err)
	}
}

// A log that cannot be made shorter is still whole: the batch that made it too long stands.
func TestAShorteningThatFailsLosesNothing(t *testing.T) {
	dir, disk := smallDisk(t, 4<<20)
	j, _ := mustOpen(t, dir)
	body := make([]byte, 300<<10)
	for id := range int64(3) {
		must(t, j.Started(Start{Attempt: id, At: at, Body: body}))
		must(t, j.Confirmed(at, id))
	}
	keep := make([]byte, 200<<10)
	must(t, os.WriteFile(filepath.Join(dir, "keep"), keep, 0o600))
	must(t, disk.Fill())
	must(t, os.Remove(filepath.Join(dir, "keep")))
	must(t, j.Started(Start{Attempt: 9, At: at, Body: keep[:150<<10]})) // over 1 MB, and no room for another log
	if !full(j.Err()) {
		t.Fatalf("the log could be rewritten: %v", j.Err())
	}
	must(t, j.Close())
	must(t, disk.Clear())
	if _, st := mustOpen(t, dir); !slices.Equal(running(st), []int64{9}) {
		t.Errorf("the next life finds %v", running(st))
	}
}
