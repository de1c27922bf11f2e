package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

var at = time.UnixMilli(1_770_000_000_000)

func mustOpen(t *testing.T, dir string) (*Journal, *State) {
	t.Helper()
	j, st, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, st
}

func running(st *State) []int64 {
	var ids []int64
	for _, s := range st.Running {
		ids = append(ids, s.Attempt)
	}
	return ids
}

func unconfirmed(st *State) []int64 {
	var ids []int64
	for _, o := range st.Unconfirmed {
		ids = append(ids, o.Attempt)
	}
	return ids
}

func TestReplayTellsWhatIsOpen(t *testing.T) {
	dir := t.TempDir()
	j, st := mustOpen(t, dir)
	if st.Boot != 1 || len(st.UID) != 32 || len(st.Running)+len(st.Unconfirmed)+len(st.Notes) != 0 {
		t.Fatalf("a fresh directory says %+v", st)
	}
	uid := st.UID
	must(t, j.Started(Start{Attempt: 1, At: at}, Start{Attempt: 2, At: at, PGID: 77, Body: []byte("two")}))
	must(t, j.Started(Start{Attempt: 3, At: at}))
	must(t, j.Ended(Outcome{Attempt: 3, At: at, Body: []byte("ok 3")}))
	must(t, j.Started(Start{Attempt: 4, At: at}))
	must(t, j.Ended(Outcome{Attempt: 1, At: at, Body: []byte("ok 1")}))
	must(t, j.Ended(Outcome{Attempt: 1, At: at, Body: []byte("a second outcome")}))
	must(t, j.Ended(Outcome{Attempt: 4, At: at, Body: []byte("ok 4")}))
	must(t, j.Confirmed(at, 4))
	must(t, j.Close())

	_, st = mustOpen(t, dir)
	if st.UID != uid || st.Boot != 2 {
		t.Errorf("identity is %s boot %d, want %s boot 2", st.UID, st.Boot, uid)
	}
	if got := running(st); !slices.Equal(got, []int64{2}) {
		t.Errorf("running: %v", got)
	}
	if s := st.Running[0]; s.PGID != 77 || string(s.Body) != "two" || !s.At.Equal(at) {
		t.Errorf("start came back as %+v", s)
	}
	if got := unconfirmed(st); !slices.Equal(got, []int64{3, 1}) {
		t.Errorf("unconfirmed: %v, want the order of the outcomes", got)
	}
	if got := string(st.Unconfirmed[1].Body); got != "ok 1" {
		t.Errorf("outcome of 1 is %q, want the first", got)
	}
}

func TestSecondHolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	_, _, err := Open(dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second Open: %v", err)
	}
	must(t, j.Close())
	if err := j.Started(Start{Attempt: 1, At: at}); !errors.Is(err, ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
	_, st := mustOpen(t, dir)
	if st.Boot != 2 {
		t.Errorf("boot %d: the refused Open must not count", st.Boot)
	}
}

// A life that was killed as it started a task: the child holds the lock until it has become that task.
func TestAChildThatHoldsTheLockForAMomentIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	childs, err := unix.Dup(int(j.lock.Fd()))
	must(t, err)
	must(t, j.Close())
	time.AfterFunc(lockPatience/4, func() { _ = unix.Close(childs) })
	if _, st := mustOpen(t, dir); st.Boot != 2 || st.Doubt {
		t.Errorf("boot %d, doubt %v", st.Boot, st.Doubt)
	}
}

func TestDamagedIdentityIsRefused(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	must(t, j.Close())
	must(t, os.WriteFile(filepath.Join(dir, "identity"), []byte("{}"), 0o600))
	if _, _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "identity") {
		t.Fatalf("Open: %v", err)
	}
}

func TestFileStaysBoundedWhenConfirmed(t *testing.T) {
	dir := t.TempDir()
	j, _ := mustOpen(t, dir)
	must(t, j.Started(Start{Attempt: 1, At: at}))
	must(t, j.Ended(Outcome{Attempt: 2, At: at, Body: []byte("kept")}))
	body := bytes.Repeat([]byte("x"), 32<<10)
	for id := int64(10); id < 400; id++ { // 25 MB in all
		must(t, j.Started(Start{Attempt: id, At: at, Body: body}))
		must(t, j.Ended(Outcome{Attempt: id, At: at, Body: body}))
		must(t, j.Confirmed(at, id))
	}
	must(t, j.Close())
	info, err := os.Stat(filepath.Join(dir, logName))
	must(t, err)
	if info.Size() > compactMin+128<<10 {
		t.Errorf("the log has %d bytes though all but two attempts are settled", info.Size())
	}
	_, st := mustOpen(t, dir)
	if !slices.Equal(running(st), []int64{1}) || !slices.Equal(unconfirmed(st), []int64{2}) {
		t.Errorf("after rewrites: running %v, unconfirmed %v", running(st), unconfirmed(st))
	}
}

func TestOneSyncServesMany(t *testing.T) {
	j, _ := mustOpen(t, t.TempDir())
	one := time.Now()
	for i := range int64(20) {
		must(t, j.Started(Start{Attempt: i + 1, At: at}))
	}
	alone := time.Since(one) / 20
	many := time.Now()
	var wg sync.WaitGroup
	for g := range int64(200) {
		wg.Go(func() {
			for i := range int64(5) {
				if err := j.Started(Start{Attempt: 1000 + g*10 + i, At: at}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	each := time.Since(many) / 1000
	t.Logf("an append alone %v, of 200 goroutines %v each", alone, each)
	if each > alone {
		t.Errorf("grouping gains nothing: %v alone, %v together", alone, each)
	}
}

func TestFailedWriteStopsTheJournal(t *testing.T) {
	j, _ := mustOpen(t, t.TempDir())
	must(t, j.file.Close()) // the next write fails, as on a dead disk
	if err := j.Started(Start{Attempt: 1, At: at}); err == nil {
		t.Fatal("an append that reached no disk said nothing")
	}
	if j.Err() == nil || j.Ended(Outcome{Attempt: 1, At: at}) == nil {
		t.Error("the journal goes on after a failed write")
	}
	must(t, j.Resume())
	must(t, j.Started(Start{Attempt: 2, At: at}))
}

// TestAnyDamageIsToldAndCostsOnlyItself cuts or flips a random place of a log with known content. Whatever is read must
// be what was written, whatever lies wholly outside the damage must be read, and damage must leave a note and its bytes.
func TestAnyDamageIsToldAndCostsOnlyItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "records")
		data := []byte(magic)
		var ends []int
		for i := range n {
			body := rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(rt, "body")
			data = appendRecord(data, record{kind: kindStarted, attempt: int64(i + 1), at: at.UnixMilli(), body: body})
			ends = append(ends, len(data))
		}
		whole := bytes.Clone(data)
		pos := rapid.IntRange(len(magic), len(data)-1).Draw(rt, "pos")
		cut := rapid.Bool().Draw(rt, "cut")
		if cut {
			data = data[:pos]
		} else {
			data[pos] ^= byte(1 << rapid.IntRange(0, 7).Draw(rt, "bit"))
		}
		dir, err := os.MkdirTemp(t.TempDir(), "j")
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, logName), data, 0o600); err != nil {
			rt.Fatal(err)
		}
		j, st, err := Open(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer j.Close()
		checkDamage(rt, st, whole, ends, pos, cut)
		aside, _ := os.ReadFile(filepath.Join(dir, "journal.damaged-1"))
		if len(st.Notes) > 0 && !bytes.Contains(data, aside) {
			rt.Fatalf("the bytes kept aside are not those of the file")
		}
		if (len(st.Notes) > 0) != (len(aside) > 0) {
			rt.Fatalf("notes %q but %d bytes kept aside", st.Notes, len(aside))
		}
	})
}

func checkDamage(rt *rapid.T, st *State, whole []byte, ends []int, pos int, cut bool) {
	got := map[int64][]byte{}
	for _, s := range st.Running {
		got[s.Attempt] = s.Body
	}
	begin := len(magic)
	hit := false
	for i, end := range ends {
		damaged := pos >= begin && pos < end
		lost := damaged || cut && begin >= pos
		body, ok := got[int64(i+1)]
		if ok == lost {
			rt.Fatalf("record %d [%d,%d), damage at %d (cut %v): read %v", i+1, begin, end, pos, cut, ok)
		}
		if want := whole[begin+frameLen+fixedLen : end]; ok && !bytes.Equal(body, want) {
			rt.Fatalf("record %d came back altered", i+1)
		}
		hit = hit || damaged && (!cut || pos > begin)
		begin = end
	}
	if hit != (len(st.Notes) == 1) {
		rt.Fatalf("damage %v, notes %q", hit, st.Notes)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
