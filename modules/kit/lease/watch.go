package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/worker/protocol/crash"
)

const (
	patience = 3 * time.Second         // a counter that stood still this long is of a frozen process
	maxGap   = 1500 * time.Millisecond // between two looks or renewals of a watcher that may judge
)

// watch is what one watcher saw. Not safe for concurrent use.
type watch struct {
	seen map[int]sighting
	last time.Time
}

type sighting struct {
	holder  string
	counter int64
	since   time.Time
}

// judge says which rows are of frozen processes, given all rows of others that
// are held and the time of this look. fit = this process reaches the database
// itself; when it does not, or when the last look is long past, all clocks start
// anew. Rows that somebody has condemned already are always among the answer.
func (w *watch) judge(rows []row, now time.Time, fit bool) []row {
	anew := !fit || now.Sub(w.last) > maxGap
	seen := make(map[int]sighting, len(rows))
	var frozen []row
	for _, r := range rows {
		if r.Counter < 0 {
			frozen = append(frozen, r)
			continue
		}
		s, known := w.seen[r.Node]
		if anew || !known || s.holder != r.Holder || s.counter != r.Counter {
			s = sighting{holder: r.Holder, counter: r.Counter, since: now}
		}
		seen[r.Node] = s
		if now.Sub(s.since) >= patience {
			frozen = append(frozen, r)
		}
	}
	w.seen, w.last = seen, now
	return frozen
}

// buryFrozen looks once at all rows but self's, and condemns, kills and frees
// those that stood still. It returns how many numbers it freed.
func buryFrozen(ctx context.Context, db *dbx.DB, w *watch, self string, fit bool) (int, error) {
	var rows []row
	err := db.Scan(ctx, &rows, "SELECT node, holder, name, counter, connections FROM lease"+
		" WHERE holder <> '' AND holder <> ? ORDER BY node", self)
	if err != nil {
		return 0, err
	}
	freed := 0
	for _, r := range w.judge(rows, time.Now(), fit) {
		ok, buryErr := bury(ctx, db, r)
		if ok {
			freed++
		}
		err = errors.Join(err, buryErr)
	}
	return freed, err
}

// bury takes a frozen process's row away. The order is what makes it safe: once
// condemned, the owner can list no further connection, so those that the row
// names are all it has; once they are killed, it holds no lock and can write
// nothing; only then is its number given up. Any peer may go on from any step.
func bury(ctx context.Context, db *dbx.DB, r row) (bool, error) {
	if r.Counter >= 0 {
		n, err := db.Exec(ctx, "UPDATE lease SET counter = ? WHERE node = ? AND holder = ? AND counter = ?",
			condemned, r.Node, r.Holder, r.Counter)
		if err != nil || n == 0 {
			return false, err // it moved after all, or a peer was faster
		}
	}
	crash.At("bury.condemned")
	killed, err := killAll(ctx, db, r)
	if err != nil {
		return false, err
	}
	crash.At("bury.killed")
	ok, err := giveUp(ctx, db, r, "counter < 0")
	if ok {
		slog.Warn("a process stood still: its connections are killed and its lease is taken away",
			"node", r.Node, "holder", r.Holder, "name", r.Name, "connections", killed)
	}
	return ok, err
}

func killAll(ctx context.Context, db *dbx.DB, r row) (int, error) {
	start, ids, err := decode(r.Connections)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	now, err := db.ServerStart(ctx)
	if err != nil {
		return 0, err
	}
	if !sameStart(start, now) {
		return 0, nil // the server restarted since: they are gone, and their ids may be others' now
	}
	for _, id := range ids {
		if err := db.KillConnection(ctx, id); err != nil {
			return 0, fmt.Errorf("killing connection %d of the frozen process %s (all processes must use one database user, or have CONNECTION_ADMIN): %w", id, r.Name, err)
		}
	}
	return len(ids), nil
}

// sameStart allows for the second by which two readings of one start differ.
func sameStart(a, b int64) bool { return max(a-b, b-a) <= 2 }
