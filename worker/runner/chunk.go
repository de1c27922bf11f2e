package runner

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// Stream says where a line came from.
type Stream byte

const (
	// Out is the task's standard output, Err its standard error.
	Out Stream = 1
	Err Stream = 2
	// Sys is what AX itself says in a task's log.
	Sys Stream = 3

	streams = 4 // arrays are indexed by Stream; 0 is unused
)

// String is the word used on the wire: out, err, ax.
func (s Stream) String() string {
	switch s {
	case Out:
		return "out"
	case Err:
		return "err"
	default:
		return "ax"
	}
}

// The spool holds raw output in chunks as they were read, so that writing costs one copy however long or short the
// lines are; lines are made when somebody reads them.
const (
	chunkData  byte = 1
	chunkFlush byte = 2 // the stream paused in the middle of a line: show what is there
	chunkEnd   byte = 3 // the output is complete; the payload says how many lines and bytes there were
	chunkState byte = 4 // first in each tail segment: the count at its start

	chunkHead = 14 // kind, stream, length, time in UTC ms
	chunkMax  = 64 << 10
)

// chunk is one record of a spool file.
type chunk struct {
	kind   byte
	stream Stream
	at     time.Time
	data   []byte
}

func appendChunk(buf []byte, c chunk) []byte {
	buf = append(buf, c.kind, byte(c.stream))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(c.data)))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.at.UnixMilli()))
	return append(buf, c.data...)
}

var errTorn = errors.New("spool record is torn")

// readChunk reads the record at off of r into buf (at least chunkMax long) and returns it with its whole length. It
// returns io.EOF at limit and errTorn where no whole record stands.
func readChunk(r io.ReaderAt, off, limit int64, buf []byte) (chunk, int64, error) {
	if off >= limit {
		return chunk{}, 0, io.EOF
	}
	var h [chunkHead]byte
	if off+chunkHead > limit {
		return chunk{}, 0, errTorn
	}
	if _, err := r.ReadAt(h[:], off); err != nil {
		return chunk{}, 0, err
	}
	n := int64(binary.LittleEndian.Uint32(h[2:]))
	if h[0] < chunkData || h[0] > chunkState || h[1] >= streams || n > chunkMax || off+chunkHead+n > limit {
		return chunk{}, 0, errTorn
	}
	if _, err := r.ReadAt(buf[:n], off+chunkHead); err != nil {
		return chunk{}, 0, err
	}
	at := time.UnixMilli(int64(binary.LittleEndian.Uint64(h[6:])))
	return chunk{kind: h[0], stream: Stream(h[1]), at: at, data: buf[:n]}, chunkHead + n, nil
}

// count is where in the output a point lies: raw bytes before it, the number of the next line to begin, and for each
// stream the number of the line it is in the middle of (0: none).
type count struct {
	bytes int64
	next  int64
	open  [streams]int64
}

// add moves the count over output of one stream. A line takes its number when its first byte arrives.
func (c *count) add(s Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	c.bytes += int64(len(p))
	ends := p[len(p)-1] == '\n'
	begun := int64(bytes.Count(p, []byte{'\n'}))
	if c.open[s] == 0 {
		begun++
	}
	if ends {
		begun--
	}
	c.next += begun
	switch {
	case ends:
		c.open[s] = 0
	case begun > 0:
		c.open[s] = c.next - 1
	}
}

func (c count) encode() []byte {
	buf := binary.LittleEndian.AppendUint64(nil, uint64(c.bytes))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.next))
	for _, n := range c.open {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
	}
	return buf
}

func decodeCount(p []byte) (count, bool) {
	var c count
	if len(p) != 8*(2+streams) {
		return c, false
	}
	c.bytes = int64(binary.LittleEndian.Uint64(p))
	c.next = int64(binary.LittleEndian.Uint64(p[8:]))
	for i := range c.open {
		c.open[i] = int64(binary.LittleEndian.Uint64(p[16+8*i:]))
	}
	return c, true
}
