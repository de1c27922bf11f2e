package wire_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/axsched/ax/e2e/setup/wire"
	"github.com/axsched/ax/modules/kit/dbtest"
)

// open is a pool of plain connections through the wire.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	host, name, _ := strings.Cut(strings.TrimPrefix(url, "mysql://ax:ax@"), "/")
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName, c.InterpolateParams = "ax", "ax", "tcp", host, name, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM thing").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func add(ctx context.Context, db *sql.DB, id int, text string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO thing VALUES (?, ?)", id, text); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func TestWhatPassesCanBeBroken(t *testing.T) {
	t.Run("mariadb", func(t *testing.T) {
		url := dbtest.Empty(t)
		direct := open(t, url)
		if _, err := direct.ExecContext(t.Context(), "CREATE TABLE thing (id INT PRIMARY KEY, text MEDIUMTEXT)"); err != nil {
			t.Fatal(err)
		}
		w, through := wire.Through(t, url)
		db := open(t, through)
		if err := add(t.Context(), db, 1, strings.Repeat("x", 200<<10)); err != nil {
			t.Fatalf("a large statement does not pass: %v", err)
		}

		w.Judge(func(sql string) wire.Deed {
			if sql == "COMMIT" {
				return wire.LoseAnswer
			}
			return wire.Pass
		})
		if err := add(t.Context(), db, 2, ""); err == nil || count(t, direct) != 2 {
			t.Errorf("a commit whose answer is lost is done and says %v; there are %d rows", err, count(t, direct))
		}

		reached := make(chan struct{}, 1)
		w.Judge(func(sql string) wire.Deed {
			if sql != "COMMIT" {
				return wire.Pass
			}
			reached <- struct{}{}
			return wire.Hold
		})
		done := make(chan error, 1)
		go func() { done <- add(t.Context(), db, 3, "") }()
		<-reached
		if n := count(t, direct); n != 2 {
			t.Errorf("a commit that is held is done: %d rows", n)
		}
		w.Release()
		if err := <-done; err != nil || count(t, direct) != 3 {
			t.Errorf("after its release: %v, %d rows", err, count(t, direct))
		}
		w.Judge(nil)

		w.Mute()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := db.PingContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a mute wire answers: %v", err)
		}
		cancel()
		w.Cut()
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("a cut wire answers")
		}
		w.Heal()
		if err := add(t.Context(), db, 4, ""); err != nil || count(t, direct) != 4 {
			t.Errorf("after the healing: %v, %d rows", err, count(t, direct))
		}
		w.Break()
		if err := add(t.Context(), db, 5, ""); err != nil {
			t.Errorf("a broken connection is not replaced: %v", err)
		}
	})
}
