package calendar

import (
	"sync"

	"github.com/axsched/ax/modules/domain"
)

// memoryMost is how many versions are kept in memory.
const memoryMost = 500

// Memory keeps versions, which never change. The zero value is ready; safe for concurrent use,
// and several Calendars may share one.
type Memory struct {
	mu sync.Mutex
	of map[versionKey]*domain.Calendar
}

type versionKey struct {
	calendar domain.ID
	version  int
}

func (m *Memory) get(calendar domain.ID, version int) *domain.Calendar {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[versionKey{calendar, version}]
}

func (m *Memory) put(c *domain.Calendar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= memoryMost {
		m.of = map[versionKey]*domain.Calendar{}
	}
	m.of[versionKey{c.ID, c.Version}] = c
}
