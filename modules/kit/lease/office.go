package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
)

// Broker is the office of the one active broker.
const Broker = "broker"

// ErrFenced says that a write came from an epoch that is over.
var ErrFenced = errors.New("another process is the active one now")

// Office is a post that one process at a time holds, for one epoch after the
// other. Safe for concurrent use.
type Office struct {
	l    *Lease
	name string

	mu    sync.Mutex
	epoch int64
	end   context.CancelCauseFunc // of the term of epoch; nil between terms
}

// Office is the post of the name, which must be a row of table epoch.
func (l *Lease) Office(name string) *Office { return &Office{l: l, name: name} }

// errNoSeat says that the office has no row.
var errNoSeat = errors.New("there is no such office in table epoch")

// seat is the office's row, and whether its holder has a lease still.
type seat struct {
	Epoch  int64
	Holder string
	Alive  bool
}

// vacant reports whether self may take the seat: nobody has it, its holder's
// lease was taken away (so its connections are killed), or it is self's own from
// a term that ended without resigning.
func (s seat) vacant(self string) bool { return s.Holder == "" || s.Holder == self || !s.Alive }

// Run campaigns, runs term, and campaigns again when the term has ended, until
// ctx ends (nil) or the lease is lost (ErrLost). term's context ends with the
// epoch; term returns once nothing of it runs any more. When it returned of
// itself, the office is laid down and others get the first turn.
func (o *Office) Run(ctx context.Context, term func(ctx context.Context, epoch int64) error) error {
	for {
		epoch, err := o.Campaign(ctx)
		if ctx.Err() != nil {
			if err == nil {
				o.Resign(ctx, epoch)
			}
			return nil
		}
		if err != nil {
			return err
		}
		o.serve(ctx, epoch, term)
		if ctx.Err() != nil {
			return nil
		}
		if o.l.isLost() {
			return ErrLost
		}
		if !pause(ctx, 3*beat) {
			return nil
		}
	}
}

// Campaign blocks until this process holds the office, and returns the new
// epoch. It fails only when ctx ends or the lease is lost.
func (o *Office) Campaign(ctx context.Context) (int64, error) {
	var s streak
	for {
		freed := o.l.nextFreed()
		epoch, ok, err := o.try(ctx)
		if ok {
			slog.Info("office taken", "office", o.name, "epoch", epoch, "node", o.l.node)
			return epoch, nil
		}
		if ctx.Err() == nil {
			s.note("campaigning for "+o.name, err)
		}
		t := time.NewTimer(jitter(beat))
		select {
		case <-ctx.Done():
			t.Stop()
			return 0, ctx.Err()
		case <-o.l.lost:
			t.Stop()
			return 0, ErrLost
		case <-freed:
		case <-t.C:
		}
		t.Stop()
	}
}

func (o *Office) try(ctx context.Context) (epoch int64, ok bool, err error) {
	s, err := o.look(ctx)
	if errors.Is(err, errNoSeat) && o.name == Broker {
		err = o.furnish(ctx)
		return 0, false, err
	}
	if err != nil || !s.vacant(o.l.holder) {
		return 0, false, err
	}
	ok, err = o.raise(ctx, s)
	return s.Epoch + 1, ok, err
}

func (o *Office) look(ctx context.Context) (seat, error) {
	var rows []seat
	err := o.l.side.Scan(ctx, &rows, "SELECT e.epoch, e.holder, EXISTS (SELECT 1 FROM lease l WHERE l.node = e.node"+
		" AND l.holder = e.holder) AS alive FROM epoch e WHERE e.name = ?", o.name)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("looking for %q: %w", o.name, errNoSeat)
	}
	if err != nil {
		return seat{}, err
	}
	return rows[0], nil
}

// furnish makes the row anew that somebody has deleted, for else nobody could ever take the office again. Its epochs go on
// from the database's clock in milliseconds, which is beyond any that there was.
func (o *Office) furnish(ctx context.Context) error {
	side := o.l.side
	_, err := side.Exec(ctx, "INSERT INTO epoch (name, epoch, node, holder, taken_at) VALUES (?, "+side.NowSQL()+", -1, '', 0)", o.name)
	if domain.Is(err, domain.Exists) { // another was first
		return nil
	}
	if err == nil {
		slog.Warn("the row of an office was gone from table epoch and was made anew", "office", o.name)
	}
	return err
}

// raise takes the seat if it is still as seen and our own lease stands. It waits
// 1 s at most for the predecessor's last transactions; the caller repeats.
func (o *Office) raise(ctx context.Context, s seat) (bool, error) {
	side, n := o.l.side, int64(0)
	err := side.Tx(ctx, func(ctx context.Context) error {
		if side.Dialect() == dbx.MySQL {
			if _, err := side.Exec(ctx, "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
				return err
			}
		}
		var err error
		n, err = side.Exec(ctx, "UPDATE epoch SET epoch = epoch + 1, node = ?, holder = ?, taken_at = "+side.NowSQL()+
			" WHERE name = ? AND epoch = ? AND holder = ?"+
			" AND EXISTS (SELECT 1 FROM lease l WHERE l.node = ? AND l.holder = ? AND l.counter >= 0)",
			o.l.node, o.l.holder, o.name, s.Epoch, s.Holder, o.l.node, o.l.holder)
		return err
	})
	return err == nil && n == 1, err
}

// serve runs one term and lays the office down after it.
func (o *Office) serve(ctx context.Context, epoch int64, term func(ctx context.Context, epoch int64) error) {
	termCtx, end := context.WithCancelCause(ctx)
	o.mu.Lock()
	o.epoch, o.end = epoch, end
	o.mu.Unlock()
	var guard sync.WaitGroup
	guard.Go(func() { o.guard(termCtx, epoch) })
	err := term(termCtx, epoch)
	cause := context.Cause(termCtx)
	o.mu.Lock()
	o.end = nil
	o.mu.Unlock()
	end(nil)
	guard.Wait()
	if cause == nil && err != nil {
		cause = err
	}
	slog.Info("term ended", "office", o.name, "epoch", epoch, "node", o.l.node, "why", cause)
	o.Resign(ctx, epoch)
}

// guard ends the term when the epoch or the lease is lost. Not reaching the
// database ends nothing: no write passes the fence meanwhile either.
func (o *Office) guard(ctx context.Context, epoch int64) {
	var s streak
	for {
		seat, err := o.look(ctx)
		if ctx.Err() != nil {
			return
		}
		s.note("looking after the office "+o.name, err)
		if err == nil && (seat.Epoch != epoch || seat.Holder != o.l.holder) || errors.Is(err, errNoSeat) {
			o.endTerm(epoch, ErrFenced)
			return
		}
		t := time.NewTimer(jitter(beat))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-o.l.lost:
			t.Stop()
			o.endTerm(epoch, ErrLost)
			return
		case <-t.C:
		}
	}
}

func (o *Office) endTerm(epoch int64, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.end != nil && o.epoch == epoch {
		o.end(cause)
	}
}

// Resign lays the office down, if epoch is still the one in force, so that a
// successor takes over at once. It works after ctx has ended, for at most 3 s;
// a failure is only logged, since then the successor waits for our lease to end
// or we take the seat again.
func (o *Office) Resign(ctx context.Context, epoch int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	n, err := o.l.side.Exec(ctx, "UPDATE epoch SET node = -1, holder = '' WHERE name = ? AND epoch = ? AND holder = ?",
		o.name, epoch, o.l.holder)
	if err != nil && !errors.Is(err, ErrLost) {
		slog.Warn("laying an office down failed", "office", o.name, "epoch", epoch, "error", err)
	} else if n == 1 {
		slog.Info("office laid down", "office", o.name, "epoch", epoch, "node", o.l.node)
	}
}

// Fence is for dbx.WithFence: each transaction on db share-locks the office's
// row, so that no successor comes in before it has ended, and fails with
// ErrFenced when the epoch is over. That also ends the term.
func (o *Office) Fence(db *dbx.DB, epoch int64) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if !db.InTx(ctx) {
			return fmt.Errorf("the fence of %s was met outside a transaction on its own database pool", o.name)
		}
		var s seat
		err := db.Scan(ctx, &s, "SELECT epoch, holder FROM epoch WHERE name = ?"+db.ForShare(), o.name)
		if err != nil {
			return fmt.Errorf("passing the fence of %s: %w", o.name, err)
		}
		if s.Epoch != epoch || s.Holder != o.l.holder {
			o.endTerm(epoch, ErrFenced)
			return fmt.Errorf("epoch %d of %s is over, %d is in force: %w", epoch, o.name, s.Epoch, ErrFenced)
		}
		return nil
	}
}

// Present tells whether anybody holds the office of the name on a live lease. A
// process without a lease of its own may ask.
func Present(ctx context.Context, db *dbx.DB, name string) (bool, error) {
	var holders int
	err := db.Scan(ctx, &holders, "SELECT COUNT(*) FROM epoch e JOIN lease l ON l.node = e.node AND l.holder = e.holder WHERE e.name = ?", name)
	return holders > 0, err
}
