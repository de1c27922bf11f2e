package scheduler

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/axsched/ax/modules/scheduler/plan"
	"github.com/axsched/ax/worker/protocol"
)

const (
	fastDeadline = 50 * time.Millisecond
	fastFailures = 3               // in a row, after which it is left out
	fastPause    = 5 * time.Second // for so long
)

var errShort = errors.New("the fast path answered for another number of keys")

// fast is the fast path behind a deadline and a breaker: it may fail, hang or be nil,
// and then every fire counts as won. Safe for concurrent use.
type fast struct {
	path  FastPath
	clock func() time.Time

	mu     sync.Mutex
	failed int
	closed time.Time // left out until then
}

// win tells which of the fires this node may look at first; failed: the fast path did not answer.
func (f *fast) win(ctx context.Context, batch []plan.Due) (won []bool, failed bool) {
	all := make([]bool, len(batch))
	for i := range all {
		all[i] = true
	}
	if len(batch) == 0 || !f.usable() {
		return all, false
	}
	ctx, cancel := context.WithTimeout(ctx, fastDeadline)
	defer cancel()
	type answer struct {
		won []bool
		err error
	}
	got := make(chan answer, 1) // the path is trusted with nothing, not even with its deadline
	go func() {
		won, err := f.path.Win(ctx, fireKeys(batch))
		got <- answer{won, err}
	}()
	select {
	case a := <-got:
		if a.err == nil && len(a.won) == len(batch) {
			f.count(nil)
			return a.won, false
		}
		f.count(cmp.Or(a.err, errShort))
	case <-ctx.Done():
		f.count(ctx.Err())
	}
	return all, true
}

// giveBack removes keys that were not used, so that another node may look. It waits only
// where the caller calls what it returns: until the keys are gone, or for the deadline.
func (f *fast) giveBack(ctx context.Context, batch []plan.Due) (wait func()) {
	if len(batch) == 0 || !f.usable() {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fastDeadline)
	gone := make(chan struct{})
	go func() {
		defer cancel()
		defer close(gone)
		f.path.GiveBack(ctx, fireKeys(batch))
	}()
	return func() {
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
}

func (f *fast) usable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path != nil && !f.clock().Before(f.closed)
}

func (f *fast) count(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.failed = 0
		return
	}
	if f.failed++; f.failed >= fastFailures {
		f.failed, f.closed = 0, f.clock().Add(fastPause)
		slog.Warn("fast path left out for a while; fires are taken without it", "for", fastPause.String(), "error", err)
	}
}

func fireKeys(batch []plan.Due) []string {
	keys := make([]string, len(batch))
	for i, d := range batch {
		keys[i] = protocol.KeyFire(int64(d.ID), d.Next.UnixMilli())
	}
	return keys
}
