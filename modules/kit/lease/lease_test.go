package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// TestMain lets the test binary be the other process, see process_test.go.
func TestMain(m *testing.M) {
	if url := os.Getenv("AX_LEASE_CHILD"); url != "" {
		os.Exit(child(url))
	}
	os.Exit(m.Run())
}

// running takes a lease and drives it until the test ends.
func running(t *testing.T, url string) *Lease {
	t.Helper()
	l, err := Take(t.Context(), url, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	drive(t, l)
	return l
}

func drive(t *testing.T, l *Lease) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, ErrLost) {
			t.Errorf("Run: %v", err)
		}
		if err := l.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func pool(t *testing.T, url string, l *Lease, size int) *dbx.DB {
	t.Helper()
	onConnect, onClose := l.Hooks()
	db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: size, OnConnect: onConnect, OnClose: onClose})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// until waits for a condition, at most for d.
func until(t *testing.T, d time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, d)
		}
	}
}

func readRow(t *testing.T, db *dbx.DB, node int) row {
	t.Helper()
	var r row
	if err := db.Scan(t.Context(), &r, "SELECT * FROM lease WHERE node = ?", node); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFiftyTakeAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		leases := make([]*Lease, 50)
		errs := make([]error, 50)
		var wg sync.WaitGroup
		for i := range leases {
			wg.Go(func() { leases[i], errs[i] = Take(t.Context(), url, fmt.Sprint("taker ", i)) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		var got, want []int
		for i, l := range leases {
			got, want = append(got, l.Node()), append(want, i)
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("node numbers %v, want 0…49 once each", got)
		}
	})
}

func TestANumberRestsBeforeItIsTakenAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		first, err := Take(t.Context(), url, "first")
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := running(t, url)
		if first.Node() != 0 || second.Node() != 1 {
			t.Fatalf("numbers %d and %d, want 0 and 1", first.Node(), second.Node())
		}
		db := pool(t, url, second, 2)
		if _, err := db.Exec(t.Context(), "UPDATE lease SET renewed_at = renewed_at - 60000 WHERE node = 0"); err != nil {
			t.Fatal(err)
		}
		if third := running(t, url); third.Node() != 0 {
			t.Fatalf("number %d, want the rested 0", third.Node())
		}
	})
}

func TestConnectionsAreListedBeforeUse(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		l := running(t, url)
		db := pool(t, url, l, 6)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				err := db.Tx(t.Context(), func(ctx context.Context) error {
					var id int64
					if err := db.Scan(ctx, &id, "SELECT CONNECTION_ID()"); err != nil {
						return err
					}
					var text string
					if err := db.Scan(ctx, &text, "SELECT connections FROM lease WHERE node = ?", l.Node()); err != nil {
						return err
					}
					if _, ids, err := decode(text); err != nil || !slices.Contains(ids, id) {
						t.Errorf("connection %d is in use and not listed in %q (%v)", id, text, err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		until(t, 3*time.Second, "closed connections leave the list", func() bool {
			_, ids, err := decode(readRow(t, l.side, l.Node()).Connections)
			return err == nil && len(ids) == l.side.Stats().OpenConnections
		})
	})
}

func TestAStarvedPoolStopsNoRenewal(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		l := running(t, url)
		db := pool(t, url, l, 1)
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			before := l.Renewed()
			until(t, 4*time.Second, "renewals go on", func() bool { return l.Renewed().Sub(before) > 2*beat })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestALostLeaseOpensNoConnection(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		peer, l := running(t, url), running(t, url)
		r := readRow(t, peer.side, l.Node())
		until(t, 5*time.Second, "the row is buried", func() bool {
			r = readRow(t, peer.side, l.Node())
			r.Node = l.Node()
			ok, err := bury(t.Context(), peer.side, r)
			return ok && err == nil
		})
		onConnect, _ := l.Hooks()
		if db, err := dbx.Open(t.Context(), url, dbx.Options{OnConnect: onConnect}); !errors.Is(err, ErrLost) || !domain.Is(err, domain.Unavailable) {
			t.Fatalf("a connection was opened on a lost lease: %v %v", db, err)
		}
		select {
		case <-l.Lost():
		case <-time.After(3 * time.Second):
			t.Fatal("Lost is still open")
		}
		if _, err := l.Office(Broker).Campaign(t.Context()); !errors.Is(err, ErrLost) {
			t.Fatalf("campaigned on a lost lease: %v", err)
		}
	})
}

func TestOnlyConnectionsOfThisServersLifeAreKilled(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		l := running(t, url)
		victim := pool(t, url, l, 1)
		conn, err := victim.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		var id int64
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		start, err := l.side.ServerStart(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := killAll(t.Context(), l.side, row{Connections: encode(start-1000, []int64{id})}); n != 0 || err != nil {
			t.Fatalf("%d killed, %v", n, err)
		}
		if err := conn.PingContext(t.Context()); err != nil {
			t.Fatalf("a connection with the id of one before the restart was killed: %v", err)
		}
		const nobody = 1 << 40
		if n, err := killAll(t.Context(), l.side, row{Connections: encode(start, []int64{nobody, id})}); n != 2 || err != nil {
			t.Fatalf("%d killed, %v", n, err)
		}
		until(t, 3*time.Second, "the connection is dead", func() bool { return conn.PingContext(t.Context()) != nil })
	})
}

// While nobody can renew though everybody can look (a full disk, a read-only server), nobody is taken for frozen.
func TestAnOutageCostsNoLease(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		a, b := running(t, url), running(t, url)
		reader, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 2}) // no hooks, so no need to be listed
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reader.Close() }()
		blocker, err := reader.SQL().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = blocker.Close() }()
		before := readRow(t, reader, a.Node()).Counter
		if _, err := blocker.ExecContext(t.Context(), "LOCK TABLES lease READ"); err != nil {
			t.Fatal(err)
		}
		held := time.Now()
		until(t, 20*time.Second, "nobody renews for 6 s", func() bool { return time.Since(held) > 2*patience })
		if now := readRow(t, reader, a.Node()).Counter; now > before+3 {
			t.Fatalf("the counter went on from %d to %d: this was no outage", before, now)
		}
		if _, err := blocker.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		for _, l := range []*Lease{a, b} {
			until(t, 10*time.Second, "renewals go on", func() bool { return l.isLost() || readRow(t, reader, l.Node()).Counter > before+6 })
			if l.isLost() {
				t.Errorf("node %d lost its lease %v after the outage", l.Node(), time.Since(back))
			}
		}
	})
}

func TestCloseKeepsTheRowWhileConnectionsAreOpen(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		watcher := running(t, url)
		l, err := Take(t.Context(), url, "careless")
		if err != nil {
			t.Fatal(err)
		}
		db := pool(t, url, l, 1)
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(t.Context()); err == nil {
			t.Fatal("the number was given up under an open pool")
		}
		if r := readRow(t, watcher.side, l.Node()); r.Holder != l.Holder() {
			t.Fatalf("the row is %+v", r)
		}
		until(t, 6*time.Second, "the peer buries it", func() bool { return readRow(t, watcher.side, l.Node()).Holder == "" })
	})
}

func TestTakeWaitsWhenEveryNumberIsTaken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, url string) {
		db, err := dbx.Open(t.Context(), url, dbx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		var rows [][]any
		for node := range 1024 {
			rows = append(rows, []any{node, "dead", "dead", 5, "", 0, 0})
		}
		cols := []string{"node", "holder", "name", "counter", "connections", "taken_at", "renewed_at"}
		if err := db.Upsert(t.Context(), "lease", cols[:1], cols, "holder = NEW(holder)", rows); err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(t.Context(), "UPDATE lease SET holder = '', renewed_at = "+db.NowSQL()+" WHERE node <> 1000") // they rest
		if err != nil {
			t.Fatal(err)
		}
		taken := make(chan *Lease, 1)
		go func() {
			l, err := Take(t.Context(), url, "patient")
			if err != nil {
				t.Error(err)
			}
			taken <- l
		}()
		until(t, 10*time.Second, "the dead one is freed", func() bool { return readRow(t, db, 1000).Holder == "" })
		if _, err := db.Exec(t.Context(), "UPDATE lease SET renewed_at = renewed_at - 60000 WHERE node = 1000"); err != nil {
			t.Fatal(err)
		}
		l := <-taken
		if l == nil {
			return
		}
		if l.Node() != 1000 {
			t.Errorf("node %d, want the only free one", l.Node())
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// While the row cannot be written, whoever opens a connection is not held longer than it wants to wait, and the lease
// says why; afterwards both go on.
func TestALockedRowHoldsNoCallerAndIsSaid(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		l := running(t, url)
		db := pool(t, url, l, 20)
		until(t, 2*time.Second, "renewing", func() bool { return l.Fault() == nil && !l.Renewed().IsZero() })
		other := pool(t, url, running(t, url), 1)
		held, release := make(chan struct{}), make(chan struct{})
		locked := make(chan error, 1)
		go func() {
			locked <- other.Tx(t.Context(), func(ctx context.Context) error {
				var counter int64
				err := other.Scan(ctx, &counter, "SELECT counter FROM lease WHERE node = ? FOR UPDATE", l.Node())
				close(held)
				<-release
				return err
			})
		}()
		<-held
		var wg sync.WaitGroup
		for range 15 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				began := time.Now()
				err := db.Tx(ctx, func(ctx context.Context) error {
					<-ctx.Done() // holds its connection, so that each needs one of its own
					return ctx.Err()
				})
				if took := time.Since(began); err == nil || took > writeTimeout+time.Second {
					t.Errorf("after %s: %v", took, err)
				}
			})
		}
		wg.Wait()
		until(t, 3*time.Second, "the fault is said", func() bool { return l.Fault() != nil })
		close(release)
		if err := <-locked; err != nil {
			t.Fatal(err)
		}
		until(t, 5*time.Second, "renewing again", func() bool { return l.Fault() == nil })
	})
}
