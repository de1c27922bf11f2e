package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// rows plays the database under the loop: a few triggers, and what was taken of them.
type rows struct {
	mu     sync.Mutex
	next   map[domain.ID]plan.Due
	taken  map[domain.ID][]time.Time // own clock
	fail   error
	ahead  time.Duration                 // of the database's clock
	answer func(d plan.Due) (look, bool) // false: the ordinary answer
	during func(ctx context.Context, d plan.Due)
}

func (r *rows) put(id domain.ID, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next[id] = plan.Due{ID: id, Next: next, Ver: r.next[id].Ver + 1}
}

func (r *rows) due(_ context.Context, until time.Time, _ int) ([]plan.Due, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []plan.Due
	for _, d := range r.next {
		if !d.Next.IsZero() && !d.Next.After(until) {
			out = append(out, d)
		}
	}
	return out, r.fail
}

func (r *rows) now(context.Context) (time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.ahead), r.fail
}

func (r *rows) take(ctx context.Context, batch []plan.Due) []look {
	var out []look
	for _, d := range batch {
		r.mu.Lock()
		r.taken[d.ID] = append(r.taken[d.ID], time.Now())
		r.mu.Unlock()
		if r.during != nil {
			r.during(ctx, d)
		}
		if r.answer != nil {
			if l, ok := r.answer(d); ok {
				out = append(out, l)
				continue
			}
		}
		r.put(d.ID, d.Next.Add(10*time.Second))
		r.mu.Lock()
		out = append(out, look{due: r.next[d.ID]})
		r.mu.Unlock()
	}
	return out
}

func (r *rows) of(id domain.ID) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken[id])
}

// inLoop runs fn beside a loop over the rows, in a bubble of its own time.
func inLoop(t *testing.T, fn func(t *testing.T, r *rows, l *loop)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rows{next: map[domain.ID]plan.Due{}, taken: map[domain.ID][]time.Time{}}
		l := newLoop(r.due, r.take, &dbClock{own: time.Now, db: r.now}, &marks{of: map[domain.ID]*mark{}}, 2)
		ctx, cancel := context.WithCancel(t.Context())
		g, ctx := errgroup.WithContext(ctx)
		l.run(ctx, g)
		fn(t, r, l)
		cancel()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// onTime checks moments against what was planned: never early, at most three ticks late.
func onTime(t *testing.T, got []time.Time, want ...time.Time) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("taken %d times at %v, want %v", len(got), got, want)
	}
	for i := range want {
		if late := got[i].Sub(want[i]); late < 0 || late > 30*time.Millisecond {
			t.Errorf("taken %s after its time", late)
		}
	}
}

func TestLoopTakesAtTheTime(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		start := time.Now()
		first := start.Add(7*time.Second + 3*time.Millisecond)
		r.put(1, first)
		r.put(2, start.Add(90*time.Second)) // beyond the window: loaded later
		time.Sleep(28 * time.Second)
		onTime(t, r.of(1), first, first.Add(10*time.Second), first.Add(20*time.Second))
		if len(r.of(2)) != 0 || l.timers.len() != 1 {
			t.Errorf("taken %v, %d wait", r.of(2), l.timers.len())
		}
		time.Sleep(63 * time.Second)
		onTime(t, r.of(2), start.Add(90*time.Second))
	})
}

// What is saved shortly before its time is taken on time. (J-A23)
func TestLoopHearsANudge(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		time.Sleep(5*time.Second + 500*time.Millisecond)
		at := time.Now().Add(200 * time.Millisecond)
		r.put(1, at)
		for range 10 {
			l.reload.ring()
		}
		time.Sleep(time.Second)
		onTime(t, r.of(1), at)
		// Without one it is found within the pause.
		at = time.Now()
		r.put(2, at)
		time.Sleep(loadEach + loadEach/5)
		if len(r.of(2)) != 1 {
			t.Errorf("a trigger whose nudge was lost was not found: %v", r.of(2))
		}
	})
}

func TestLoopRunsOnTheDatabasesClock(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		r.mu.Lock()
		r.ahead = 800 * time.Millisecond
		r.mu.Unlock()
		time.Sleep(3 * time.Second)
		at := time.Now().Add(5 * time.Second) // by the database
		r.put(1, at)
		l.reload.ring()
		time.Sleep(6 * time.Second)
		onTime(t, r.of(1), at.Add(-800*time.Millisecond))
		if off := l.status().ClockOffset; off != 800*time.Millisecond {
			t.Errorf("offset %s", off)
		}
		r.mu.Lock()
		r.ahead = -3 * time.Second
		r.mu.Unlock()
		time.Sleep(3 * time.Second)
		if l.status().Fault == "" {
			t.Error("three seconds off, and no fault is said")
		}
	})
}

// One taking hangs for five minutes, the others go on. (G-B10)
func TestLoopIsNotHeldUpByOne(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		start := time.Now()
		r.during = func(ctx context.Context, d plan.Due) {
			if d.ID == 1 { // hangs for five minutes
				select {
				case <-time.After(5 * time.Minute):
				case <-ctx.Done():
				}
			}
		}
		r.put(1, start.Add(2*time.Second))
		l.reload.ring() // the first reading may be over
		time.Sleep(2500 * time.Millisecond)
		r.put(2, start.Add(4*time.Second))
		l.reload.ring()
		time.Sleep(12 * time.Second)
		onTime(t, r.of(2), start.Add(4*time.Second), start.Add(14*time.Second))
		onTime(t, r.of(1), start.Add(2*time.Second)) // and not a second time while it is being taken
	})
}

func TestLoopKeepsTheMomentOfASecondLook(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		start := time.Now()
		back := start.Add(20 * time.Second)
		tries := 0
		r.answer = func(d plan.Due) (look, bool) {
			tries++
			return look{d, back}, tries == 1
		}
		r.put(1, start.Add(time.Second))
		l.reload.ring()              // the first reading may have been before
		time.Sleep(25 * time.Second) // several readings of the window in between
		got := r.of(1)
		if len(got) < 2 {
			t.Fatalf("taken at %v", got)
		}
		onTime(t, got[:2], start.Add(time.Second), back)
	})
}

// A change that is committed and heard of while the trigger is being taken is not forgotten.
func TestLoopHearsOfAChangeDuringATake(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		start := time.Now()
		r.during = func(context.Context, plan.Due) { time.Sleep(2 * time.Second) }
		r.answer = func(d plan.Due) (look, bool) {
			d.Next = d.Next.Add(time.Hour)
			return look{due: d}, d.Ver == 1
		}
		r.put(1, start.Add(6*time.Second))
		time.Sleep(6*time.Second + 500*time.Millisecond)
		r.put(1, start.Add(7*time.Second)) // the take of the version before goes on until 8 s
		l.reload.ring()
		time.Sleep(2500 * time.Millisecond)
		got := r.of(1)
		if len(got) != 2 {
			t.Fatalf("taken at %v", got)
		}
		onTime(t, got, start.Add(6*time.Second), start.Add(8*time.Second)) // not beside the first, and at once after it
	})
}

func TestLoopOutlivesTheDatabase(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		r.mu.Lock()
		r.fail = errors.New("gone")
		r.mu.Unlock()
		time.Sleep(20 * time.Second)
		if l.status().Fault == "" {
			t.Error("no fault is said")
		}
		r.mu.Lock()
		r.fail = nil
		r.mu.Unlock()
		at := time.Now().Add(7 * time.Second)
		r.put(1, at)
		time.Sleep(8 * time.Second)
		onTime(t, r.of(1), at)
		if f := l.status().Fault; f != "" {
			t.Error(f)
		}
	})
}

func TestLoopDropsWhatWasPaused(t *testing.T) {
	inLoop(t, func(t *testing.T, r *rows, l *loop) {
		r.put(1, time.Now().Add(20*time.Second))
		time.Sleep(7 * time.Second)
		if l.timers.len() != 1 {
			t.Fatalf("%d wait", l.timers.len())
		}
		r.put(1, time.Time{})
		l.reload.ring()
		time.Sleep(30 * time.Second)
		if len(r.of(1)) != 0 || l.timers.len() != 0 {
			t.Errorf("taken %v, %d wait", r.of(1), l.timers.len())
		}
	})
}
