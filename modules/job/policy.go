package job

import (
	"strconv"

	"github.com/axsched/ax/modules/domain"
)

// firstBackoffSec is the wait before the first retry where the file gives none; each further
// one doubles it: 30, 60, 120 s….
const firstBackoffSec = 30

// retry reads {times, interval | backoff}.
func (d *draft) retry(e entry) {
	children, ok := d.entries(e)
	if !ok {
		return
	}
	keys := map[string]entry{}
	for _, c := range children {
		switch c.key {
		case "times", "interval", "backoff":
			keys[c.key] = c
		default:
			d.unknownKey(c, idRetryKey, []string{"times", "interval", "backoff"})
			ok = false
		}
	}
	if !ok {
		return
	}
	interval, hasInterval := keys["interval"]
	backoff, hasBackoff := keys["backoff"]
	times, hasTimes := keys["times"]
	if hasInterval && hasBackoff {
		d.add(backoff.keyAt, backoff.path, idRetryBoth, "")
		return
	}
	var waits []int
	if hasBackoff {
		if waits, ok = d.seconds(backoff); !ok {
			return
		}
	}
	n := len(waits)
	if hasTimes {
		if n, ok = d.whole(times, 0, maxRetries); !ok {
			return
		}
	} else if !hasBackoff {
		d.retryTimes(e, interval, hasInterval)
		return
	}
	step := 0
	if hasInterval {
		if step, ok = d.whole(interval, 1, maxLimitSec); !ok {
			return
		}
	}
	if hasBackoff && hasTimes && len(waits) != n {
		d.add(backoff.at, backoff.path, idRetryCount, "", "times", strconv.Itoa(n), "n", strconv.Itoa(len(waits)))
		return
	}
	d.spec.Retry = domain.Retry{Times: n, BackoffSec: waitsOf(n, step, waits)}
}

// retryTimes says that retry lacks its times, beside the interval if there is one.
func (d *draft) retryTimes(e, interval entry, hasInterval bool) {
	if !hasInterval {
		d.add(e.at, e.path, idRetryTimes, hintRetryTimes)
		return
	}
	if n, ok := d.whole(interval, 1, maxLimitSec); ok {
		d.add(e.at, e.path, idRetryTimes, hintRetryInterval, "interval", strconv.Itoa(n))
	}
}

// waitsOf gives the n waits: those given, the same step each time, or the default pattern.
func waitsOf(n, step int, given []int) []int {
	if n == 0 || len(given) > 0 {
		return given
	}
	out := make([]int, n)
	for i := range out {
		if out[i] = step; step == 0 {
			out[i] = firstBackoffSec << i
		}
	}
	return out
}

// seconds reads a list of waits.
func (d *draft) seconds(e entry) ([]int, bool) {
	items, ok := d.items(e)
	if !ok {
		return nil, false
	}
	if len(items) == 0 || len(items) > maxRetries {
		d.add(e.at, e.path, idListLong, "", "key", e.key, "n", strconv.Itoa(len(items)), "max", strconv.Itoa(maxRetries))
		return nil, false
	}
	out := make([]int, len(items))
	for i, it := range items {
		n, good := d.whole(it, 1, maxLimitSec)
		out[i], ok = n, ok && good
	}
	return out, ok
}
