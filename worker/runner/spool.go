package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tailParts is how many whole segments the tail consists of, beside the one being written.
const tailParts = 4

// Limits bound what is kept of one attempt's output, in bytes. Zero values mean 1 MB of head, at least 1 MB of tail and
// pieces of 16 KB.
type Limits struct {
	Head, Tail, Line int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&l.Head, 1<<20)
	set(&l.Tail, 1<<20)
	set(&l.Line, 16<<10)
	l.Line = max(l.Line, 64) // a piece holds at least a character
	return l
}

// Spool is the directory that holds the output of attempts until the center has it. Output that a killed worker left
// there is found again by Attempts and Reopen.
type Spool struct {
	dir     string
	limits  Limits
	buffers sync.Pool // of *[chunkMax]byte: what pumps read into, shared between tasks
}

// OpenSpool uses dir, which it makes when absent.
func OpenSpool(dir string, limits Limits) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the log spool: %w", err)
	}
	return &Spool{dir: dir, limits: limits.withDefaults()}, nil
}

// Create begins the output of an attempt. No file exists before the first byte, so a silent task costs nothing.
func (s *Spool) Create(attempt int64) *Capture {
	c := &Capture{spool: s, attempt: attempt, notify: make(chan struct{}, 1)}
	c.now.next = 1
	c.head.start, c.head.end = c.now, c.now
	return c
}

// Attempts lists the attempts whose output is in the spool, in ascending order.
func (s *Spool) Attempts() ([]int64, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the log spool: %w", err)
	}
	var ids []int64
	for _, e := range entries {
		name, kind, _ := strings.Cut(e.Name(), ".")
		id, err := strconv.ParseInt(name, 10, 64)
		if err == nil && (kind == "head" || strings.HasPrefix(kind, "tail-")) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Reopen reads back the output of an attempt that an earlier life of the worker ran. It is finished: where the worker
// died in mid-write, the last whole record is the end.
func (s *Spool) Reopen(attempt int64) (*Capture, error) {
	c := s.Create(attempt)
	c.headFull, c.finished = true, true
	c.head.path = s.headPath(attempt)
	end, err := c.rescan(&c.head, c.now)
	if errors.Is(err, os.ErrNotExist) {
		c.head.path, err = "", nil // the disk was full when the output began
	}
	if err != nil {
		return nil, err
	}
	c.now = end
	seqs, err := s.tails(attempt)
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		p := part{path: s.tailPath(attempt, seq)}
		if end, err = c.rescan(&p, c.now); err != nil {
			return nil, err
		}
		if p.size == 0 {
			_ = os.Remove(p.path) // the worker died while it made the file
			continue
		}
		c.now = end
		c.tail = append(c.tail, p)
	}
	c.signal()
	return c, nil
}

// rescan walks the whole records of one file, sets the part's sizes and returns the count at its end.
func (c *Capture) rescan(p *part, start count) (count, error) {
	f, err := os.Open(p.path)
	if err != nil {
		return start, fmt.Errorf("reopen spooled output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return start, fmt.Errorf("reopen spooled output: %w", err)
	}
	buf := make([]byte, chunkMax)
	at := start
	p.start, p.end = start, start
	for {
		k, n, err := readChunk(f, p.size, info.Size(), buf)
		if err != nil {
			return at, nil // the end, or a torn last write: what is before it stands
		}
		p.size += n
		switch k.kind {
		case chunkData:
			p.data += int64(len(k.data))
			at.add(k.stream, k.data)
			p.end = at
		case chunkState, chunkEnd:
			if at2, ok := decodeCount(k.data); ok {
				at = at2
			}
			if k.kind == chunkState {
				p.start, p.end = at, at
			}
		}
	}
}

// tails lists the numbers of an attempt's tail segments, oldest first.
func (s *Spool) tails(attempt int64) ([]int, error) {
	prefix := strconv.FormatInt(attempt, 10) + ".tail-"
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list the log spool: %w", err)
	}
	var seqs []int
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), prefix); ok {
			if seq, err := strconv.Atoi(rest); err == nil {
				seqs = append(seqs, seq)
			}
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

func (s *Spool) headPath(attempt int64) string {
	return filepath.Join(s.dir, strconv.FormatInt(attempt, 10)+".head")
}

func (s *Spool) tailPath(attempt int64, seq int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.tail-%d", attempt, seq))
}

// droppedNote is the line that stands where output was not kept.
func droppedNote(lines, raw int64) string {
	return fmt.Sprintf("… %s lines, %s not kept …", thousands(lines), byteSize(raw))
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func byteSize(n int64) string {
	switch {
	case n >= 10_000_000_000:
		return fmt.Sprintf("%d GB", n/1_000_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	case n >= 1_000:
		return fmt.Sprintf("%d KB", n/1_000)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
