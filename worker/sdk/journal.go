package sdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol"
)

// The states of an entry, in the order in which they follow.
const (
	stateAccepted = "accepted" // acknowledged; not granted yet
	stateStarted  = "started"  // granted; the handler may be running
	stateEnded    = "ended"    // has an outcome that the center has not confirmed
	stateSettled  = "settled"  // confirmed, denied or given up: known for a while, so that it is not taken again
)

// entry is what the journal knows of one attempt.
type entry struct {
	key     string
	state   string
	task    protocol.ExternalTask
	ahead   int64 // the center's clock minus this one, milliseconds
	at      int64 // of the last change, UTC milliseconds
	outcome protocol.ExternalOutcome
}

func keyOf(trace, attempt string) string { return trace + "/" + attempt }

// record is one line of the file: eight hex digits of its CRC-32, a blank, and this as JSON. All that a state needs is in its
// own record, so that the last one of an attempt is enough.
type record struct {
	State   string                    `json:"state"`
	Key     string                    `json:"key"`
	At      int64                     `json:"at"`
	Ahead   int64                     `json:"ahead,omitempty"`
	Task    *protocol.ExternalTask    `json:"task,omitempty"`
	Outcome *protocol.ExternalOutcome `json:"outcome,omitempty"`
	Why     string                    `json:"why,omitempty"` // for who reads the file
}

// journal is an append-only file of records. A change is on stable storage when its method returns without an error. After a
// failed write the kernel may have dropped what it could not write, so the next change writes the whole file anew.
type journal struct {
	mu      sync.Mutex
	path    string
	forget  time.Duration
	lock    *os.File
	file    *os.File
	size    int64
	base    int64 // size after the last rewrite
	broken  bool
	entries map[string]entry
}

// compactMin is the size below which a file is not rewritten.
const compactMin = 1 << 20

// openJournal reads the file and writes it anew without what is settled and old. The notes tell of damage.
func openJournal(path string, now time.Time, forget time.Duration) (*journal, []string, error) {
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, nil, fmt.Errorf("the journal %s: %w", path, err)
	}
	j := &journal{path: path, forget: forget, lock: lock, entries: map[string]entry{}}
	notes, err := j.read(now)
	if err == nil {
		err = j.rewrite(now)
	}
	if err != nil {
		_ = lock.Close()
		return nil, nil, fmt.Errorf("the journal %s: %w", path, err)
	}
	return j, notes, nil
}

// read takes every line that stands its checksum. A last line that does not is what a crash left of a write that nobody
// relied on; any other is damage, and the file is kept aside.
func (j *journal) read(now time.Time) ([]string, error) {
	text, err := os.ReadFile(j.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var notes []string
	damaged := 0
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		r, ok := parseRecord(line)
		switch {
		case ok && whole:
			j.apply(r)
		case len(rest) == 0:
			notes = append(notes, fmt.Sprintf("line %d, the last, was not written whole and is dropped", n))
		default:
			damaged++
			notes = append(notes, fmt.Sprintf("line %d is damaged and was left out", n))
		}
	}
	if damaged > 0 {
		aside := j.path + ".damaged-" + strconv.FormatInt(now.UnixMilli(), 10)
		if err := os.Rename(j.path, aside); err != nil {
			return nil, err
		}
		notes = append(notes, "the damaged file is kept as "+aside)
	}
	return notes, nil
}

func parseRecord(line []byte) (record, bool) {
	var r record
	sum, body, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != checksum(body) || json.Unmarshal(body, &r) != nil || r.Key == "" {
		return r, false
	}
	return r, slices.Contains([]string{stateAccepted, stateStarted, stateEnded, stateSettled}, r.State)
}

func checksum(body []byte) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(body))
}

// apply makes the record what is known of its attempt.
func (j *journal) apply(r record) {
	e := entry{key: r.Key, state: r.State, at: r.At, ahead: r.Ahead}
	if r.Task != nil {
		e.task = *r.Task
	}
	if r.Outcome != nil {
		e.outcome = *r.Outcome
	}
	j.entries[r.Key] = e
}

func (e entry) record() record {
	r := record{State: e.state, Key: e.key, At: e.at, Ahead: e.ahead}
	if e.state != stateSettled {
		r.Task = &e.task
	}
	if e.state == stateEnded {
		r.Outcome = &e.outcome
	}
	return r
}

// open lists what is not settled, oldest first.
func (j *journal) open() []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []entry
	for e := range maps.Values(j.entries) {
		if e.state != stateSettled {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	return found
}

// knows reports whether the attempt was taken before.
func (j *journal) knows(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.entries[key]
	return ok
}

func (j *journal) accepted(e entry) error { return j.put(e.record(), false) }

func (j *journal) started(e entry, at time.Time) error {
	e.state, e.at = stateStarted, at.UnixMilli()
	return j.put(e.record(), false)
}

// ended keeps the outcome, in memory where the disk refuses: it will be reported all the same.
func (j *journal) ended(e entry, outcome protocol.ExternalOutcome, at time.Time) error {
	e.state, e.at, e.outcome = stateEnded, at.UnixMilli(), outcome
	return j.put(e.record(), true)
}

func (j *journal) settled(key, why string, at time.Time) error {
	return j.put(record{State: stateSettled, Key: key, At: at.UnixMilli(), Why: why}, true)
}

// put appends r. known says that it holds even if it can't be written.
func (j *journal) put(r record, known bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return errors.New("the journal is closed")
	}
	at := time.UnixMilli(r.At)
	err := j.write(r, at)
	if err == nil || known {
		j.apply(r)
	}
	if err == nil && j.size > max(compactMin, 2*j.base) {
		if j.rewrite(at) != nil {
			j.broken = true // the file as it was has r; the next change tries again
		}
	}
	return err
}

func (j *journal) write(r record, now time.Time) error {
	if j.broken {
		if err := j.rewrite(now); err != nil {
			return err
		}
		j.broken = false
	}
	line, err := lineOf(r)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(line); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = true
		_ = j.file.Truncate(j.size) // as far as the disk still obeys
		return err
	}
	j.size += int64(len(line))
	return nil
}

func lineOf(r record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(append([]byte(checksum(body)+" "), body...), '\n'), nil
}

// rewrite replaces the file by one without the settled attempts that are old enough. A crash leaves the old one or the new one.
func (j *journal) rewrite(now time.Time) error {
	var text []byte
	for key, e := range j.entries {
		if e.state == stateSettled && now.Sub(time.UnixMilli(e.at)) > j.forget {
			delete(j.entries, key)
			continue
		}
		line, err := lineOf(e.record())
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	fresh := j.path + ".new"
	file, err := os.OpenFile(fresh, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(fresh, j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	syncFolder(filepath.Dir(j.path))
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.size, j.base = file, int64(len(text)), int64(len(text))
	return nil
}

// syncFolder makes a new name in it last. Not every system can; the file itself is synced.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := errors.Join(j.file.Close(), j.lock.Close())
	j.file = nil
	return err
}
