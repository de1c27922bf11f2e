package worker

import "time"

// mean keeps the durations of the last five minutes, in minutes.
type mean struct {
	slots [5]struct {
		minute int64
		sum    time.Duration
		n      int64
	}
}

func (m *mean) add(now time.Time, d time.Duration) {
	minute := now.Unix() / 60
	s := &m.slots[minute%int64(len(m.slots))]
	if s.minute != minute {
		s.minute, s.sum, s.n = minute, 0, 0
	}
	s.sum += d
	s.n++
}

// of is the mean of what ended in the five minutes before now, or 0 when nothing did.
func (m *mean) of(now time.Time) time.Duration {
	var sum time.Duration
	var n int64
	for _, s := range m.slots {
		if now.Unix()/60-s.minute < int64(len(m.slots)) {
			sum, n = sum+s.sum, n+s.n
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// millis is the mean in milliseconds, at least 1 when anything ended: 0 says that
// nothing is known.
func (m *mean) millis(now time.Time) int64 {
	d := m.of(now)
	if d == 0 {
		return 0
	}
	return max(d.Milliseconds(), 1)
}
