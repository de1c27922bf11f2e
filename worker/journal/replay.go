package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// State is what an earlier life left open, and what was found damaged on the way.
type State struct {
	// UID names the data directory for ever; Boot counts its Opens, from 1, and passes over what others had.
	UID  string
	Boot int64
	// Doubt says that the life before may not be over: it held another lock than this one. The directory is a copy, or
	// was moved or mounted elsewhere. It lasts until Own was called. False: the kernel gave us the very lock that it held, so it is dead.
	Doubt bool
	// Running are the attempts that started and have no outcome, in the order of their starts.
	Running []Start
	// Unconfirmed are the outcomes that the center has not confirmed, in the order in which they were recorded.
	Unconfirmed []Outcome
	// Notes are sentences for the log about a cut tail or damage; empty after a clean or an ordinarily killed life.
	Notes []string
}

// Start is one attempt that may be running. PGID is 0 where the caller did not know it; Body is the caller's own.
type Start struct {
	Attempt int64
	At      time.Time
	PGID    int
	Body    []byte
}

// Outcome is how an attempt ended, in the caller's own encoding.
type Outcome struct {
	Attempt int64
	At      time.Time
	Body    []byte
}

// live is what must survive a rewrite for one attempt: its start, or its unconfirmed outcome.
type live struct {
	seq int64 // order of the record among all
	rec record
}

// ledger is the sum of all records so far. It is owned by one goroutine.
type ledger struct {
	seq   int64
	open  map[int64]live
	bytes int64 // framed length of the records in open
}

func newLedger() *ledger { return &ledger{open: make(map[int64]live)} }

// apply adds one record. A second outcome of the same attempt is ignored: the first one is what was, or will be, sent.
// A start after an outcome is ignored likewise, since an attempt starts once.
func (l *ledger) apply(r record) {
	l.seq++
	old, had := l.open[r.attempt]
	if r.kind != kindConfirmed && had && old.rec.kind == kindEnded {
		return
	}
	if had {
		l.bytes -= framed(old.rec)
		delete(l.open, r.attempt)
	}
	if r.kind == kindConfirmed {
		return
	}
	r.body = bytes.Clone(r.body)
	l.open[r.attempt] = live{seq: l.seq, rec: r}
	l.bytes += framed(r)
}

func framed(r record) int64 { return int64(frameLen + fixedLen + len(r.body)) }

// ordered returns the open records in the order in which they were written.
func (l *ledger) ordered() []record {
	all := make([]live, 0, len(l.open))
	for _, v := range l.open {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b live) int { return int(a.seq - b.seq) })
	recs := make([]record, len(all))
	for i, v := range all {
		recs[i] = v.rec
	}
	return recs
}

// state turns the ledger into what the Node settles at boot.
func (l *ledger) state() State {
	var s State
	for _, r := range l.ordered() {
		at := time.UnixMilli(r.at)
		if r.kind == kindStarted {
			s.Running = append(s.Running, Start{Attempt: r.attempt, At: at, PGID: int(r.pgid), Body: bytes.Clone(r.body)})
		} else {
			s.Unconfirmed = append(s.Unconfirmed, Outcome{Attempt: r.attempt, At: at, Body: bytes.Clone(r.body)})
		}
	}
	return s
}

// damage is a region of the file that holds no readable record: [from, to). A tail has nothing readable behind it.
type damage struct {
	from, to int
	tail     bool
}

// replay reads every readable record of data (a whole file) into l and returns the regions that it could not read.
func replay(data []byte, l *ledger) []damage {
	var found []damage
	pos := 0
	if bytes.HasPrefix(data, []byte(magic)) {
		pos = len(magic)
	}
	for pos < len(data) {
		r, n, err := parseRecord(data[pos:])
		if err == nil {
			l.apply(r)
			pos += n
			continue
		}
		next := nextRecord(data, pos+1)
		found = append(found, damage{from: pos, to: next, tail: next == len(data)})
		pos = next
	}
	return found
}

// nextRecord returns where the first readable record at or behind pos begins, or len(data).
func nextRecord(data []byte, pos int) int {
	for ; pos < len(data); pos++ {
		if _, _, err := parseRecord(data[pos:]); err == nil {
			return pos
		}
	}
	return len(data)
}

// keepAside copies the damaged regions of data to a file of their own beside the journal and says so in sentences.
func keepAside(dir string, boot int64, data []byte, found []damage) ([]string, error) {
	if len(found) == 0 {
		return nil, nil
	}
	name := filepath.Join(dir, fmt.Sprintf("journal.damaged-%d", boot))
	var aside []byte
	var notes []string
	for _, d := range found {
		aside = append(aside, data[d.from:d.to]...)
		what := "is damaged: starts and outcomes recorded there are missing, the attempts will be settled by the center"
		if d.tail {
			what = "is an unfinished last write: it was cut"
		}
		notes = append(notes, fmt.Sprintf("journal in %s: bytes %d to %d: %s; the bytes are kept in %s", dir, d.from, d.to, what, name))
	}
	if err := replaceFile(name, aside); err != nil {
		return nil, err
	}
	return notes, nil
}

// readAll returns the content of the journal file, or nothing when there is none yet.
func readAll(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return data, nil
}
