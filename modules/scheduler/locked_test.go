package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbx"
	"github.com/axsched/ax/modules/scheduler/plan"
)

// gate is a Maker whose transactions stand still in the middle, with the rows of their triggers locked, until let go.
type gate struct {
	*bed
	inside, leave chan struct{}
}

func (g gate) Create(ctx context.Context, news []domain.NewInstance) ([]domain.Instance, error) {
	g.inside <- struct{}{}
	<-g.leave
	return g.bed.Create(ctx, news)
}

// slowly lets another node take a batch and returns in the middle of that; done ends it.
func (b *bed) slowly(batch []plan.Due) (done func()) {
	b.t.Helper()
	g := gate{b, make(chan struct{}), make(chan struct{})}
	node := b.node(nil)
	node.maker = g
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		node.take(context.Background(), batch)
	}()
	<-g.inside
	return func() {
		close(g.leave)
		<-taken
	}
}

func eachRowLocks(t *testing.T, fn func(t *testing.T, b *bed)) {
	t.Helper()
	eachBed(t, "2026-05-01T10:00:00Z", func(t *testing.T, b *bed) {
		if b.db.Dialect() == dbx.SQLite {
			t.Skip("SQLite has one writer at a time and no row locks")
		}
		fn(t, b)
	})
}

// alerts is how many fires the node has found locked for long.
func alerts(n *taker) int64 { return n.marks.status().LockedLong }

// Two schedulers want each fire of a job, and one of them always finds the row locked by the other, which is just taking it:
// no lock lasted, so nothing is an alert, however long that goes on.
func TestAFireThatAnotherNodeTakesIsNotLockedForLong(t *testing.T) {
	eachRowLocks(t, func(t *testing.T, b *bed) {
		b.mustPut(1, 1, everySpec(time.Second))
		node := b.node(nil)
		b.pass(time.Second)
		seen := b.due() // as the node's wheel has it, which learns of others' takings late
		for range 10 {
			done := b.slowly(b.due())
			looks := node.take(t.Context(), seen)
			if len(looks) != 1 {
				t.Fatalf("looks %+v", looks)
			}
			done()
			seen = []plan.Due{looks[0].due}
			b.pass(time.Second)
		}
		if n := alerts(node); n != 0 {
			t.Errorf("%d fires count as locked for long; each was taken within a moment", n)
		}
		if got := len(b.fires(1)); got != 10 {
			t.Errorf("%d fires of 10", got)
		}
	})
}

// Two locks of the same row with a time between them in which the node did not look are no long one: it was frozen, or the
// database was away, and now the row is locked by who takes it.
func TestTwoShortLocksAreNoLongOne(t *testing.T) {
	eachRowLocks(t, func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		b.pass(time.Minute)
		node, batch := b.node(nil), b.due()
		letGo := b.holdRow(batch[0].ID)
		node.take(t.Context(), batch)
		letGo()
		b.pass(3 * time.Second)
		letGo = b.holdRow(batch[0].ID)
		node.take(t.Context(), batch)
		if n := alerts(node); n != 0 {
			t.Errorf("%d alerts, although nobody knows that the row was locked between the two looks", n)
		}
		// It stays locked from now on, and the node looks as it would: that is one.
		for range 9 {
			b.pass(lockedPause)
			node.take(t.Context(), batch)
		}
		letGo()
		if n := alerts(node); n != 1 {
			t.Errorf("%d alerts of a row that was locked at every look of over 2 s", n)
		}
	})
}

// What somebody else commits into a row ends the lock that was: a job that is saved again and again is no stuck one.
func TestARowThatOthersChangeIsNotStuck(t *testing.T) {
	eachRowLocks(t, func(t *testing.T, b *bed) {
		b.mustPut(1, 1, cronSpec("* * * * *"))
		b.pass(time.Minute)
		node, batch := b.node(nil), b.due()
		for range 20 {
			letGo := b.holdRow(batch[0].ID)
			node.take(t.Context(), batch)
			letGo()
			if _, err := b.db.Exec(t.Context(), "UPDATE `trigger` SET ver = ver + 1 WHERE id = ?", batch[0].ID); err != nil {
				t.Fatal(err)
			}
			b.pass(lockedPause)
		}
		if n := alerts(node); n != 0 {
			t.Errorf("%d alerts", n)
		}
		if got := node.marks.status().Locked; got != 20 {
			t.Errorf("found locked %d times, want 20", got)
		}
	})
}
