package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// kind says what a record states about its attempt. The numbers are on disk and never change.
type kind byte

const (
	kindStarted   kind = 1
	kindEnded     kind = 2
	kindConfirmed kind = 3
)

// magic opens every journal file; its last byte before the newline is the format's version.
const magic = "AXJRNL1\n"

const (
	frameLen = 8  // length and checksum, four bytes each
	fixedLen = 21 // kind, attempt, time, process group
	// MaxBody bounds the bytes that a start or an outcome may carry. It is far above the 64 KB limits of parameters
	// and results; a length beyond it in the file is damage.
	MaxBody = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one statement about one attempt. at is UTC milliseconds; pgid and body may be zero.
type record struct {
	kind    kind
	attempt int64
	at      int64
	pgid    int32
	body    []byte
}

// appendRecord adds r's frame to buf. The checksum covers the length too, so a damaged length is noticed.
func appendRecord(buf []byte, r record) []byte {
	at := len(buf)
	buf = append(buf, make([]byte, frameLen)...)
	buf = append(buf, byte(r.kind))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.attempt))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.at))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(r.pgid))
	buf = append(buf, r.body...)
	binary.LittleEndian.PutUint32(buf[at:], uint32(len(buf)-at-frameLen))
	binary.LittleEndian.PutUint32(buf[at+4:], checksum(buf[at:at+4], buf[at+frameLen:]))
	return buf
}

func checksum(length, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, payload)
}

// errShort means that the bytes end before the record does; errBad that they are no record.
var (
	errShort = errors.New("record ends early")
	errBad   = errors.New("record is damaged")
)

// parseRecord reads the record at the start of b and returns it with its whole length. The body shares b's memory.
func parseRecord(b []byte) (record, int, error) {
	if len(b) < frameLen {
		return record{}, 0, errShort
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < fixedLen || n > fixedLen+MaxBody {
		return record{}, 0, errBad
	}
	if len(b) < frameLen+n {
		return record{}, 0, errShort
	}
	p := b[frameLen : frameLen+n]
	if checksum(b[:4], p) != binary.LittleEndian.Uint32(b[4:]) {
		return record{}, 0, errBad
	}
	r := record{
		kind:    kind(p[0]),
		attempt: int64(binary.LittleEndian.Uint64(p[1:])),
		at:      int64(binary.LittleEndian.Uint64(p[9:])),
		pgid:    int32(binary.LittleEndian.Uint32(p[17:])),
		body:    p[fixedLen:],
	}
	if r.kind < kindStarted || r.kind > kindConfirmed {
		return record{}, 0, errBad
	}
	return r, frameLen + n, nil
}
