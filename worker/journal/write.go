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
		if len(b.recs) > 0 {
			b.err = j.commit(b)
			if b.err != nil {
				j.fail(b.err)
			}
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

// fail makes err the answer to every append from now on and to those that are already waiting.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	j.err = err
	j.pending.err = err
	close(j.pending.done)
	j.pending = batch{waiter: newWaiter()}
}

// commit writes one batch and rewrites the file when most of it is settled.
func (j *Journal) commit(b batch) error {
	if err := j.Err(); err != nil {
		return err
	}
	n, err := j.file.Write(b.buf)
	j.size += int64(n)
	if err != nil {
		return fmt.Errorf("append to the journal in %s: %w", j.dir, err)
	}
	if b.durable {
		if err := unix.Fdatasync(int(j.file.Fd())); err != nil {
			return fmt.Errorf("sync the journal in %s: %w", j.dir, err)
		}
	}
	for _, r := range b.recs {
		j.ledger.apply(r)
	}
	if j.size > compactMin && j.ledger.bytes < j.size/compactShare {
		return j.rewrite()
	}
	return nil
}

// rewrite replaces the log by one that holds only the open records. A crash at any moment leaves the old file or the
// new one under the log's name, and both say the same.
func (j *Journal) rewrite() error {
	buf := []byte(magic)
	for _, r := range j.ledger.ordered() {
		buf = appendRecord(buf, r)
	}
	path := filepath.Join(j.dir, logName)
	if err := replaceFile(path, buf); err != nil {
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
