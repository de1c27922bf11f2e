package dbx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/dbtest"
	"github.com/axsched/ax/modules/kit/dbx"
)

// thing is a row of a table that these tests make.
type thing struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Name string
	N    int64
	Ver  int64
}

func (thing) TableName() string { return "thing" }

// each runs fn on every dialect with an empty table thing.
func each(t *testing.T, fn func(t *testing.T, db *dbx.DB)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, url string) { fn(t, open(t, url, dbx.Options{})) })
}

func open(t *testing.T, url string, o dbx.Options) *dbx.DB {
	t.Helper()
	db, err := dbx.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = db.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS thing (id BIGINT NOT NULL PRIMARY KEY,"+
		" name VARCHAR(50) NOT NULL UNIQUE, n BIGINT NOT NULL, ver BIGINT NOT NULL)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func things(t *testing.T, db *dbx.DB) string {
	t.Helper()
	var rows []thing
	if err := db.Scan(t.Context(), &rows, "SELECT * FROM thing ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(rows)
}

func fill(t *testing.T, db *dbx.DB, ids ...int64) {
	t.Helper()
	var rows []thing
	for _, id := range ids {
		rows = append(rows, thing{ID: id, Name: fmt.Sprint("t", id)})
	}
	if err := db.Insert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
}

var errWanted = errors.New("wanted")

func TestTxJoinsAndRollsBackAsOne(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			if !db.InTx(ctx) || db.InTx(t.Context()) {
				t.Error("InTx is wrong")
			}
			if err := db.Insert(ctx, &thing{ID: 1, Name: "outer"}); err != nil {
				return err
			}
			inner := db.Tx(ctx, func(ctx context.Context) error {
				var n int64
				if err := db.Scan(ctx, &n, "SELECT COUNT(*) FROM thing"); err != nil || n != 1 {
					t.Errorf("the inner one sees %d rows of the outer (%v)", n, err)
				}
				return db.Insert(ctx, &thing{ID: 2, Name: "inner"})
			})
			if inner != nil {
				return inner
			}
			return errWanted
		})
		if !errors.Is(err, errWanted) {
			t.Fatal(err)
		}
		if got := things(t, db); got != "[]" {
			t.Fatalf("%s is left of a transaction that failed", got)
		}
	})
}

func TestTxRollsBackOnPanicAndLetsOthersIn(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		func() {
			defer func() { _ = recover() }()
			_ = db.Tx(t.Context(), func(ctx context.Context) error {
				if err := db.Insert(ctx, &thing{ID: 1, Name: "a"}); err != nil {
					t.Error(err)
				}
				panic("wanted")
			})
		}()
		fill(t, db, 2)
		if got := things(t, db); got != "[{2 t2 0 0}]" {
			t.Fatal(got)
		}
	})
}

func TestAfterCommit(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		var calls []string
		note := func(s string) func() { return func() { calls = append(calls, s+things(t, db)) } }
		db.AfterCommit(t.Context(), note("at once "))
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			db.AfterCommit(ctx, note("first "))
			err := db.Tx(ctx, func(ctx context.Context) error {
				db.AfterCommit(ctx, note("second "))
				return db.Insert(ctx, &thing{ID: 1, Name: "a"})
			})
			if len(calls) != 1 {
				t.Errorf("before the commit: %q", calls)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = db.Tx(t.Context(), func(ctx context.Context) error {
			db.AfterCommit(ctx, note("never "))
			return errWanted
		})
		want := []string{"at once []", "first [{1 a 0 0}]", "second [{1 a 0 0}]"}
		if !slices.Equal(calls, want) {
			t.Fatalf("%q, want %q", calls, want)
		}
	})
}

func TestFence(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		var verdict error
		calls := 0
		ctx := dbx.WithFence(t.Context(), func(ctx context.Context) error {
			if calls++; !db.InTx(ctx) {
				t.Error("the fence runs outside the transaction")
			}
			return verdict
		})
		writes := map[string]func() error{
			"Tx": func() error {
				return db.Tx(ctx, func(ctx context.Context) error {
					return db.Tx(ctx, func(ctx context.Context) error { return db.Insert(ctx, &thing{ID: 1, Name: "a"}) })
				})
			},
			"Exec": func() error {
				_, err := db.Exec(ctx, "INSERT INTO thing (id, name, n, ver) VALUES (2, 'b', 0, 0)")
				return err
			},
			"Insert":    func() error { return db.Insert(ctx, &thing{ID: 3, Name: "c"}) },
			"InsertNew": func() error { _, err := db.InsertNew(ctx, &thing{ID: 4, Name: "d"}); return err },
			"Upsert": func() error {
				return db.Upsert(ctx, "thing", []string{"id"}, []string{"id", "name", "n", "ver"}, "n = NEW(n)", [][]any{{5, "e", 0, 0}})
			},
		}
		verdict = errWanted
		for name, write := range writes {
			if err := write(); !errors.Is(err, errWanted) {
				t.Errorf("%s passed the closed fence: %v", name, err)
			}
		}
		if got := things(t, db); got != "[]" {
			t.Fatalf("%s came past the fence", got)
		}
		verdict, calls = nil, 0
		for name, write := range writes {
			if err := write(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if calls != len(writes) {
			t.Errorf("the fence was asked %d times by %d transactions", calls, len(writes))
		}
	})
}

func TestInsertNewCountsTheNewOnes(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		fill(t, db, 1)
		n, err := db.InsertNew(t.Context(), []thing{{ID: 1, Name: "x"}, {ID: 2, Name: "b"}, {ID: 3, Name: "t1"}, {ID: 4, Name: "d"}})
		if err != nil || n != 2 {
			t.Fatalf("%d new, %v", n, err)
		}
		if got := things(t, db); got != "[{1 t1 0 0} {2 b 0 0} {4 d 0 0}]" {
			t.Fatal(got)
		}
		many := make([]thing, 1200)
		for i := range many {
			many[i] = thing{ID: int64(i + 1), Name: fmt.Sprint("m", i)}
		}
		if n, err := db.InsertNew(t.Context(), many); err != nil || n != 1197 {
			t.Fatalf("%d new of 1197, %v", n, err)
		}
	})
}

func TestUpsertAddsUp(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		rows := make([][]any, 600)
		for i := range rows {
			rows[i] = []any{int64(i), fmt.Sprint("u", i), int64(i), int64(1)}
		}
		for range 3 {
			err := db.Upsert(t.Context(), "thing", []string{"id"}, []string{"id", "name", "n", "ver"},
				"n = thing.n + NEW(n), ver = thing.ver + NEW(ver)", rows)
			if err != nil {
				t.Fatal(err)
			}
		}
		var sum struct{ N, Ver, Rows int64 }
		if err := db.Scan(t.Context(), &sum, "SELECT SUM(n) AS n, SUM(ver) AS ver, COUNT(*) AS `rows` FROM thing"); err != nil {
			t.Fatal(err)
		}
		if sum.N != 3*600*599/2 || sum.Ver != 1800 || sum.Rows != 600 {
			t.Fatalf("%+v", sum)
		}
	})
}

func TestUpdateRows(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		var ids []int64
		u := dbx.Update{Table: "thing", Keys: []string{"id"}, Cols: []string{"name", "n"}, Extra: "ver = ver + 1"}
		for i := range int64(700) {
			ids = append(ids, i+1)
			u.Rows = append(u.Rows, []any{i + 1, fmt.Sprintf("it's \\ %d", i+1), i * 10})
		}
		fill(t, db, ids...)
		u.Rows = append(u.Rows, []any{int64(9999), "nobody", int64(0)})
		n, err := db.UpdateRows(t.Context(), u)
		if err != nil || n != 700 {
			t.Fatalf("%d rows changed, %v", n, err)
		}
		u.Rows = u.Rows[:10]
		if n, err = db.UpdateRows(t.Context(), u); err != nil || n != 10 {
			t.Fatalf("%d rows changed by the same values again, %v", n, err)
		}
		var got []thing
		if err := db.Scan(t.Context(), &got, "SELECT * FROM thing WHERE id IN (1, 700) ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		if got[0] != (thing{1, `it's \ 1`, 0, 2}) || got[1] != (thing{700, `it's \ 700`, 6990, 1}) {
			t.Fatalf("%v", got)
		}
	})
}

func TestUpdateRowsAsCompareAndSet(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		fill(t, db, 1, 2, 3)
		u := dbx.Update{Table: "thing", Keys: []string{"id", "ver"}, Cols: []string{"n"}, Rows: [][]any{{1, 0, 11}, {2, 5, 12}, {3, 0, 13}}}
		u.Extra = "ver = ver + 1"
		for _, want := range []int64{2, 0} { // the second time all have moved on
			if n, err := db.UpdateRows(t.Context(), u); err != nil || n != want {
				t.Errorf("%d rows, want %d, %v", n, want, err)
			}
		}
		if got := things(t, db); got != "[{1 t1 11 1} {2 t2 0 0} {3 t3 13 1}]" {
			t.Fatal(got)
		}
	})
}

// A batch must find its rows by key: read through the table, it would wait for rows that are none of its business.
func TestUpdateRowsLocksItsRowsOnly(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{})
		fill(t, db, 1, 2, 3, 4, 5, 6)
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			if _, err := db.Exec(ctx, "UPDATE thing SET ver = ver + 1 WHERE id = 3"); err != nil {
				return err
			}
			began := time.Now()
			n, err := db.UpdateRows(t.Context(), dbx.Update{Table: "thing", Keys: []string{"id"}, Cols: []string{"n"},
				Extra: "ver = ver + 1", Rows: [][]any{{2, 1}, {4, 1}, {5, 1}, {6, 1}}})
			if err != nil || n != 4 {
				t.Errorf("%d rows after %v: %v", n, time.Since(began), err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestADeadlockIsTriedOnceMore(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{})
		fill(t, db, 1, 2)
		var mu sync.Mutex
		tries, commits := 0, 0
		both := make(chan struct{}) // closed when each has locked its first row
		arrived := 0
		run := func(first, second int) error {
			return db.Tx(t.Context(), func(ctx context.Context) error {
				mu.Lock()
				tries++
				mu.Unlock()
				db.AfterCommit(ctx, func() { mu.Lock(); commits++; mu.Unlock() })
				if _, err := db.Exec(ctx, "UPDATE thing SET ver = ver + 1 WHERE id = ?", first); err != nil {
					return err
				}
				mu.Lock()
				if arrived++; arrived == 2 {
					close(both)
				}
				mu.Unlock()
				<-both
				_, err := db.Exec(ctx, "UPDATE thing SET ver = ver + 1 WHERE id = ?", second)
				return err
			})
		}
		errs := make(chan error, 2)
		go func() { errs <- run(1, 2) }()
		go func() { errs <- run(2, 1) }()
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
		if tries != 3 || commits != 2 {
			t.Errorf("%d tries, %d commits, want 3 and 2", tries, commits)
		}
		if got := things(t, db); got != "[{1 t1 0 2} {2 t2 0 2}]" {
			t.Error(got)
		}
	})
}

func TestSessionsAreSetUp(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		db := open(t, dbtest.MariaDB(t), dbx.Options{Pool: 3})
		var wait int
		if err := db.Scan(t.Context(), &wait, "SELECT @@innodb_lock_wait_timeout"); err != nil || wait != 3 {
			t.Errorf("lock wait %d s, %v", wait, err)
		}
		fill(t, db, 1)
		err := db.Tx(t.Context(), func(ctx context.Context) error {
			for want := range 3 {
				var ver int
				if err := db.Scan(ctx, &ver, "SELECT ver FROM thing WHERE id = 1"); err != nil || ver != want {
					t.Errorf("ver %d, want what others committed, %d (%v)", ver, want, err)
				}
				if _, err := db.Exec(t.Context(), "UPDATE thing SET ver = ver + 1"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Two pools on one file are as two processes' parts: none is told that the file is busy.
func TestManyWritersOfOneSQLiteFile(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		url := dbtest.SQLite(t)
		pools := []*dbx.DB{open(t, url, dbx.Options{}), open(t, url, dbx.Options{})}
		fill(t, pools[0], 1)
		var wg sync.WaitGroup
		for i := range 16 {
			db := pools[i%2]
			wg.Go(func() {
				for range 10 {
					err := db.Tx(t.Context(), func(ctx context.Context) error {
						var ver int64
						if err := db.Scan(ctx, &ver, "SELECT ver FROM thing WHERE id = 1"); err != nil {
							return err
						}
						_, err := db.Exec(ctx, "UPDATE thing SET ver = ? WHERE id = 1", ver+1)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := things(t, pools[1]); got != "[{1 t1 0 160}]" {
			t.Fatal(got)
		}
	})
}

func TestNow(t *testing.T) {
	each(t, func(t *testing.T, db *dbx.DB) {
		now, err := db.Now(t.Context())
		if d := time.Since(now); err != nil || d.Abs() > time.Second {
			t.Fatalf("%v off, %v", d, err)
		}
		var ms int64
		if err := db.Scan(t.Context(), &ms, "SELECT "+db.NowSQL()); err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Second {
			t.Fatalf("NowSQL gives %d, %v", ms, err)
		}
	})
}

func TestMigrateAtOnce(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.Empty(t)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				db, err := dbx.Open(t.Context(), url, dbx.Options{Pool: 2})
				if err == nil {
					err = errors.Join(db.Migrate(t.Context()), db.Close())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		one := open(t, url, dbx.Options{Pool: 1})
		if err := one.Migrate(t.Context()); err == nil {
			t.Error("a pool of one migrates, which hangs when there is something to do")
		}
		if err := one.Insert(t.Context(), &thing{ID: 1, Name: "a"}); err != nil || domain.Is(err, domain.Unavailable) {
			t.Fatal(err)
		}
	})
}
