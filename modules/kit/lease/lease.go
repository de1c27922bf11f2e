package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

const (
	beat         = 500 * time.Millisecond // between two renewals, and between two looks at the peers
	writeTimeout = 2 * time.Second        // for one renewal, below patience
	// answerTimeout is for the server to answer anything on the lease's own
	// connections; a lock is waited for 3 s at most.
	answerTimeout = 5 * time.Second
)

// ErrLost says that the lease is gone for good: peers took this process for
// frozen. See the package comment for what the root does then.
var ErrLost = errors.New("this process stood still for so long that its peers took its lease away")

// Lease is this process's row. Safe for concurrent use.
type Lease struct {
	node   int
	holder string
	name   string

	heart *dbx.DB // one connection outside the pools, used for single statements on our row only
	side  *dbx.DB // looks at peers, kills, campaigns; listed in the row like the pools

	conns     connections
	writing   chan struct{} // holds one: one renewal at a time; guards the three below
	written   int64         // generation of connections that the row has
	start     int64         // of the server that heart speaks to, Unix seconds
	startConn int64         // the connection of heart on which start was read
	heartConn atomic.Int64

	pulse   sync.Mutex // guards the two below
	renewed time.Time
	fault   error // why the last renewal failed; nil = it did not

	lost     chan struct{}
	loseOnce sync.Once

	freedMu sync.Mutex
	freed   chan struct{} // closed and replaced when a peer's row was given up
}

// Take gets a node number under a fresh holder id and two connections of its
// own. The tables must be there (migrate first). name is what people read: host
// and role. Call Run soon: the row counts as frozen 3 s later. When every number
// is taken it frees those of the dead and waits for them to rest, at most 90 s.
func Take(ctx context.Context, url, name string) (*Lease, error) {
	l := &Lease{
		holder: uuid.NewString(), name: clip(name, 200),
		lost: make(chan struct{}), freed: make(chan struct{}), writing: make(chan struct{}, 1),
	}
	var err error
	l.heart, err = dbx.Open(ctx, url, dbx.Options{Pool: 1, Patience: answerTimeout, OnConnect: func(_ context.Context, id int64) error {
		l.heartConn.Store(id)
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("taking a node number: %w", err)
	}
	onConnect, onClose := l.Hooks()
	if err = l.take(ctx); err == nil {
		l.side, err = dbx.Open(ctx, url, dbx.Options{Pool: 4, Patience: answerTimeout, OnConnect: onConnect, OnClose: onClose})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("taking a node number: %w", err), l.heart.Close())
	}
	slog.Info("lease taken", "node", l.node, "holder", l.holder, "name", l.name)
	return l, nil
}

func (l *Lease) take(ctx context.Context) error {
	deadline := time.Now().Add(rest + 30*time.Second)
	var w watch
	for {
		node, ok, err := claimNode(ctx, l.heart, l.holder, l.name)
		if err != nil {
			return err
		}
		if ok {
			l.node = node
			return l.renew(ctx, 0)
		}
		if time.Now().After(deadline) {
			return domain.Fail(domain.Unavailable, "all %d node numbers are held or resting", domain.MaxNode+1).
				WithHint("is some process restarting in a loop? Numbers rest for a minute")
		}
		if _, err := buryFrozen(ctx, l.heart, &w, l.holder, true); err != nil {
			return err
		}
		if !pause(ctx, beat) {
			return ctx.Err()
		}
	}
}

// Node is this process's number, 0…domain.MaxNode, for ids; unique as long as
// the lease is not lost.
func (l *Lease) Node() int { return l.node }

// Holder is the UUID of this taking.
func (l *Lease) Holder() string { return l.holder }

// Lost is closed when the lease is gone.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Renewed is when the row was last renewed, on this machine's monotonic clock.
func (l *Lease) Renewed() time.Time {
	l.pulse.Lock()
	defer l.pulse.Unlock()
	return l.renewed
}

// Fault is why the row could not be renewed the last time, nil when it could. It is
// the shortest way to learn that the database takes no writes.
func (l *Lease) Fault() error {
	l.pulse.Lock()
	defer l.pulse.Unlock()
	return l.fault
}

// Hooks are for dbx.Options of every pool of this process. onConnect returns
// once the row lists the id, and fails as Unavailable when it cannot: then the
// connection must not be used; the process' next life has others.
func (l *Lease) Hooks() (onConnect func(ctx context.Context, id int64) error, onClose func(id int64)) {
	onConnect = func(ctx context.Context, id int64) error {
		if err := l.renew(ctx, l.conns.add(id)); err != nil {
			l.conns.remove(id)
			err = fmt.Errorf("listing a connection in the lease: %w", err)
			return &domain.Error{Kind: domain.Unavailable, Msg: err.Error(), Err: err}
		}
		return nil
	}
	return onConnect, l.conns.remove
}

// renew raises the counter and writes the connection ids, unless the row has
// generation want already (0 = write in any case): who waits for another's write
// mostly finds itself written.
func (l *Lease) renew(ctx context.Context, want int64) error {
	select { // whoever opens a connection waits no longer than it wants to
	case l.writing <- struct{}{}:
		defer func() { <-l.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.isLost() {
		return ErrLost
	}
	if want > 0 && want <= l.written {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := l.write()
	l.pulse.Lock()
	defer l.pulse.Unlock()
	if l.fault = err; err == nil {
		l.renewed = time.Now()
	}
	return err
}

// write writes the row over the connection of the server that it then still has.
func (l *Lease) write() error {
	// Nothing of the caller's context: what it carries (a fence, a transaction) is about other pools.
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	for {
		if err := l.writeRow(ctx); err != nil {
			return err
		}
		if l.heartConn.Load() == l.startConn { // else it reconnected meanwhile, perhaps to a restarted server
			return nil
		}
	}
}

func (l *Lease) writeRow(ctx context.Context) error {
	if conn := l.heartConn.Load(); conn != l.startConn || l.Renewed().IsZero() {
		start, err := l.heart.ServerStart(ctx)
		if err != nil {
			return err
		}
		if l.start != 0 && !sameStart(start, l.start) {
			l.conns.forget(l.written)
		}
		l.start, l.startConn = start, conn
	}
	ids, gen := l.conns.snapshot()
	n, err := l.heart.Exec(ctx, "UPDATE lease SET counter = counter + 1, connections = ?, renewed_at = "+l.heart.NowSQL()+
		" WHERE node = ? AND holder = ? AND counter >= 0", encode(l.start, ids), l.node, l.holder)
	if err != nil {
		return err
	}
	if n == 0 {
		l.lose()
		return ErrLost
	}
	l.written = gen
	return nil
}

func (l *Lease) lose() {
	l.loseOnce.Do(func() {
		slog.Error("lease lost", "node", l.node, "holder", l.holder)
		close(l.lost)
	})
}

func (l *Lease) isLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// Run renews the row and watches the peers until ctx ends (nil) or the lease is
// lost (ErrLost). ctx must outlive the process's pools.
func (l *Lease) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.renewing(ctx) })
	g.Go(func() error { return l.watching(ctx) })
	return g.Wait()
}

func (l *Lease) renewing(ctx context.Context) error {
	var s streak
	for {
		err := l.renew(ctx, 0)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, ErrLost) {
			return err
		}
		s.note("renewing the lease", err)
		if !pause(ctx, beat) {
			return nil
		}
	}
}

func (l *Lease) watching(ctx context.Context) error {
	var w watch
	var s streak
	for {
		fit := time.Since(l.Renewed()) < maxGap
		n, err := buryFrozen(ctx, l.side, &w, l.holder, fit)
		if ctx.Err() != nil {
			return nil
		}
		if n > 0 {
			l.announce()
		}
		s.note("watching the other processes' leases", err)
		if !pause(ctx, beat) {
			return nil
		}
	}
}

// announce wakes those who wait for a peer's row to be given up.
func (l *Lease) announce() {
	l.freedMu.Lock()
	defer l.freedMu.Unlock()
	close(l.freed)
	l.freed = make(chan struct{})
}

func (l *Lease) nextFreed() <-chan struct{} {
	l.freedMu.Lock()
	defer l.freedMu.Unlock()
	return l.freed
}

// Close gives the row up and ends the lease's connections. Call it when Run has
// returned and every pool is closed: while some connection is still listed the
// row stays, and peers will kill what it lists.
func (l *Lease) Close(ctx context.Context) error {
	err := l.side.Close()
	if l.isLost() {
		return errors.Join(err, l.heart.Close())
	}
	if ids, _ := l.conns.snapshot(); len(ids) > 0 {
		err = errors.Join(err, fmt.Errorf("the lease is not given up: %d connections are still open", len(ids)))
	} else {
		ok, giveErr := giveUp(ctx, l.heart, row{Node: l.node, Holder: l.holder}, "counter >= 0")
		err = errors.Join(err, giveErr)
		if ok {
			slog.Info("lease given up", "node", l.node, "holder", l.holder)
		}
	}
	return errors.Join(err, l.heart.Close())
}

// streak logs the first of a row of failures and the success that ends it. The
// loss of the lease is logged where it is noticed.
type streak struct{ failing bool }

func (s *streak) note(doing string, err error) {
	switch {
	case errors.Is(err, ErrLost):
		return
	case err != nil && !s.failing:
		slog.Warn(doing+" failed, trying on", "error", err)
	case err == nil && s.failing:
		slog.Info(doing + " works again")
	}
	s.failing = err != nil
}

// pause waits for d, 10 % more or less, and reports false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(jitter(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func jitter(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5+1)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
