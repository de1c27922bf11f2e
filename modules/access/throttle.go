package access

import (
	"sync"
	"time"
)

const (
	throttleWindow = 5 * time.Minute
	nameTries      = 5  // per name in a window
	remoteTries    = 30 // per address in a window
	maxThrottled   = 20000
)

// throttle counts failed logins per name and per address within a sliding window,
// in this process. A try counts as failed from its beginning until clear is
// called, so that tries at the same time cannot outrun the count. Safe for
// concurrent use.
type throttle struct {
	mu    sync.Mutex
	tries map[string][]time.Time
}

func newThrottle() *throttle { return &throttle{tries: map[string][]time.Time{}} }

// try takes one try and returns 0, or how long to wait for the next.
func (t *throttle) try(name, remote string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	byName, byRemote := nameKey(name), "r:"+remote
	wait := max(t.wait(byName, nameTries, now), t.wait(byRemote, remoteTries, now))
	if wait > 0 {
		return wait
	}
	if len(t.tries) >= maxThrottled {
		t.forget(now)
	}
	for _, key := range []string{byName, byRemote} {
		t.tries[key] = append(t.tries[key], now)
	}
	return 0
}

// wait drops what has left the window and says when there is room again.
func (t *throttle) wait(key string, limit int, now time.Time) time.Duration {
	all := t.tries[key]
	for len(all) > 0 && now.Sub(all[0]) >= throttleWindow {
		all = all[1:]
	}
	if len(all) == 0 {
		delete(t.tries, key)
		return 0
	}
	t.tries[key] = all
	if len(all) < limit {
		return 0
	}
	return throttleWindow - now.Sub(all[len(all)-limit])
}

// forget drops what has left the window and, if that is not enough, everything:
// memory is bounded before guessing is.
func (t *throttle) forget(now time.Time) {
	for key := range t.tries {
		t.wait(key, 1, now)
	}
	if len(t.tries) >= maxThrottled {
		clear(t.tries)
	}
}

// clear forgets the name's tries and gives back the address's last one.
func (t *throttle) clear(name, remote string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tries, nameKey(name))
	if all := t.tries["r:"+remote]; len(all) > 0 {
		t.tries["r:"+remote] = all[:len(all)-1]
	}
}

// nameKey is bounded: no account has a longer name, but a guess may.
func nameKey(name string) string { return "n:" + name[:min(len(name), 64)] }
