package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// batchBytes bounds the text that one call of Lines returns, whatever number of lines was asked for.
const batchBytes = 256 << 10

// Batch is a stretch of a log. Next is where to go on; Done says that the output is complete and all of it was read.
type Batch struct {
	Lines []Line
	Next  int64
	Done  bool
}

// reader is how far Lines has come, so that going on costs only what is new.
type reader struct {
	mu    sync.Mutex
	asm   *assembler
	next  int64  // Seq of the next line to be made
	queue []Line // made and not handed out
	part  int    // 0: the head, i: tail[i-1] as it was when the output ended
	off   int64
	last  time.Time
	ended bool
	buf   []byte
}

// Lines returns up to limit lines beginning with Seq from (0 and 1 are the first). While the task runs it gives the head
// only, because the tail still moves; Peek shows that. After the end it gives all that was kept, with one line that
// stands for what was not. Reading again from an earlier place gives the same lines. Safe for concurrent use, though two
// readers at different places make each other slow.
func (c *Capture) Lines(from int64, limit int) (Batch, error) {
	r := &c.read
	r.mu.Lock()
	defer r.mu.Unlock()
	from = max(from, 1)
	if r.asm == nil || from < r.next-int64(len(r.queue)) {
		c.rewind(r)
	}
	b := Batch{Next: from}
	size := 0
	for len(b.Lines) < limit && size < batchBytes {
		if len(r.queue) == 0 {
			more, err := c.advance(r)
			if err != nil {
				return b, err
			}
			if !more {
				break
			}
			continue
		}
		if l := r.queue[0]; l.Seq >= from {
			b.Lines = append(b.Lines, l)
			b.Next = l.Seq + 1
			size += len(l.Text)
		}
		r.queue = r.queue[1:]
	}
	b.Done = r.ended && len(r.queue) == 0
	if len(r.queue) == 0 {
		r.queue, r.buf = nil, nil
	}
	return b, nil
}

// rewind makes the reader start at the first line again. The reader's lock is kept.
func (c *Capture) rewind(r *reader) {
	r.next, r.queue, r.part, r.off, r.ended, r.last = 1, nil, 0, 0, false, time.Time{}
	r.asm = &assembler{limit: c.spool.limits.Line, next: 1, emit: func(l Line) {
		l.Seq = r.next
		r.next++
		r.queue = append(r.queue, l)
	}}
}

// layout is what of the output can be read at this moment.
type layout struct {
	parts    []part
	headFull bool
	finished bool
	now      count // of all output
	refused  error // why some is missing that the disk did not take
	tried    time.Time
}

func (c *Capture) layout() layout {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := layout{parts: []part{c.head}, headFull: c.headFull, finished: c.finished,
		now: c.now, refused: c.refused, tried: c.tried}
	if c.finished {
		l.parts = append(l.parts, slices.Clone(c.tail)...)
	}
	return l
}

// advance makes the lines of the next record and says whether it got anywhere.
func (c *Capture) advance(r *reader) (bool, error) {
	if r.ended {
		return false, nil
	}
	l := c.layout()
	p := l.parts[r.part]
	if r.off < p.size {
		return true, c.readPart(r, p)
	}
	if !l.headFull {
		return false, nil
	}
	if r.part+1 < len(l.parts) {
		c.nextPart(r, l)
		return true, nil
	}
	if !l.finished {
		return false, nil
	}
	r.asm.finish()
	r.gap(p.end, l.now, l.tried)
	if l.refused != nil {
		r.asm.emit(Line{N: l.now.next, Stream: Sys, At: l.tried, Text: "output is missing above that the worker could not write: " + l.refused.Error()})
	}
	r.ended = true
	return true, nil
}

// nextPart moves on to the next file. Where output before it was not kept it says so.
func (c *Capture) nextPart(r *reader, l layout) {
	before, p := l.parts[r.part], l.parts[r.part+1]
	r.part, r.off = r.part+1, 0
	missing := p.start.bytes > before.end.bytes
	if missing || r.part == 1 {
		for stream := range r.asm.open {
			r.asm.flush(Stream(stream))
		}
	}
	if missing {
		r.gap(before.end, p.start, l.tried)
		r.asm.resume(p.start)
	}
}

// gap makes the line that stands for what lies between from and to, if anything does. at is its time where none was read
// before.
func (r *reader) gap(from, to count, at time.Time) {
	lines, raw := to.next-from.next, to.bytes-from.bytes
	if raw == 0 {
		return
	}
	if !r.last.IsZero() {
		at = r.last
	}
	r.asm.emit(Line{N: from.next, Stream: Sys, At: at, Text: droppedNote(lines, raw), DroppedLines: lines, DroppedBytes: raw})
}

// readPart feeds records of one file to the assembler until it has made lines or the part's known end is reached.
func (c *Capture) readPart(r *reader, p part) error {
	f, err := os.Open(p.path)
	if err != nil {
		return fmt.Errorf("read spooled output: %w", err)
	}
	defer f.Close()
	if r.buf == nil {
		r.buf = make([]byte, chunkMax)
	}
	for len(r.queue) == 0 && r.off < p.size {
		k, n, err := readChunk(f, r.off, p.size, r.buf)
		if err != nil {
			return fmt.Errorf("read spooled output of attempt %d at byte %d: %w", c.attempt, r.off, err)
		}
		r.off += n
		r.last = k.at
		r.asm.take(k)
	}
	return nil
}

// take applies one record.
func (a *assembler) take(k chunk) {
	switch k.kind {
	case chunkData:
		a.feed(k.stream, k.at, k.data)
	case chunkFlush:
		a.flush(k.stream)
	}
}

// Peek returns the last lines of the output as it is now, unfinished ones included, with their true numbers and Seq 0.
// It is for people who look on; what is kept comes from Lines.
func (c *Capture) Peek(limit int) ([]Line, error) {
	c.mu.Lock()
	parts := slices.Clone(c.tail)
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	start := count{next: 1}
	if len(parts) > 0 {
		start = parts[0].start
	} else {
		parts = []part{c.head}
	}
	c.mu.Unlock()
	var lines []Line
	a := &assembler{limit: c.spool.limits.Line, emit: func(l Line) {
		lines = append(lines, l)
		if len(lines) > 2*limit {
			lines = append(lines[:0], lines[len(lines)-limit:]...)
		}
	}}
	a.resume(start)
	for i, p := range parts {
		if i > 0 && p.start.bytes > parts[i-1].end.bytes {
			a.finish()
			a.resume(p.start)
		}
		if err := feedPart(a, p); err != nil {
			return nil, err
		}
	}
	a.finish()
	return lines[max(0, len(lines)-limit):], nil
}

// feedPart gives a whole part to an assembler. A segment that was dropped meanwhile is no error: newer ones follow.
func feedPart(a *assembler, p part) error {
	if p.size == 0 {
		return nil
	}
	f, err := os.Open(p.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read spooled output: %w", err)
	}
	defer f.Close()
	buf := make([]byte, chunkMax)
	for off := int64(0); ; {
		k, n, err := readChunk(f, off, p.size, buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read spooled output: %w", err)
		}
		off += n
		a.take(k)
	}
}
