package domain

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// NewTraceID makes the trace id of a run: a UUID (version 8) whose first 48 and
// next 15 bits carry the run's id and whose rest is random. So a trace is found
// by the run's primary key, without an index of random values on every insert.
func NewTraceID(run ID) string {
	var b [16]byte
	v := uint64(run) // 63 bits
	binary.BigEndian.PutUint16(b[0:], uint16(v>>47))
	binary.BigEndian.PutUint32(b[2:], uint32(v>>15))
	binary.BigEndian.PutUint16(b[6:], 0x8000|uint16(v>>3)&0x0fff)
	binary.BigEndian.PutUint64(b[8:], rand.Uint64())
	b[8] = 0x80 | byte(v&7)<<3 | b[8]&7
	h := hex.EncodeToString(b[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// RunOfTrace is the run whose id the trace carries; false if this is no trace id
// of AX. The caller compares the whole text with the run's.
func RunOfTrace(trace string) (ID, bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(trace, "-", ""))
	if err != nil || len(b) != 16 || len(trace) != 36 || b[6]>>4 != 8 || b[8]>>6 != 2 {
		return 0, false
	}
	v := uint64(binary.BigEndian.Uint16(b[0:]))<<47 | uint64(binary.BigEndian.Uint32(b[2:]))<<15 |
		uint64(binary.BigEndian.Uint16(b[6:])&0x0fff)<<3 | uint64(b[8]>>3&7)
	return ID(v), v != 0 && v < 1<<63
}
