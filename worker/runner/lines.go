package runner

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// Line is one line of a task's log, or a piece of a very long one.
type Line struct {
	// Seq counts what can be read, from 1 without a gap: it is the place to go on reading from.
	Seq int64
	// N is the line's number in the whole output, from 1; lines that were not kept have numbers too.
	N      int64
	Stream Stream
	At     time.Time
	// Text is valid UTF-8 without NUL and without the line's end: other bytes are shown as U+FFFD and U+2400. Of a line
	// that was overwritten by carriage returns it is the last state.
	Text string
	// Cont: the text goes on from the last Line with the same N.
	Cont bool
	// DroppedLines and DroppedBytes are set in the one line that stands for output that was not kept.
	DroppedLines int64
	DroppedBytes int64
}

// assembler turns chunks of several streams into lines. It holds at most a line's limit plus a chunk for each stream.
type assembler struct {
	limit int // longest piece in raw bytes
	next  int64
	open  [streams]openLine
	emit  func(Line)
}

// openLine is the line that a stream is in the middle of; n is 0 when there is none.
type openLine struct {
	n    int64
	cont bool
	torn int // up to so many bytes at its start may be the end of a character whose start was not kept
	buf  []byte
	at   time.Time
}

// resume starts at a point in the middle of the output; lines that are open there are shown as continued.
func (a *assembler) resume(c count) {
	a.next = c.next
	for s := range a.open {
		a.open[s] = openLine{n: c.open[s], cont: c.open[s] != 0, torn: utf8.UTFMax - 1}
	}
}

// feed takes the next output of one stream.
func (a *assembler) feed(s Stream, at time.Time, p []byte) {
	for len(p) > 0 {
		o := &a.open[s]
		if o.n == 0 {
			*o = openLine{n: a.next, buf: o.buf[:0]}
			a.next++
		}
		o.at = at
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			a.grow(s, p)
			return
		}
		a.grow(s, p[:i])
		a.put(s, o.buf)
		o.n = 0
		p = p[i+1:]
	}
}

// grow adds to the open line, forgets what a carriage return overwrote and emits full pieces.
func (a *assembler) grow(s Stream, p []byte) {
	o := &a.open[s]
	for ; o.torn > 0 && len(p) > 0 && !utf8.RuneStart(p[0]); o.torn-- {
		p = p[1:]
	}
	if len(p) > 0 {
		o.torn = 0
	}
	o.buf = append(o.buf, p...)
	if bytes.IndexByte(o.buf, '\r') >= 0 {
		o.buf = append(o.buf[:0], lastState(o.buf)...)
	}
	for len(o.buf) > a.limit {
		cut := runeCut(o.buf, a.limit)
		a.put(s, o.buf[:cut])
		o.buf = append(o.buf[:0], o.buf[cut:]...)
		o.cont = true
	}
}

// flush shows what a stream has of its open line; the rest follows as a continuation.
func (a *assembler) flush(s Stream) {
	o := &a.open[s]
	if o.n == 0 || len(o.buf) == 0 {
		return
	}
	cut := runeCut(o.buf, len(o.buf))
	if cut == 0 {
		return
	}
	a.put(s, o.buf[:cut])
	o.buf = append(o.buf[:0], o.buf[cut:]...)
	o.cont = true
}

// finish shows everything that is still open.
func (a *assembler) finish() {
	for s := range a.open {
		o := &a.open[s]
		if o.n != 0 && len(o.buf) > 0 {
			a.put(Stream(s), o.buf)
			o.buf, o.cont = o.buf[:0], true
		}
	}
}

func (a *assembler) put(s Stream, raw []byte) {
	o := &a.open[s]
	a.emit(Line{N: o.n, Stream: s, At: o.at, Text: cleanText(bytes.TrimRight(raw, "\r")), Cont: o.cont})
}

// lastState returns what a terminal would show of b after its carriage returns, keeping those at the end.
func lastState(b []byte) []byte {
	shown := bytes.TrimRight(b, "\r")
	return b[bytes.LastIndexByte(shown, '\r')+1:]
}

// runeCut returns the largest cut ≤ at that does not fall into a character. Bytes that are no UTF-8 are cut anywhere.
func runeCut(b []byte, at int) int {
	for back := 1; back < utf8.UTFMax && back <= at; back++ {
		if c := b[at-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[at-back:at]) {
				return at - back
			}
			return at
		}
	}
	return at
}

// cleanText makes any bytes fit for a database and a page: invalid UTF-8 becomes U+FFFD, NUL becomes U+2400.
func cleanText(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\u2400")
}
