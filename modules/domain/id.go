package domain

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// ID is a 63-bit identity made by the program: 41 bits of milliseconds since
// idEpoch (enough until 2093), 10 bits of node number, 12 bits of sequence. It
// sorts by time of making within a node and is never 0. JSON carries it as a
// string, since JavaScript rounds integers above 2^53.
type ID int64

const (
	nodeBits = 10
	seqBits  = 12
	// MaxNode is the highest node number that fits an ID.
	MaxNode = 1<<nodeBits - 1
)

// idEpoch is 2024-01-01T00:00:00Z in Unix milliseconds.
const idEpoch = 1704067200000

// String is the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalJSON writes the id as a string; 0 is "".
func (id ID) MarshalJSON() ([]byte, error) {
	if id == 0 {
		return []byte(`""`), nil
	}
	return []byte(`"` + id.String() + `"`), nil
}

// UnmarshalJSON takes a string or a number.
func (id *ID) UnmarshalJSON(b []byte) error {
	s := string(b)
	if len(s) >= 2 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	if s == "" || s == "null" {
		*id = 0
		return nil
	}
	v, err := ParseID(s)
	*id = v
	return err
}

// ParseID reads the decimal form; anything else is Invalid.
func ParseID(s string) (ID, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v <= 0 {
		return 0, Fail(Invalid, "%q is not an id", s).WithHint("ids are decimal numbers such as 123456789012345678")
	}
	return ID(v), nil
}

// Time is when the id was made, to the millisecond.
func (id ID) Time() time.Time {
	return time.UnixMilli(int64(id)>>(nodeBits+seqBits) + idEpoch).UTC()
}

// IDAt is the lowest id that could be made at the instant: ids made since are
// higher.
func IDAt(t time.Time) ID {
	return ID(max(t.UnixMilli()-idEpoch, 0) << (nodeBits + seqBits))
}

// IDs makes ids for one leased node number. It never goes backwards: when the
// clock does, it goes on from the last millisecond used. Safe for concurrent use.
type IDs struct {
	mu   sync.Mutex
	node int64
	now  func() time.Time
	last int64
	seq  int64
}

// NewIDs makes a source for the node (0…MaxNode) that reads the clock now.
func NewIDs(node int, now func() time.Time) (*IDs, error) {
	if node < 0 || node > MaxNode {
		return nil, fmt.Errorf("node number %d is outside 0…%d", node, MaxNode)
	}
	return &IDs{node: int64(node), now: now}, nil
}

// Next is a fresh id.
func (s *IDs) Next() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := s.now().UnixMilli() - idEpoch
	if ms > s.last {
		s.last, s.seq = ms, 0
	} else if s.seq++; s.seq == 1<<seqBits {
		s.last, s.seq = s.last+1, 0 // borrow from the next millisecond rather than wait
	}
	return ID(s.last<<(nodeBits+seqBits) | s.node<<seqBits | s.seq)
}
