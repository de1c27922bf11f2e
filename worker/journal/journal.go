package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	logName = "journal.log"
	// compactMin is the size under which a rewrite is not worth its fsyncs.
	compactMin = 1 << 20
	// compactShare: the file is rewritten when less than one part in this many is still open.
	compactShare = 4
	// resumeRoom is the room that the disk must have before a journal which it refused goes on: else it would refuse the
	// next record but one.
	resumeRoom = 1 << 20
)

// ErrClosed is returned by appends after Close.
var ErrClosed = errors.New("journal is closed")

// Journal appends to the log of one data directory. Its methods may be called by any number of goroutines at once.
type Journal struct {
	dir  string
	lock *os.File
	wake chan struct{} // capacity 1: something is pending
	done chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	pending batch
	err     error // why records are refused now; written by the writer alone
	closed  bool

	// Owned by the writer goroutine after Open.
	file   *os.File
	size   int64
	ledger *ledger
}

// batch is what one write and one fsync will carry.
type batch struct {
	buf     []byte
	recs    []record
	durable bool // somebody waits for the fsync
	resume  bool // a journal that takes no records is to try again
	*waiter
}

// waiter is where the callers of one batch wait. err is written before done is closed and not after.
type waiter struct {
	done chan struct{}
	err  error
}

// Open takes the data directory (made when absent), raises its boot number, replays the log and returns what is open.
// The returned journal begins with a log that holds only what is open. Close frees the directory.
func Open(dir string) (*Journal, *State, error) { return OpenAfter(dir, "", 0) }

// OpenAfter is Open with a boot number above boot, unless uid is this directory's own: where another one had the
// worker's name before, its lives and this one's must not be taken for each other.
func OpenAfter(dir, uid string, boot int64) (*Journal, *State, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make data directory %s: %w", dir, err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, nil, err
	}
	j, st, err := open(dir, lock, uid, boot)
	if err != nil {
		_ = lock.Close()
		return nil, nil, err
	}
	go j.write()
	return j, st, nil
}

func open(dir string, lock *os.File, uid string, boot int64) (*Journal, *State, error) {
	id, doubt, err := nextIdentity(dir, lockMark(lock), uid, boot)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, logName)
	data, err := readAll(path)
	if err != nil {
		return nil, nil, err
	}
	l := newLedger()
	notes, err := keepAside(dir, id.Boot, data, replay(data, l))
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{dir: dir, lock: lock, wake: make(chan struct{}, 1), done: make(chan struct{}), ledger: l}
	j.pending.waiter = newWaiter()
	if err := j.rewrite(0); err != nil {
		return nil, nil, err
	}
	st := l.state()
	st.UID, st.Boot, st.Doubt, st.Notes = id.UID, id.Boot, doubt, notes
	return j, &st, nil
}

// Own notes that this life has the directory for certain, so that State.Doubt does not rise again. It returns once that
// is durable.
func (j *Journal) Own() error { return own(j.dir, lockMark(j.lock)) }

// Started records that these attempts are about to start, and returns once that is durable.
func (j *Journal) Started(starts ...Start) error {
	recs := make([]record, len(starts))
	for i, s := range starts {
		recs[i] = record{kind: kindStarted, attempt: s.Attempt, at: s.At.UnixMilli(), pgid: int32(s.PGID), body: s.Body}
	}
	return j.append(true, recs...)
}

// Ended records how attempts ended, and returns once that is durable. An attempt's first outcome stands. After an error
// they are kept in memory and become durable with Resume.
func (j *Journal) Ended(outcomes ...Outcome) error {
	recs := make([]record, len(outcomes))
	for i, o := range outcomes {
		recs[i] = record{kind: kindEnded, attempt: o.Attempt, at: o.At.UnixMilli(), body: o.Body}
	}
	return j.append(true, recs...)
}

// Confirmed records that the center has these outcomes in its database. It does not wait for the disk: a confirmation
// that is lost means that the outcome is sent once more. What the disk refuses is kept as Ended keeps it.
func (j *Journal) Confirmed(at time.Time, attempts ...int64) error {
	recs := make([]record, len(attempts))
	for i, a := range attempts {
		recs[i] = record{kind: kindConfirmed, attempt: a, at: at.UnixMilli()}
	}
	return j.append(false, recs...)
}

// append hands records to the writer and, when wait is set, returns once they are on stable storage.
func (j *Journal) append(wait bool, recs ...record) error {
	if len(recs) == 0 {
		return nil
	}
	for _, r := range recs {
		if len(r.body) > MaxBody {
			return fmt.Errorf("journal: attempt %d: %d bytes are over the limit of %d", r.attempt, len(r.body), MaxBody)
		}
	}
	w, err := j.enqueue(wait, recs)
	if err != nil || !wait {
		return err
	}
	<-w.done
	return w.err
}

// enqueue adds the records to the pending batch, wakes the writer and returns where the batch is waited for.
func (j *Journal) enqueue(wait bool, recs []record) (*waiter, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, ErrClosed
	}
	for _, r := range recs {
		j.pending.buf = appendRecord(j.pending.buf, r)
	}
	j.pending.recs = append(j.pending.recs, recs...)
	j.pending.durable = j.pending.durable || wait
	j.rouse()
	return j.pending.waiter, nil
}

// rouse wakes the writer.
func (j *Journal) rouse() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Resume has a journal that takes no records try again, and returns why it still does not, or nil. It writes a new log of
// all that is open, what was only kept in memory too: a file that failed once is not trusted again, because the kernel may have dropped
// what it could not write. It needs 1 MB of room beside that. Nothing happens where records are taken.
func (j *Journal) Resume() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return ErrClosed
	}
	if j.err == nil {
		j.mu.Unlock()
		return nil
	}
	j.pending.resume = true
	w := j.pending.waiter
	j.rouse()
	j.mu.Unlock()
	<-w.done
	return w.err
}

// Close writes what is pending, ends the writer and frees the directory. Further appends return ErrClosed.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.rouse()
	j.mu.Unlock()
	<-j.done
	err := j.file.Close()
	if cerr := j.lock.Close(); err == nil {
		err = cerr
	}
	return err
}

// Err returns why the journal takes no records now, or nil. A worker whose journal takes none must take no work; what it
// runs may go on. Only Resume ends that.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Size is the length of the log's file in bytes.
func (j *Journal) Size() (int64, error) {
	info, err := os.Stat(filepath.Join(j.dir, logName))
	if err != nil {
		return 0, fmt.Errorf("size of the journal: %w", err)
	}
	return info.Size(), nil
}
