package scheduler

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/scheduler/plan"
)

// fakePath is a fast path that fails on purpose. Safe for concurrent use.
type fakePath struct {
	mu    sync.Mutex
	set   map[string]bool
	fail  error
	hang  chan struct{} // not nil: answers only once it is closed
	calls int
}

func (p *fakePath) Win(_ context.Context, keys []string) ([]bool, error) {
	p.mu.Lock()
	p.calls++
	hang, fail := p.hang, p.fail
	p.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if fail != nil {
		return nil, fail
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	won := make([]bool, len(keys))
	for i, k := range keys {
		won[i] = !p.set[k]
		p.set[k] = true
	}
	return won, nil
}

func (p *fakePath) GiveBack(_ context.Context, keys []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range keys {
		delete(p.set, k)
	}
}

func (p *fakePath) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.set)
}

func (p *fakePath) called() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func (p *fakePath) eventuallyEmpty(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		n := len(p.set)
		p.mu.Unlock()
		if n == 0 {
			return
		}
	}
	t.Error("keys were not given back")
}

func TestLostFastPathLooksAgain(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		b.pass(time.Minute)
		path := &fakePath{set: map[string]bool{}}
		dead, loser := b.node(path), b.node(path)
		batch := b.due()
		dead.fast.win(t.Context(), batch) // it wins and dies
		looks := loser.take(t.Context(), batch)
		if len(looks) != 1 || !looks[0].at.Equal(b.now().Add(KeyTTL)) || len(b.fires(1)) != 0 {
			t.Fatalf("looks %+v, fires %v", looks, b.fires(1))
		}
		b.pass(KeyTTL)
		path.expire()
		loser.take(t.Context(), []plan.Due{looks[0].due})
		if len(b.fires(1)) != 1 || loser.marks.status().FastLost != 1 {
			t.Errorf("fires %v, status %+v", b.fires(1), loser.marks.status())
		}
		// Lost again, and this time the other has taken it: no transaction is needed to see it.
		b.pass(time.Minute)
		other := b.node(path)
		batch = b.due()
		other.take(t.Context(), batch)
		before := loser.marks.status().Takes
		looks = loser.take(t.Context(), batch)
		path.expire()
		looks = loser.take(t.Context(), []plan.Due{looks[0].due})
		if len(b.fires(1)) != 2 || loser.marks.status().Takes != before || !looks[0].due.Next.Equal(b.trigger(1).Next) {
			t.Errorf("fires %v, looks %+v", b.fires(1), looks)
		}
	})
}

func TestFailingFastPathChangesNothing(t *testing.T) {
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		b.mustPut(1, 1, everySpec(time.Second))
		hang := make(chan struct{})
		defer close(hang)
		for _, path := range []*fakePath{{fail: errors.New("Redis is away")}, {set: map[string]bool{}, hang: hang}} {
			node := b.node(path)
			for i := range 10 {
				b.pass(time.Second)
				before := len(b.fires(1))
				began := time.Now()
				node.take(t.Context(), b.due())
				if len(b.fires(1)) != before+1 {
					t.Fatalf("take %d made %d fires", i, len(b.fires(1))-before)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("take %d took %s", i, took)
				}
			}
			// Three failures, five seconds without, three failures, and without again.
			if n := path.called(); n != 2*fastFailures {
				t.Errorf("%d calls in ten seconds", n)
			}
			if s := node.marks.status(); s.FastFailed != 2*fastFailures || s.FastLost != 0 {
				t.Errorf("status %+v", s)
			}
		}
	})
}
