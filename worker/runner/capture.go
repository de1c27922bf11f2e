package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/axsched/ax/worker/protocol/mask"
)

// Capture takes the output of one attempt: the first megabyte and the last are kept in the spool directory, what is
// between them is counted. It never blocks the task for longer than a write to the disk takes, never fails it, and its
// memory does not grow with the output. One goroutine per stream may write while others read.
//
// The files are not synced: they outlive the worker, but the last moments before a machine crash may be missing.
type Capture struct {
	spool   *Spool
	attempt int64
	notify  chan struct{}

	mu       sync.Mutex
	now      count // of everything written
	head     part
	headFull bool
	tail     []part // oldest first; the last one is being written
	tailSeq  int
	finished bool
	broken   bool      // the disk refuses: output is only counted, until a new segment can be written
	refused  error     // why it did first; nil: it never did
	tried    time.Time // when the disk refused last
	partial  [streams]bool
	scratch  []byte
	masks    [streams]*mask.Stream // nil: nothing of the stream is secret
	masked   []byte                // room for what a mask passes on

	read reader // guarded by its own lock
}

// part is one spool file: the head, or a segment of the tail.
type part struct {
	path  string
	file  *os.File // nil unless it is being written
	size  int64    // bytes of whole records
	data  int64    // bytes of output in them
	start count    // of all output, where the part begins
	end   count    // and where it ends
}

// Attempt returns the attempt that the output belongs to.
func (c *Capture) Attempt() int64 { return c.attempt }

// Notify receives a value when there is more to read or the output is complete. It has room for one value: a reader
// that was busy finds it waiting.
func (c *Capture) Notify() <-chan struct{} { return c.notify }

// Mask keeps secrets out of the output, on the disk too. It comes before the first write; a nil masker does nothing.
func (c *Capture) Mask(m *mask.Masker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m == nil {
		return
	}
	for s := range c.masks {
		c.masks[s] = m.Stream()
	}
}

// Write takes output of one stream that was read at at. It always takes all of it.
func (c *Capture) Write(s Stream, at time.Time, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	if c.masks[s] != nil {
		c.masked = c.masks[s].Write(c.masked[:0], p)
		p = c.masked
	}
	c.take(s, at, p)
	c.signal()
}

// take keeps output in which nothing is secret.
func (c *Capture) take(s Stream, at time.Time, p []byte) {
	for len(p) > 0 {
		n, full := min(len(p), chunkMax), false
		if !c.headFull {
			n, full = c.headCut(s, p[:n])
		}
		if n > 0 {
			c.store(chunk{kind: chunkData, stream: s, at: at, data: p[:n]})
		}
		if full {
			c.closeHead()
		}
		p = p[n:]
	}
}

// Log writes one line of AX's own.
func (c *Capture) Log(at time.Time, text string) {
	c.Write(Sys, at, []byte(text+"\n"))
}

// headCut returns how much of p goes into the head, and whether that was the last. The head ends between lines unless
// one line alone fills half of it.
func (c *Capture) headCut(s Stream, p []byte) (n int, full bool) {
	room := c.spool.limits.Head - int(c.head.data)
	if len(p) <= room {
		return len(p), false
	}
	cut := bytes.LastIndexByte(p[:room], '\n') + 1
	if cut == 0 && (c.now.open[s] != 0 || room > c.spool.limits.Head/2) {
		cut = runeCut(p, room)
	}
	return cut, true
}

func (c *Capture) closeHead() {
	c.headFull = true
	closeFile(&c.head)
}

// store writes one record to where it belongs and counts it.
func (c *Capture) store(k chunk) {
	p := c.try(k)
	if k.kind != chunkData {
		return
	}
	c.now.add(k.stream, k.data)
	last := bytes.LastIndexByte(k.data, '\n')
	c.partial[k.stream] = last != len(k.data)-1 && bytes.IndexByte(k.data[last+1:], '\r') < 0
	if p != nil {
		p.end = c.now
	}
}

// tryEach is how often a disk that refused output is tried again.
const tryEach = time.Second

// try writes a record and returns the part that holds it, or nil where the disk refuses. What is missing then lies between
// that part and the segment that is begun once the disk takes it.
func (c *Capture) try(k chunk) *part {
	if since := k.at.Sub(c.tried); c.broken && k.kind != chunkEnd && since >= 0 && since < tryEach {
		return nil
	}
	p, err := c.place(k)
	if c.broken = err != nil; err == nil {
		return p
	}
	c.tried = k.at
	if c.refused == nil {
		c.refused = err
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			c.refused = at.Err // where the spool stands says nothing to who reads the log
		}
	}
	if !c.headFull {
		c.closeHead()
	}
	return nil
}

func (c *Capture) place(k chunk) (*part, error) {
	if !c.headFull {
		if c.head.file == nil {
			if err := c.create(&c.head, c.spool.headPath(c.attempt)); err != nil {
				return nil, err
			}
		}
		return &c.head, c.append(&c.head, k)
	}
	if n := len(c.tail); n == 0 || c.broken || c.tail[n-1].data >= int64(c.spool.limits.Tail/tailParts) {
		if err := c.rotate(k.at); err != nil {
			return nil, err
		}
	}
	p := &c.tail[len(c.tail)-1]
	return p, c.append(p, k)
}

// rotate opens the next segment of the tail and removes the one that is no longer needed.
func (c *Capture) rotate(at time.Time) error {
	if n := len(c.tail); n > 0 {
		closeFile(&c.tail[n-1])
	}
	c.tailSeq++
	p := part{start: c.now, end: c.now}
	if err := c.create(&p, c.spool.tailPath(c.attempt, c.tailSeq)); err != nil {
		return err
	}
	if err := c.append(&p, chunk{kind: chunkState, at: at, data: c.now.encode()}); err != nil {
		closeFile(&p)
		_ = os.Remove(p.path) // it holds nothing
		return err
	}
	if len(c.tail) > tailParts {
		_ = os.Remove(c.tail[0].path) // if it stays, the next life finds more than it needs
		c.tail = append(c.tail[:0], c.tail[1:]...)
	}
	c.tail = append(c.tail, p)
	return nil
}

func (c *Capture) create(p *part, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	p.path, p.file = path, f
	return nil
}

func (c *Capture) append(p *part, k chunk) error {
	c.scratch = appendChunk(c.scratch[:0], k)
	if _, err := p.file.Write(c.scratch); err != nil {
		return err
	}
	p.size += int64(len(c.scratch))
	if k.kind == chunkData {
		p.data += int64(len(k.data))
	}
	return nil
}

// pause says that a stream has been silent for a while: the beginning of a line (a prompt, a dot per step) is shown.
// A line with carriage returns is left alone, its states would each become a line.
func (c *Capture) pause(s Stream, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || !c.partial[s] {
		return
	}
	c.partial[s] = false
	c.store(chunk{kind: chunkFlush, stream: s, at: at})
	c.signal()
}

// midLine says whether a stream stands in the middle of a line that pause would show.
func (c *Capture) midLine(s Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partial[s]
}

// Finish says that the output is complete: the tail can be read from now on, and later writes are ignored.
func (c *Capture) Finish(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	for s, m := range c.masks {
		if m != nil {
			c.take(Stream(s), at, m.Close(nil))
		}
	}
	c.finished, c.masked, c.masks = true, nil, [streams]*mask.Stream{}
	if c.now.bytes > 0 {
		c.store(chunk{kind: chunkEnd, at: at, data: c.now.encode()})
	}
	if !c.headFull {
		c.closeHead()
	}
	for i := range c.tail {
		closeFile(&c.tail[i])
	}
	c.scratch = nil
	c.signal()
}

// Stats is how much output there was, and how much of it was not kept.
type Stats struct {
	Lines, Bytes               int64
	DroppedLines, DroppedBytes int64
}

// Stats may be called at any time; while the task runs, what is dropped still grows.
func (c *Capture) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, raw := c.dropped()
	return Stats{Lines: c.now.next - 1, Bytes: c.now.bytes, DroppedLines: lines, DroppedBytes: raw}
}

// dropped counts what lies between the parts, and behind them where the disk refuses.
func (c *Capture) dropped() (lines, raw int64) {
	end := c.head.end
	for _, p := range c.tail {
		lines, raw = lines+p.start.next-end.next, raw+p.start.bytes-end.bytes
		end = p.end
	}
	return lines + c.now.next - end.next, raw + c.now.bytes - end.bytes
}

// Err returns why output could not be written to the disk, or nil: some of it is missing then. The task is not stopped by it.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		return nil
	}
	return fmt.Errorf("spool the output of attempt %d: %w", c.attempt, c.refused)
}

// Remove deletes the spooled output; call it once the center has confirmed that it holds the log.
func (c *Capture) Remove() error {
	c.Finish(time.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, p := range append([]part{c.head}, c.tail...) {
		if p.path == "" {
			continue
		}
		if err := os.Remove(p.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Capture) signal() {
	select {
	case c.notify <- struct{}{}:
	default:
	}
}

func closeFile(p *part) {
	if p.file != nil {
		_ = p.file.Close() // written without buffering: nothing can be lost here
		p.file = nil
	}
}
