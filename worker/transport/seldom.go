package transport

import (
	"maps"
	"sync"
	"time"
)

// sayEach is how often the log has the same line of a library that says it at each try.
const sayEach = 10 * time.Second

// seldom lets each text through once in a while. The zero value is ready; safe for concurrent use.
type seldom struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// seldomMost bounds the texts that are remembered.
const seldomMost = 200

// due reports whether a text is to be said now, which it then counts as.
func (s *seldom) due(text string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, said := s.last[text]; said && now.Sub(at) < sayEach {
		return false
	}
	if len(s.last) >= seldomMost {
		maps.DeleteFunc(s.last, func(_ string, at time.Time) bool { return now.Sub(at) >= sayEach })
	}
	if len(s.last) >= seldomMost {
		clear(s.last)
	}
	if s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[text] = now
	return true
}
