package journal

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func newWaiter() *waiter { return &waiter{done: make(chan struct{})} }

// write is the one goroutine that touches the file: it takes all that is pending, writes it, syncs it once and frees
// everybody who waited. What arrives meanwhile forms the next batch.
func (j *Journal) write() {
	defer close(j.done)
	for range j.wake {
		b, closed := j.take()
		if len(b.recs) > 0 || b.resume {
			b.err = j.commit(b)
			close(b.done)
		}
		if closed {
			return
		}
	}
}

// take empties the pending batch and says whether the journal is closing.
func (j *Journal) take() (batch, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.pending
	j.pending = batch{waiter: newWaiter()}
	return b, j.closed
}

// stand makes err the journal's state: why it takes no records, or nil.
func (j *Journal) stand(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

// commit writes one batch and rewrites the file when most of it is settled. Where the disk refuses, the outcomes and
// confirmations in it are kept in memory for the log that Resume writes; its starts are not, as they must not happen.
func (j *Journal) commit(b batch) error {
	err := j.Err()
	if err != nil && b.resume {
		err = j.rewrite(resumeRoom)
		j.stand(err)
	}
	if err == nil {
		if err = j.put(b); err != nil {
			j.stand(err)
		}
	}
	for _, r := range b.recs {
		if err == nil || r.kind != kindStarted {
			j.ledger.apply(r)
		}
	}
	if err == nil && j.size > compactMin && j.ledger.bytes < j.size/compactShare {
		j.stand(j.rewrite(0)) // the batch itself is safe
	}
	return err
}

// put appends a batch to the file. Of one that failed nothing is left there, as far as the disk still obeys.
func (j *Journal) put(b batch) error {
	n, err := j.file.Write(b.buf)
	if err != nil {
		err = fmt.Errorf("append to the journal in %s: %w", j.dir, err)
	} else if b.durable {
		if err = unix.Fdatasync(int(j.file.Fd())); err != nil {
			err = fmt.Errorf("sync the journal in %s: %w", j.dir, err)
		}
	}
	if err != nil {
		_ = j.file.Truncate(j.size)
		return err
	}
	j.size += int64(n)
	return nil
}

// rewrite replaces the log by one that holds only the open records. A crash at any moment leaves the old file or the
// new one under the log's name, and both say the same. It fails where the disk has not so many bytes of room beside.
func (j *Journal) rewrite(room int64) error {
	buf := []byte(magic)
	for _, r := range j.ledger.ordered() {
		buf = appendRecord(buf, r)
	}
	path := filepath.Join(j.dir, logName)
	if err := replaceWith(path, buf, room); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the rewritten journal: %w", err)
	}
	if j.file != nil {
		_ = j.file.Close() // everything in it is in the new file, synced
	}
	j.file, j.size = f, int64(len(buf))
	return nil
}
