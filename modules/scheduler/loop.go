package scheduler

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler/plan"
)

const (
	window       = 30 * time.Second // how far ahead triggers are loaded into the wheel
	loadEach     = 5 * time.Second
	loadMost     = 50_000 // triggers that one reading of the window takes up
	loadPause    = 50 * time.Millisecond
	measureEach  = 2 * time.Second
	measureAgain = 500 * time.Millisecond
	gatherMost   = 10 * time.Millisecond
)

// loop keeps the near future in the wheel and hands due batches to take.
type loop struct {
	due    func(ctx context.Context, until time.Time, limit int) ([]plan.Due, error)
	take   func(ctx context.Context, batch []plan.Due) []look
	clock  *dbClock
	marks  *marks
	timers *timers
	takers int
	// ahead reads what is needed of the coming triggers; nil = nothing is.
	ahead  func(ctx context.Context, near []plan.Due)
	reload bell
	queue  queue

	mu       sync.Mutex
	lastLoad time.Time
	trouble  string // why the window could not be read
}

func newLoop(due func(context.Context, time.Time, int) ([]plan.Due, error), take func(context.Context, []plan.Due) []look,
	clock *dbClock, marks *marks, takers int) *loop {
	return &loop{due: due, take: take, clock: clock, marks: marks, takers: takers,
		timers: newTimers(clock.now()), reload: make(bell, 1), queue: queue{more: make(bell, takers)}}
}

// bell wakes waiters; ringing more often than there are waiters is ringing once.
type bell chan struct{}

func (b bell) ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

func (l *loop) run(ctx context.Context, g *errgroup.Group) {
	g.Go(func() error { return l.measure(ctx) })
	g.Go(func() error { return l.load(ctx) })
	g.Go(func() error {
		return l.timers.wheel.Run(ctx, l.clock.now, func(ids []domain.ID) { l.queue.put(l.timers.begin(ids)) })
	})
	for range l.takers {
		g.Go(func() error { return l.work(ctx) })
	}
}

// measure follows the database's clock. The window is read for the first time after
// the first success.
func (l *loop) measure(ctx context.Context) error {
	for first := true; ; {
		pause := measureEach
		switch err := l.clock.measure(ctx); {
		case err != nil:
			pause = measureAgain
		case first:
			first = false
			l.reload.ring()
		}
		if !wait(ctx, pause, nil) {
			return nil
		}
	}
}

// load reads the coming window, each few seconds and when nudged.
func (l *loop) load(ctx context.Context) error {
	for {
		if !wait(ctx, loadEach-loadEach/10+rand.N(loadEach/5), l.reload) {
			return nil
		}
		if near := l.loadOnce(ctx); l.ahead != nil {
			l.ahead(ctx, near)
		}
		if !wait(ctx, loadPause, nil) { // many nudges in a row are one reading
			return nil
		}
	}
}

func (l *loop) loadOnce(ctx context.Context) []plan.Due {
	rows, err := l.due(ctx, l.clock.now().Add(window), loadMost)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if l.trouble == "" && ctx.Err() == nil {
			slog.Warn("reading the coming fires failed; trying again", "error", err)
		}
		l.trouble = "reading the coming fires failed: " + err.Error()
		return nil
	}
	l.trouble, l.lastLoad = "", l.clock.own()
	l.marks.settled(l.timers.sync(rows, len(rows) < loadMost)...)
	return rows
}

// wait waits for a moment or the bell; false: ctx has ended.
func wait(ctx context.Context, d time.Duration, b bell) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-b:
	}
	return ctx.Err() == nil
}

// work takes batches as they come, one at a time.
func (l *loop) work(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.queue.more:
		}
		for ctx.Err() == nil {
			batch := l.queue.get(maxBatch)
			if len(batch) == 0 {
				break
			}
			began := time.Now()
			l.timers.end(l.take(ctx, batch), l.clock.now().Add(window))
			if len(batch) < maxBatch {
				// What a transaction costs hardly grows with its batch: under load the next
				// waits as long as this one took, so that more comes together.
				wait(ctx, min(time.Since(began), gatherMost), nil)
			}
		}
	}
}

// queue is what is due and not yet being taken.
type queue struct {
	mu   sync.Mutex
	due  []plan.Due
	more bell
}

func (q *queue) put(batch []plan.Due) {
	q.mu.Lock()
	q.due = append(q.due, batch...)
	n := (len(q.due) + maxBatch - 1) / maxBatch
	q.mu.Unlock()
	for range min(n, cap(q.more)) {
		q.more.ring()
	}
}

func (q *queue) get(n int) []plan.Due {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.due))
	out := q.due[:n:n]
	q.due = q.due[n:]
	return out
}

func (l *loop) status() Status {
	s := l.marks.status()
	s.Wheel, s.ClockOffset, s.Fault = l.timers.len(), l.clock.skew(), l.clock.fault()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.LastLoad = l.lastLoad
	switch {
	case s.Fault != "":
	case l.trouble != "":
		s.Fault = l.trouble
	case l.lastLoad.IsZero():
		s.Fault = "the coming fires have not been read yet"
	}
	return s
}
